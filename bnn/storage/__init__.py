"""Models on disk: NumPy arrays and JSON in one .npz file, without pickle."""

from bnn.storage.files import StoredModel, load
from bnn.storage.values import register, storable

__all__ = ["StoredModel", "load", "register", "storable"]
