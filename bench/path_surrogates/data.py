"""The sets of paths that are learnt from and judged on.

This is the one place that reads them.
"""

from typing import NamedTuple

import numpy as np

from bnn.paths import MaterialPointBasis
from fe_data import load_paths, strain_concentration
from fe_data.schema import INPUT_BOUNDS

REFERENCES = ("reference_random", "reference_random_large", "reference_cycles", "reference_tension")
BOUNDS = np.transpose(list(INPUT_BOUNDS.values()))
SOFTENING = 0.1  # of the matrix in the mean fields that the estimators are given


class Paths(NamedTuple):
    """Cells that were simulated along paths, in several microstructures each."""

    inputs: np.ndarray  # (n, 4) vf, E_f [GPa], b_m [MPa], c_m
    strain: np.ndarray  # (n, T, 3) xx, yy, xy [-]; where it is free, the mean over microstructures
    stress: np.ndarray  # (n, R, T, 3) [MPa]

    @property
    def mean_stress(self) -> np.ndarray:
        """Mean over microstructures (n, T, 3) [MPa]."""
        return self.stress.mean(axis=1)


class Sets(NamedTuple):
    """What the study needs."""

    random_paths: Paths  # one microstructure each
    repeated_random: Paths
    references: dict[str, Paths]


def load() -> Sets:
    """Read the sets that come with fe_data."""
    references = {name: _load(name) for name in REFERENCES}
    return Sets(_load("random"), _load("repeated_random"), references)


def concentration(X: np.ndarray) -> np.ndarray:
    """Strains (n, 2, 3, 3) of matrix and fibres over that of the cell, by mean fields."""
    return strain_concentration(X, softening=SOFTENING)


def default_bank() -> MaterialPointBasis:
    """The bank of `StrainPathEnsemble` with nothing set."""
    return MaterialPointBasis(concentration, BOUNDS)


def _load(name: str) -> Paths:
    found = load_paths(name)
    return Paths(found.inputs, found.strain, found.stress)
