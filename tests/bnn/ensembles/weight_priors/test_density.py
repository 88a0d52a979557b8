"""What every density over the weights promises."""

import numpy as np
import pytest
import torch
from scipy import stats

from bnn.ensembles.weight_priors import (
    FactorisedGaussian,
    FactorisedGeneralisedNormal,
    IsotropicGaussian,
    LowRankGaussian,
)
from bnn.ensembles.weight_priors.generalised_normal import fit_generalised_normal
from bnn.ensembles.weight_priors.statistics import layer_statistics
from tests.bnn.closed_forms import assert_covariance
from tests.bnn.ensembles.weight_priors.conftest import ARCHITECTURE, D, K, gradient_of


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
    isotropic, gaussian, general, low_rank = (
        kind.fit(ensemble, ARCHITECTURE)
        for kind in (
            IsotropicGaussian,
            FactorisedGaussian,
            FactorisedGeneralisedNormal,
            LowRankGaussian,
        )
    )
    along = (ensemble - low_rank.mean) @ low_rank.directions
    for prior, density, values in (
        (isotropic, stats.norm(0.0, np.sqrt(isotropic.variance)), ensemble),
        (gaussian, stats.norm(gaussian.mean, np.sqrt(gaussian.variance)), ensemble),
        (general, stats.gennorm(general.beta, general.mean, general.alpha), ensemble),
        (low_rank, stats.norm(0.0, low_rank.deviations), along),
    ):
        expected = density.logpdf(values).sum(axis=1)
        np.testing.assert_allclose(prior.log_prob(ensemble), expected)


def test_regulariser_is_the_gradient_of_the_penalty(prior, ensemble):
    """Central differences of penalty() against add_gradient()."""
    anchors = ensemble[:3]
    weights = anchors + 0.3 * np.random.default_rng(2).standard_normal((3, D))
    numeric = np.empty((3, D))
    for j in range(D):
        step = 1e-5 * (np.arange(D) == j)
        upper, lower = (prior.penalty(weights + s * step, anchors) for s in (1, -1))
        numeric[:, j] = (upper - lower) / 2e-5
    gradient = gradient_of(prior, weights - anchors)
    np.testing.assert_allclose(gradient, numeric, rtol=2e-3, atol=2e-3)


def test_layer_statistics(ensemble):
    """Variances by group are unbiased; `all` is their weighted mean; Gaussians have β = 2."""
    statistics = layer_statistics(ensemble, ARCHITECTURE)
    assert list(statistics) == ["W0", "b0", "W1", "b1", "all"]
    for name, columns in ARCHITECTURE.groups.items():
        expected = ensemble[:, columns].var(axis=0, ddof=1).mean()
        assert statistics[name]["variance"] == pytest.approx(expected)
    assert statistics["all"]["variance"] == pytest.approx(ensemble.var(axis=0, ddof=1).mean())
    normal = np.random.default_rng(0).standard_normal((2000, D))
    assert layer_statistics(normal, ARCHITECTURE)["all"]["beta"] == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("beta", [1.0, 1.5, 2.0, 3.0])
def test_gradient_is_that_of_the_penalty_near_the_anchor(beta):
    """Against automatic differentiation in float64, from 1e-5 α on."""
    size = np.logspace(-5, 1, D) * np.where(np.arange(D) % 2, -1.0, 1.0)
    alpha = np.linspace(0.5, 2.0, D)
    delta = torch.as_tensor((alpha * size)[None], dtype=torch.float32)
    prior = FactorisedGeneralisedNormal(np.zeros(D), alpha, np.full(D, beta))
    exact = delta.double().requires_grad_()
    (2.0 * (exact.abs() / torch.as_tensor(alpha)) ** beta).sum().backward()
    np.testing.assert_allclose(gradient_of(prior, delta), exact.grad, rtol=1e-5)
    cusp = FactorisedGeneralisedNormal(np.zeros(D), np.ones(D), np.full(D, 0.5))
    assert not gradient_of(cusp, np.zeros((2, D), np.float32)).any()  # where every member starts


@pytest.mark.parametrize("beta", [0.7, 1.0, 2.0, 4.0])
def test_generalised_normal_fit_recovers_its_parameters(beta):
    """Maximum likelihood on 20 000 draws; β = 2 is the Gaussian, β = 1 Laplace."""
    values = 0.3 * stats.gennorm(beta).rvs(20_000, random_state=0)
    alpha_hat, beta_hat = fit_generalised_normal(values[:, None])
    assert beta_hat == pytest.approx(beta, rel=0.08)
    assert alpha_hat == pytest.approx(0.3, rel=0.08)


def test_low_rank_is_the_sample_covariance(ensemble):
    """Rank K-1, covariance and mean of the ensemble, and Σ Σ⁺ Σ = Σ."""
    low_rank = LowRankGaussian.fit(ensemble, ARCHITECTURE)
    covariance = np.cov(ensemble.T)
    assert low_rank.rank == K - 1
    np.testing.assert_allclose(low_rank.covariance(), covariance, atol=1e-10)
    np.testing.assert_allclose(low_rank.variance, np.diag(covariance))
    factor = low_rank.regulariser().factor
    inverse = factor @ factor.T
    np.testing.assert_allclose(covariance @ inverse @ covariance, covariance, atol=1e-8)
    np.testing.assert_allclose(inverse, np.linalg.pinv(covariance, rcond=1e-10), atol=1e-7)
    assert_covariance(low_rank.sample(4000, 0), covariance)
    # Rounding does not turn singular value number K into a direction.
    assert LowRankGaussian.fit(ensemble.astype(np.float32), ARCHITECTURE).rank == K - 1


def test_low_rank_penalty_by_direction(ensemble):
    """Zero on the anchor, t² a standard deviation along V, zero along the complement."""
    low_rank = LowRankGaussian.fit(ensemble, ARCHITECTURE)
    anchor = ensemble[:1]
    assert low_rank.penalty(anchor, anchor) == 0.0
    for j in (0, K - 2):
        step = low_rank.deviations[j] * low_rank.directions[:, j]
        moved = [low_rank.penalty(anchor + t * step, anchor).item() for t in (1.0, 2.0, -3.0)]
        np.testing.assert_allclose(moved, [1.0, 4.0, 9.0])
    rng = np.random.default_rng(1)
    away = rng.standard_normal(D)
    away -= low_rank.directions @ (low_rank.directions.T @ away)
    assert low_rank.penalty(anchor + 100.0 * away, anchor).item() < 1e-12
    distance = low_rank.complement_distance(anchor + 100.0 * away, anchor).item()
    assert distance == pytest.approx(100.0 * np.linalg.norm(away))
