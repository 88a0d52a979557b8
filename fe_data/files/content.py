"""Check the content of a file against the fields that it may have; errors name their place."""

import dataclasses
from collections.abc import Mapping
from typing import Any


def built(kind: Any, place: str, content: Any) -> Any:
    """Make a dataclass from a mapping whose keys are its fields."""
    fields = dataclasses.fields(kind)
    needed = {item.name for item in fields if item.default is dataclasses.MISSING}
    optional = {item.name for item in fields} - needed
    values = mapping(place, content, needed, optional)
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{place}: {error}") from None


def mapping(place: str, content: Any, needed: set[str], optional: set[str]) -> dict[str, Any]:
    """Return a mapping as a dictionary; a ValueError if keys are missing or unknown."""
    if not isinstance(content, Mapping):
        raise ValueError(f"{place} = {content!r:.60} must be a mapping")
    unknown = content.keys() - needed - optional
    missing = needed - content.keys()
    if unknown or missing:
        allowed = ", ".join(sorted(needed | optional))
        what = (
            f"{min(map(str, unknown)):.60} is unknown" if unknown else f"{min(missing)} is missing"
        )
        raise ValueError(f"{place}: {what}; allowed are {allowed}")
    return dict(content)
