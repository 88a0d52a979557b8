"""What a notebook leaves in the folder of a run: a metrics file and the pictures that it names."""

import json
from pathlib import Path


def pictures(metrics: Path) -> list[Path]:
    """Pictures that a metrics file names.

    Raises:
        OSError: the file is missing.
        ValueError: it is no metrics file, for example one that was half written.
    """
    content = json.loads(metrics.read_text())
    if not isinstance(content, dict):
        raise ValueError(f"{metrics} holds no mapping")
    return [metrics.parent / name for name in content.get("figures", {})]


def is_complete(metrics: Path) -> bool:
    """Whether a metrics file and everything that it names are there: its notebook has run here.

    Metrics files are kept in the repository and pictures are not, so that the file alone says
    nothing.
    """
    try:
        return all(path.is_file() and path.stat().st_size for path in pictures(metrics))
    except (OSError, ValueError):
        return False
