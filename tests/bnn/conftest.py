"""Shared fixtures: small problems that train in a second; and which checks are slow."""

import copy

import numpy as np
import pytest

from bnn import RBF, AnchoredEnsemble, GaussianProcessPrior, Scaling
from tests.bnn.small import small

# scikit-learn's checks that take seconds: of 200 data with 10 inputs, of the default, and of
# ensembles that differ from another in their training alone.
LONG_CHECKS = ("check_regressors_train", "check_regressor_data_not_an_array", "[GPRegressor()-")
LONG_CHECKS += (
    "test_estimator_check[FunctionAnchoredEnsemble(",
    "test_estimator_check[AnchoredEnsemble(",
)


@pytest.hookimpl(tryfirst=True)  # before the tests are chosen by their marks
def pytest_collection_modifyitems(items):
    for item in items:
        if any(check in item.name for check in LONG_CHECKS):
            item.add_marker(pytest.mark.slow)


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
    return small(
        AnchoredEnsemble,
        GaussianProcessPrior(lambda X: 2.0 * X[:, 0], RBF(0.5, 0.8)),
        n_members=8,
        network__hidden=(10, 10),
        pretraining__n_networks=12,
        pretraining__n_points=64,
        pretraining__range_factor=2.0,
        pretraining__training__epochs=150,
        training__epochs=100,
        scaling=Scaling(None, None),
    ).pretrain(n_features=1)
