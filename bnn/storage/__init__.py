"""Models on disk: NumPy arrays and JSON in one .npz file, without pickle."""

from bnn.storage.files import StoredModel, changes_as_a_whole, load
from bnn.storage.values import register, storable

__all__ = ["StoredModel", "changes_as_a_whole", "load", "register", "storable"]
