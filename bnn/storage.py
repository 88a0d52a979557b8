"""Models on disk: NumPy arrays and JSON in one .npz file, without pickle.

Values become JSON types and arrays; only objects of registered kinds are admitted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import sklearn
import torch
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

FORMAT, VERSION = "bnn", 3
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
NUMBERS = "fiub"  # kinds of arrays that are stored: floats, integers and booleans
Arrays: TypeAlias = dict[str, NDArray[Any]]
T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class Kind:
    """Objects that files may hold: fields() gives what make() takes, which validates."""

    type: type
    fields: Callable[[Any], dict[str, Any]]
    make: Callable[..., Any]


KINDS: dict[str, Kind] = {}


def register(kind: type, fields: Callable[[Any], dict[str, Any]], make: Callable[..., Any]) -> None:
    """Let files hold objects of a type, under its name; make() raises ValueError or TypeError."""
    KINDS[_name(kind)] = Kind(kind, fields, make)


def _name(kind: type) -> str:
    """Return the name in files; scikit-learn has classes that are called as ours are."""
    name = kind.__name__
    return f"sklearn.{name}" if kind.__module__.startswith("sklearn.") else name


def dataclass_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def storable(kind: T) -> T:
    """Let files hold objects of a class, by its fields or its stored_fields and from_stored."""
    # stored_fields returns the arguments of from_stored; a dataclass needs neither.
    to_fields = getattr(kind, "stored_fields", dataclass_fields)
    register(kind, to_fields, getattr(kind, "from_stored", kind))
    return kind


@storable
@dataclass(frozen=True)
class NotStored:
    """Stands in a loaded model for a value that no file can hold, such as a function.

    Attributes:
        kind: Name of the value's type.
    """

    kind: str


def plain(value: Any, arrays: Arrays, path: str = "") -> Any:
    """Turn a value into JSON types, lists for tuples; move each array in it to `arrays` once."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        path = next((p for p, array in arrays.items() if array is value), path)
        arrays[path] = value
        return {"array": path}
    if isinstance(value, tuple | list):
        return [plain(part, arrays, f"{path}.{i}") for i, part in enumerate(value)]
    name = _name(type(value))
    kind = KINDS.get(name)
    if kind is None or type(value) is not kind.type:
        raise TypeError(f"{path}: a {type(value).__name__} cannot be stored")
    parts = kind.fields(value).items()
    return {name: {key: plain(part, arrays, f"{path}.{key}".strip(".")) for key, part in parts}}


def restored(tree: Any, array: Callable[[str], NDArray[Any]]) -> Any:
    """Make the value again that `plain` turned into JSON types; array() finds arrays by path."""
    if isinstance(tree, list):
        return tuple(restored(part, array) for part in tree)
    if not isinstance(tree, dict):
        return tree
    ((name, content),) = tree.items()
    if name == "array":
        return array(content)
    if name not in KINDS:
        raise ValueError(f"unknown kind {name!r}")
    return KINDS[name].make(**{key: restored(part, array) for key, part in content.items()})


def kept(value: Any) -> Any:
    """Return a value that files can hold, or its NotStored."""
    try:
        plain(value, {})
    except TypeError:
        return NotStored(type(value).__name__)
    return value


def same(first: Any, second: Any) -> bool:
    """Tell whether two values are equal; one that files cannot hold is equal to itself alone."""
    if first is second:
        return True
    found: tuple[Arrays, Arrays] = ({}, {})
    try:
        trees = plain(first, found[0]), plain(second, found[1])
    except TypeError:
        return False
    pairs = (np.array_equal(array, found[1][path]) for path, array in found[0].items())
    return bool(trees[0] == trees[1]) and all(pairs)


def _seed(entropy: Any, spawn_key: Any, pool_size: int) -> np.random.SeedSequence:
    if pool_size > 64:  # a file must not choose how much memory is taken
        raise ValueError(f"pool_size = {pool_size}")
    return np.random.SeedSequence(entropy, spawn_key=spawn_key, pool_size=pool_size)


register(dict, dict, dict)
register(
    np.random.SeedSequence,
    lambda seed: {name: getattr(seed, name) for name in ("entropy", "spawn_key", "pool_size")},
    _seed,
)


class StoredModel:
    """What estimators that can be saved have in common; their classes are `storable`."""

    fitted_attributes: ClassVar[tuple[str, ...]] = ()

    @property
    def feature_names_(self) -> tuple[str, ...] | None:
        """Names of the columns of X, where the data had them."""
        names = vars(self).get("feature_names_in_")
        return None if names is None else tuple(names)

    @feature_names_.setter
    def feature_names_(self, names: tuple[str, ...] | None) -> None:
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one .npz file, without pickle.

        A crash leaves the old file or the new one.

        Args:
            path: Where. Of hyper-parameters that no file can hold, such as priors made of functions
                and generators of random numbers, only the names of their types are stored.

        Raises:
            NotFittedError: If the model has not been fitted.
        """
        packages = {p.__name__: p.__version__ for p in (np, torch, sklearn)}
        arrays: Arrays = {}
        content = plain(self, arrays)
        header = {"format": FORMAT, "version": VERSION, "packages": packages, "model": content}
        path = Path(path)
        part = path.with_name(path.name + ".part")
        with part.open("wb") as file:
            np.savez(file, header=np.array(json.dumps(header)), **arrays)
        part.replace(path)

    def stored_fields(self) -> dict[str, Any]:
        """Return hyper-parameters and fitted attributes."""
        fitted = {name: getattr(self, name) for name in self.fitted_attributes}
        if all(value is None for value in fitted.values()):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet")
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {"parameters": {n: kept(v) for n, v in parameters.items()}, "fitted": fitted}

    @classmethod
    def from_stored(cls, parameters: dict[str, Any], fitted: dict[str, Any]) -> StoredModel:
        """Make the model again from what stored_fields returned, which is checked."""
        model = cls(**parameters)
        if fitted.keys() != set(cls.fitted_attributes):
            needed = ", ".join(cls.fitted_attributes)
            raise ValueError(f"the model holds {', '.join(fitted)}, must hold {needed}")
        for name, value in fitted.items():
            setattr(model, name, value)
        model.check_restored()
        return model

    def check_restored(self) -> None:
        """Raise ValueError unless the fitted attributes fit each other."""


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model.

    Args:
        path: What `save` wrote.

    Returns:
        The model, of the class that was saved. Hyper-parameters that no file can hold are
        `NotStored`.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file is damaged, foreign or of another version.
    """
    arrays, header = _read(path)
    version, content = header.get("version"), header.get("model")
    if version != VERSION:
        raise ValueError(
            f"{path}: format version {_shortened(version)}, this bnn reads version {VERSION}"
        )
    models = [name for name, kind in KINDS.items() if issubclass(kind.type, StoredModel)]
    name = next(iter(content), None) if isinstance(content, dict) else content
    if name not in models:
        raise ValueError(f"{path}: holds a {_shortened(name)}, must be one of {', '.join(models)}")
    used = set()

    def array(key: str) -> NDArray[Any]:
        used.add(key)
        if key not in arrays:
            raise ValueError(f"there is no {key}")
        if arrays[key].dtype.kind not in NUMBERS:
            raise ValueError(f"{key} holds {arrays[key].dtype}, not real numbers")
        return arrays[key]

    try:
        model = restored(content, array)
        if arrays.keys() - used:
            raise ValueError(f"unknown array {min(arrays.keys() - used)!r}")
    except DAMAGE as error:
        raise ValueError(_damaged(path, error)) from None
    return model


def _read(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    try:
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except Exception as error:  # no common base of what zipfile, zlib, NumPy and json raise
        raise ValueError(_damaged(path, error)) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path}: not a saved model")
    return arrays, header


def _shortened(value: object) -> str:
    """Write a value on one line of at most 200 characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _damaged(path: str | os.PathLike[str], reason: object) -> str:
    return f"{path}: not a saved model, or damaged ({_shortened(reason)})"
