"""Checks of hyper-parameters and arrays, each with an exact message."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Kernel

Array: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]  # of either precision
Ints: TypeAlias = NDArray[np.integer[Any]]


def check_option(name: str, value: object, options: Collection[object]) -> None:
    """Raise ValueError unless value is one of the options."""
    if not isinstance(value, str | bool | np.bool_) or value not in options:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(map(str, options))}")


def check_integer(name: str, value: object, smallest: int) -> None:
    """Raise ValueError unless value is an integer >= smallest."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
        raise ValueError(f"{name} = {value!r}: must be an integer >= {smallest}")


def check_flags(**values: object) -> None:
    """Raise ValueError unless each of the named values is True or False."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_ | int) or value not in (0, 1):
            raise ValueError(f"{name} = {value!r:.60}: must be True or False")


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise ValueError unless value is an object of a class."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} = {value!r:.60}: must be a {kind.__name__}")


def _check_numbers(values: Mapping[str, Any], fits: Callable[[Any], bool], needed: str) -> None:
    """Raise ValueError unless values are finite real numbers, no bools, that fit."""
    for name, value in values.items():
        real = isinstance(value, Real) and not isinstance(value, bool)
        if not (real and abs(value) <= sys.float_info.max and fits(value)):  # integers may be huge
            raise ValueError(f"{name} = {value!r:.60}: must be {needed}")


def check_positive(**values: float) -> None:
    """Raise ValueError unless each of the named values is positive and finite."""
    _check_numbers(values, lambda value: value > 0.0, "> 0")


def check_not_negative(**values: float) -> None:
    """Raise ValueError unless each of the named values is finite and >= 0."""
    _check_numbers(values, lambda value: value >= 0.0, ">= 0")


def check_fraction(**values: float) -> None:
    """Raise ValueError unless each of the named values is in [0, 1)."""
    _check_numbers(values, lambda value: 0.0 <= value < 1.0, "in [0, 1)")


def check_function(name: str, value: object) -> None:
    """Raise ValueError unless value is a function; a kernel can be called too, but with points."""
    if not callable(value) or isinstance(value, Kernel | type):
        raise ValueError(f"{name} = {value!r:.60}: must be callable, and no kernel or class")


def check_unmasked(**arrays: object) -> None:
    """Raise ValueError if one of the named arrays has masked entries, which NumPy would fill in."""
    for name, values in arrays.items():
        if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
            raise ValueError(f"{name} has masked entries: leave them out")


def as_array(name: str, values: ArrayLike) -> Array:
    """Return values as float64; ValueError unless they are numbers of which none is masked."""
    check_unmasked(**{name: values})
    try:
        if np.asarray(values).dtype.kind not in "cmM":  # complex, durations and dates
            return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} = {values!r:.60}: must be numbers")


def is_row(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether value has entries in an order, and is no string."""
    return (isinstance(value, Sequence) and not isinstance(value, str | bytes)) or (
        isinstance(value, np.ndarray) and value.ndim > 0
    )


def check_integers(name: str, values: object, smallest: int) -> None:
    """Raise ValueError unless values are a sequence of integers >= smallest."""
    if not is_row(values):
        raise ValueError(f"{name} = {values!r:.60}: must be a sequence of integers >= {smallest}")
    for i, value in enumerate(values):
        check_integer(f"{name}[{i}]", value, smallest)


def as_columns(name: str, values: ArrayLike, n: int) -> Array:
    """Return values of n points, (n,) or (n, n_out), as (n, n_out) float64."""
    array = as_array(name, values)
    if array.ndim not in (1, 2) or len(array) != n or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: must be ({n},) or ({n}, n_out)")
    return array.reshape(n, -1)


def as_finite(name: str, values: ArrayLike) -> Array:
    """Return values as float64; ValueError names the first place that is not finite."""
    array = as_array(name, values)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        place = f"[{', '.join(map(str, wrong[0]))}]" if array.ndim else ""
        raise ValueError(f"{name}{place} = {array[tuple(wrong[0])]}: must be finite")
    return array


def as_points(name: str, X: ArrayLike) -> Array:
    """Return points as float64, if they are (n, n_in) and finite."""
    array = as_finite(name, X)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: must be (n, n_in)")
    return array


def as_data(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return finite data as float64, X (N, n_in) and y, (N,) or (N, n_out), as (N, n_out)."""
    X = as_points("X", X)
    return X, as_columns("y", as_finite("y", y), len(X))


def check_device(device: str) -> None:
    """Raise ValueError unless device is "cpu", or "cuda" where that is available."""
    if not isinstance(device, str) or not device.startswith(("cpu", "cuda")):
        raise ValueError(f"device = {device!r}: must be 'cpu' or 'cuda'")
    if device != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device = {device!r}: this PyTorch sees no CUDA device, use 'cpu'")
