"""Fields of a profile: what is allowed, and the message for what is not."""

import dataclasses
import reprlib
import sys
from typing import Any

LARGEST = sys.float_info.max


class ProfileError(ValueError):
    """A profile that does not exist or holds a value that is not allowed."""


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxstring = 1, 60


def shown(value: object) -> str:
    """What a message repeats of a value: a line, whatever its size."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python writes no integers of more than 4300 digits
        return "an integer of thousands of digits"


def require_mapping(name: str, value: object) -> dict[str, Any]:
    """Give a copy of a mapping of texts, or raise a ProfileError that names the field."""
    if not isinstance(value, dict):
        raise ProfileError(f"{name} = {shown(value)} is not allowed: a mapping is")
    for key in value:
        if not isinstance(key, str):
            raise ProfileError(f"{name}: the key {shown(key)} is not allowed: a text is")
    return dict(value)


def require_texts(name: str, value: object) -> None:
    """Raise a ProfileError that names the field and the value unless it is a list of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise ProfileError(f"{name} = {shown(value)} is not allowed: a list of texts is")


def require_integer(name: str, value: object, low: int) -> None:
    """Raise a ProfileError that names the field, the value and the allowed range."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ProfileError(
            f"{name} = {shown(value)} is not allowed: an integer of at least {low} is"
        )


def require_positive(name: str, value: object) -> None:
    """Raise a ProfileError that names the field and the value unless it is a positive number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LARGEST:
        raise ProfileError(f"{name} = {shown(value)} is not allowed: a number above 0 is")


def fields_of(kind: type, place: str, content: object) -> dict[str, Any]:
    """A mapping to the fields of a dataclass: known ones only, and all without a default."""
    given = require_mapping(place, content)
    known = {item.name: item for item in dataclasses.fields(kind)}
    for key in given:
        if key not in known:
            raise ProfileError(f"{place}: unknown field {shown(key)}")
    for key, item in known.items():
        required = item.default is item.default_factory is dataclasses.MISSING
        if required and key not in given:
            raise ProfileError(f"{place}: field {key!r} is missing")
    return given
