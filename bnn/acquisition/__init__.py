"""Which runs come next: the inputs that are expected to reduce the predictive variance most."""

from bnn.acquisition.choice import choose

__all__ = ["choose"]
