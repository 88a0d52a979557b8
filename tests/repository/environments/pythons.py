"""Run tests/bnn on another Python, with the newest packages that pip finds.

    python -m tests.repository.environments.pythons [pytest arguments]
    python -m tests.repository.environments.pythons --python 3.11 --oldest [pytest arguments]

--oldest takes the lower bounds of pyproject.toml. The virtual environment is made in $LANES
(default ~/.cache/composite-bnn/lanes) and removed after the run: PyTorch with CUDA takes 6 GB.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tests.repository.environments.common import (
    ROOT,
    Unavailable,
    environments_folder,
    locked,
    requirements,
)

# Newer ones warn about calls of matplotlib 3.8 and of scikit-learn 1.6's own tests.
BESIDE_THE_OLDEST = ("pyparsing<3.3", "pytest<9")
VERSIONS = """
import platform, numpy, scipy, sklearn, torch
print("test environment: Python", platform.python_version(), "PyTorch", torch.__version__,
      "NumPy", numpy.__version__, "SciPy", scipy.__version__, "scikit-learn", sklearn.__version__)
"""


def packages(oldest: bool) -> list[str]:
    """What pip installs: of what bnn imports the lower bounds, or the newest."""
    imported = requirements("bnn", "safe_files")
    for_tests = [text for text in requirements("tests/bnn") if text not in imported]
    if oldest:
        imported = [text.replace(">=", "==") for text in imported]
        for_tests += BESIDE_THE_OLDEST
    return imported + for_tests


def make(version: str, oldest: bool, folder: Path) -> str:
    """Make the virtual environment; its interpreter.

    Raises:
        Unavailable: there is no such Python, or pip cannot install the packages.
    """
    base = shutil.which(f"python{version}")
    if base is None:
        raise Unavailable(f"no python{version} on PATH")
    python = str(folder / "bin" / "python")
    install = ["-m", "pip", "install", "--quiet", "--no-cache-dir", *packages(oldest)]
    try:
        subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([python, *install], check=True)
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"{error.cmd[0]} ended with exit code {error.returncode}") from None
    return python


def main(argv: list[str]) -> int:
    """Run the command line; 0 when the tests passed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--python", default="3.13", help="version, as in python3.13 on PATH")
    parser.add_argument("--oldest", action="store_true", help="lower bounds of pyproject.toml")
    options, arguments = parser.parse_known_args(argv)
    folder = environments_folder()
    name = f"bnn-{options.python}"
    with locked(folder, name):
        try:
            python = make(options.python, options.oldest, folder / name)
            subprocess.run([python, "-c", VERSIONS], check=True)
            tests = [python, "-m", "pytest", "-q", *(arguments or ["tests/bnn"])]
            return subprocess.run(tests, cwd=ROOT).returncode
        except Unavailable as error:
            print(f"test environment: Python {options.python} not tried: {error}")
            return 1
        finally:
            shutil.rmtree(folder / name, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
