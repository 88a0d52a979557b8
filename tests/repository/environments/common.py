"""What the test environments share: namespaces, their folder, the packages they install."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from figures.pipeline.dependencies import imported_names
from safe_files.locking import lock

ROOT = Path(__file__).resolve().parents[3]
# Import names that differ from the names of their packages, and what the distribution provides.
PACKAGE_OF = {
    "bs4": "beautifulsoup4",
    "sklearn": "scikit-learn",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "pydantic_core": "pydantic",
}
FROM_DISTRIBUTION = {"basix", "cffi", "dolfinx", "mpi4py", "petsc4py", "ufl"}
# Mounts and processes of their own, which end with the first of these processes.
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
ON_DEMAND = {"botorch", "gpytorch"}  # bnn.interop imports them when it is asked for a model


class Unavailable(RuntimeError):
    """A test environment cannot be tried on this machine."""


def say(text: str) -> None:
    """Print one line at once, before what the tests print next."""
    print(f"test environment: {text}", flush=True)


def refuse_impossible(packages: Mapping[str, str]) -> None:
    """Say what a test environment in namespaces lacks, before anything is done.

    Raises:
        Unavailable: not root, a program of these Debian packages is missing, no namespaces.
    """
    if os.geteuid() != 0:
        raise Unavailable("only root can make namespaces: use sudo")
    for program, package in packages.items():
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is missing: apt-get install {package}")
    done = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"this machine gives no namespaces: {done.stderr.strip()}")


def imported_packages(folders: Iterable[str]) -> set[str]:
    """Packages from outside that the source files of the folders import."""
    names = set().union(*map(_imported_modules, folders))
    of_project = {path.name for path in ROOT.iterdir()} | {"tests", "bench", "studies"}
    foreign = names - of_project - set(sys.stdlib_module_names) - FROM_DISTRIBUTION - {""}
    return {PACKAGE_OF.get(name, name.replace("_", "-").lower()) for name in foreign}


@functools.cache
def _imported_modules(folder: str) -> set[str]:
    """First parts of the names that the source files of a folder import."""
    codes = (path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py"))
    return {name.split(".")[0] for code in codes for name in imported_names(code)}


def requirements(*folders: str) -> list[str]:
    """Requirements of pyproject.toml that the source files of the folders import, sorted."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = sum(project["optional-dependencies"].values(), project["dependencies"])
    bounds = {re.split("[<>=!~]", text)[0]: text for text in listed}
    return [bounds[name] for name in sorted(imported_packages(folders) - ON_DEMAND)]


def environments_folder() -> Path:
    """$LANES, or a folder of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("LANES") or Path(cache) / "composite-bnn" / "lanes").resolve()


@contextlib.contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Let one process at a time use what has this name; others wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w", encoding="utf-8") as file:
        lock(file.fileno())
        yield
