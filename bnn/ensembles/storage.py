"""Ensembles on disk: NumPy arrays and JSON in one .npz file, no pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import sklearn
import torch

from bnn.networks.architecture import Architecture
from bnn.training.settings import Convergence, FunctionAnchoring

FORMAT = "bnn-ensemble"
VERSION = 2
ENTRIES = ("class", "parameters", "widths", "fitted", "y_ndim", "feature_names")  # of headers


def _seed(entropy, spawn_key, pool_size) -> np.random.SeedSequence:
    if pool_size > 64:  # a file must not choose how much memory is taken
        raise ValueError(f"pool_size = {pool_size}")
    return np.random.SeedSequence(entropy, spawn_key=spawn_key, pool_size=pool_size)


KINDS: dict[str, Callable] = {
    "convergence": Convergence,
    "function_anchoring": FunctionAnchoring,
    "seed": _seed,
}


def plain(value):
    """Turn a hyper-parameter into JSON types; what has none becomes its name."""
    if isinstance(value, Convergence):
        return {"convergence": asdict(value)}
    if isinstance(value, FunctionAnchoring):
        return {"function_anchoring": asdict(value)}
    if isinstance(value, np.random.SeedSequence):
        fields = ("entropy", "spawn_key", "pool_size")
        return {"seed": {name: plain(getattr(value, name)) for name in fields}}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"not_stored": type(value).__name__}


def restored(value):
    """Return the hyper-parameter that plain turned into JSON types."""
    if isinstance(value, list):
        return np.array(value) if np.ndim(value) == 2 else tuple(value)
    if isinstance(value, dict):
        return next((KINDS[k](**v) for k, v in value.items() if k in KINDS), None)
    return value


def write(path: str | os.PathLike, arrays: dict[str, np.ndarray], header: dict) -> None:
    """Write a file; a crash leaves the old one or the new one.

    Args:
        path: Where.
        arrays: Name → array.
        header: JSON types, or what plain makes of them.
    """
    versions = {"numpy": np.__version__, "torch": torch.__version__, "sklearn": sklearn.__version__}
    header = {"format": FORMAT, "version": VERSION, "packages": versions, **plain(header)}
    path = Path(path)
    part = path.with_name(path.name + ".part")
    with part.open("wb") as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)
    part.replace(path)


def shortened(value: object) -> str:
    """Write a value on one line of at most 200 characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def damaged(path: str | os.PathLike, reason: object) -> ValueError:
    """Return the error of a file whose content is not what write wrote."""
    return ValueError(f"{path}: not a saved ensemble, or damaged ({shortened(reason)})")


def read(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict]:
    """Read a file.

    Args:
        path: Where.

    Returns:
        Arrays and header.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file is damaged, foreign or of another version.
    """
    try:
        with Path(path).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays.pop("header")))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except Exception as error:  # no common base of what zipfile, zlib, NumPy and json raise
        raise damaged(path, error) from None
    if not isinstance(header, dict):
        raise ValueError(f"{path}: not a saved ensemble")
    if header.get("format") != FORMAT:
        raise ValueError(f"{path}: not a saved ensemble")
    if header.get("version") != VERSION:
        raise ValueError(
            f"{path}: format version {shortened(header.get('version'))}, "
            f"this bnn reads version {VERSION}"
        )
    absent = [name for name in ENTRIES if name not in header]
    if absent:
        raise damaged(path, f"the header has no {absent[0]!r}")
    return arrays, header


def check_stored(arrays: dict, header: dict, names: set[str], architecture: Architecture) -> None:
    """Check what was read.

    Args:
        arrays: Name → array.
        header: With ENTRIES.
        names: That arrays may have.
        architecture: That they have to fit.

    Raises:
        ValueError: If arrays and header do not fit the architecture or each other.
    """
    n_in, n_out = architecture.n_inputs, architecture.n_outputs
    unknown = sorted(arrays.keys() - names)
    if unknown:
        raise ValueError(f"unknown array {unknown[0]!r}")
    for name, values in arrays.items():
        if values.dtype.kind not in "fiub":
            raise ValueError(f"{name} holds {values.dtype}, not real numbers")
    fitted = "weights_" in arrays
    needed = {"input_scaler_": (2, n_in), "output_scaler_": (2, n_out)}
    if fitted:
        needed["noise_covariance_"] = (n_out, n_out)
    for name, shape in needed.items():
        if name not in arrays:
            raise ValueError(f"there is no {name}")
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, not {shape}")
    for name in sorted(arrays.keys() & {"weights_", "pretrained_weights_", "anchors_"}):
        _check_weights(name, arrays[name], architecture.n_weights)
    y_ndim, columns = header["y_ndim"], header["feature_names"]
    if y_ndim not in ((1, 2) if fitted else (None, 1, 2)) or (y_ndim == 1 and n_out > 1):
        raise ValueError(f"y_ndim = {y_ndim!r} does not fit {n_out} outputs")
    named = isinstance(columns, list) and all(isinstance(c, str) for c in columns)
    if columns is not None and not (named and len(columns) == n_in):
        raise ValueError(f"feature_names = {columns!r} do not name {n_in} inputs")


def _check_weights(name: str, weights: np.ndarray, n_weights: int) -> None:
    if weights.ndim != 2 or len(weights) == 0 or weights.shape[1] != n_weights:
        raise ValueError(f"{name} has shape {weights.shape}, not (K, {n_weights})")
    if weights.dtype.kind != "f" or not np.isfinite(weights).all():
        raise ValueError(f"{name} holds values that are not finite numbers")
