"""Names for the types of arrays, numbers that a user gives, and numbers for pairs of indices."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]


def numbers(name: str, values: ArrayLike) -> Floats:
    """Real numbers as floats; a ValueError names what is no number."""
    try:
        found = np.asarray(values)
        if not np.can_cast(found.dtype, float, "same_kind"):
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {values!r:.60} must be numbers") from None
    return found.astype(float)


def pair_keys(a: Ints, b: Ints, n: int) -> Ints:
    """Number smaller * n + larger of each pair of indices below n, in either order."""
    a = np.asarray(a, dtype=np.int64)
    b = np.asarray(b, dtype=np.int64)
    return np.asarray(np.minimum(a, b) * n + np.maximum(a, b))
