"""Committed metrics, whatever a run has written over them since."""

import functools
import json
import subprocess
from pathlib import Path
from typing import Any


@functools.cache
def committed_run(name: str, root: Path) -> dict[str, dict[str, Any]]:
    """Metrics files of a run as git has them, by notebook; where git has none, the files there are.

    What is staged counts, so that new metrics can be tested before they are committed.
    """
    paths = committed_files(name, root, ".json")
    staged = {p: _git(root, "show", f":./{p.relative_to(root)}") for p in paths}
    return {path.stem: json.loads(text or path.read_text()) for path, text in staged.items()}


def committed_files(name: str, root: Path, *suffixes: str) -> list[Path]:
    """Files of a run that git has, staged ones too; without git, those that there are."""
    folder = root / "figures" / name
    staged = filter(None, _git(root, "ls-files", "-z", "--", f"figures/{name}").split("\0"))
    paths = [root / each for each in staged] or sorted(folder.glob("*"))
    return [path for path in paths if path.suffix in suffixes]


def _git(root: Path, *arguments: str) -> str:
    """What git prints; nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
