"""The ensembles are scikit-learn regressors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bnn import AnchoredEnsemble, FunctionAnchoredEnsemble, VanillaEnsemble
from tests.bnn.flat import built

SMALL = {
    "hidden": (16,),
    "n_members": 3,
    "learning_rate": 0.02,
    "batch_size": 64,
    "random_state": 0,
}
ESTIMATORS = [
    built(VanillaEnsemble, epochs=60, **SMALL),
    built(
        AnchoredEnsemble, n_pretrained=3, prior_points=32, pretrain_epochs=10, epochs=60, **SMALL
    ),
    built(
        FunctionAnchoredEnsemble,
        n_pretrained=3,
        prior_points=32,
        pretrain_epochs=10,
        points=10,
        iterations=10,
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
    settings = {"n_members": 4, "hidden": (10,), "epochs": 30, "random_state": 0}
    unscaled = {"input_bounds": None, "output_bounds": None}
    scaled = built(VanillaEnsemble, noise=0.1, **unscaled, **settings).fit(X, y / 2.5)
    bounds = {"input_bounds": (200.0, 600.0), "output_bounds": (-250.0, 250.0)}
    raw = built(VanillaEnsemble, noise=25.0, **bounds, **settings).fit(400.0 + 200.0 * X, 100.0 * y)
    mean, std = raw.predict(400.0 + 200.0 * X, return_std=True)
    expected_mean, expected_std = scaled.predict(X, return_std=True)
    np.testing.assert_allclose(mean, 250.0 * expected_mean, rtol=1e-3, atol=1.0)
    np.testing.assert_allclose(std, 250.0 * expected_std, rtol=2e-2, atol=0.5)
