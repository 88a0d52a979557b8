"""Committed metrics, whatever a run has written over them since."""

import functools
import json
import subprocess
from pathlib import Path
from typing import Any

from figures.pipeline.paths import ROOT
from figures.report.comparison import Metrics


def committed_run(name: str) -> dict[str, dict[str, Any]]:
    """Metrics files of a run as git has them, by notebook; where git has none, the files there are.

    What is staged counts, so that new metrics can be tested before they are committed.
    """
    return {path.stem: json.loads(_content(path)) for path in committed_files(name, ".json")}


@functools.cache
def typed_run(name: str) -> dict[str, Metrics]:
    """The same as the page reads them."""
    run = committed_run(name).items()
    return {stem: Metrics.model_validate(each | {"folder": name}) for stem, each in run}


def committed_files(name: str, *suffixes: str) -> list[Path]:
    """Files of a run that git has, staged ones too; without git, those that there are."""
    staged = filter(None, _git("ls-files", "-z", "--", f"figures/{name}").split("\0"))
    paths = [ROOT / each for each in staged] or sorted((ROOT / "figures" / name).glob("*"))
    return [path for path in paths if path.suffix in suffixes]


@functools.cache
def _content(path: Path) -> str:
    return _git("show", f":./{path.relative_to(ROOT)}") or path.read_text(encoding="utf-8")


def _git(*arguments: str) -> str:
    """What git prints; nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
