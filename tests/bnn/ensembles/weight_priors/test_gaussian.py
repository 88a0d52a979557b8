"""Gaussian densities with one variance for each kernel and bias."""

import numpy as np

from bnn.ensembles.weight_priors import FactorisedGaussian
from tests.bnn.ensembles.weight_priors.conftest import ARCHITECTURE, D


def test_factorised_uses_each_layers_own_variance(ensemble):
    """Scaling one kernel changes the precision of that kernel alone."""
    scaled = ensemble.copy()
    scaled[:, ARCHITECTURE.groups["W1"]] *= 10.0
    before, after = (
        FactorisedGaussian.fit(w, ARCHITECTURE).regulariser().precision for w in (ensemble, scaled)
    )
    ratio = before / after
    inside = np.zeros(D, dtype=bool)
    inside[ARCHITECTURE.groups["W1"]] = True
    np.testing.assert_allclose(ratio[inside], 100.0)
    np.testing.assert_allclose(ratio[~inside], 1.0)
