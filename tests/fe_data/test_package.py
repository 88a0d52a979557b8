"""What the package offers at its root, and its commands, come when they are used."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "use",
    [
        "from fe_data import Inputs, Settings, compare, generate, load_table, named_design",
        "from fe_data.__main__ import main; main(['generate', '--help'])",
    ],
)
def test_inputs_designs_tables_and_help_need_neither_dolfinx_nor_gmsh(use):
    code = f"import sys; sys.modules.update(dolfinx=None, gmsh=None, petsc4py=None)\n{use}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
