"""Conversion of values to JSON types and arrays, and back, for registered types of objects."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

NUMBERS = "fiub"  # kinds of NumPy types that are stored: floats, integers and booleans
Arrays: TypeAlias = dict[str, NDArray[Any]]
T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class Kind:
    """A type of objects that can be stored in files."""

    type: type
    fields: Callable[[Any], dict[str, Any]]  # object → the fields to store, by name
    make: Callable[..., Any]  # these fields as keywords → object; raises an error if they are wrong
    shared: bool = False  # whether an object that is used several times is stored only once


KINDS: dict[str, Kind] = {}


def register(
    kind: type,
    fields: Callable[[Any], dict[str, Any]],
    make: Callable[..., Any],
    shared: bool = False,
) -> None:
    """Allow objects of a type in files; make() raises ValueError or TypeError for wrong fields."""
    KINDS[_name(kind)] = Kind(kind, fields, make, shared)


def _name(kind: type) -> str:
    """Return the name of a type in files; names of classes of other packages include the module."""
    package = kind.__module__.partition(".")[0]
    if package in {"bnn", "builtins", "numpy"}:
        return kind.__name__
    if package == "sklearn":
        return f"sklearn.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def dataclass_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name."""
    if not is_dataclass(value):
        raise TypeError(f"a {type(value).__name__} cannot be stored: its class is not a dataclass")
    return {field.name: getattr(value, field.name) for field in fields(value)}


def storable(kind: T) -> T:
    """Allow objects of a class in files, by its fields, or by stored_fields and from_stored."""
    # stored_fields() returns the keyword arguments of from_stored(). A dataclass needs neither.
    to_fields = getattr(kind, "stored_fields", dataclass_fields)
    register(kind, to_fields, getattr(kind, "from_stored", kind))
    return kind


@storable
@dataclass(frozen=True)
class NotStored:
    """Placeholder in a loaded model for a value that cannot be stored, such as a function.

    Attributes:
        kind: Name of the type of the value.
    """

    kind: str


def plain(value: Any, arrays: Arrays, path: str = "", shared: list[Any] | None = None) -> Any:
    """Convert a value to JSON types, tuples to lists; put each array in it into `arrays` once."""
    # An object of a shared kind is written once. Later its number is written instead; objects are
    # numbered in the order in which they are completed.
    shared = [] if shared is None else shared
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        path = next((p for p, array in arrays.items() if array is value), path)
        arrays[path] = value
        return {"array": path}
    if isinstance(value, tuple | list):
        return [plain(entry, arrays, f"{path}.{i}", shared) for i, entry in enumerate(value)]
    name = _name(type(value))
    kind = KINDS.get(name)
    if kind is None or type(value) is not kind.type:
        raise TypeError(f"{path}: a {type(value).__name__} cannot be stored")
    if kind.shared:
        for number, other in enumerate(shared):
            if other is value:
                return {"same": number}
    content = {
        key: plain(entry, arrays, f"{path}.{key}".strip("."), shared)
        for key, entry in kind.fields(value).items()
    }
    if kind.shared:
        shared.append(value)
    return {name: content}


def restored(
    tree: Any, array: Callable[[str], NDArray[Any]], shared: list[Any] | None = None
) -> Any:
    """Restore a value from the JSON types of `plain`; array() returns an array by its path."""
    shared = [] if shared is None else shared
    if isinstance(tree, list):
        return tuple(restored(entry, array, shared) for entry in tree)
    if not isinstance(tree, dict):
        return tree
    ((name, content),) = tree.items()
    if name == "array":
        return array(content)
    if name == "same":
        if content not in range(len(shared)):
            raise ValueError(f"same = {content!r:.60}: there are {len(shared)} before it")
        return shared[content]
    if _is_unknown_class(name):
        return NotStored(name)
    if name not in KINDS:
        raise ValueError(f"unknown kind {name!r}")
    kind = KINDS[name]
    value = kind.make(**{key: restored(entry, array, shared) for key, entry in content.items()})
    if kind.shared:
        shared.append(value)
    return value


def unknown_classes(tree: Any) -> set[str]:
    """Return the names of the user's classes in a tree of `plain` that have not been imported."""
    if isinstance(tree, list):
        return set().union(*map(unknown_classes, tree))
    if not isinstance(tree, dict):
        return set()
    return {name for name in tree if _is_unknown_class(name)}.union(
        *map(unknown_classes, tree.values())
    )


def _is_unknown_class(name: str) -> bool:
    return name not in KINDS and "." in name and not name.startswith("sklearn.")


def as_stored(value: Any) -> Any:
    """Return a value if it can be stored, data frames as arrays, or else a NotStored."""
    if hasattr(value, "columns") or hasattr(value, "iloc"):
        value = np.array(value)
    try:
        plain(value, {})
    except (TypeError, NotFittedError):
        return NotStored(type(value).__name__)
    return value


def same(first: Any, second: Any) -> bool:
    """Return whether two values are equal; a value that cannot be stored equals only itself."""
    if first is second:
        return True
    arrays_of_first: Arrays = {}
    arrays_of_second: Arrays = {}
    try:
        trees = plain(first, arrays_of_first), plain(second, arrays_of_second)
    except TypeError:
        return False
    pairs = (
        np.array_equal(array, arrays_of_second[path], equal_nan=array.dtype.kind == "f")
        for path, array in arrays_of_first.items()
    )
    return bool(trees[0] == trees[1]) and all(pairs)


def _seed(entropy: Any, spawn_key: Any, pool_size: int) -> np.random.SeedSequence:
    if pool_size > 64:  # a file must not determine how much memory is used
        raise ValueError(f"pool_size = {pool_size}")
    return np.random.SeedSequence(entropy, spawn_key=spawn_key, pool_size=pool_size)


register(dict, dict, dict)
register(
    np.random.SeedSequence,
    lambda seed: {name: getattr(seed, name) for name in ("entropy", "spawn_key", "pool_size")},
    _seed,
)
