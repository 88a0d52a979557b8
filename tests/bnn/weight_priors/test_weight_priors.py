"""Densities learnt from an ensemble of weights."""

import numpy as np
import pytest
import torch
from scipy import stats

from bnn import Architecture, layer_statistics
from bnn.training.backprop import LayerBlocks
from bnn.weight_priors import (
    WEIGHT_PRIORS,
    FactorisedGaussian,
    FactorisedGeneralisedNormal,
    IsotropicGaussian,
    LowRankGaussian,
)
from bnn.weight_priors.generalised_normal import fit_generalised_normal

ARCHITECTURE = Architecture((2, 6, 3))
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


def test_low_rank_of_float32_weights_drops_the_null_direction(ensemble):
    """Rounding does not turn singular value number K into a direction."""
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


def test_samples_have_mean_and_variance(prior):
    """Within five standard errors."""
    samples = prior.sample(4000, 0)
    variance = np.broadcast_to(prior.variance, D)
    assert np.all(np.abs(samples.mean(axis=0) - prior.mean) < 5 * np.sqrt(variance / 4000))
    excess = 5.0 if isinstance(prior, FactorisedGeneralisedNormal) else 0.0
    error = np.sqrt((2.0 + excess) / 4000)
    assert np.all(np.abs(samples.var(axis=0) / variance - 1.0) < 5 * error)


def test_low_rank_samples_have_the_covariance(ensemble):
    """Every entry within five standard errors."""
    low_rank = LowRankGaussian.fit(ensemble, ARCHITECTURE)
    covariance, n = low_rank.covariance(), 4000
    error = np.sqrt((covariance**2 + np.outer(low_rank.variance, low_rank.variance)) / n)
    assert np.all(np.abs(np.cov(low_rank.sample(n, 0).T) - covariance) < 5 * error)


def test_log_prob_is_minus_half_the_penalty(prior):
    """Differences of log p0 are those of the printed regularisation term."""
    weights = prior.sample(5, 0)
    log_prob, penalty = prior.log_prob(weights), prior.penalty(weights, prior.mean)
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
    cpu = torch.device("cpu")
    differences, gradients = (LayerBlocks(ARCHITECTURE, 3, cpu) for _ in range(2))
    differences.load(torch.as_tensor(weights - anchors))
    add_gradient = prior.regulariser().on(differences.slices, cpu)
    add_gradient(differences.blocks, gradients.blocks, 0.5)
    numeric = np.empty((3, D))
    for j in range(D):
        step = 1e-5 * (np.arange(D) == j)
        upper, lower = (prior.penalty(weights + s * step, anchors) for s in (1, -1))
        numeric[:, j] = 0.5 * (upper - lower) / 2e-5
    np.testing.assert_allclose(gradients.export(), numeric, rtol=2e-3, atol=2e-3)


def test_power_gradient_is_finite_at_the_anchor():
    """β < 1 has a cusp at the anchor, where every member starts."""
    prior = FactorisedGeneralisedNormal(np.zeros(D), np.ones(D), np.full(D, 0.5))
    cpu = torch.device("cpu")
    differences, gradients = (LayerBlocks(ARCHITECTURE, 2, cpu) for _ in range(2))
    add_gradient = prior.regulariser().on(differences.slices, cpu)
    add_gradient(differences.blocks, gradients.blocks, 1.0)
    assert not gradients.export().any()


@pytest.mark.parametrize("beta", [0.7, 1.0, 2.0, 4.0])
def test_generalised_normal_fit_recovers_its_parameters(beta):
    """Maximum likelihood on 20 000 draws; β = 2 is the Gaussian, β = 1 Laplace."""
    values = 0.3 * stats.gennorm(beta).rvs(20_000, random_state=0)
    alpha_hat, beta_hat = fit_generalised_normal(values, values.var())
    assert beta_hat == pytest.approx(beta, rel=0.08)
    assert alpha_hat == pytest.approx(0.3, rel=0.08)


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


def test_factorised_uses_each_layers_own_variance(ensemble):
    """Scaling one kernel changes the precision of that kernel alone."""
    scaled = ensemble.copy()
    scaled[:, ARCHITECTURE.groups["W1"]] *= 10.0
    before, after = (
        FactorisedGaussian.fit(w, ARCHITECTURE).regulariser().precision for w in (ensemble, scaled)
    )
    ratio = before / after
    inside = np.zeros(D, dtype=bool)
    inside[ARCHITECTURE.groups["W1"]] = True
    np.testing.assert_allclose(ratio[inside], 100.0)
    np.testing.assert_allclose(ratio[~inside], 1.0)


def test_refusals(prior, ensemble):
    """K = 1, other shapes, values that are not finite, members that are all equal."""
    fit = type(prior).fit
    with pytest.raises(ValueError, match="K = 1: a weight prior needs at least 2 networks"):
        fit(ensemble[:1], ARCHITECTURE)
    with pytest.raises(ValueError, match=r"weights have shape \(12, 3\)"):
        fit(ensemble[:, :3], ARCHITECTURE)
    with pytest.raises(ValueError, match="not finite"):
        fit(np.full((3, D), np.nan), ARCHITECTURE)
    with pytest.raises(ValueError, match="all networks are equal"):
        LowRankGaussian.fit(np.ones((3, D)), ARCHITECTURE)
