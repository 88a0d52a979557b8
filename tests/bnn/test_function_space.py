"""Functional anchoring against closed forms."""

import numpy as np
import pytest

from bnn import AnchoredEnsemble, FunctionAnchoring, GaussianProcessPrior, Linear, load
from bnn.reference import GaussianProcessPosterior

X_TEST = np.array([[-0.9], [-0.3], [0.2], [0.8]])


def test_linear_network_draws_from_the_exact_posterior():
    """f = w x, w ~ N(0, 0.5): mean and covariance of 800 members within four standard errors."""
    rng, n = np.random.default_rng(0), 800
    X = rng.uniform(-1.0, 1.0, (6, 1))
    y = 0.7 * X[:, 0] + 0.3 * rng.standard_normal(6)
    prior = GaussianProcessPrior(0.0, Linear(0.5))
    ensemble = AnchoredEnsemble(
        prior,
        anchoring=FunctionAnchoring(points=20, nugget=1e-3),
        hidden=(),
        noise=0.3,
        n_pretrained=n,
        n_members=n,
        prior_points=16,
        batch_size=None,
        learning_rate=0.02,
        pretrain_epochs=600,
        random_state=0,
    ).fit(X, y)
    mean, covariance = GaussianProcessPosterior(prior, X, y, 0.3).moments(X_TEST)
    samples = ensemble.sample(X_TEST)[:, :, 0]
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(samples.mean(axis=0) - mean[:, 0]) < 4 * deviations / np.sqrt(n))
    error = np.sqrt((covariance**2 + np.outer(deviations, deviations) ** 2) / n)
    assert np.all(np.abs(np.cov(samples.T) - covariance) < 4 * error)


def test_saved_and_loaded(small_anchored, line_data, tmp_path):
    """Predictions, penalties and settings come back; fitting again needs the prior."""
    anchoring = FunctionAnchoring(points=30)
    ensemble = small_anchored.set_params(anchoring=anchoring).fit(*line_data)
    ensemble.save(tmp_path / "f.npz")
    loaded = load(tmp_path / "f.npz")
    small_anchored.set_params(anchoring="weights")
    assert loaded.anchoring == anchoring
    np.testing.assert_array_equal(loaded.predict(X_TEST), ensemble.predict(X_TEST))
    np.testing.assert_array_equal(loaded.penalty(), ensemble.penalties_)
    with pytest.raises(ValueError, match="prior = None: it was not stored"):
        loaded.fit(*line_data)
