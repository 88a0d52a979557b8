"""Run tests/bnn on other Pythons, and on the oldest and newest PyTorch and NumPy that are allowed.

    python -m tests.repository.lanes.pythons [oldest|tested|newest|list ...] [-- ARGUMENTS]

Each row of ROWS is a virtual environment in $LANES (default ~/.cache/composite-bnn/lanes), removed
after its run: the CUDA builds of PyTorch that pip finds take 6 GB.
"""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.repository.lanes.common import ROOT, Unavailable, declared, lanes_folder, locked, read

# What bnn imports, then what its tests import; one of them takes its problem from a notebook,
# whose profile is YAML.
RUN_TIME = (
    "torch",
    "joblib",
    "llvmlite",
    "matplotlib",
    "numba",
    "numpy",
    "scikit-learn",
    "scipy",
    "threadpoolctl",
    "tqdm",
)
TESTS = (
    "hypothesis",
    "mpmath",
    "pandas",
    "pytest",
    "pyyaml",
    "scoringrules",
    "uncertainty-toolbox",
)
VERSIONS = """
import platform, numpy, scipy, sklearn, torch
print("lane: Python", platform.python_version(), "PyTorch", torch.__version__,
      "NumPy", numpy.__version__, "SciPy", scipy.__version__, "scikit-learn", sklearn.__version__)
"""


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
    found += sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    found += sorted(uv.glob(f"cpython-{version}.*/bin/python{version}"))
    for path in filter(None, found):
        if subprocess.run([path, "-c", "import venv"], capture_output=True).returncode == 0:
            return str(path)
    raise Unavailable(f"no Python {version} on PATH, in {pyenv} or in {uv}")


def requirements(row: Row) -> list[str]:
    """What a row installs, PyTorch first."""
    bounds = declared()
    run_time = [bounds[name] for name in RUN_TIME]
    if row.versions == "oldest":
        run_time = [text.replace(">=", "==") for text in run_time]
    return run_time + [bounds[name] for name in TESTS]


def constraints(row: Row) -> list[str]:
    """Versions that a row is bound to."""
    if row.versions != "tested":
        return list(row.bound)
    lines = read(ROOT / "constraints.txt").splitlines()
    pins = [line for line in lines if "==" in line and not line.startswith("#")]
    return [pin for pin in pins if pin.split("==")[0] not in row.free]


def needed(metadata: list[str]) -> list[str]:
    """Of PyTorch's own requirements those that are needed to import it.

    PyTorch links against all of CUDA, but only torch.compile, which bnn does not use, needs Triton.
    """
    kept = [text for text in metadata if "extra ==" not in text]
    return [text for text in kept if not text.startswith("triton")]


def make(row: Row, folder: Path) -> str:
    """Make the environment of a row; its interpreter.

    Raises:
        Unavailable: there is no such Python, or pip cannot install the packages.
    """
    base = interpreter(row.python)
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


def run(name: str, folder: Path, arguments: list[str]) -> bool:
    """Run one row; whether it passed."""
    try:
        python = make(ROWS[name], folder)
        subprocess.run([python, "-c", VERSIONS], check=True)
        chosen = arguments or ["tests/bnn"]
        tests = subprocess.run([python, "-m", "pytest", "-q", *chosen], cwd=ROOT)
    except Unavailable as error:
        print(f"lane: {name} not tried: {error}", flush=True)
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    passed = tests.returncode == 0
    print(f"lane: {name} {'passed' if passed else 'FAILED'}", flush=True)
    return passed


def main(argv: list[str]) -> int:
    """Run the command line; 0 when all rows that were asked for passed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", nargs="*", default="all", choices=[*ROWS, "all", "list"])
    end = argv.index("--") if "--" in argv else len(argv)
    options = parser.parse_args(argv[:end])
    if "list" in options.rows:
        for name, row in ROWS.items():
            print(f"{name}: Python {row.python}, {row.versions} versions")
        return 0
    lanes = lanes_folder()
    names = ROWS if "all" in options.rows else options.rows
    passed = []
    for name in names:
        with locked(lanes, f"bnn-{name}"):
            passed.append(run(name, lanes / f"bnn-{name}", argv[end + 1 :]))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
