"""Choice of a prior by the evidence: known truths, closed forms, refusals."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal

from bnn import RBF, ExactPosterior, GaussianProcessPrior, MixturePrior
from bnn.evaluation.metrics import coverage
from bnn.function_priors.evidence import HyperparameterDensity, fit_prior, lengthscales

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (80, 3))
NOISE = 0.05
TRUE = GaussianProcessPrior(0.0, RBF(1.0, (0.7, 40.0, 1.5)))
Y = TRUE.sample(X, 1, 3)[0] + NOISE * RNG.standard_normal((80, 1))


def evidence(prior, y=Y):
    return ExactPosterior(prior, noise=NOISE).fit(X, y).log_evidence()


def maximum(inputs, y, unit=1.0, **mean):
    """The point estimate, with the noise in another unit."""
    return fit_prior(inputs, y, unit * NOISE, estimate="maximum", **mean)


@pytest.fixture(scope="module")
def fitted():
    return maximum(X, Y, mean_features=(), intercept=False)


def test_length_scales_of_a_known_process_are_found(fitted):
    """Within a factor of 1.6 from 80 points; the second input does nothing."""
    first, second, third = lengthscales(fitted)[0]
    assert first == pytest.approx(0.7, rel=0.6)
    assert third == pytest.approx(1.5, rel=0.6)
    assert second > 10 * third


def test_the_evidence_is_at_a_maximum(fitted):
    """No other length scale or variance nearby has more, and the truth has less."""
    best = evidence(fitted)
    assert best >= evidence(TRUE)
    kernel = fitted.kernel[0]
    scales = np.array(kernel.lengthscale)
    others = [replace(kernel, variance=kernel.variance * f) for f in (0.8, 1.25)]
    for i in (0, 2):
        factors = np.ones(3)
        for factors[i] in (0.9, 1.1):
            others.append(replace(kernel, lengthscale=tuple(scales * factors)))
    assert all(evidence(replace(fitted, kernel=[other])) < best for other in others)


def test_coefficients_of_the_mean_are_integrated_out():
    """The evidence is that of y ~ N(0, k + Σ_i φ_i φ_iᵀ + σ² I), with φ = (1, x0)."""
    prior = maximum(X, Y, mean_features=(0,), intercept=True, coefficient_variance=2.0)
    kernel = prior.kernel[0].k1
    features = np.column_stack([np.ones(80), X[:, 0]])
    covariance = kernel(X, X) + 2.0 * features @ features.T + NOISE**2 * np.eye(80)
    expected = multivariate_normal.logpdf(Y[:, 0], np.zeros(80), covariance)
    assert evidence(prior) == pytest.approx(expected)


def test_a_trend_is_left_to_the_mean():
    """A straight line in x0 needs no process: the data decide its slope, far from its prior."""
    y = 3.0 * X[:, 0] + NOISE * RNG.standard_normal(80)
    prior = maximum(X, y, mean_features=(0,), intercept=False)
    assert prior.kernel[0].k1.variance < 0.01
    slope = np.diff(
        ExactPosterior(prior, noise=NOISE).fit(X, y).predict(np.eye(3)[:1] * [[0], [1]]), axis=0
    )
    assert slope.item() == pytest.approx(3.0, abs=0.1)


def test_outputs_have_kernels_of_their_own():
    y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] ** 2])
    table = lengthscales(maximum(X, y, mean_features=()))
    assert table.argmin(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize("features", [(), (0, 2)])
def test_units_and_origin_do_not_matter(features):
    """Inputs and outputs in other units and from other origins, the search included."""
    small = maximum(X, Y, mean_features=features)
    large = maximum(1e3 * X + 4e3, 50.0 * Y + 2000.0, 50.0, mean_features=features)
    important = [0, 2]
    np.testing.assert_allclose(
        lengthscales(large)[0, important], 1e3 * lengthscales(small)[0, important], rtol=0.02
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:5], Y), r"y has shape \(80, 1\): must be \(5,\) or \(5, n_out\)"),
        ((X * [1, 0, 1], Y), "input 1 is constant: it says nothing about its scale"),
        ((X, 0 * Y), "output 0 is constant"),
    ],
)
def test_data_that_say_nothing_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_prior(*arguments, NOISE)


def test_unknown_mean_features_are_refused():
    with pytest.raises(ValueError, match=r"mean_features = \[3\]: must be among 0 to 2"):
        fit_prior(X, Y, NOISE, mean_features=[3])


def test_a_mixture_has_no_length_scales_of_its_own():
    with pytest.raises(ValueError, match='must be one of estimate="maximum"'):
        lengthscales(fit_prior(X[:6], Y[:6], NOISE))
    with pytest.raises(ValueError, match="estimate = 'best': must be one of average, maximum"):
        fit_prior(X, Y, NOISE, estimate="best")


def test_density_of_hyperparameters_and_its_gradient():
    """The normal density written out, and differences of it."""
    fixed = NOISE**2 * np.eye(80) + 0.5
    centre, precision = np.array([0.1, 0.5, 0.6, 0.7]), np.array([0.25, 0.5, 0.5, 0.5])
    density = HyperparameterDensity(X, Y[:, 0], fixed, centre, precision)

    def expected(eta):
        covariance = RBF(np.exp(eta[0]), tuple(np.exp(eta[1:])))(X, X) + fixed
        away = (eta - centre) * np.sqrt(precision)
        likelihood = multivariate_normal.logpdf(Y[:, 0], cov=covariance)
        return likelihood - 0.5 * away @ away

    first, second = np.array([0.2, -0.3, 2.0, 0.4]), np.array([-0.5, 0.1, 0.3, 0.0])
    difference = density(second)[0] - density(first)[0]
    assert difference == pytest.approx(expected(second) - expected(first), rel=1e-9)
    steps = 1e-5 * np.eye(4)
    slopes = [(expected(first + h) - expected(first - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(density(first)[1], slopes, rtol=1e-6, atol=1e-6)


def test_the_average_is_a_quadrature_over_hyperparameters():
    """One input: a fine grid over variance and length scale with the hyperprior, by definition."""
    points, new = np.linspace(-1.0, 0.6, 7)[:, None], np.linspace(-1.2, 1.2, 9)[:, None]
    y = np.sin(3.0 * points[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(7)
    form = {"mean_features": (), "intercept": False}
    average = ExactPosterior(fit_prior(points, y, 0.1, **form), noise=0.1).fit(points, y)
    grid = np.array(list(product(np.linspace(-4, 4, 21), repeat=2)))
    etas = [np.log(y.var()), np.log(1.6)] + grid * [2.0, 1.5]  # the range of the input is 1.6
    priors = [GaussianProcessPrior(0.0, RBF(k0, L)) for k0, L in np.exp(etas)]
    fine = MixturePrior(priors, softmax(-0.5 * np.sum(grid**2, axis=1)))
    mean, std = ExactPosterior(fine, noise=0.1).fit(points, y).predict(new, return_std=True)
    ours, spread = average.predict(new, return_std=True)
    assert np.all(np.abs(ours - mean) < 0.15 * std)
    np.testing.assert_allclose(spread, std, rtol=0.2)
    np.testing.assert_allclose(spread.mean(), std.mean(), rtol=0.05)


def test_enough_starts_find_the_largest_evidence():
    """A data set with several maxima, where five starts miss 0.34 nats of it."""
    rng = np.random.default_rng(10_012)
    points, scales = rng.uniform(-1, 1, (10, 4)), tuple(np.exp(rng.normal(0.3, 0.8, 4)))
    f = GaussianProcessPrior(0.0, RBF(1.0, scales)).sample(points, 1, 12)[0, :, 0]
    y = f + 0.1 * rng.standard_normal(10)

    def found(**searches):
        prior = fit_prior(points, y, 0.1, estimate="maximum", **searches)
        return ExactPosterior(prior, noise=0.1).fit(points, y).log_evidence()

    assert found() == pytest.approx(found(restarts=60), abs=0.01)


def coverage_of_functions(n_data, estimate, n_functions):
    """Part of 95 % intervals that hold f, for known processes of four inputs; data not centred."""
    held = []
    for seed in range(n_functions):
        rng = np.random.default_rng(seed)
        points = rng.uniform(-1, 1, (n_data + 100, 4))
        process = GaussianProcessPrior(0.0, RBF(1.0, tuple(rng.permutation([0.8, 1.5, 3.0, 10.0]))))
        f = process.sample(points, 1, seed)[0, :, 0]
        X, y = points[:n_data], f[:n_data] + 0.1 * rng.standard_normal(n_data)
        prior = fit_prior(X, y, 0.1, estimate=estimate)
        mean, std = ExactPosterior(prior, noise=0.1).fit(X, y).predict(points, return_std=True)
        held.append(coverage(f[n_data:], mean[n_data:], std[n_data:]))
    return np.mean(held)


@pytest.mark.parametrize("n_data", [5, 10])
def test_intervals_hold_the_function_after_averaging(n_data):
    """Eight functions; the point estimate is overconfident."""
    assert coverage_of_functions(n_data, "maximum", 8) < 0.75
    assert coverage_of_functions(n_data, "average", 8) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("n_data", [5, 10, 25, 50])
def test_coverage_of_forty_functions(n_data):
    """Coverage of 95 % intervals of f, four inputs."""
    found = [coverage_of_functions(n_data, each, 40) for each in ("maximum", "average")]
    print(f"{n_data} data: maximum {found[0]:.2f}, average {found[1]:.2f}")
    assert 0.88 <= found[1] <= 1.0
    assert found[1] > found[0]
