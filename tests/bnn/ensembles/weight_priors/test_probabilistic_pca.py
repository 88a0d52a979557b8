"""The proper Gaussian over the weights, and networks at the optimum under it."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bnn import ProbabilisticPCA
from bnn.ensembles.weight_priors import FactorisedGaussian, IsotropicGaussian
from tests.bnn.ensembles.weight_priors.conftest import ARCHITECTURE, D

ROOT = np.random.default_rng(0).standard_normal((4, D))
NOISE = 0.1


def draw(n, seed):
    """Weights with 4 strong directions and a standard deviation of 0.1 in all, (n, d)."""
    rng = np.random.default_rng(seed)
    return 1.0 + rng.standard_normal((n, 4)) @ ROOT + NOISE * rng.standard_normal((n, D))


def test_penalty_and_density_are_those_of_the_full_matrix():
    """Against Σ0 + τ² I written out, d x d."""
    weights = draw(12, 1)
    prior = ProbabilisticPCA.fit(weights, ARCHITECTURE)
    covariance = np.cov(weights.T) + prior.noise_variance * np.eye(D)
    others = draw(3, 2)
    density = multivariate_normal(weights.mean(axis=0), covariance)
    np.testing.assert_allclose(prior.log_prob(others), density.logpdf(others), rtol=1e-9)
    difference = others - weights[:3]
    expected = np.einsum("ki,ij,kj->k", difference, np.linalg.inv(covariance), difference)
    np.testing.assert_allclose(prior.penalty(others, weights[:3]), expected, rtol=1e-9)
    np.testing.assert_allclose(prior.variance, np.diag(covariance))
    parts = prior.covariance
    full = np.diag(parts.diagonal) + parts.root @ parts.root.T
    np.testing.assert_allclose(full, covariance, atol=1e-12)
    np.testing.assert_allclose(parts.multiply(others), others @ covariance)


def test_held_out_networks_choose_the_noise():
    """τ² is near the true one, and predicts fresh networks better than others do."""
    prior = ProbabilisticPCA.fit(draw(40, 1), ARCHITECTURE)
    fresh = draw(200, 2)
    assert prior.noise_variance == pytest.approx(NOISE**2, rel=0.3)
    score = prior.log_prob(fresh).mean()
    for factor in (0.1, 10.0):
        scales = prior.deviations, prior.directions, factor * prior.noise_variance
        other = ProbabilisticPCA(prior.mean, *scales)
        assert other.log_prob(fresh).mean() < score - 1.0
    for kind in (FactorisedGaussian, IsotropicGaussian):
        assert kind.fit(draw(40, 1), ARCHITECTURE).log_prob(fresh).mean() < score - 10.0
