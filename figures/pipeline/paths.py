"""Where things lie: the repository, tables of the designs, results of a run."""

import json
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
FORBIDDEN = "=*"  # in names of tasks, where doit gives them a meaning
REQUIRED = ("train_beta", "test_uniform")  # designs that no notebook can do without


def table_path(data_dir: Path | str, design: str) -> Path:
    """Path of a design's table: DESIGN.csv when it exists, else DESIGN/dataset.csv as generated."""
    single = Path(data_dir) / f"{design}.csv"
    return single if single.is_file() else Path(data_dir) / design / "dataset.csv"


def tables_of(data_dir: Path | str, designs: Iterable[str]) -> dict[str, Path]:
    """Paths of the tables that a folder has, by design."""
    paths = {design: table_path(data_dir, design) for design in designs}
    return {design: path for design, path in paths.items() if path.is_file()}


def require_tables(data_dir: Path, designs: Iterable[str] = REQUIRED) -> None:
    """Refuse a folder without the tables that no notebook can do without.

    Raises:
        ValueError: Naming the folder and the first table that it lacks.
    """
    present = tables_of(data_dir, designs)
    for design in designs:
        if design not in present:
            raise ValueError(
                f"DATA = {data_dir} has no table of {design!r}: {design}.csv or "
                f"{design}/dataset.csv is needed"
            )


def run_name(profile: str, data_dir: Path | None = None) -> str:
    """Name of the folder of results: the profile, and the folder of tables when it is not ours.

    Raises:
        ValueError: It cannot be part of a task's name.
    """
    for field, name in (("PROFILE", profile), ("DATA", data_dir.name if data_dir else "")):
        if set(name) & set(FORBIDDEN):
            raise ValueError(
                f"{field} = {name!r} is not allowed: a name without any of {' '.join(FORBIDDEN)} is"
            )
    name = profile if data_dir is None else f"{profile}-{data_dir.name}"
    if (ROOT / "figures" / name / "__init__.py").is_file():
        raise ValueError(f"PROFILE = {profile!r} is not allowed: figures/{name} holds source code")
    return name


def is_complete(metrics: Path) -> bool:
    """Whether a metrics file and all pictures that it names are there: its notebook has run here.

    Metrics files are committed and pictures are not, so that the file alone says nothing.
    """
    try:
        names = json.loads(metrics.read_text()).get("figures", {})
        pictures = [metrics.parent / name for name in names]
        return all(path.is_file() and path.stat().st_size for path in pictures)
    except (OSError, ValueError, AttributeError):  # missing, half written, or no mapping
        return False
