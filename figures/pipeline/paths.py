"""Paths of the repository, of tables of designs, and of results of runs."""

import json
from collections.abc import Iterable
from os.path import realpath
from pathlib import Path
from typing import Final
from zlib import crc32

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
STUDIES = ROOT / "studies"
SHIPPED_TABLES = ROOT / "fe_data" / "datasets"
REFERENCE = ROOT / "figures" / "full"  # its verdicts are shown on the page of a smaller run
TRAINING: Final = "train_beta"  # design of the second training set
TEST: Final = "test_uniform"  # design of the test set
MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}  # of pictures, by their suffix
REPLICATES = ("replicates", "noise")  # designs with several RVEs per input


def notebooks() -> list[Path]:
    """Return the notebooks of the paper, then those of studies, in the order of their numbers."""
    further = sorted(STUDIES.glob("*/*.ipynb"), key=lambda path: path.name)
    return [*sorted(NOTEBOOKS.glob("*.ipynb")), *further]


def notebook_path(name: str) -> Path:
    """Return the path of a notebook; a notebook that does not exist would be one of the paper."""
    named = {path.stem: path for path in notebooks()}
    return named.get(name, NOTEBOOKS / f"{name}.ipynb")


def study_of(notebook: Path) -> str | None:
    """Return the name of the study that a notebook belongs to; None for one of the paper."""
    return notebook.parent.name if notebook.parent.parent == STUDIES else None


def results_folder(name: str, run: str) -> Path:
    """Return the folder with the results of a notebook in a run, such as full or quick."""
    study = study_of(notebook_path(name))
    return ROOT / "figures" / run if study is None else STUDIES / study / "results" / run


def repeats_folder(run: str) -> Path:
    """Return the folder with the results of the paper's notebooks, each trained several times."""
    return STUDIES / "repeats" / "results" / run


def repeated_metrics(run: str = "full") -> list[Path]:
    """Return the paths of the metrics files of notebooks that trained several times in a run."""
    return sorted(repeats_folder(run).glob("*.json"))


def all_metrics(run: str = "full") -> list[Path]:
    """Return the paths of all metrics files of a run, by the numbers of their notebooks.

    A notebook may have two: after the one with one training follows the one with several.
    """
    places = [
        folder / f"{path.stem}.json"
        for path in notebooks()
        for folder in (results_folder(path.stem, run), repeats_folder(run))
    ]
    return [path for path in places if path.is_file()]


def committed_metrics(run: str = "full") -> list[Path]:
    """Return the path of the metrics of each notebook in a run: if it has two, of the repeats."""
    return list({path.name: path for path in all_metrics(run)}.values())


def table_path(data_dir: Path | str, design: str) -> Path:
    """Return the path of a design's table: DESIGN.csv if it exists, else DESIGN/dataset.csv."""
    single = Path(data_dir) / f"{design}.csv"
    return single if single.is_file() else Path(data_dir) / design / "dataset.csv"


def tables_below(folder: Path = SHIPPED_TABLES) -> list[Path]:
    """Return the tables and curves in a folder and below, by default those of the package."""
    return sorted(path for path in folder.rglob("*") if path.suffix in {".csv", ".gz", ".npz"})


def drawn(data_dir: Path | str) -> Path:
    """Return the folder with the tables of all independent draws; `data_dir` has the first draw."""
    return Path(data_dir) / "draws"


def tables_of(data_dir: Path | str, designs: Iterable[str]) -> dict[str, Path]:
    """Return the paths of the tables that a folder has, by design."""
    paths = {design: table_path(data_dir, design) for design in designs}
    return {design: path for design, path in paths.items() if path.is_file()}


def require_tables(data_dir: Path | str, *designs: str) -> None:
    """Raise FileNotFoundError if a folder lacks the table of a design."""
    for design in designs:
        if not table_path(data_dir, design).is_file():
            needed = f"{design}.csv or {design}/dataset.csv"
            made = f"python -m fe_data import-published PATH {data_dir}"
            raise FileNotFoundError(
                f"no table of {design!r} in {data_dir}: {needed} is needed; to make it from the "
                f"authors' published files, run {made}"
            )


def run_name(profile: str, data_dir: Path | None = None) -> str:
    """Return the name of a folder of results, from the profile and a custom folder of tables.

    Raises:
        ValueError: If the name is not allowed.
    """
    name = profile if data_dir is None else f"{profile}-{data_dir.name}"
    if "=" in name or "*" in name:  # have a meaning in doit
        raise ValueError(f"PROFILE and DATA name the results {name!r}: must not have = or *")
    if (ROOT / "figures" / name / "__init__.py").is_file():
        raise ValueError(f"PROFILE = {profile!r} is not allowed: figures/{name} has source code")
    if data_dir is None or data_dir.parent == ROOT:
        return name
    return f"{name}-{crc32(bytes(data_dir)):08x}"  # several folders may have the same name


def picture_path(folder: Path, name: str) -> Path:
    """Return the path of a figure that a metrics file names.

    Raises:
        ValueError: If the name is not that of a picture in the folder. This check is needed because
            pictures are shown and deleted by these names.
    """
    path = folder / name
    plain = path.name == name and path.suffix in MEDIA_TYPES
    if not plain or Path(realpath(path)).parent != folder.resolve():
        needed = f"must be a picture in {folder}, such as a{' or a'.join(MEDIA_TYPES)}"
        raise ValueError(f"{name!r:.80}: {needed}")
    return path


def pictures(metrics: Path) -> list[Path] | None:
    """Return the figures that a metrics file names; None if it is missing or damaged."""
    try:
        names = json.loads(metrics.read_text(encoding="utf-8")).get("figures", {})
        return [picture_path(metrics.parent, name) for name in names]
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def is_complete(metrics: Path) -> bool:
    """Return whether a metrics file and all its pictures exist."""
    named = pictures(metrics)
    return named is not None and all(path.is_file() and path.stat().st_size for path in named)
