"""Read a set of strain paths from the records of a dataset folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.arrays import Floats
from fe_data.dataset.collection import read_header
from fe_data.dataset.record import MAX_BYTES, decode_arrays
from fe_data.dataset.storage import load_config, record_path
from fe_data.files.csv_rows import TableError
from fe_data.loading import IN_PLANE
from fe_data.paths.tables import Paths, settings_from
from fe_data.schema import INPUT_NAMES
from fe_data.settings import require_path
from safe_files.progress import counted
from safe_files.reading import read_file


@dataclass(frozen=True)
class _Sample:
    """The parts of a record that are needed for `Paths`."""

    group: int
    inputs: list[float]
    loading: dict[str, Any]
    strain: Floats  # (increments, 3)
    stress: Floats  # (increments, 3) [MPa]


def collect_paths(folder: Path) -> Paths:
    """Read the records of a dataset of paths that `generate` wrote.

    Args:
        folder: Dataset folder. All samples of a group must have the same inputs and path.

    Returns:
        The paths with one row per group, in the order of the first sample of each group, and with
        the settings of the dataset. The microstructures of a group are in the order of its samples.

    Raises:
        TableError: If a sample failed, its record is missing or damaged, or it has no path. If
            inputs or paths differ within a group, numbers of increments differ between samples, or
            groups have different numbers of samples. If the dataset was simulated with a material.
            The message has the sample or group.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import Loading, Settings, collect_paths, generate, named_design
        >>> design = named_design("noise", count=1, replicates=2)
        >>> small = Settings(n_fibres=1, resolution=2)
        >>> path = Loading(strain=(0.01, 0.0, 0.0), increments=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     summary = generate(design, small, Path(folder), loading=path, silent=True)
        ...     collect_paths(folder).stress.shape
        (1, 2, 3, 3)
    """
    folder = require_path("folder", folder)
    try:
        config = load_config(folder)
        settings = settings_from(config["settings"])
    except ValueError as error:
        raise TableError(str(error)) from None
    if "material" in config:  # the settings would describe other phases
        raise TableError(
            f"{folder} was simulated with a material, which a set of paths cannot store"
        )
    groups = _groups(folder, config)
    return Paths(
        inputs=np.array([group[0].inputs for group in groups]),
        strain=np.array([np.mean([sample.strain for sample in group], 0) for group in groups]),
        stress=np.array([[sample.stress for sample in group] for group in groups]),
        settings=settings,
    )


def _groups(folder: Path, config: dict[str, Any]) -> list[list[_Sample]]:
    """Read the samples of each group, all groups of one size; a TableError names what differs."""
    groups: dict[int, list[_Sample]] = {}
    first = None
    n = config["samples"]
    for index in counted(range(n), "records", "record"):
        try:
            sample = _read_sample(folder, index, config["digest"])
            first = first or sample
            group = groups.setdefault(sample.group, [sample])
            _require_alike(sample, group[0], first)
        except (OSError, ValueError) as error:
            raise TableError(f"{folder}, sample {index}: {error}") from None
        if sample is not group[0]:
            group.append(sample)
    most = max(map(len, groups.values()))
    for number, group in groups.items():
        if len(group) < most:
            what = f"has {len(group)} samples: must have {most}, as another group"
            raise TableError(f"{folder}, group {number} {what}")
    return list(groups.values())


def _read_sample(folder: Path, index: int, config_digest: str) -> _Sample:
    """Read a sample of a dataset folder; a ValueError says why it cannot be used."""
    header = read_header(folder, index, config_digest)
    if header["status"] == "failed":
        raise ValueError("its simulation failed, so that its group lacks a microstructure")
    if not header.get("loading"):
        raise ValueError("it was simulated without a loading path")
    arrays = decode_arrays(read_file(record_path(folder, index), MAX_BYTES))
    if any(arrays.get(name, np.zeros(0)).shape[1:] != (4,) for name in ("strain", "stress")):
        raise ValueError("its record has no strain and stress of four components")
    strain, stress = (arrays[name][1:, IN_PLANE] for name in ("strain", "stress"))
    inputs = [header["inputs"][name] for name in INPUT_NAMES]
    return _Sample(header["group"], inputs, header["loading"], strain, stress)


def _require_alike(sample: _Sample, of_group: _Sample, first: _Sample) -> None:
    """Raise a ValueError if a sample does not match the first sample of its group, or of all."""
    if (sample.inputs, sample.loading) != (of_group.inputs, of_group.loading):
        raise ValueError(f"its inputs or path differ from those of its group, {sample.group}")
    if sample.strain.shape != first.strain.shape:
        needed = f"must have {len(first.strain)}, as the first sample"
        raise ValueError(f"it has {len(sample.strain)} increments: {needed}")
