import numpy as np
import pytest

from bench.paths.data import BOUNDS, TRUTHS, Paths, Sets, concentration
from bnn.paths import PhaseProperties, mean_field_stress


def made(rng, n, arrangements):
    """Cells that are mean fields with another strain, and a scatter of the arrangements."""
    low, high = BOUNDS
    X = low + (0.2 + 0.6 * rng.random((n, 4))) * (high - low)
    strain = np.cumsum(rng.normal(0.0, 0.002, (n, 20, 3)), axis=1)
    mean = 1.1 * mean_field_stress(concentration(X), X, strain, PhaseProperties())
    return Paths(X, strain, mean[:, None] + rng.normal(0.0, 3.0, (n, arrangements, 20, 3)))


@pytest.fixture
def sets():
    """Sets of a few short paths."""
    rng = np.random.default_rng(0)
    truths = {name: made(rng, 3, 4) for name in TRUTHS}
    return Sets(made(rng, 60, 1), made(rng, 8, 3), truths)
