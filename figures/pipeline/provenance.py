"""Provenance of a page or a metrics file: code, configuration, inputs and machine."""

import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fe_data.dataset.record import provenance as fe_provenance
from figures.pipeline.arithmetic import described, of_processor

PACKAGES = ("torch", "scikit-learn", "matplotlib")


def file_digest(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def config_digest(config: Any) -> str:
    """Return the hexadecimal SHA-256 of values that JSON can represent."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def processor() -> str:
    """Return the model of the processor, or its architecture if the model is unknown."""
    return of_processor("model name") or platform.processor() or platform.machine()


def digests(inputs: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by the last parts of their paths: two, or more to differ."""
    named: dict[str, str] = {}
    for path in dict.fromkeys(inputs):
        names = ("/".join(path.parts[-n:]) for n in range(2, len(path.parts) + 2))
        named[next(name for name in names if name not in named)] = file_digest(path)
    return named


def describe(
    config: dict[str, Any], inputs: Iterable[Path], seed: int, wall_time_s: float
) -> dict[str, Any]:
    """Return the provenance of a result: code, settings, inputs, seed, time [s] and machine."""
    return {
        **fe_provenance(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        "config_sha256": config_digest(config),
        "inputs_sha256": digests(inputs),
        "seed": seed,
        "wall_time_s": round(wall_time_s, 1),
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "arithmetic": described(),
    }
