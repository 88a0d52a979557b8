"""Mixtures of Gaussian processes against sums written out, and coverage of what they average."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from bnn import RBF, GaussianProcessPrior, GPRegressor, LinearMean, MixturePrior

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(-1, 1, (8, 1)), axis=0)
X_NEW = np.linspace(-1.2, 1.2, 7)[:, None]
Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 0] ** 2]) + 0.1 * RNG.standard_normal((8, 2))
MEAN = LinearMean([[0.3], [0.0]], [0.0, 0.2])
SCALES = np.geomspace(0.2, 5.0, 40)
WEIGHTS = np.column_stack([norm.pdf(np.log(SCALES), c) for c in (0.0, 0.5)])
MIXTURE = MixturePrior(
    [GaussianProcessPrior(MEAN, RBF(0.7, L), 2) for L in SCALES], WEIGHTS / WEIGHTS.sum(axis=0)
)


def conditioned(kernels, noise):
    """Posterior mean and covariance of f(X_NEW), by outputs, and log evidence of one process."""
    process = GaussianProcessPrior(MEAN, list(kernels), 2)
    model = GPRegressor(process, noise=noise).fit(X, Y)
    mean, covariance = model.joint_moments(X_NEW)
    return mean.T.ravel(), covariance, model.log_evidence()


def mixed(weights, means, covariances):
    """Moments of a mixture, written out."""
    mean = weights @ means
    second = np.einsum("s,sij->ij", weights, covariances + means[:, :, None] * means[:, None, :])
    return mean, second - np.outer(mean, mean)


def test_quadrature_over_a_length_scale():
    """Two outputs with 40 length scales each: sums over the outputs' own weights, to 1e-10."""
    noise = np.diag([0.01, 0.04])
    posterior = GPRegressor(MIXTURE, noise=noise).fit(X, Y)
    joint_mean, covariance = posterior.joint_moments(X_NEW)
    _, std = posterior.predict(X_NEW, return_std=True)
    y_new = np.cos(X_NEW[:, [0, 0]])
    density = 0.0
    evidence = 0.0
    for j, variance in enumerate([0.01, 0.04]):
        means = []
        covariances = []
        logs = []
        for L in SCALES:
            mean, full, _ = conditioned([RBF(0.7, L)] * 2, noise)
            means.append(mean.reshape(2, -1)[j])
            covariances.append(full.reshape(2, 7, 2, 7)[j, :, j])
            data = RBF(0.7, L)(X, X) + variance * np.eye(8)
            logs.append(multivariate_normal.logpdf((Y - MEAN(X))[:, j], cov=data))
        means = np.array(means)
        covariances = np.array(covariances)
        logs += np.log(MIXTURE.weights[:, j])
        weights = np.exp(logs - logsumexp(logs))
        mean, within = mixed(weights, means, covariances)
        np.testing.assert_allclose(joint_mean[:, j], mean, atol=1e-10)
        np.testing.assert_allclose(covariance.reshape(2, 7, 2, 7)[j, :, j], within, atol=1e-10)
        np.testing.assert_allclose(std[:, j] ** 2, np.diag(within), atol=1e-10)
        spreads = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2) + variance)
        density += np.log(weights @ norm.pdf(y_new[:, j], means, spreads)).sum()
        evidence += logsumexp(logs)
    np.testing.assert_array_equal(covariance.reshape(2, 7, 2, 7)[0, :, 1], 0.0)
    assert posterior.log_evidence() == pytest.approx(evidence, rel=1e-10)
    assert posterior.elppd(X_NEW, y_new) == pytest.approx(density, rel=1e-10)


def test_correlated_noise_couples_the_components():
    """All 9 pairs of three kernels, written out: joint moments of the outputs, and draws."""
    noise = np.array([[0.09, 0.07], [0.07, 0.09]])
    kernels = [RBF(0.7, L) for L in (0.3, 0.8, 2.0)]
    prior = MixturePrior([GaussianProcessPrior(MEAN, k, 2) for k in kernels], [0.5, 0.3, 0.2])
    posterior = GPRegressor(prior, noise=noise).fit(X, Y)
    cases = [conditioned(pair, noise) for pair in product(kernels, repeat=2)]
    means, covariances, logs = (np.array(values) for values in zip(*cases, strict=True))
    logs = logs + np.log(np.outer([0.5, 0.3, 0.2], [0.5, 0.3, 0.2]).ravel())
    mean, covariance = mixed(np.exp(logs - logsumexp(logs)), means, covariances)
    joint_mean, spread = posterior.joint_moments(X_NEW)
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(joint_mean.T.ravel() - mean) < 1e-8 * deviations)
    scale = np.outer(deviations, deviations)
    assert np.all(np.abs(spread - covariance) < 1e-8 * scale)
    assert posterior.log_evidence() == pytest.approx(logsumexp(logs), abs=1e-8)
    draws = posterior.sample(X_NEW, 4000, 0).transpose(0, 2, 1).reshape(4000, -1)
    assert np.all(np.abs(np.cov(draws.T) - covariance) < 0.15 * scale)


def test_draws_have_the_moments_of_the_mixture():
    """Of the prior and of the posterior, within five standard errors of a Gaussian's."""
    second = np.einsum("sj,sik->jik", MIXTURE.weights, [RBF(0.7, L)(X_NEW, X_NEW) for L in SCALES])
    prior = MIXTURE.sample(X_NEW, 2000, 0)
    posterior = GPRegressor(MIXTURE, noise=[0.1, 0.2]).fit(X, Y)
    mean, covariance = posterior.joint_moments(X_NEW)
    of_posterior = covariance.reshape(2, 7, 2, 7)[[0, 1], :, [0, 1]]
    drawn = posterior.sample(X_NEW, 2000, 0)
    for draws, centre, expected in ((prior, MEAN(X_NEW), second), (drawn, mean, of_posterior)):
        for j in range(2):
            deviations = np.sqrt(np.diag(expected[j]))
            error = (draws[:, :, j].mean(axis=0) - centre[:, j]) / deviations
            assert np.abs(error).max() < 5 / np.sqrt(2000)
            error = (np.cov(draws[:, :, j].T) - expected[j]) / np.outer(deviations, deviations)
            assert np.abs(error).max() < 7 * np.sqrt(2 / 2000)


@pytest.mark.parametrize(
    "noise", [[0.1, 0.2], [[0.09, 0.05], [0.05, 0.09]]], ids=["diagonal", "correlated"]
)
def test_predictions_evaluate_each_covariance_with_the_data_once(noise, monkeypatch):
    components = [GaussianProcessPrior(MEAN, RBF(0.7, L), 2) for L in (0.3, 0.8)]
    model = GPRegressor(MixturePrior(components, [0.5, 0.5]), noise=noise).fit(X, Y)
    different = sum(len(set(p.prior.alike)) for p in model.posterior_.posteriors)
    evaluate = GaussianProcessPrior.covariance
    sizes = []

    def counted(prior, A, B, output=0):
        sizes.append((len(A), len(B)))
        return evaluate(prior, A, B, output)

    monkeypatch.setattr(GaussianProcessPrior, "covariance", counted)
    mean, covariance = model.predict(X_NEW, return_cov=True)
    assert sizes == [(len(X_NEW), len(X))] * different
    np.testing.assert_allclose(mean, model.predict(X_NEW), rtol=1e-12)
    assert covariance.shape == (len(X_NEW), 2, 2)


@pytest.mark.parametrize(
    ("weights", "named"), [([1.2, -0.2], r"weights = -0\.2"), ([0.7, 0.7], r"weights sum to 1\.4")]
)
def test_weights_that_are_no_probabilities_are_named(weights, named):
    prior = GaussianProcessPrior(0.0, RBF(1.0, 0.5))
    with pytest.raises(ValueError, match=named + ": must be >= 0 and sum to 1"):
        MixturePrior([prior, prior], weights)
