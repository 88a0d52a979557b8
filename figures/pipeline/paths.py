"""Where the table of a design lies in a folder of data, and what a run on it is called."""

from collections.abc import Iterable
from pathlib import Path

from figures.pipeline.dependencies import ROOT

FORBIDDEN = "=*"  # in names of tasks, where doit gives them a meaning
REQUIRED = ("train_beta", "test_uniform")


def table_path(data_dir: Path, design: str) -> Path:
    """Path of a design's table: DESIGN/dataset.csv as generated, else DESIGN.csv when it exists."""
    single = data_dir / f"{design}.csv"
    return single if single.is_file() else data_dir / design / "dataset.csv"


def require_tables(data_dir: Path, designs: Iterable[str] = REQUIRED) -> None:
    """Refuse a folder without the tables that no notebook can do without.

    Raises:
        ValueError: naming the folder and the first table that it lacks.
    """
    for design in designs:
        if not table_path(data_dir, design).is_file():
            raise ValueError(
                f"DATA = {data_dir} has no table of {design!r}: {design}.csv or "
                f"{design}/dataset.csv is needed"
            )


def run_name(profile: str, data_dir: Path | None = None) -> str:
    """Name of the folder of results: the profile, and the folder of tables when it is not ours.

    Raises:
        ValueError: it cannot be part of a task's name.
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
