"""Paths of the repository, of tables of the designs, and of results of a run."""

import json
from collections.abc import Iterable
from os.path import realpath
from pathlib import Path
from typing import Final
from zlib import crc32

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
SHIPPED_TABLES = ROOT / "fe_data" / "datasets"
REFERENCE = ROOT / "figures" / "full"  # whose verdicts stand on the page of a smaller run
TRAINING: Final = "train_beta"  # design of the second training set
TEST: Final = "test_uniform"  # what every training set is judged on
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}  # of pictures, by their suffix
REPLICATES = ("replicates", "noise")  # designs of several cells for each input


def notebooks() -> list[Path]:
    """Notebooks of the paper, then those that go further, in the order of their numbers."""
    return [*sorted(NOTEBOOKS.glob("*.ipynb")), *sorted((NOTEBOOKS / "beyond").glob("*.ipynb"))]


def notebook_path(name: str) -> Path:
    """Path of a notebook; notebooks that go further than the paper have a separate folder."""
    path = NOTEBOOKS / f"{name}.ipynb"
    return path if path.is_file() else NOTEBOOKS / "beyond" / f"{name}.ipynb"


def table_path(data_dir: Path | str, design: str) -> Path:
    """Path of a design's table: DESIGN.csv when it exists, else DESIGN/dataset.csv as generated."""
    single = Path(data_dir) / f"{design}.csv"
    return single if single.is_file() else Path(data_dir) / design / "dataset.csv"


def tables_below(folder: Path = SHIPPED_TABLES) -> list[Path]:
    """Tables and curves in a folder and below it, by default those that come with the package."""
    return sorted(path for path in folder.rglob("*") if path.suffix in {".csv", ".gz", ".npz"})


def drawn(data_dir: Path | str) -> Path:
    """Folder of the tables of all independent draws; `data_dir` has their first RVEs."""
    return Path(data_dir) / "draws"


def tables_of(data_dir: Path | str, designs: Iterable[str]) -> dict[str, Path]:
    """Paths of the tables that a folder has, by design."""
    paths = {design: table_path(data_dir, design) for design in designs}
    return {design: path for design, path in paths.items() if path.is_file()}


def require_tables(data_dir: Path | str, *designs: str) -> None:
    """FileNotFoundError if a folder lacks the table of a design."""
    for design in designs:
        if not table_path(data_dir, design).is_file():
            needed = f"{design}.csv or {design}/dataset.csv"
            made = f"python -m fe_data import-published PATH {data_dir}"
            raise FileNotFoundError(
                f"no table of {design!r} in {data_dir}: {needed} is needed; from the authors' "
                f"published files {made} makes it"
            )


def run_name(profile: str, data_dir: Path | None = None) -> str:
    """Folder of results: name of the profile, and of the folder of tables if it is not ours."""
    name = profile if data_dir is None else f"{profile}-{data_dir.name}"
    if "=" in name or "*" in name:  # doit gives them a meaning
        raise ValueError(f"results cannot be named {name!r} after PROFILE and DATA: it has = or *")
    if (ROOT / "figures" / name / "__init__.py").is_file():
        raise ValueError(f"PROFILE = {profile!r} is not allowed: figures/{name} holds source code")
    if data_dir is None or data_dir.parent == ROOT:
        return name
    return f"{name}-{crc32(bytes(data_dir)):08x}"  # others may have the same name


def picture_path(folder: Path, name: str) -> Path:
    """Path of a figure that a metrics file names; ValueError if the name leads elsewhere.

    Pictures are deleted and shown by these names, so that they name files of the folder alone.
    """
    path = folder / name
    plain = path.name == name and path.suffix in MEDIA_TYPES
    if not plain or Path(realpath(path)).parent != folder.resolve():
        allowed = f"pictures are files of {folder} such as a{' or a'.join(MEDIA_TYPES)}"
        raise ValueError(f"{name!r:.80} is no picture: {allowed}")
    return path


def pictures(metrics: Path) -> list[Path] | None:
    """Figures that a metrics file names; None if it is missing, damaged or names others."""
    try:
        names = json.loads(metrics.read_text(encoding="utf-8")).get("figures", {})
        return [picture_path(metrics.parent, name) for name in names]
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def is_complete(metrics: Path) -> bool:
    """Whether a metrics file and all its pictures are there."""
    named = pictures(metrics)
    return named is not None and all(path.is_file() and path.stat().st_size for path in named)
