"""Statistics of weights, layer by layer."""

import numpy as np
import pytest

from bnn.ensembles.weight_priors.statistics import layer_statistics
from tests.bnn.ensembles.weight_priors.conftest import ARCHITECTURE, D


def test_layer_statistics(ensemble):
    """Variances by group are unbiased; `all` is their weighted mean; Gaussians have β = 2."""
    statistics = layer_statistics(ensemble, ARCHITECTURE)
    assert list(statistics) == ["W0", "b0", "W1", "b1", "all"]
    for name, columns in ARCHITECTURE.groups.items():
        expected = ensemble[:, columns].var(axis=0, ddof=1).mean()
        assert statistics[name]["variance"] == pytest.approx(expected)
    assert statistics["all"]["variance"] == pytest.approx(ensemble.var(axis=0, ddof=1).mean())
    normal = np.random.default_rng(0).standard_normal((2000, D))
    assert layer_statistics(normal, ARCHITECTURE)["all"]["beta"] == pytest.approx(2.0, rel=0.02)
