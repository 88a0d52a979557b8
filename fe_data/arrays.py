"""Names for the types of arrays, and numbers for pairs of indices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]


def pair_keys(a: Ints, b: Ints, n: int) -> Ints:
    """Number smaller * n + larger of each pair of indices below n, in either order."""
    a, b = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
    return np.asarray(np.minimum(a, b) * n + np.maximum(a, b))
