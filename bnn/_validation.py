"""Checks of hyper-parameters and arrays, each with an exact message."""

from collections.abc import Collection, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Kernel

Array: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]  # of either precision
Ints: TypeAlias = NDArray[np.integer[Any]]


def check_option(name: str, value: object, options: Collection[object]) -> None:
    """Raise ValueError unless value is one of the options."""
    if value not in options:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(map(str, options))}")


def check_integer(name: str, value: object, smallest: int) -> None:
    """Raise ValueError unless value is an integer >= smallest."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
        raise ValueError(f"{name} = {value!r}: must be an integer >= {smallest}")


def check_positive(**values: float) -> None:
    """Raise ValueError unless each of the named values is positive and finite."""
    for name, value in values.items():
        if not (isinstance(value, Real) and 0.0 < value < np.inf):
            raise ValueError(f"{name} = {value!r}: must be > 0")


def check_fraction(**values: float) -> None:
    """Raise ValueError unless each of the named values is in [0, 1)."""
    for name, value in values.items():
        if not (isinstance(value, Real) and 0.0 <= value < 1.0):
            raise ValueError(f"{name} = {value!r}: must be in [0, 1)")


def check_function(name: str, value: object) -> None:
    """Raise ValueError unless value is a function; a kernel can be called too, but with points."""
    if not callable(value) or isinstance(value, Kernel):
        raise ValueError(f"{name} = {value!r:.60}: must be callable, and no kernel")


def check_unmasked(**arrays: object) -> None:
    """Raise ValueError if one of the named arrays has masked entries, which NumPy would fill in."""
    for name, values in arrays.items():
        if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
            raise ValueError(f"{name} has masked entries: leave them out")


def as_array(name: str, values: ArrayLike) -> Array:
    """Return values as float64; ValueError unless they are numbers of which none is masked."""
    check_unmasked(**{name: values})
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {values!r:.60}: must be numbers") from None


def check_widths(name: str, widths: object) -> None:
    """Raise ValueError unless widths of layers are a sequence of integers >= 1."""
    if isinstance(widths, str) or not isinstance(widths, Sequence | np.ndarray):
        raise ValueError(f"{name} = {widths!r}: must be a sequence of integers >= 1")
    for i, width in enumerate(widths):
        check_integer(f"{name}[{i}]", width, 1)


def as_columns(name: str, values: ArrayLike, n: int) -> Array:
    """Return values of n points, (n,) or (n, n_out), as (n, n_out) float64."""
    array = as_array(name, values)
    if array.ndim not in (1, 2) or len(array) != n:
        raise ValueError(f"{name} has shape {array.shape}: must be ({n},) or ({n}, n_out)")
    return array.reshape(n, -1)


def as_finite(name: str, values: ArrayLike) -> Array:
    """Return values as float64; ValueError names the first place that is not finite."""
    array = as_array(name, values)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        place = ", ".join(map(str, wrong[0]))
        raise ValueError(f"{name}[{place}] = {array[tuple(wrong[0])]}: must be finite")
    return array


def as_points(name: str, X: ArrayLike) -> Array:
    """Return points as float64, if they are (n, n_in)."""
    array = as_array(name, X)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}: must be (n, n_in)")
    return array


def check_device(device: str) -> None:
    """Raise ValueError unless device is "cpu", or "cuda" where that is available."""
    if device != "cpu" and not str(device).startswith("cuda"):
        raise ValueError(f"device = {device!r}: must be 'cpu' or 'cuda'")
    if device != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device = {device!r}: this PyTorch sees no CUDA device, use 'cpu'")
