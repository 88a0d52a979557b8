"""Short `repr` of objects, with shape and range in place of arrays, and tables of text."""

import dataclasses
import sys
import textwrap
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

WIDTH = 100  # characters in a line
LINES = 5  # at most
ENTRIES = 8  # of the longest sequence that is written out
NESTED = 100  # characters of a nested object, at most
DIGITS = 8  # characters of the longest float that is written without rounding


def short(value: object) -> str:
    """Describe a value on one line of about 100 characters at most."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(map(str, value))}}}" if len(value) <= ENTRIES else f"{len(value)} names"
        )
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _sequence(value)
    text = " ".join(repr(value).split())
    if isinstance(value, float) and len(text) > DIGITS:
        return f"{value:.6g}"
    if isinstance(value, str):
        return text if len(text) <= NESTED else f"{text[: NESTED - 3]}..."
    shows_address = type(value).__repr__ is object.__repr__
    return f"{type(value).__name__}(...)" if len(text) > NESTED or shows_address else text


def _array(values: Any) -> str:
    """Describe an array by its shape and range."""
    if values.ndim == 0:
        return repr(values.item())
    kind = values.dtype.kind
    shape = f"array {values.shape}"
    if kind not in "fiub" or not values.size:
        return shape
    if kind == "b":
        return f"{shape}, {np.count_nonzero(values)} true"
    return f"{shape} in [{np.min(values):.3g}, {np.max(values):.3g}]"


def _sequence(values: Sequence[Any]) -> str:
    """List the entries of a short sequence; describe a long one by its number and type."""
    if hasattr(values, "_fields"):
        return f"{type(values).__name__}(...)"
    inner = ", ".join(map(short, values[:ENTRIES]))
    if len(values) > ENTRIES or len(inner) > NESTED:
        kind = "number" if isinstance(values[0], Real) else type(values[0]).__name__
        return f"{len(values)} {kind.removesuffix('s')}s"
    end = "," if isinstance(values, tuple) and len(values) == 1 else ""
    return f"[{inner}]" if isinstance(values, list) else f"({inner}{end})"


def described(name: str, parts: Mapping[str, object]) -> str:
    """Describe an object as Name(part=value, ...), on at most five lines."""
    inner = ", ".join(f"{key}={short(value)}" for key, value in parts.items())
    lines = textwrap.wrap(
        f"{name}({inner})",
        WIDTH,
        subsequent_indent="    ",
        max_lines=LINES,
        placeholder=" ...)",
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def table(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the lines of a table with a title on the left of each row."""
    cells = [("", columns), *rows]
    left = max(len(title) for title, _ in cells)
    widths = [max(len(values[j]) for _, values in cells) for j in range(len(columns))]
    lines = []
    for title, values in cells:
        entries = [value.rjust(width) for value, width in zip(values, widths, strict=True)]
        lines.append("  ".join([title.ljust(left), *entries]).rstrip())
    return lines


class Short:
    """Base of classes whose `repr` has at most five lines, however large their arrays are."""

    def __repr__(self) -> str:
        """Return the class with the fields of a dataclass, or else its public attributes."""
        parts = {name: value for name, value in vars(self).items() if name[0] != "_"}
        if dataclasses.is_dataclass(self):
            parts = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.repr}
        return described(type(self).__name__, parts)
