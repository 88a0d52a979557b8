"""The sets of paths that are learnt from and judged on.

This is the one place that reads them.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from bnn.paths import PointBank
from fe_data import load_curves, path_design, strain_concentration
from fe_data.schema import INPUT_BOUNDS

TRUTHS = ("truth_walks", "truth_large_walks", "truth_cycles", "truth_tension")
BOUNDS = np.transpose(list(INPUT_BOUNDS.values()))
SOFTENING = 0.1  # of the matrix in the mean fields that the estimators are given
_IN_PLANE = [0, 1, 3]  # xx, yy, xy among xx, yy, zz, xy


class Paths(NamedTuple):
    """Cells that were simulated along paths, in several fibre arrangements each."""

    inputs: np.ndarray  # (n, 4) vf, E_f [GPa], b_m [MPa], c_m
    strain: np.ndarray  # (n, T, 3) xx, yy, xy [-]; where it is free, the mean over arrangements
    stress: np.ndarray  # (n, R, T, 3) [MPa]

    @property
    def mean_stress(self) -> np.ndarray:
        """Mean over arrangements (n, T, 3) [MPa]."""
        return self.stress.mean(axis=1)


class Sets(NamedTuple):
    """What the study needs."""

    walks: Paths  # one arrangement each
    repeated_walks: Paths
    truths: dict[str, Paths]


def load(folder: Path) -> Sets:
    """Read the sets from the dataset folders FOLDER/NAME."""
    truths = {name: _load(folder, name) for name in TRUTHS}
    return Sets(_load(folder, "walks"), _load(folder, "repeated_walks"), truths)


def concentration(X: np.ndarray) -> np.ndarray:
    """Strains (n, 2, 3, 3) of matrix and fibres over that of the cell, by mean fields."""
    return strain_concentration(X, softening=SOFTENING)


def default_bank() -> PointBank:
    """The bank of `PathEnsemble` with nothing set."""
    return PointBank(concentration, BOUNDS)


def _load(folder: Path, name: str) -> Paths:
    design = path_design(name)
    curves = load_curves(folder / name)
    groups = design.groups[curves.index]
    found = [groups == group for group in np.unique(groups)]
    strain = np.array([history["strain"][1:, _IN_PLANE] for history in curves.histories])
    stress = np.array([history["stress"][1:, _IN_PLANE] for history in curves.histories])
    return Paths(
        np.array([design.inputs[curves.index][rows][0] for rows in found]),
        np.array([strain[rows].mean(axis=0) for rows in found]),
        np.array([stress[rows] for rows in found]),
    )
