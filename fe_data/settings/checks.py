"""Checks of arguments; each error message has the argument, its value and the allowed values."""

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fe_data.arrays import Floats, number, numbers, require_unmasked
from fe_data.schema import INPUT_NAMES, INPUTS

MAX_SEED = 2**63 - 1


def require_between(
    name: str, value: object, low: float, high: float, *, also: str = "", unit: str = ""
) -> float:
    """Return the value as a float; the message has `also` before the range and `unit` after it."""
    plain = number(name, value)
    if not low <= plain <= high:  # also true for NaN
        allowed = f"{also}[{low:g}, {high:g}]{unit}"
        hint = in_another_unit(name, plain, low, high)
        raise ValueError(f"{name} = {value!r:.60} is out of range: allowed is {allowed}{hint}")
    return plain


def take_bounded(instance: Any, bounds: Mapping[str, tuple[float, float]]) -> None:
    """Convert fields of a frozen dataclass to floats; a ValueError names one out of its bounds.

    A field that is None by default may be None.
    """
    for item in dataclasses.fields(instance):
        value = getattr(instance, item.name)
        if item.name in bounds and not (value is None and item.default is None):
            plain = require_between(item.name, value, *bounds[item.name])
            object.__setattr__(instance, item.name, plain)


def require_integer(name: str, value: object, low: int, high: int) -> int:
    """Return the value as a Python integer; a ValueError gives name, value and range."""
    refusal = f"{name} = {value!r:.60} is out of range: allowed are integers in [{low}, {high}]"
    require_unmasked(name, value)
    if isinstance(value, bool):
        raise ValueError(refusal)
    try:
        integer = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(refusal) from None
    if not low <= integer <= high:
        raise ValueError(refusal)
    return integer


def require_kind(name: str, value: object, *kinds: type) -> None:
    """Raise a TypeError if a value is not of one of these types."""
    if not isinstance(value, kinds):
        allowed = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} = {value!r:.60} must be of type {allowed}")


def require_path(name: str, value: object, ending: str = "") -> Path:
    """Return the value as a path; empty ones, and those with a null byte, are rejected.

    `Path("")` would be the current folder. The error of the system on a null byte does not name the
    argument.

    Raises:
        ValueError: If the path is rejected.
    """
    require_kind(name, value, str, Path)
    if value == "":
        raise ValueError(f"{name} = '' is empty: '.' is the current folder")
    if "\0" in str(value):
        raise ValueError(f"{name} = {str(value)!r:.60}: must not contain a null byte")
    path = Path(value)  # type: ignore[arg-type]
    if ending and path.suffix != ending:
        raise ValueError(f"{name} = {str(path)!r:.200} must end in {ending}")
    return path


def in_percent(value: float, largest: float, what: str = "strains are fractions") -> str:
    """Return a hint for a message if a fraction is too large, and may be in percent."""
    if largest < abs(value) <= 100 * largest:
        return f"; {what}: {value:g} % is {value / 100:g}"
    return ""


def in_another_unit(name: str, value: float, low: float, high: float) -> str:
    """Return a hint for a message if a value may be in MPa instead of GPa, or the reverse."""
    for unit, other, factor in (("GPa", "MPa", 1e-3), ("MPa", "GPa", 1e3)):
        if name.endswith(f"_{unit}") and low <= value * factor <= high:
            return f"; its unit is {unit}: {value:g} {other} are {value * factor:g} {unit}"
    return ""


def require_allowed(inputs: Floats, names: Sequence[str] = INPUT_NAMES) -> None:
    """Reject inputs (..., len(names)) if one is NaN or out of the bounds of the schema."""
    for name, values in zip(names, np.moveaxis(inputs, -1, 0), strict=True):
        quantity = INPUTS[INPUT_NAMES.index(name)]
        wrong = values[~quantity.allows(values)]
        if wrong.size:
            value = wrong[0].item()
            hint = in_another_unit(name, value, *quantity.allowed)
            if quantity.fraction:
                hint = in_percent(value, 1.0, f"{name} is a fraction")
            text = f"{name} = {value!r} is out of range: allowed is {quantity.allowed_text}"
            raise ValueError(text + hint)


def checked_inputs(name: str, values: ArrayLike) -> Floats:
    """Return inputs (..., n_in) as floats; a ValueError names an input out of bounds."""
    inputs = numbers(name, values)
    if inputs.ndim == 0 or inputs.shape[-1] != len(INPUT_NAMES):
        raise ValueError(f"{name} of shape {inputs.shape} must have {len(INPUT_NAMES)} columns")
    require_allowed(inputs)
    return inputs
