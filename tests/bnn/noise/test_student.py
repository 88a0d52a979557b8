"""Noise with heavy tails: likelihoods and posteriors of Student's t by SciPy, and its limits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import multivariate_t, norm, t

import bnn
from bnn import HeteroscedasticNoise, StudentNoise, metrics

RNG = np.random.default_rng(7)
X = RNG.uniform(-1, 1, (20, 2))
X_NEW = RNG.uniform(-1, 1, (5, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2]) + 0.1 * RNG.standard_t(3, (20, 2))
GAPS = Y.copy()
GAPS[2, 0] = GAPS[7, 1] = np.nan
STD = RNG.uniform(0.1, 0.3, (20, 2))
FULL = np.array([[0.02, 0.01], [0.01, 0.04]])
BY_INPUT = HeteroscedasticNoise([[-2.0, -1.5], [0.5, 0.2], [0.0, -0.3]], [[1, 0.4], [0.4, 1]])
KERNELS = [bnn.RBF(0.7, 0.5), bnn.RBF(0.3, 1.0)]
CONSTANT = bnn.Linear((0.0,), 4.0)  # f(x) = a with a ~ N(0, 4)


@pytest.mark.filterwarnings("ignore::bnn.ConstantInputWarning")
def test_posterior_and_bound_of_a_constant_beside_quadrature():
    """12 data of which one is far away: moments, evidence and predictive density by SciPy."""
    y = np.append(np.random.default_rng(1).normal(0.5, 0.3, 11), 4.0)
    prior = bnn.GaussianProcessPrior(0.0, CONSTANT)
    model = bnn.GPRegressor(prior, noise=StudentNoise(0.5, 4.0)).fit(np.zeros((12, 1)), y)
    scale = 0.5 / np.sqrt(2.0)

    def density(a):
        return np.exp(norm.logpdf(a, scale=2.0) + t.logpdf(y - a, 4.0, scale=scale).sum() + 10.0)

    total, mean, square = (
        quad(lambda a, k=k: a**k * density(a), -1, 2, epsabs=1e-12)[0] for k in range(3)
    )
    expected = mean / total
    spread = np.sqrt(square / total - (mean / total) ** 2)
    (predicted,), (std,) = model.predict([[0.0]], return_std=True)
    assert predicted == pytest.approx(expected, abs=0.1 * spread)
    assert std == pytest.approx(spread, rel=0.15)
    evidence = np.log(total) - 10.0
    assert evidence - 0.5 < model.log_evidence() < evidence
    for new in (0.4, 6.0, 1e3):
        a = np.linspace(predicted - 9 * std, predicted + 9 * std, 20_001)
        predictive = np.sum(norm.pdf(a, predicted, std) * t.pdf(new - a, 4.0, scale=scale)) * (
            a[1] - a[0]
        )
        assert model.elppd([[0.0]], [new]) == pytest.approx(np.log(predictive), abs=1e-4)


@pytest.mark.parametrize("noise", [FULL, BY_INPUT], ids=["constant", "by input"])
def test_the_predictive_density_is_joint_over_the_outputs(noise):
    """By Gauss-Hermite quadrature over f of both outputs."""
    prior = bnn.GaussianProcessPrior(0.0, KERNELS, 2)
    model = bnn.GPRegressor(prior, noise=StudentNoise(noise, 3.5)).fit(X, Y)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    logs = np.log(np.outer(weights, weights).ravel() / (2 * np.pi))
    expected = 0.0
    mean, covariance = model.predict(X_NEW, return_cov=True)
    truth = mean + np.outer([0.1, -0.5, 3.0, 0.0, 1.0], [1.0, -0.5])
    covariances = noise(X_NEW) if callable(noise) else [noise] * 5
    for y, m, C, S in zip(truth, mean, covariance, covariances, strict=True):
        f = m + grid @ np.linalg.cholesky(C).T
        log_density = multivariate_t(np.zeros(2), S * 1.5 / 3.5, df=3.5).logpdf(y - f)
        expected += logsumexp(logs + log_density)
    assert model.elppd(X_NEW, truth) == pytest.approx(expected, abs=1e-3)
    total = model.predict(X_NEW, return_cov=True, include_noise=True)[1]
    np.testing.assert_allclose(total - covariance, covariances, atol=1e-12)


def test_where_the_function_is_known_the_bound_is_the_likelihood_and_its_best_freedom():
    rng = np.random.default_rng(2)
    points = np.linspace(-1, 1, 150)[:, None]
    y = rng.multivariate_normal([0, 0], FULL, 150) / np.sqrt(rng.gamma(2.0, 0.5, (150, 1)))
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1e-12, 1.0), 2)

    def likelihood(freedom):
        scale = FULL * (1.0 - 2.0 / freedom)
        return multivariate_t([0, 0], scale, df=freedom).logpdf(y).sum()

    model = bnn.GPRegressor(prior, noise=StudentNoise(FULL, 5.0)).fit(points, y)
    assert model.log_evidence() == pytest.approx(likelihood(5.0), abs=1e-4)
    best = minimize_scalar(lambda v: -likelihood(v), bounds=(2.01, 50.0), method="bounded").x
    model = bnn.GPRegressor(prior, noise=StudentNoise(FULL)).fit(points, y)
    assert model.noise_.df == pytest.approx(best, rel=0.05)


def test_many_degrees_of_freedom_are_gaussian_noise_and_a_mixture_of_one_is_it():
    noise = FULL
    process = bnn.GaussianProcessPrior(0.0, KERNELS, 2)
    mixture = bnn.MixturePrior([process, process], [0.5, 0.5])
    results = []
    for prior in (process, mixture):
        for noise_model in (noise, StudentNoise(noise, np.inf), StudentNoise(noise, 1e6)):
            model = bnn.GPRegressor(prior, noise=noise_model).fit(X, Y)
            moments = model.predict(X_NEW, return_cov=True, include_noise=True)
            results.append([*moments, model.elppd(X_NEW, Y[:5]), model.log_evidence()])
            for moment, expected in zip(results[-1], results[0], strict=True):
                np.testing.assert_allclose(moment, expected, rtol=1e-4, atol=1e-5)
        for moment, expected in zip(results[-2], results[-3], strict=True):
            np.testing.assert_array_equal(moment, expected)
    heavy = [bnn.GPRegressor(prior, noise=StudentNoise(noise, 4.0)) for prior in (process, mixture)]
    moment, expected = (np.array(model.fit(X, Y).predict(X_NEW, True)) for model in heavy)
    np.testing.assert_allclose(moment, expected, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "options"),
    [(Y, {"noise_std": STD}), (GAPS, {"sample_weight": STD[:, 0]})],
    ids=["known noise", "missing outputs and weights"],
)
@pytest.mark.usefixtures("one_family")
def test_infinite_degrees_of_freedom_are_gaussian_noise(rows, options):
    for prior in (None, bnn.GaussianProcessPrior(0.0, KERNELS, 2)):
        of_student, expected = (
            bnn.GPRegressor(prior, noise=noise).fit(X, rows, **options).predict(X_NEW, True)
            for noise in (StudentNoise(FULL, np.inf), FULL)
        )
        np.testing.assert_array_equal(of_student, expected)


@pytest.mark.slow
def test_the_posterior_is_as_much_too_narrow_as_is_said():
    """Beside Gibbs sampling, for 20 functions that the prior draws, as the guide says."""
    points = np.linspace(-1, 1, 30)[:, None]
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.4))
    K = prior.covariance(points, points) + 1e-8 * np.eye(30)
    L = np.linalg.cholesky(K)
    for freedom, narrower, share in ((2.5, 0.79, 0.82), (5.0, 0.87, 0.89)):
        ratios = []
        covered = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            scale = 0.2**2 * (1.0 - 2.0 / freedom)
            f = L @ rng.standard_normal(30)
            y = f + np.sqrt(scale) * rng.standard_t(freedom, 30)
            model = bnn.GPRegressor(prior, noise=StudentNoise(0.2, freedom)).fit(points, y)
            factors = model.factors_
            means = []
            spreads = []
            for _ in range(400):
                gain = np.linalg.solve(K + np.diag(scale / factors), K)
                means.append(gain.T @ y)
                S = K - K @ gain
                spreads.append(np.diag(S))
                root = np.linalg.cholesky(S + 1e-9 * np.eye(30))
                squares = (y - means[-1] - root @ rng.standard_normal(30)) ** 2
                factors = rng.gamma(0.5 * (freedom + 1.0), 2.0 / (freedom + squares / scale))
            exact = np.sqrt(np.mean(spreads, axis=0) + np.var(means, axis=0))
            mean, std = model.predict(points, return_std=True)
            ratios.append(np.mean(std / exact))
            inside = [
                np.abs(f - mean) < 1.96 * std,
                np.abs(f - np.mean(means, axis=0)) < 1.96 * exact,
            ]
            covered.append(np.mean(inside, axis=1))
        held, exactly = np.mean(covered, axis=0)
        width = np.mean(ratios)
        print(f"ν = {freedom}: {width:.2f} as wide, holds {held:.2f}, exact {exactly:.2f}")
        assert width == pytest.approx(narrower, abs=0.03)
        assert held == pytest.approx(share, abs=0.02)


def test_ensembles_are_scored_by_the_density_of_students_t():
    samples = Y + 0.3 * RNG.standard_normal((4, 20, 2))
    noise = StudentNoise(FULL, 3.0)
    density = multivariate_t([0, 0], FULL / 3.0, df=3.0)
    densities = np.mean([density.pdf(Y - s) for s in samples], axis=0)
    assert metrics.elppd(Y, samples, noise) == pytest.approx(np.log(densities).sum())
    at_points = replace(noise, noise=np.tile(FULL, (20, 1, 1)))
    assert metrics.elppd(Y, samples, at_points) == pytest.approx(np.log(densities).sum())
    gaussian = replace(noise, df=np.inf)
    assert metrics.elppd(Y, samples, gaussian) == metrics.elppd(Y, samples, FULL)


@pytest.mark.parametrize("df", [-1.0, 0.0, 2.0, np.nan, 1e300, True, "4"])
def test_degrees_of_freedom_without_a_variance_are_refused(df):
    with pytest.raises(ValueError, match=r"^df = .*: must be .*> 2"):
        StudentNoise(0.1, df)
