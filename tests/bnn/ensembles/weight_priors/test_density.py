"""What every density over the weights promises."""

import numpy as np
import pytest
from scipy import stats

from bnn.ensembles.weight_priors import (
    FactorisedGaussian,
    FactorisedGeneralisedNormal,
    IsotropicGaussian,
    LowRankGaussian,
)
from tests.bnn.ensembles.weight_priors.conftest import ARCHITECTURE, D, gradient_of


def test_samples_have_mean_and_variance(prior):
    """Within five standard errors."""
    samples = prior.sample(4000, 0)
    variance = np.broadcast_to(prior.variance, D)
    assert np.all(np.abs(samples.mean(axis=0) - prior.mean) < 5 * np.sqrt(variance / 4000))
    excess = 5.0 if isinstance(prior, FactorisedGeneralisedNormal) else 0.0
    error = np.sqrt((2.0 + excess) / 4000)
    assert np.all(np.abs(samples.var(axis=0) / variance - 1.0) < 5 * error)


def test_log_prob_is_minus_half_the_penalty(prior):
    """Differences of log p0 are those of the printed regularisation term."""
    weights = prior.sample(5, 0)
    log_prob = prior.log_prob(weights)
    penalty = prior.penalty(weights, prior.mean)
    np.testing.assert_allclose(np.diff(log_prob), -0.5 * np.diff(penalty), rtol=1e-6)


def test_log_prob_against_scipy(ensemble):
    """Normalised densities, constants included."""
    isotropic = IsotropicGaussian.fit(ensemble, ARCHITECTURE)
    expected = stats.norm(0.0, np.sqrt(isotropic.variance)).logpdf(ensemble).sum(axis=1)
    np.testing.assert_allclose(isotropic.log_prob(ensemble), expected)
    gaussian = FactorisedGaussian.fit(ensemble, ARCHITECTURE)
    expected = stats.norm(gaussian.mean, np.sqrt(gaussian.variance)).logpdf(ensemble).sum(axis=1)
    np.testing.assert_allclose(gaussian.log_prob(ensemble), expected)
    general = FactorisedGeneralisedNormal.fit(ensemble, ARCHITECTURE)
    expected = stats.gennorm(general.beta, general.mean, general.alpha).logpdf(ensemble)
    np.testing.assert_allclose(general.log_prob(ensemble), expected.sum(axis=1))
    low_rank = LowRankGaussian.fit(ensemble, ARCHITECTURE)
    along = (ensemble - low_rank.mean) @ low_rank.directions
    expected = stats.norm(0.0, low_rank.deviations).logpdf(along).sum(axis=1)
    np.testing.assert_allclose(low_rank.log_prob(ensemble), expected)


def test_regulariser_is_the_gradient_of_the_penalty(prior, ensemble):
    """Central differences of penalty() against add_gradient()."""
    anchors = ensemble[:3]
    weights = anchors + 0.3 * np.random.default_rng(2).standard_normal((3, D))
    numeric = np.empty((3, D))
    for j in range(D):
        step = 1e-5 * (np.arange(D) == j)
        upper, lower = (prior.penalty(weights + s * step, anchors) for s in (1, -1))
        numeric[:, j] = (upper - lower) / 2e-5
    found = gradient_of(prior, weights - anchors)
    np.testing.assert_allclose(found, numeric, rtol=2e-3, atol=2e-3)


def test_refusals(prior, ensemble):
    """K = 1, other shapes, values that are not finite, members that are all equal."""
    fit = type(prior).fit
    with pytest.raises(ValueError, match="K = 1: a weight prior needs at least 2 networks"):
        fit(ensemble[:1], ARCHITECTURE)
    with pytest.raises(ValueError, match=r"weights have shape \(12, 3\)"):
        fit(ensemble[:, :3], ARCHITECTURE)
    with pytest.raises(ValueError, match="must be finite"):
        fit(np.full((3, D), np.nan), ARCHITECTURE)
    with pytest.raises(ValueError, match="all networks are equal"):
        LowRankGaussian.fit(np.ones((3, D)), ARCHITECTURE)
