"""Types and short texts of arrays, numbers that a user gives, and numbers for pairs of indices."""

import dataclasses
import textwrap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.integer[Any]]
Booleans = NDArray[np.bool_]

WIDTH = 100  # of a line of a short text
LINES = 5
PART = 60  # characters of a part of it


class Short:
    """Base of dataclasses whose `repr` has at most five lines: arrays are a shape and a range."""

    def __repr__(self) -> str:
        """Return the class and its fields."""
        names = [item.name for item in dataclasses.fields(self)]  # type: ignore[arg-type]
        inner = ", ".join(f"{name}={_short(getattr(self, name))}" for name in names)
        text = f"{type(self).__name__}({inner})"
        lines = textwrap.wrap(
            text,
            WIDTH,
            subsequent_indent="    ",
            max_lines=LINES,
            placeholder=" ...)",
            break_on_hyphens=False,
        )
        return "\n".join(lines)


def _short(value: object) -> str:
    """Write a value on one line."""
    if isinstance(value, np.ndarray):
        words = f"array {value.shape}"
        if value.dtype.kind in "fiu" and value.size:
            words += f" in [{np.min(value):.3g}, {np.max(value):.3g}]"
        return words
    if isinstance(value, dict):
        return f"{{{', '.join(map(str, value))}}}"
    if isinstance(value, list) and value:
        return f"{len(value)} {type(value[0]).__name__}s"
    # Other dataclasses may hold arrays of any size, which take long to be written.
    if dataclasses.is_dataclass(value) and not isinstance(value, Short):
        return f"{type(value).__name__}(...)"
    text = " ".join(repr(value).split())
    return text if len(text) <= PART else f"{type(value).__name__}(...)"


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
