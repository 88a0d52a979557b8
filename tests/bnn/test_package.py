"""The public surface of the package."""

import subprocess
import sys
import tomllib
from pathlib import Path

import bnn

ROOT = Path(__file__).parents[2]


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert bnn.__version__ == project["version"]


def test_every_public_name_is_there():
    for name in bnn.__all__:
        assert getattr(bnn, name) is not None


def test_importing_the_package_imports_neither_pictures_nor_a_compiler():
    """Matplotlib and numba wait until they are used; pandas, if installed, comes with sklearn."""
    code = (
        "import sys, bnn\n"
        "print(*({'matplotlib', 'numba'} & set(sys.modules)))\n"
        "print(bnn.plots.plot_1d.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "\nplot_1d\n", done.stderr
