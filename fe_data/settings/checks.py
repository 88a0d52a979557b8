"""Refusals of what a user gives: each names the field, the value and what is allowed."""

import operator
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from fe_data.arrays import Floats, number, numbers, require_unmasked
from fe_data.schema import INPUT_NAMES, INPUTS

MAX_SEED = 2**63 - 1


def require_between(
    name: str, value: object, low: float, high: float, *, also: str = "", unit: str = ""
) -> float:
    """The value as a float; in the message `also` and `unit` enclose its range."""
    plain = number(name, value)
    if not low <= plain <= high:  # nor where it is NaN
        allowed = f"{also}[{low:g}, {high:g}]{unit}"
        hint = in_another_unit(name, plain, low, high)
        raise ValueError(f"{name} = {value!r:.60} is out of range: allowed is {allowed}{hint}")
    return plain


def require_integer(name: str, value: object, low: int, high: int) -> int:
    """The value as Python's integer; a ValueError names the field, the value and the range."""
    refusal = f"{name} = {value!r:.60} is out of range: allowed are integers in [{low}, {high}]"
    require_unmasked(name, value)
    if isinstance(value, bool):
        raise ValueError(refusal)
    try:
        found = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(refusal) from None
    if not low <= found <= high:
        raise ValueError(refusal)
    return found


def require_kind(name: str, value: object, *kinds: type) -> None:
    """Refuse a value of another type with a TypeError that names it."""
    if not isinstance(value, kinds):
        allowed = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} = {value!r:.60} must be of type {allowed}")


def require_path(name: str, value: object) -> Path:
    """The value as a path; an empty text, which Python takes for the current folder, is refused."""
    require_kind(name, value, str, Path)
    if value == "":
        raise ValueError(f"{name} = '' is empty: '.' is the current folder")
    return Path(value)  # type: ignore[arg-type]


def in_percent(value: float, largest: float, what: str = "strains are fractions") -> str:
    """What a message says of a fraction that is too large, and may be in percent."""
    if largest < abs(value) <= 100 * largest:
        return f"; {what}: {value:g} % is {value / 100:g}"
    return ""


def in_another_unit(name: str, value: float, low: float, high: float) -> str:
    """What a message says of a modulus or stress that may be given in MPa for GPa, or reverse."""
    for unit, other, factor in (("GPa", "MPa", 1e-3), ("MPa", "GPa", 1e3)):
        if name.endswith(f"_{unit}") and low <= value * factor <= high:
            return f"; its unit is {unit}: {value:g} {other} are {value * factor:g} {unit}"
    return ""


def require_allowed(inputs: Floats, names: Sequence[str] = INPUT_NAMES) -> None:
    """Refuse inputs (..., len(names)) of which one is NaN or not allowed by the schema."""
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
    """Inputs (..., n_in) of which each is within its bounds; a ValueError names what is not."""
    found = numbers(name, values)
    if found.ndim == 0 or found.shape[-1] != len(INPUT_NAMES):
        raise ValueError(f"{name} of shape {found.shape} must have {len(INPUT_NAMES)} columns")
    require_allowed(found)
    return found
