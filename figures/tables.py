"""Where the table of a design lies in a folder of data."""

from pathlib import Path


def table_path(data_dir: Path, design: str) -> Path:
    """Path of a design's table: DESIGN/dataset.csv as generated, else DESIGN.csv when it exists."""
    single = data_dir / f"{design}.csv"
    return single if single.is_file() else data_dir / design / "dataset.csv"
