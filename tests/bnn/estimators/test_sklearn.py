"""The ensembles are scikit-learn regressors."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bnn import (
    AnchoredEnsemble,
    Architecture,
    FunctionAnchoredEnsemble,
    FunctionAnchoring,
    Pretraining,
    Scaling,
    TrainingSettings,
    VanillaEnsemble,
)

SMALL = {"noise": 0.1, "n_members": 3, "random_state": 0}
NETWORK = Architecture((16,))
TRAINING = TrainingSettings(epochs=60, batch_size=64, learning_rate=0.02)
PRETRAINING = Pretraining(3, 32, training=replace(TRAINING, epochs=10))
ESTIMATORS = [
    VanillaEnsemble(network=NETWORK, training=TRAINING, **SMALL),
    AnchoredEnsemble(network=NETWORK, pretraining=PRETRAINING, training=TRAINING, **SMALL),
    FunctionAnchoredEnsemble(
        network=Architecture((16,), "silu"),
        pretraining=PRETRAINING,
        anchoring=FunctionAnchoring(points=10, iterations=10),
        **SMALL,
    ),
]


@pytest.mark.filterwarnings("ignore::bnn.ConstantInputWarning", "ignore::UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_check(estimator, check):
    """Every check that scikit-learn applies to a regressor."""
    check(estimator)


def test_pipeline_and_cross_validation(line_data):
    """A pipeline of scaler and ensemble explains most of the variance of held-out data."""
    X, y = line_data
    scores = cross_val_score(make_pipeline(StandardScaler(), ESTIMATORS[0]), X, y, cv=3)
    assert scores.min() > 0.8


def test_clone_has_parameters_but_no_networks(small_anchored):
    """A clone starts from nothing."""
    copy = clone(small_anchored)
    assert copy.get_params()["n_members"] == 8
    assert copy.pretrained_ is None


def test_raw_units_equal_scaled_units(line_data):
    """Bounds do inside what a user would do outside."""
    X, y = line_data
    brief = {
        "n_members": 4,
        "network": Architecture((10,)),
        "training": TrainingSettings(epochs=30),
        "random_state": 0,
    }
    scaled = VanillaEnsemble(noise=0.1, scaling=Scaling(None, None), **brief).fit(X, y / 2.5)
    bounds = Scaling((200.0, 600.0), (-250.0, 250.0))
    raw = VanillaEnsemble(noise=25.0, scaling=bounds, **brief)
    raw.fit(400.0 + 200.0 * X, 100.0 * y)
    mean, std = raw.predict(400.0 + 200.0 * X, return_std=True)
    expected_mean, expected_std = scaled.predict(X, return_std=True)
    np.testing.assert_allclose(mean, 250.0 * expected_mean, rtol=1e-3, atol=1.0)
    np.testing.assert_allclose(std, 250.0 * expected_std, rtol=2e-2, atol=0.5)
