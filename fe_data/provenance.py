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
    versions = {name: _version(name) for name in PACKAGES}
    return {
        "commit": _commit(),
        "python": platform.python_version(),
        **versions,
        "machine": _machine(),
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    folder = Path(__file__).parent
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() or "unknown"


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}"
