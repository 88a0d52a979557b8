"""Reading and writing of model files."""

import importlib
import io
import json
import os
from collections.abc import Callable
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar
from zipfile import ZipFile, is_zipfile

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from bnn._version import __version__
from bnn.storage.reading import as_path, existing
from bnn.storage.values import KINDS, NUMBERS, Arrays, as_stored, plain, restored, unknown_classes
from safe_files.reading import require_regular
from safe_files.writing import write_atomic

FORMAT = "bnn"
VERSION = 9
BEGINNING = rb"PK\x03\x04.{26}header\.npy"  # of an archive whose first array is the header
MAX_RATIO = 10  # largest ratio of the unpacked arrays to the size of their file
MIN_UNPACKED = 1_000_000  # unpacked bytes that are accepted for any size of the file
M = TypeVar("M", bound="StoredModel")
P = ParamSpec("P")
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


def changes_as_a_whole(method: Callable[Concatenate[M, P], M]) -> Callable[Concatenate[M, P], M]:
    """Decorate a method that changes a model and returns it, such as `fit`.

    The method changes a copy, whose attributes replace those of the model at the end. After an
    error or an interruption the model is as it was.

    Args:
        method: The method.

    Returns:
        The decorated method.
    """

    @wraps(method)
    def changed(model: M, /, *args: P.args, **kwargs: P.kwargs) -> M:
        copy = model._copied()
        method(copy, *args, **kwargs)
        model.__dict__ = copy.__dict__
        return model

    return changed


class StoredModel:
    """Base of estimators that can be saved; their classes must be `storable`."""

    fitted_attributes: ClassVar[tuple[str, ...]] = ()

    @property
    def feature_names_(self) -> tuple[str, ...] | None:
        """Names of the columns of X, if the data had names."""
        names = vars(self).get("feature_names_in_")
        return None if names is None else tuple(names)

    @feature_names_.setter
    def feature_names_(self, names: tuple[str, ...] | None) -> None:
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _copied(self) -> Self:
        """Return a copy with the same attributes, which are not copied themselves."""
        copy = object.__new__(type(self))
        copy.__dict__.update(vars(self))
        return copy

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one .npz file, without pickle.

        If writing fails, an existing file stays as it is.

        Args:
            path: Path of the file. Hyperparameters that cannot be stored, such as functions, are
                replaced by a NotStored.

        Raises:
            NotFittedError: If the model has not been fitted.
            FileNotFoundError: If the folder does not exist.
            FileExistsError: If there already is a file that is not a model.
            TypeError: If the prior of a fitted GPRegressor has a mean that is a function, or
                another part that cannot be stored.
        """
        if not self._holds_anything():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet")
        packages = {"bnn": __version__, "torch": metadata.version("torch")}
        packages |= {p.__name__: p.__version__ for p in (np, sklearn)}
        arrays: Arrays = {}
        content = plain(self, arrays)
        header = {"format": FORMAT, "version": VERSION, "packages": packages, "model": content}
        path = as_path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path.parent}: no such folder")
        # Write to memory first: an archive that a full disk cuts short would raise another error
        # when it is garbage collected.
        archive = io.BytesIO()
        np.savez(archive, header=np.array(json.dumps(header)), **arrays)
        write_atomic(path, archive.getvalue(), BEGINNING)

    def stored_fields(self) -> dict[str, Any]:
        """Return hyperparameters and fitted attributes; attributes are None before a fit."""
        fitted = {name: getattr(self, name, None) for name in self.fitted_attributes}
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {"parameters": {n: as_stored(v) for n, v in parameters.items()}, "fitted": fitted}

    def _holds_anything(self) -> bool:
        """Return whether any attribute is fitted; parameters that are estimators do not count."""
        return any(getattr(self, name, None) is not None for name in self.fitted_attributes)

    @classmethod
    def from_stored(cls, parameters: dict[str, Any], fitted: dict[str, Any]) -> Self:
        """Restore a model from the result of stored_fields; ValueError if parts do not match."""
        model = cls(**parameters)
        if fitted.keys() != set(cls.fitted_attributes):
            needed = ", ".join(cls.fitted_attributes)
            raise ValueError(f"the model has {', '.join(fitted)}, must have {needed}")
        if any(value is not None for value in fitted.values()):
            for name, value in fitted.items():
                setattr(model, name, value)
            model.check_restored()
        return model

    def check_restored(self) -> None:
        """Raise ValueError unless the fitted attributes match each other."""


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model.

    Args:
        path: Path of a file that `save` wrote.

    Returns:
        The model, of the same class as the saved one. Hyperparameters that could not be stored are
        `NotStored`.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is damaged, is not a model, has another format version, or needs a
            class that has not been imported.
        MemoryError: If there is not enough memory for the model.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> import tempfile
        >>> from pathlib import Path
        >>> model = bnn.GPRegressor(noise=0.05).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "model.npz"))
        ...     again = bnn.load(Path(folder, "model.npz"))
        >>> bool(np.array_equal(again.predict(X), model.predict(X)))
        True
    """
    header, arrays = _read(existing(path))
    _import_classes()
    content = header.get("model")
    models = sorted(name for name, kind in KINDS.items() if issubclass(kind.type, StoredModel))
    name = next(iter(content), None) if isinstance(content, dict) else content
    if name not in models:
        raise ValueError(
            f"{path}: contains a {_shortened(name)}, must be one of {', '.join(models)}"
        )
    used = set()

    def array(key: str) -> NDArray[Any]:
        """Return an array of the file by its name, and record that it is used."""
        used.add(key)
        if key not in arrays:
            raise ValueError(f"array {key} is missing")
        if arrays[key].dtype.kind not in NUMBERS:
            raise ValueError(f"{key} has the type {arrays[key].dtype}, not real numbers")
        return arrays[key]

    try:
        model = restored(content, array)
        if arrays.keys() - used:
            raise ValueError(f"unknown array {min(arrays.keys() - used)!r}")
    except DAMAGE as error:
        if missing := sorted(unknown_classes(content)):
            names = ", ".join(missing)
            raise ValueError(f"{path}: import {names} from a module before loading") from None
        raise ValueError(_damaged(path, error)) from None
    except MemoryError as error:
        what = f"{path}: the model needs more memory than there is"
        raise MemoryError(f"{what} ({_shortened(error)})") from None
    return model


def _import_classes() -> None:
    """Import all public names, whose modules register the classes that a file may contain."""
    package = importlib.import_module("bnn")
    for name in set(package.__all__) - {"plots"}:
        getattr(package, name)


class _Foreign(ValueError):
    """A file is not a model, or has a version that cannot be read."""


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a file; the header is read and checked first."""
    try:
        size = require_regular(path).st_size
        if not is_zipfile(path):
            raise ValueError("not a zip archive")
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            _require_small(file.zip, size)
            header = json.loads(str(file["header"]))
            _require_version(header)
            arrays = {name: file[name] for name in file.files if name != "header"}
    except _Foreign as error:
        raise ValueError(f"{path}: {error}") from None
    except Exception as error:  # zipfile, zlib, NumPy and json have no common error class
        raise ValueError(_damaged(path, error)) from None
    return header, arrays


def _require_small(archive: ZipFile, size: int) -> None:
    """Reject an archive that unpacks to much more than its size; `save` does not compress."""
    most = max(MIN_UNPACKED, MAX_RATIO * size)
    # zipfile reads no more of a file than this size.
    unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > most:
        what = f"{size} bytes that unpack to {unpacked}, more than the limit of {most}"
        raise _Foreign(f"not a saved model: {what}")


def _require_version(header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise _Foreign("not a saved model")
    version = header.get("version")
    if version != VERSION:
        newer = isinstance(version, int | float) and version > VERSION
        remedy = "update bnn to read it" if newer else "save the model again with this bnn"
        raise _Foreign(
            f"written by {_writer(header)} in format version {_shortened(version)}, "
            f"bnn {__version__} reads version {VERSION}: {remedy}"
        )


def _writer(header: dict[str, Any]) -> str:
    """Return the version of bnn that wrote a file, if its header contains it."""
    packages = header.get("packages")
    version = packages.get("bnn") if isinstance(packages, dict) else None
    return "another bnn" if version is None else f"bnn {_shortened(version)}"


def _shortened(value: object) -> str:
    """Return a value as one line of at most 200 characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _damaged(path: str | os.PathLike[str], reason: object) -> str:
    return f"{path}: not a saved model, or damaged ({_shortened(reason)})"
