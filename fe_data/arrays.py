"""Array types, copies of arrays, and checks of numbers that a user passes."""

import dataclasses
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]


def keep_copies(record: object) -> None:
    """Replace the arrays of a dataclass by copies, which the caller cannot change."""
    for item in dataclasses.fields(record):  # type: ignore[arg-type]
        object.__setattr__(record, item.name, _copied(getattr(record, item.name)))


def _copied(value: Any) -> Any:
    """Return a copy of an array, or of all arrays in a list or a dictionary."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")  # same memory order, so sums round as over the original
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return value


_NO_NUMBERS = bool | np.bool_ | np.timedelta64  # rejected, although NumPy or Python converts them


def number(name: str, value: object) -> float:
    """Convert one real number to a float; a ValueError rejects others, also booleans."""
    require_unmasked(name, value)
    array = np.asarray(value) if isinstance(value, Real) else _read(value)
    if array is None or array.ndim or isinstance(value, _NO_NUMBERS):
        raise ValueError(f"{name} = {value!r:.60} must be a number")
    try:
        return float(array)
    except OverflowError:
        raise ValueError(f"{name} = {value!r:.60} must be a number below 1.8e308") from None


def numbers(name: str, values: ArrayLike) -> Floats:
    """Convert real numbers (...) to floats; a ValueError rejects others and masked entries."""
    require_unmasked(name, values)
    array = _read(values)
    if array is None:
        raise ValueError(f"{name} = {values!r:.60} must be numbers")
    return array.astype(float)


def _read(values: object) -> NDArray[Any] | None:
    """Read values as an array of integers or floats; None if they are something else."""
    try:
        array = np.asarray(values)
        listed = np.asarray(values, object).flat if isinstance(values, list | tuple) else ()
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor that has gradients
        return None
    if array.dtype.kind not in "iuf" or any(isinstance(item, _NO_NUMBERS) for item in listed):
        return None
    return array


def integers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Convert integers (n,) below 2**63 to int64; a ValueError rejects other values."""
    require_unmasked(name, values)
    array = _read(values)
    if array is None or array.ndim != 1 or (array.size and array.dtype.kind == "f"):
        raise ValueError(f"{name} = {values!r:.60} must be a sequence of integers")
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} = {values!r:.60} must be integers below 2**63")
    return array.astype(np.int64)


def objects(name: str, values: object) -> NDArray[Any]:
    """Convert values to an array of objects, whose types the caller has to check."""
    require_unmasked(name, values)
    try:
        return np.array(values, dtype=object)
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor that has gradients
        raise ValueError(f"{name} = {values!r:.60} cannot be read as an array") from None


def require_unmasked(name: str, values: object) -> None:
    """Reject an array with masked entries, because NumPy would use the masked numbers."""
    if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
        raise ValueError(f"{name} has masked entries: leave them out")


def pair_keys(a: Ints, b: Ints, n: int) -> Ints:
    """Return the key min(a, b) * n + max(a, b) of each pair of indices below n."""
    a = np.asarray(a, dtype=np.int64)
    b = np.asarray(b, dtype=np.int64)
    return np.asarray(np.minimum(a, b) * n + np.maximum(a, b))
