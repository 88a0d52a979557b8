"""Where a result comes from: commit, versions and machine."""

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path

PACKAGES = ("numpy", "scipy", "joblib", "gmsh", "fenics-dolfinx", "petsc4py")


@functools.cache
def provenance() -> dict[str, str]:
    """Commit of this code, versions of what it runs on, kind of machine; or "unknown"."""
    versions = {"python": platform.python_version()} | {name: _version(name) for name in PACKAGES}
    return {"commit": _commit(), **versions, "machine": f"{platform.system()} {platform.machine()}"}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _commit() -> str:
    """Commit of the code; -dirty when tracked files differ, but for the metrics of full runs."""
    commit = _git("describe", "--always", "--abbrev=12", "--exclude=*")
    if commit is None:
        return "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":!/figures/full*")
    return f"{commit}-dirty" if changed else commit


def _git(*arguments: str) -> str | None:
    """Output of a git command here; None where there is no repository."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        output = subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return output.strip()
