"""Where the lanes keep what they make."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


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
