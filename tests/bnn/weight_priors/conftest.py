"""Pre-trained weights that the tests of all densities share."""

import numpy as np
import pytest

from bnn import MLP
from bnn.weight_priors import WEIGHT_PRIORS

ARCHITECTURE = MLP((2, 6, 3))


D = ARCHITECTURE.n_weights


K = 12


@pytest.fixture(scope="module")
def ensemble():
    """Correlated weights with a mean, (K, d)."""
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal(D)
        + rng.standard_normal((K, 5)) @ rng.standard_normal((5, D))
        + 0.1 * rng.standard_normal((K, D))
    )


@pytest.fixture(scope="module", params=list(WEIGHT_PRIORS))
def prior(request, ensemble):
    """Each kind of weight prior."""
    return WEIGHT_PRIORS[request.param].fit(ensemble, ARCHITECTURE)
