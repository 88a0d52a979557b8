"""Run tests/bnn on other Pythons, and on the oldest and newest PyTorch and NumPy that are allowed.

    python -m tests.repository.lanes.pythons [oldest|tested|newest ...] [--keep] [-- ARGUMENTS]
    python -m tests.repository.lanes.pythons list

Each row of ROWS is a virtual environment in $LANES (default ~/.cache/composite-bnn/lanes), removed
after its run unless --keep is given: the CUDA builds of PyTorch that pip finds take 6 GB.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.repository.lanes.folder import lanes_folder, locked

ROOT = Path(__file__).resolve().parents[3]
RUN_TIME = (
    "joblib", "llvmlite", "matplotlib", "numba", "numpy", "scikit-learn", "scipy",
    "threadpoolctl", "torch", "tqdm",
)  # fmt: skip
# One test of bnn takes its problem from a notebook, whose profile is YAML.
TESTS = (
    "hypothesis", "mpmath", "pandas", "pytest", "pyyaml", "scoringrules", "uncertainty-toolbox",
)  # fmt: skip
# PyTorch links against all of CUDA, but only torch.compile, which bnn does not use, needs Triton.
NOT_NEEDED = "triton"
FREE_GB = 12.0


class Unavailable(RuntimeError):
    """A row cannot be tried on this machine."""


@dataclass(frozen=True)
class Row:
    """One set of versions."""

    python: str
    versions: str  # "oldest": lower bounds; "tested": constraints.txt; "newest": pip's choice
    free: tuple[str, ...] = ()  # packages that the constraints do not bind
    bound: tuple[str, ...] = ()  # upper bounds that old packages need but do not declare


ROWS = {
    # Newer ones warn about calls of matplotlib 3.8 and of scikit-learn 1.6's own tests.
    "oldest": Row("3.11", "oldest", bound=("pyparsing<3.3", "pytest<9")),
    "tested": Row("3.12", "tested", free=("numpy", "scipy")),
    "newest": Row("3.13", "newest"),
}


def interpreter(version: str) -> str:
    """A Python of some version: on PATH, or one that pyenv or uv keeps.

    Raises:
        Unavailable: there is none.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    uv = Path.home() / ".local" / "share" / "uv" / "python"
    found = [shutil.which(f"python{version}")]
    found += [str(p) for p in sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))]
    found += [str(p) for p in sorted(uv.glob(f"cpython-{version}.*/bin/python{version}"))]
    for path in filter(None, found):
        if subprocess.run([path, "-c", "import venv"], capture_output=True).returncode == 0:
            return path
    raise Unavailable(f"no Python {version} on PATH, in {pyenv} or in {uv}")


def bounds() -> dict[str, str]:
    """Requirements of pyproject.toml by the name of the package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    listed = sum(project["optional-dependencies"].values(), project["dependencies"])
    return {re.split("[<>=!~]", text)[0]: text for text in listed}


def requirements(row: Row) -> list[str]:
    """What a row installs, PyTorch first."""
    listed = bounds()
    run_time = [listed[name] for name in sorted(RUN_TIME, key=lambda name: name != "torch")]
    if row.versions == "oldest":
        run_time = [text.replace(">=", "==") for text in run_time]
    return [*run_time, *(listed[name] for name in TESTS)]


def constraints(row: Row) -> list[str]:
    """Versions that a row is bound to."""
    if row.versions != "tested":
        return list(row.bound)
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if "==" in line and not line.startswith("#")]
    return [pin for pin in pins if pin.split("==")[0] not in row.free]


def needed(metadata: list[str]) -> list[str]:
    """Of PyTorch's own requirements those that are needed to import it."""
    kept = [text for text in metadata if "extra ==" not in text]
    return [text for text in kept if not text.startswith(NOT_NEEDED)]


def make(row: Row, folder: Path) -> str:
    """Make the environment of a row; its interpreter."""
    base = interpreter(row.python)
    free = shutil.disk_usage(folder.parent).free / 1e9
    if free < FREE_GB:
        raise Unavailable(f"{free:.1f} GB are free in {folder.parent}, {FREE_GB:.0f} are needed")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([base, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    bound = folder / "constraints.txt"
    bound.write_text("\n".join(constraints(row)) + "\n", encoding="utf-8")
    install = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    install += ["--disable-pip-version-check", "--constraint", str(bound)]
    torch, *others = requirements(row)
    try:
        subprocess.run([*install, "--no-deps", torch], check=True)
        code = "import importlib.metadata as m; print(*m.requires('torch'), sep='\\n')"
        listing = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
        subprocess.run([*install, *needed(listing.stdout.splitlines()), *others], check=True)
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"pip could not install its packages (exit {error.returncode})") from None
    return python


VERSIONS = """
import platform, numpy, scipy, sklearn, torch
print("lane: Python", platform.python_version(), "PyTorch", torch.__version__,
      "NumPy", numpy.__version__, "SciPy", scipy.__version__, "scikit-learn", sklearn.__version__)
"""


def run(name: str, folder: Path, keep: bool, arguments: Sequence[str] = ()) -> bool:
    """Run one row; whether it passed."""
    try:
        python = make(ROWS[name], folder)
        subprocess.run([python, "-c", VERSIONS], check=True)
        call = [python, "-m", "pytest", "-q", *(arguments or ("tests/bnn",))]
        tests = subprocess.run(call, cwd=ROOT)
    except Unavailable as error:
        print(f"lane: {name} not tried: {error}", flush=True)
        return False
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"lane: {name} {'FAILED' if tests.returncode else 'passed'}", flush=True)
    return tests.returncode == 0


def main(argv: list[str]) -> int:
    """Run the command line; 0 when all rows that were asked for passed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", nargs="*", default="all", choices=[*ROWS, "all", "list"])
    parser.add_argument("--keep", action="store_true")
    end = argv.index("--") if "--" in argv else len(argv)
    options = parser.parse_args(argv[:end])
    if "list" in options.rows:
        for name, row in ROWS.items():
            print(f"{name}: Python {row.python}, {row.versions} versions")
        return 0
    lanes, passed = lanes_folder(), []
    for name in ROWS if "all" in options.rows else options.rows:
        with locked(lanes, f"bnn-{name}"):
            passed.append(run(name, lanes / f"bnn-{name}", options.keep, argv[end + 1 :]))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
