"""What the package offers at its root comes when it is used."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_inputs_designs_and_tables_need_neither_dolfinx_nor_gmsh():
    code = (
        "import sys; sys.modules.update(dolfinx=None, gmsh=None, petsc4py=None)\n"
        "from fe_data import Inputs, Settings, compare, generate, load_table, named_design\n"
        "print(Inputs(0.3, 400.0, 400.0, 0.4))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.startswith("Inputs(vf=0.3, "), done.stderr
