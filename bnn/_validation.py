"""Checks of hyperparameters and arrays, whose errors name the invalid value."""

import copy
import re
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, timedelta
from numbers import Number, Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds
from sklearn.gaussian_process.kernels import Kernel

from safe_files.help_page import ExplainedWarning, see
from safe_files.text import short

Array: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]  # of either precision
Ints: TypeAlias = NDArray[np.integer[Any]]

MOST = 10**7  # largest count of points, epochs or samples
MOST_NETWORKS = 10**5  # largest number of networks: each trains for at least a tenth of a second
MOST_RESTARTS = 10**4  # largest number of restarts of a search, which take about as long
SAME_VALUE = 1e-6  # relative difference of equal numbers, of which one may have been a float32
LARGEST = 1e100  # largest size of a number, so that sums of squares and their ratios are finite
ROUNDING = 1e-13  # a column counts as constant up to this range, relative to its largest size
NO_STEP = 4.0  # a column that varies by fewer rounding steps is constant without doubt
FEWEST_STEPS = 100.0  # rounding steps of its type that the range of a column must span
SMALLEST = 1e-75  # least range of a column, so that fourth powers of its deviations are not zero


class ConstantInputWarning(ExplainedWarning):
    """An input is constant in the data of `fit`, or later has a value other than this constant."""


class ConstantOutputWarning(ExplainedWarning):
    """An output varies in the data of `fit`, but so little that it is predicted as a constant."""


def check_option(name: str, value: object, options: Collection[object]) -> None:
    """Raise ValueError unless value is one of the options."""
    if not isinstance(value, str | bool | np.bool_) or value not in options:
        raise ValueError(f"{name} = {value!r:.60}: must be one of {', '.join(map(str, options))}")


def check_integer(name: str, value: object, smallest: int) -> None:
    """Raise ValueError unless value is an integer >= smallest."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
        raise ValueError(f"{name} = {value!r:.60}: must be an integer >= {smallest}")


def check_count(name: str, value: object, smallest: int, most: int = MOST) -> None:
    """Raise ValueError unless value is an integer from smallest to most."""
    check_integer(name, value, smallest)
    if value > most:  # type: ignore[operator]
        raise ValueError(f"{name} = {value!r:.60}: must be at most {most}")


def check_flags(**values: object) -> None:
    """Raise ValueError unless each of the named values is True or False."""
    for name, value in values.items():
        if not isinstance(value, bool | np.bool_ | int) or value not in (0, 1):
            raise ValueError(f"{name} = {value!r:.60}: must be True or False")


def check_kind(name: str, value: object, *kinds: type) -> None:
    """Raise ValueError unless value is an instance of one of the classes."""
    if not isinstance(value, kinds):
        needed = " or a ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"{name} = {short(value)}: must be a {needed}")


def _check_machine_integer(name: str, value: object) -> None:
    """Raise ValueError if value is an integer of more than 64 bits."""
    if isinstance(value, int) and abs(value) > np.iinfo(np.int64).max:
        raise ValueError(f"{name} = {value!r:.60}: must be a float if it is this large")


def _check_numbers(values: Mapping[str, Any], fits: Callable[[Any], bool], needed: str) -> None:
    """Raise ValueError unless each value is real, at most LARGEST in size, and fits(value)."""
    for name, value in values.items():
        real = isinstance(value, Real) and not isinstance(value, bool)
        if not (real and abs(value) <= LARGEST and fits(value)):
            raise ValueError(f"{name} = {value!r:.60}: must be {needed}, and at most {LARGEST:g}")
        _check_machine_integer(name, value)


def check_positive(**values: float) -> None:
    """Raise ValueError unless each of the named values is positive and finite."""
    _check_numbers(values, lambda value: value > 0.0, "> 0")


def check_above(limit: float, **values: float) -> None:
    """Raise ValueError unless each of the named values is finite and above a limit."""
    _check_numbers(values, lambda value: value > limit, f"> {limit:g}")


def check_not_negative(**values: float) -> None:
    """Raise ValueError unless each of the named values is finite and >= 0."""
    _check_numbers(values, lambda value: value >= 0.0, ">= 0")


def check_fraction(**values: float) -> None:
    """Raise ValueError unless each of the named values is in [0, 1)."""
    _check_numbers(values, lambda value: 0.0 <= value < 1.0, "in [0, 1)")


def check_function(name: str, value: object) -> None:
    """Raise ValueError unless value is callable, and neither a kernel nor a class."""
    if not callable(value) or isinstance(value, Kernel | type):
        raise ValueError(f"{name} = {short(value)}: must be callable, but not a kernel or a class")


def is_tensor(value: object) -> TypeGuard[Any]:
    """Return whether a value is a tensor; nothing is while PyTorch has not been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def check_readable(**arrays: object) -> None:
    """Raise ValueError if a named array has masked entries, or is a tensor with gradients."""
    for name, values in arrays.items():
        if _has_masked(values):
            raise ValueError(f"{name} has masked entries: leave them out")
        if is_tensor(values) and values.requires_grad:
            raise ValueError(f"{name} is a tensor with gradients: give {name}.detach()")


def _types(values: Any) -> list[tuple[Any, Any]]:
    """Return (column, type) for each column of a data frame, or [(None, type)] of an array."""
    if hasattr(values, "columns") and hasattr(values, "dtypes"):
        return list(zip(values.columns, values.dtypes, strict=True))
    return [(None, getattr(values, "dtype", None))]


def check_resolved(**arrays: object) -> None:
    """Raise ValueError if the type of an array, such as float32, is too coarse for a column."""
    for name, values in arrays.items():
        table: Any = values
        if is_tensor(values) and values.is_floating_point() and values.itemsize < 8:
            table = values.detach().cpu().numpy()
        for number, (column, kind) in enumerate(_types(table)):
            if not isinstance(kind, np.dtype) or kind.kind != "f" or kind.itemsize >= 8:
                continue
            entries = np.asarray(table if column is None else table[column], dtype=float)
            rows = entries.reshape(len(entries), -1)
            steps = np.finfo(kind).eps * np.abs(rows).max(axis=0)
            ranges = np.ptp(rows, axis=0)
            for j in np.flatnonzero((ranges > 0.0) & (ranges < FEWEST_STEPS * steps))[:1]:
                size = f"the range {ranges[j]:.3g} around {rows[0, j]:.6g}"
                lost = f"but {kind} resolves only steps of {steps[j]:.2g}"
                remedy = "subtract an offset in double precision, or give float64"
                raise ValueError(f"{name}: column {number + j} has {size}, {lost}: {remedy}")


def check_real(**arrays: object) -> None:
    """Raise ValueError unless named arrays are readable and contain only real numbers."""
    # NumPy would convert other entries to floats without an error: True to 1, a duration to a count
    # of its unit, and a complex number to its real part.
    check_readable(**arrays)
    for name, values in arrays.items():
        for kind, needed in NOT_REAL.items():
            if kind in _kinds(values):
                shown = " ".join(repr(values).split())
                for column in getattr(values, "columns", ()):
                    table: Any = values
                    if kind in _kinds(table[column]):
                        raise ValueError(f"{name}: column {column!r:.60}: {needed}")
                raise ValueError(f"{name} = {shown:.60}: {needed}")


# Kind of a NumPy type → error message for entries of this kind.
NOT_REAL = {
    "b": "must be numbers, not True or False: give 1.0 or 0.0 if these are meant",
    "c": "must be real numbers. Complex data not supported",  # the words of scikit-learn
    "m": "must be numbers, not durations: divide them by a unit",
    "M": "must be numbers, not dates: give the time since a date in a unit",
}
KINDS_OF_OBJECTS = {
    bool: "b",
    np.bool_: "b",
    complex: "c",
    np.complexfloating: "c",
    timedelta: "m",
    np.timedelta64: "m",
    date: "M",
    np.datetime64: "M",
}


def _has_masked(values: object) -> bool:
    """Return whether an array, or any array in a sequence, has masked entries."""
    if isinstance(values, list | tuple):
        return any(map(_has_masked, values))
    return isinstance(values, np.ma.MaskedArray) and bool(np.any(values.mask))


def _kinds(values: object) -> set[str]:
    """Return the kinds of NumPy types in values, such as {"b"}; int and float count as none."""
    if isinstance(values, list | tuple):
        return set().union(*map(_kinds, values))
    if isinstance(values, int | float | str) and not isinstance(values, bool):
        return set()  # most entries of lists: this saves time
    if is_tensor(values):
        kind = str(values.dtype)
        return {"b"} if kind == "torch.bool" else {"c"} if values.is_complex() else set()
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # reported when they are converted
        return set()
    if array.dtype.kind != "O":
        return {array.dtype.kind}
    if array.ndim:
        return set().union(*map(_kinds, array.ravel().tolist()))
    return {kind for cls, kind in KINDS_OF_OBJECTS.items() if isinstance(array.item(), cls)}


def as_array(name: str, values: ArrayLike) -> Array:
    """Return a float64 copy of values; ValueError unless they are real numbers, none masked."""
    if type(values) is float or (
        isinstance(values, list | tuple) and set(map(type, values)) == {float}
    ):
        return np.array(values)  # a search makes thousands of kernels of such parameters
    if values is None:  # which numpy would take for NaN
        raise ValueError(f"{name} = None: must be numbers")
    # A copy, because callers may later write other numbers into their arrays.
    check_real(**{name: values})
    _check_machine_integer(name, values)
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        needed = "must be numbers"
        if "inhomogeneous" in str(error):
            needed = f"{needed}, and as many in each row"
        raise ValueError(f"{name} = {values!r:.60}: {needed}") from None


def own_copy(value: Any) -> Any:
    """Return a copy of a parameter, of the same type, whose arrays the caller cannot change.

    Data frames become arrays, which files can store. Functions, models and other objects are
    returned as they are.
    """
    if isinstance(value, np.ndarray) or is_tensor(value):
        return copy.deepcopy(value)
    if isinstance(value, list):
        return [own_copy(entry) for entry in value]
    if isinstance(value, tuple):
        return tuple(own_copy(entry) for entry in value)
    if isinstance(value, Mapping):
        return {name: own_copy(entry) for name, entry in value.items()}
    if hasattr(value, "__array__") and not isinstance(value, np.generic | type):
        return np.array(value)
    if isinstance(value, Kernel | Bounds):
        copied = copy.copy(value)
        for name, attribute in vars(value).items():
            setattr(copied, name, own_copy(attribute))
        return copied
    return value


def read_only(X: Array) -> Array:
    """Return a view of points that a function of the user cannot change."""
    view = X.view()
    view.flags.writeable = False
    return view


def is_row(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether value is a sequence, but not a string, or an array with dimensions."""
    return (isinstance(value, Sequence) and not isinstance(value, str | bytes)) or (
        isinstance(value, np.ndarray) and value.ndim > 0
    )


def check_integers(name: str, values: object, smallest: int) -> None:
    """Raise ValueError unless values are a sequence of integers >= smallest."""
    if not is_row(values):
        raise ValueError(f"{name} = {values!r:.60}: must be a sequence of integers >= {smallest}")
    for i, value in enumerate(values):
        check_count(f"{name}[{i}]", value, smallest)


def as_columns(name: str, values: ArrayLike, n: int) -> Array:
    """Return values of n points, (n,) or (n, n_out), as (n, n_out) float64."""
    if values is None:
        raise ValueError(f"{name} is None: must be ({n},) or ({n}, n_out)")
    array = as_array(name, values)
    if not array.ndim:
        raise ValueError(f"{name} is the number {array}: must be ({n},) or ({n}, n_out)")
    if array.ndim > 2 or len(array) != n or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: must be ({n},) or ({n}, n_out)")
    return array.reshape(n, -1)


def as_finite(
    name: str, values: ArrayLike, largest: float = LARGEST, table: object = None
) -> Array:
    """Return values as float64; a ValueError names the first that is not finite, or too large."""
    # table: the data frame from which values were taken, for the names of their columns
    array = as_array(name, values)
    complaint = not_finite(name, array, values if table is None else table, largest)
    if complaint:
        raise ValueError(complaint)
    return array


def not_finite(name: str, array: Array, table: object, largest: float = LARGEST) -> str | None:
    """Return a message about the first entry that is not finite or too large; None if none is."""
    wrong = np.argwhere(~(np.abs(array) <= largest))
    if not len(wrong):
        return None
    first = tuple(wrong[0].tolist())
    entry = _place(name, first, table)
    others = f"; {len(wrong)} entries are not" if len(wrong) > 1 else ""
    if others and len(first) == 2:
        others = f"{others}, in {len(np.unique(wrong[:, 0]))} of {len(array)} rows"
    needed = f"must be finite, not NaN or infinite, and at most {largest:g} in size"
    return f"{entry} = {array[first]}: {needed}{others}"


def not_a_number(name: str, values: ArrayLike) -> str | None:
    """Return a message about the first entry that is not a number; None if all are numbers."""
    try:
        array = np.asarray(values, dtype=object)
    except ValueError:  # rows of different lengths
        return None
    for place, entry in np.ndenumerate(array):
        if isinstance(entry, Number) or (hasattr(entry, "__len__") and not isinstance(entry, str)):
            continue
        try:
            float(entry)
        except (TypeError, ValueError):
            return f"{_place(name, place, values)} = {entry!r:.60}: must be a number"
    return None


def _place(name: str, index: tuple[int, ...], table: object) -> str:
    """Name an entry of an array, with row and column if it comes from a data frame."""
    entry = f"{name}[{', '.join(map(str, index))}]" if index else name
    columns: Any = getattr(table, "columns", None)
    if columns is None or len(index) != 2:
        return entry
    return f"{entry} (row {index[0]}, column {columns[index[1]]!r})"


def as_points(name: str, X: ArrayLike) -> Array:
    """Return points as float64; ValueError unless they are (n, n_in) and finite."""
    array = as_finite(name, X)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: must be (n, n_in)")
    return array


def as_data(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return finite data as float64, X (N, n_in) and y, (N,) or (N, n_out), as (N, n_out)."""
    check_resolved(X=X, y=y)
    X = as_points("X", X)
    values = as_columns("y", as_finite("y", y), len(X))
    check_ranges(X=X, y=values)
    return X, values


def check_ranges(**arrays: Array) -> None:
    """Raise ValueError if a column of a named array varies, but by less than SMALLEST."""
    for name, values in arrays.items():
        ranges = np.ptp(values, axis=0)
        for j in np.flatnonzero((ranges > 0.0) & (ranges < SMALLEST))[:1]:
            needed = f"must be at least {SMALLEST:g}, or zero: use another unit"
            raise ValueError(f"{name}: column {j} has the range {ranges[j]:.3g}, {needed}")


def varies(values: Floats) -> NDArray[np.bool_]:
    """Return whether each column of values (n, m) varies by more than rounding, (m,)."""
    return np.asarray(np.ptp(values, axis=0) > ROUNDING * np.abs(values).max(axis=0))


def power_of_two(sizes: Array) -> Array:
    """Return the powers of two at or below sizes >= 0, and one for a size of zero."""
    return np.where(sizes > 0.0, np.exp2(np.frexp(sizes)[1] - 1.0), 1.0)


def below_rounding(values: Array) -> str | None:
    """Return a text about a column (n,) that varies, but counts as constant; None for any other."""
    largest = np.abs(values).max()
    width = np.ptp(values)
    if not NO_STEP * np.finfo(float).eps * largest < width <= ROUNDING * largest:
        return None
    size = f"varies by {width:.3g} around {values[0]:.6g}, which counts as rounding"
    return f"{size}: subtract an offset before the numbers are rounded"


_INSTEAD = "remove it from y, or give prior, noise and scaling.outputs"


def filled(y: Array) -> Array:
    """Return y (N, n_out) with missing values (NaN) replaced by the first value of their output."""
    missing = np.isnan(y)
    if not missing.any():
        return y
    first = y[(~missing).argmax(axis=0), np.arange(y.shape[1])]
    return np.where(missing, first, y)


def check_outputs_vary(y: Floats, what: str = "", instead: str = _INSTEAD) -> None:
    """Raise ValueError if an output, a column of y (N, n_out), is constant."""
    for j in np.flatnonzero(~varies(y))[:1]:
        if text := below_rounding(np.asarray(y[:, j], dtype=float)):
            raise ValueError(f"output {j}{what} {text}")
        value = f"{y[0, j]:.6g} in all {len(y)} rows"
        raise ValueError(f"output {j} is constant{what}, {value}, so it has no scale: {instead}")


def warn_of_constant(X: Array, constants: Array) -> None:
    """Warn the caller of `fit` if an input of X (N, n_in) is constant, and its entry not NaN."""
    constant = np.flatnonzero(~np.isnan(constants))
    if constant.size:
        i = constant[0]
        what = below_rounding(X[:, i]) or "is constant in the data, so its effect cannot be learnt"
        warnings.warn(f"input {i} {what}", ConstantInputWarning, stacklevel=4)


def warn_of_rounding(y: Array, constants: Array) -> None:
    """Warn the caller of `fit` if an output of y (N, n_out) varies, but is taken for a constant."""
    values = filled(y)
    for j in np.flatnonzero(~np.isnan(constants)):
        if text := below_rounding(values[:, j]):
            warnings.warn(f"output {j} {text}", ConstantOutputWarning, stacklevel=4)
            return


def missing_outputs(y: ArrayLike) -> NDArray[np.bool_] | None:
    """Return a mask of NaN in y (N, n_out); None if there is no NaN, or y has one column."""
    check_real(y=y)
    try:
        values = np.asarray(y)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # reported when they are converted
        return None
    # None and pandas' NA make an array of objects, which is rejected later.
    if (
        values.dtype.kind != "f"
        or values.ndim != 2
        or values.shape[1] < 2
        or not np.isnan(values).any()
    ):
        return None
    missing: NDArray[np.bool_] = np.isnan(values)
    check_present(~missing)
    return missing


def where_present(noise_std: ArrayLike | None, missing: NDArray[np.bool_]) -> ArrayLike | None:
    """Return noise_std with NaN replaced by a value without effect where y is missing."""
    if noise_std is None or np.shape(noise_std) != missing.shape:
        return noise_std
    std = as_array("noise_std", noise_std)
    present = np.where(missing, np.nan, std)
    return np.where(missing & np.isnan(std), filled(present), std)


def check_present(present: NDArray[np.bool_]) -> None:
    """Raise ValueError if a row has no output, or an output has fewer than two values."""
    for i in np.flatnonzero(~present.any(axis=1))[:1]:
        raise ValueError(f"y: row {i} has no output: leave it out")
    counts = present.sum(axis=0)
    for j in np.flatnonzero(counts < 2)[:1]:
        raise ValueError(f"y: output {j} has {counts[j]} values: must be at least 2")


def check_device(device: str) -> None:
    """Raise ValueError unless device is "cpu" or an available CUDA device, such as "cuda:1"."""
    if not isinstance(device, str) or not re.fullmatch(r"cpu|cuda(:\d{1,3})?", device):
        raise ValueError(f"device = {device!r:.60}: must be 'cpu' or 'cuda'")
    if device == "cpu":
        return
    import torch  # only here, because Gaussian processes need no PyTorch

    n_devices = torch.cuda.device_count()
    if n_devices == 0:
        raise ValueError(
            f"device = {device!r:.60}: this PyTorch sees no CUDA device, use 'cpu'; {see('gpu')}"
        )
    if int(device.partition(":")[2] or 0) >= n_devices:
        raise ValueError(f"device = {device!r:.60}: this PyTorch sees {n_devices} CUDA devices")
