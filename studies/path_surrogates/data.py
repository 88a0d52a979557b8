"""The sets of strain paths for training and testing the estimators."""

from typing import NamedTuple

import numpy as np

from bnn.paths import MaterialPointBasis
from fe_data import Paths, load_paths, strain_concentration
from studies.strain_paths.study import BOUNDS

REFERENCES = ("reference_random", "reference_random_large", "reference_cycles", "reference_tension")
SOFTENING = 0.1  # of the matrix in the mean-field model of the estimators


class Sets(NamedTuple):
    """The sets of the study."""

    random_paths: Paths  # one microstructure each
    repeated_random: Paths
    references: dict[str, Paths]


def load() -> Sets:
    """Read the sets that come with fe_data."""
    references = {name: load_paths(name) for name in REFERENCES}
    return Sets(load_paths("random"), load_paths("repeated_random"), references)


def concentration(X: np.ndarray) -> np.ndarray:
    """Return mean-field strains (n, 2, 3, 3) of matrix and fibres, relative to the RVE's strain."""
    return strain_concentration(X, softening=SOFTENING)


def default_basis() -> MaterialPointBasis:
    """Return the basis of material points with default settings."""
    return MaterialPointBasis(concentration, BOUNDS)
