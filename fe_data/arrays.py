"""Types and short texts of arrays, numbers that a user gives, and numbers for pairs of indices."""

import dataclasses
import textwrap
from numbers import Real
from types import NoneType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]

T = TypeVar("T")
WIDTH = 100  # of a line of a short text
LINES = 5
PART = 60  # characters of a part of it


def _described(value: object) -> str:
    """Write an object and its fields on at most five lines: arrays are a shape and a range."""
    if isinstance(value, tuple):
        fields = value._asdict()  # type: ignore[attr-defined]
    elif dataclasses.is_dataclass(value):
        fields = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    else:
        fields = {name: each for name, each in vars(value).items() if name[0] != "_"}
    inner = ", ".join(f"{name}={_one_line(each)}" for name, each in fields.items())
    lines = textwrap.wrap(
        f"{type(value).__name__}({inner})",
        WIDTH,
        subsequent_indent="    ",
        max_lines=LINES,
        placeholder=" ...)",
        break_on_hyphens=False,
    )
    return "\n".join(lines)


class Short:
    """Base of classes whose `repr` has at most five lines."""

    def __repr__(self) -> str:
        """Return the class and its fields, or its public attributes."""
        return _described(self)


def short(named_tuple: type[T]) -> type[T]:
    """Give a class of named tuples, which has no base of ours, the `repr` of `Short`."""
    named_tuple.__repr__ = _described  # type: ignore[method-assign]
    return named_tuple


def _one_line(value: object) -> str:
    """Write a value on one line."""
    if isinstance(value, np.ndarray):
        words = f"array {value.shape}"
        if value.dtype.kind in "fiu" and value.size:
            words += f" in [{np.min(value):.3g}, {np.max(value):.3g}]"
        return words
    if isinstance(value, dict):
        return f"{{{', '.join(map(str, value))}}}"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields") and value:
        kind = type(value[0])
        if not issubclass(kind, Real | str | tuple | NoneType) or hasattr(kind, "_fields"):
            return f"{len(value)} {kind.__name__.removesuffix('s')}s"
    text = " ".join(repr(value).split())
    unknown = type(value).__repr__ is object.__repr__  # which writes an address
    return f"{type(value).__name__}(...)" if unknown or len(text) > PART else text


def keep_copies(record: object) -> None:
    """Replace the arrays of a dataclass by copies that its maker cannot change."""
    for item in dataclasses.fields(record):  # type: ignore[arg-type]
        object.__setattr__(record, item.name, _copied(getattr(record, item.name)))


def _copied(value: Any) -> Any:
    """Return a copy of an array, or of all arrays in a list or a dictionary."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")  # sums round as they do over the array that was given
    if isinstance(value, list):
        return [_copied(part) for part in value]
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    return value


def numbers(name: str, values: ArrayLike) -> Floats:
    """Real numbers as floats; a ValueError names what is no number."""
    try:
        found = np.asarray(values)
        if not np.can_cast(found.dtype, float, "same_kind"):
            raise TypeError
    except (TypeError, ValueError, RuntimeError):  # a tensor that has gradients raises the last
        raise ValueError(f"{name} = {values!r:.60} must be numbers") from None
    return found.astype(float)


def pair_keys(a: Ints, b: Ints, n: int) -> Ints:
    """Number smaller * n + larger of each pair of indices below n, in either order."""
    a = np.asarray(a, dtype=np.int64)
    b = np.asarray(b, dtype=np.int64)
    return np.asarray(np.minimum(a, b) * n + np.maximum(a, b))
