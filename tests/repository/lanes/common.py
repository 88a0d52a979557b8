"""What the lanes share: where they keep what they make, and what pyproject.toml asks for."""

import contextlib
import fcntl
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


class Unavailable(RuntimeError):
    """A lane cannot be tried on this machine."""


def read(path: Path) -> str:
    """Text of a file, empty if there is no such file."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def declared() -> dict[str, str]:
    """Requirements of pyproject.toml by the name of the package."""
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    listed = sum(project["optional-dependencies"].values(), project["dependencies"])
    return {re.split("[<>=!~]", text)[0]: text for text in listed}


def lanes_folder() -> Path:
    """$LANES, or a folder of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("LANES") or Path(cache) / "composite-bnn" / "lanes").resolve()


@contextlib.contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Let one process at a time use what has this name; others wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
