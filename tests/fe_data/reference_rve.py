"""A stored mesh and what its RVE averages to: the same on every dolfinx.

`python -m tests.fe_data.reference_rve` stores both again, with the dolfinx in use.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from fe_data.geometry.mesh import Mesh, generate_mesh
from fe_data.geometry.microstructure import random_microstructure
from fe_data.geometry.outline import Outline
from fe_data.mechanics import rve
from fe_data.settings import Inputs, Settings

MESH = Path(__file__).with_name("reference_mesh.npz")
AVERAGES = Path(__file__).with_name("reference_averages.json")
INPUTS = Inputs(0.3, 400.0, 400.0, 0.4)
# Converged far beyond the default: what is left of the order of the elements is rounding.
SETTINGS = Settings(n_fibres=5, resolution=3.0, increments=50, tolerance=1e-12)
MICROSTRUCTURE = random_microstructure(INPUTS.vf, 1, SETTINGS.n_fibres)


def stored_mesh() -> Mesh:
    """The mesh as gmsh made it once."""
    with np.load(MESH, allow_pickle=False) as arrays:
        return Mesh(**arrays)


def averages(solution: rve.RVESolution) -> dict[str, np.ndarray]:
    """Every averaged quantity of an RVE by name: histories (51, 4) and (51,), properties."""
    return {**solution.history, **{k: np.array(v) for k, v in solution.result().effective.items()}}


def _store() -> None:
    mesh = generate_mesh(Outline(MICROSTRUCTURE, SETTINGS.resolution))
    np.savez_compressed(MESH, **vars(mesh))
    solution = rve.solve_rve(INPUTS, SETTINGS, microstructure=MICROSTRUCTURE)
    content = {name: values.tolist() for name, values in averages(solution).items()}
    AVERAGES.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    _store()
