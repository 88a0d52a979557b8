"""Pre-trained weights that the tests of all densities share, and the gradient of their penalty."""

import numpy as np
import pytest
import torch

from bnn import MLP
from bnn.ensembles.weight_priors import WEIGHT_PRIORS
from bnn.training.backprop import LayerBlocks

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


def gradient_of(prior, difference):
    """What the training loop adds for weights that differ from their anchors, (n, d)."""
    cpu = torch.device("cpu")
    differences, gradients = (LayerBlocks(ARCHITECTURE, len(difference), cpu) for _ in range(2))
    differences.load(torch.as_tensor(difference))
    add_gradient = prior.regulariser().on(differences.slices, cpu)
    add_gradient(differences.blocks, gradients.blocks, 0.5)
    return 2.0 * gradients.export()
