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
    folder = f"figures/{name}"
    staged = _git(root, "ls-files", "-z", "--", f"{folder}/*.json")
    if not staged:
        return {p.stem: json.loads(p.read_text()) for p in sorted((root / folder).glob("*.json"))}
    names = filter(None, staged.split("\0"))
    return {Path(n).stem: json.loads(_git(root, "show", f":./{n}")) for n in names}


def _git(root: Path, *arguments: str) -> str:
    """What git prints; nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
