"""Covariances that are estimated from realisations."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bnn import GaussianProcessPrior, Matern12
from bnn.ensembles.conditioning import Conditioning
from bnn.ensembles.drawn_priors import sample_covariance


def test_sample_covariance_knows_the_units_of_the_outputs():
    """Shrinking towards one variance for both would blow the small output up by 1e8."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((400, 3, 2)) * [1e3, 1e-2]
    deviations = np.sqrt(np.diag(sample_covariance(values)[0]))
    np.testing.assert_allclose(deviations, np.repeat([1e3, 1e-2], 3), rtol=0.1)


@pytest.mark.parametrize("noise", [0.1, 0.01, 0.001])
def test_a_smooth_prior_is_not_shrunk(noise):
    """1,000 random lines have two directions: the posterior's spread is the closed form's."""
    rng = np.random.default_rng(0)
    features = np.column_stack([np.ones(60), rng.uniform(-1.0, 1.0, 60)])
    values = rng.standard_normal((1000, 2)) @ features.T
    C = sample_covariance(values[:, :, None])
    posterior = Conditioning.on_first_points(C, np.diag([noise**2]), 15)
    precision = np.eye(2) + features[:15].T @ features[:15] / noise**2
    exact = np.sqrt(np.diag(features @ np.linalg.solve(precision, features.T)))
    spread = np.sqrt(np.diag(posterior.covariance[0]))
    np.testing.assert_allclose(spread, exact, rtol=0.05)


def test_held_out_realisations_choose_the_shrinkage():
    """With fewer realisations than directions, other variances predict fresh ones worse."""
    prior = GaussianProcessPrior(0.0, Matern12(1.0, 0.3))
    X = np.linspace(-1.0, 1.0, 60)[:, None]
    values = prior.sample(X, 30, 0)
    covariance = sample_covariance(values)[0]
    fresh = prior.sample(X, 200, 1)[:, :, 0]
    mean = values.mean(axis=0)[:, 0]
    plain = np.cov(values[:, :, 0].T)
    added = np.diag(covariance - plain).mean()
    assert added > 0
    scores = [
        multivariate_normal.logpdf(fresh, mean, plain + factor * added * np.eye(60)).mean()
        for factor in (0.2, 1.0, 5.0)
    ]
    assert np.argmax(scores) == 1
