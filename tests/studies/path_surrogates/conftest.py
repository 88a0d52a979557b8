import numpy as np
import pytest

from fe_data import Paths
from studies.path_surrogates.data import BOUNDS, REFERENCES, Sets
from studies.path_surrogates.estimators import mean_fields


def made(rng, n, microstructures):
    """RVEs that are mean fields with another strain, and a scatter of the microstructures."""
    low, high = BOUNDS
    X = low + (0.2 + 0.6 * rng.random((n, 4))) * (high - low)
    strain = np.cumsum(rng.normal(0.0, 0.002, (n, 20, 3)), axis=1)
    mean = 1.1 * mean_fields(X, strain)
    return Paths(X, strain, mean[:, None] + rng.normal(0.0, 3.0, (n, microstructures, 20, 3)))


@pytest.fixture
def sets():
    """Sets of a few short paths."""
    rng = np.random.default_rng(0)
    references = {name: made(rng, 3, 4) for name in REFERENCES}
    return Sets(made(rng, 60, 1), made(rng, 8, 3), references)
