"""Choice of a prior by the evidence: known truths, closed forms, refusals."""

from itertools import product

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal

import bnn
from bnn import RBF, GaussianProcessPrior, GPRegressor, MixturePrior
from bnn.evaluation.metrics import coverage
from bnn.gp.evidence import fit_noise, fit_prior, lengthscales

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (80, 3))
NOISE = 0.05
TRUE = GaussianProcessPrior(0.0, RBF(1.0, (0.7, 40.0, 1.5)))
Y = TRUE.sample(X, 1, 3)[0] + NOISE * RNG.standard_normal((80, 1))


def evidence(prior, y=Y):
    return GPRegressor(prior, noise=NOISE).fit(X, y).log_evidence()


def maximum(inputs, y, unit=1.0, **mean):
    """The prior of largest evidence, with the noise in another unit."""
    return fit_prior(inputs, y, unit * NOISE, estimate="map", **mean)


def test_length_scales_of_a_known_process_are_found():
    """Within a factor of 1.6 from 80 points; the second input does nothing."""
    first, second, third = lengthscales(maximum(X, Y, mean_features=(), intercept=False))[0]
    assert first == pytest.approx(0.7, rel=0.6)
    assert third == pytest.approx(1.5, rel=0.6)
    assert second > 10 * third


def test_coefficients_of_the_mean_are_integrated_out():
    """The evidence is that of y ~ N(0, k + Σ_i φ_i φ_iᵀ + σ² I), with φ = (1, x0)."""
    prior = maximum(X, Y, mean_features=(0,), intercept=True, coefficient_variance=2.0)
    kernel = prior.kernel[0].k1
    features = np.column_stack([np.ones(80), X[:, 0]])
    covariance = kernel(X, X) + 2.0 * features @ features.T + NOISE**2 * np.eye(80)
    expected = multivariate_normal.logpdf(Y[:, 0], np.zeros(80), covariance)
    assert evidence(prior) == pytest.approx(expected)


@pytest.mark.parametrize("features", [(), (0, 2)])
def test_units_and_origin_do_not_matter(features):
    """Inputs and outputs in other units and from other origins, the search included."""
    small = maximum(X, Y, mean_features=features)
    large = maximum(1e3 * X + 4e3, 50.0 * Y + 2000.0, 50.0, mean_features=features)
    important = [0, 2]
    np.testing.assert_allclose(
        lengthscales(large)[0, important], 1e3 * lengthscales(small)[0, important], rtol=0.02
    )


@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9])
def test_an_input_that_does_not_vary_is_left_out(constant):
    """The prior of largest evidence is the prior without it; predictions ignore it, and warn."""
    wide = np.insert(X[:30], 1, constant, axis=1)
    prior = maximum(wide, Y[:30], restarts=0)
    without = maximum(X[:30], Y[:30], restarts=0)
    of_varying = lengthscales(prior)[0]
    assert of_varying[1] == np.inf
    np.testing.assert_allclose(of_varying[[0, 2, 3]], lengthscales(without)[0], rtol=1e-3)
    model = GPRegressor(prior, noise=NOISE)
    with pytest.warns(bnn.ConstantInputWarning, match="input 1 is constant"):
        model.fit(wide, Y[:30])
    moved = np.add(wide, [0.0, 1e6, 0.0, 0.0])
    expected = model.predict(wide, return_std=True)
    model.predict(wide.astype(np.float32))  # without a warning
    with pytest.warns(bnn.ConstantInputWarning, match="input 1 of X differs from"):
        prior = model.predict(moved, return_std=True)
    np.testing.assert_allclose(prior, expected, rtol=1e-12)
    assert np.all(np.isfinite(fit_noise(wide, Y[:30], restarts=0)))


@pytest.mark.usefixtures("one_family")
def test_the_noise_of_known_processes_is_found():
    """Four functions, 40 data, noise 0.1: within a factor of 1.6, 1.25 on average."""
    variances = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        points = rng.uniform(-1, 1, (40, 2))
        f = GaussianProcessPrior(0.0, RBF(1.0, (0.7, 1.5))).sample(points, 1, seed)[0, :, 0]
        y = f + 0.1 * rng.standard_normal(40)
        variances.append(fit_noise(points, y, restarts=1).item() / 0.1)
    assert 1 / 1.6 < min(variances) < max(variances) < 1.6
    assert 0.8 < np.exp(np.mean(np.log(variances))) < 1.25


@pytest.mark.usefixtures("one_family")
def test_the_noise_is_in_the_units_of_each_output():
    """And a low-fidelity model that explains the data leaves the noise alone."""
    y = np.column_stack([Y[:, 0], 50.0 * Y[:, 0] + 2000.0])
    first, second = fit_noise(X, y)
    assert first == pytest.approx(NOISE, rel=0.5)
    assert second == pytest.approx(50.0 * first, rel=0.02)
    y = 10.0 * X[:, 0] ** 3 + NOISE * RNG.standard_normal(80)
    noise = fit_noise(X, y, mean=lambda x: 5.0 * x[:, 0] ** 3, mean_features=())
    assert noise == pytest.approx([NOISE], rel=0.3)


def test_a_model_is_asked_for_nothing_beyond_the_ranges_of_the_data():
    """Radii that would be negative there, for which a solver fails."""
    points = np.random.default_rng(0).uniform([0.01, 1.0], [1.0, 2.0], (20, 2))

    def model(x):
        assert np.all((points.min(axis=0) <= x) & (x <= points.max(axis=0)))
        return np.sqrt(x[:, 0])

    fit_prior(points, points[:, 0], 0.1, mean=model, restarts=0)


def test_the_factor_of_a_low_fidelity_model_is_integrated_out():
    """The evidence is that of y ~ N(m, k + m mᵀ + σ² I), the posterior that of both parts."""

    def m(x):
        return np.column_stack([x[:, 0] * (1.0 + x[:, 1]), x[:, 1] ** 2 + x[:, 0] * x[:, 2]])

    points, new = X[:40], X[40:]
    y = m(points) * [1.2, 0.8] + 0.3 * np.sin(3.0 * points[:, 2:])
    form = {"mean_features": (), "intercept": False, "estimate": "map"}
    prior = fit_prior(points, y, 0.01, mean=m, **form)
    posterior = GPRegressor(prior, noise=0.01).fit(points, y)
    expected = 0.0
    for j, kernel in enumerate(prior.kernels):
        ours, at = m(points)[:, j], m(new)[:, j]
        K = kernel.k1(points, points) + np.outer(ours, ours) + 1e-4 * np.eye(40)
        expected += multivariate_normal.logpdf(y[:, j], ours, K)
        cross = kernel.k1(new, points) + np.outer(at, ours)
        mean = at + cross @ np.linalg.solve(K, y[:, j] - ours)
        np.testing.assert_allclose(posterior.predict(new)[:, j], mean, rtol=1e-6, atol=1e-8)
    assert posterior.log_evidence() == pytest.approx(expected)


def test_the_average_is_a_quadrature_over_hyperparameters():
    """One input: a fine grid over variance and length scale with the hyperprior, by definition."""
    points = np.linspace(-1.0, 0.6, 7)[:, None]
    new = np.linspace(-1.2, 1.2, 9)[:, None]
    y = np.sin(3.0 * points[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(7)
    form = {"mean_features": (), "intercept": False}
    grid = np.array(list(product(np.linspace(-4, 4, 21), repeat=2)))
    etas = [np.log(y.var()), np.log(1.6)] + grid * [2.0, 1.5]  # the range of the input is 1.6
    priors = [GaussianProcessPrior(0.0, RBF(k0, L)) for k0, L in np.exp(etas)]
    fine = MixturePrior(priors, softmax(-0.5 * np.sum(grid**2, axis=1)))
    mean, std = GPRegressor(fine, noise=0.1).fit(points, y).predict(new, return_std=True)
    spreads = []
    for seed in range(2):
        prior = fit_prior(points, y, 0.1, random_state=seed, **form)
        average = GPRegressor(prior, noise=0.1).fit(points, y)
        ours, spread = average.predict(new, return_std=True)
        assert np.all(np.abs(ours - mean) < 0.15 * std)
        np.testing.assert_allclose(spread, std, rtol=0.2)
        spreads.append(spread)
    np.testing.assert_allclose(np.mean(spreads), std.mean(), rtol=0.05)


def test_enough_starts_find_the_largest_evidence():
    """A data set with several maxima, where five starts miss 0.12 nats of it."""
    rng = np.random.default_rng(10_018)
    points = rng.uniform(-1, 1, (10, 4))
    scales = tuple(np.exp(rng.normal(0.3, 0.8, 4)))
    f = GaussianProcessPrior(0.0, RBF(1.0, scales)).sample(points, 1, 18)[0, :, 0]
    y = f + 0.1 * rng.standard_normal(10)

    def evidence(**searches):
        prior = fit_prior(points, y, 0.1, estimate="map", **searches)
        return GPRegressor(prior, noise=0.1).fit(points, y).log_evidence()

    assert evidence() == pytest.approx(evidence(restarts=60), abs=0.01)


SMOOTH = [0.8, 1.5, 3.0, 10.0]
ROUGH = [0.4, 0.7, 1.2, 3.0]  # the hyperprior's median is 2


def coverage_of_functions(n_data, estimate, n_functions, scales=SMOOTH):
    """Part of 95 % intervals that hold f, for known processes of four inputs; data not centred."""
    held = []
    for seed in range(n_functions):
        rng = np.random.default_rng(seed)
        points = rng.uniform(-1, 1, (n_data + 100, 4))
        process = GaussianProcessPrior(0.0, RBF(1.0, tuple(rng.permutation(scales))))
        f = process.sample(points, 1, seed)[0, :, 0]
        X = points[:n_data]
        y = f[:n_data] + 0.1 * rng.standard_normal(n_data)
        prior = fit_prior(X, y, 0.1, estimate=estimate)
        mean, std = GPRegressor(prior, noise=0.1).fit(X, y).predict(points, return_std=True)
        held.append(coverage(f[n_data:], mean[n_data:], std[n_data:]))
    return np.mean(held)


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("n_data", [5, 10])
def test_intervals_hold_the_function_after_averaging(n_data):
    """Eight functions; the point estimate is overconfident."""
    assert coverage_of_functions(n_data, "map", 8) < 0.75
    assert coverage_of_functions(n_data, "average", 8) > 0.85


@pytest.mark.coverage
@pytest.mark.parametrize("n_data", [5, 10, 25, 50])
@pytest.mark.parametrize("scales", [SMOOTH, ROUGH], ids=["smooth", "rough"])
def test_coverage_of_forty_functions(n_data, scales):
    """Coverage of 95 % intervals of f, four inputs."""
    coverages = [
        coverage_of_functions(n_data, estimate, 40, scales) for estimate in ("map", "average")
    ]
    print(f"{n_data} data, {scales}: maximum {coverages[0]:.2f}, average {coverages[1]:.2f}")
    assert 0.88 <= coverages[1] <= 1.0
    assert coverages[1] > coverages[0]
