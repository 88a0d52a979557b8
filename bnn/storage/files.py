"""Reading and writing the files of models."""

import json
import os
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
import torch
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from bnn.storage.values import KINDS, NUMBERS, Arrays, kept, plain, restored

FORMAT, VERSION = "bnn", 4
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


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
        """Write the fitted model to one .npz file, without pickle; a crash leaves the old file.

        Args:
            path: Where. Hyper-parameters that no file can hold, such as functions, are NotStored.

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
        fitted = {name: getattr(self, name, None) for name in self.fitted_attributes}
        if all(value is None for value in fitted.values()):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet")
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {"parameters": {n: kept(v) for n, v in parameters.items()}, "fitted": fitted}

    @classmethod
    def from_stored(cls, parameters: dict[str, Any], fitted: dict[str, Any]) -> Self:
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
        The model, of the class saved; hyper-parameters that no file can hold are `NotStored`.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file is damaged, foreign or of another version.
    """
    arrays, header = _read(path)
    version, content = header.get("version"), header.get("model")
    if version != VERSION:
        found = _shortened(version)
        raise ValueError(f"{path}: format version {found}, this bnn reads version {VERSION}")
    models = sorted(name for name, kind in KINDS.items() if issubclass(kind.type, StoredModel))
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
