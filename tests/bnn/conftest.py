"""Shared fixtures: small problems that train in a second."""

import copy

import numpy as np
import pytest

from bnn import RBF, AnchoredEnsemble, GaussianProcessPrior
from tests.bnn.flat import built


@pytest.fixture(scope="session")
def line_data():
    """Noisy line: X (20, 1), y (20,), noise 0.1."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (20, 1))
    return X, 2.0 * X[:, 0] + 0.1 * rng.standard_normal(20)


@pytest.fixture
def small_anchored(pretrained_once):
    """An anchored ensemble of small networks, pre-trained; each test has one of its own."""
    return copy.deepcopy(pretrained_once)


@pytest.fixture(scope="session")
def pretrained_once():
    """What small_anchored gives copies of."""
    prior = GaussianProcessPrior(lambda X: 2.0 * X[:, 0], RBF(0.5, 0.8))
    return built(
        AnchoredEnsemble,
        prior,
        hidden=(10, 10),
        n_pretrained=12,
        n_members=8,
        input_bounds=None,
        output_bounds=None,
        prior_range=2.0,
        prior_points=64,
        pretrain_epochs=150,
        epochs=100,
        random_state=0,
    ).pretrain(n_features=1)
