"""What the package offers at its root: everything it names is there, and comes when it is used."""

import subprocess
import sys
import tomllib
from pathlib import Path

import fe_data

ROOT = Path(__file__).parents[2]


def test_every_public_name_can_be_imported_and_has_a_docstring():
    for name in fe_data.__all__:
        assert getattr(fe_data, name).__doc__, name


def test_inputs_designs_and_tables_need_neither_dolfinx_nor_gmsh():
    code = (
        "import sys; sys.modules.update(dolfinx=None, gmsh=None, petsc4py=None)\n"
        "from fe_data import Inputs, Settings, compare, generate, load_table, named_design\n"
        "print(Inputs(0.3, 400.0, 400.0, 0.4))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("Inputs(vf=0.3, "), done.stderr


def test_the_version_is_that_of_the_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert fe_data.__version__ == project["version"]
