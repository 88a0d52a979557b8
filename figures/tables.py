"""Where the table of a design lies in a folder of data, and what a run on it is called."""

from pathlib import Path


def table_path(data_dir: Path, design: str) -> Path:
    """Path of a design's table: DESIGN/dataset.csv as generated, else DESIGN.csv when it exists."""
    single = data_dir / f"{design}.csv"
    return single if single.is_file() else data_dir / design / "dataset.csv"


def run_name(profile: str, data_dir: Path | None = None) -> str:
    """Name of the folder of results: the profile, and the folder of tables when it is not ours."""
    return profile if data_dir is None else f"{profile}-{data_dir.name}"
