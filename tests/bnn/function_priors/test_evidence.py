"""Choice of a prior by the evidence: known truths, closed forms, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bnn import RBF, ExactPosterior, GaussianProcessPrior
from bnn.function_priors.evidence import fit_prior, lengthscales

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (80, 3))
NOISE = 0.05
TRUE = GaussianProcessPrior(0.0, RBF(1.0, (0.7, 40.0, 1.5)))
Y = TRUE.sample(X, 1, 3)[0] + NOISE * RNG.standard_normal((80, 1))


def evidence(prior, y=Y):
    return ExactPosterior(prior, noise=NOISE).fit(X, y).log_evidence()


@pytest.fixture(scope="module")
def fitted():
    return fit_prior(X, Y, NOISE, mean_features=(), intercept=False)


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
    prior = fit_prior(X, Y, NOISE, mean_features=(0,), intercept=True, coefficient_variance=2.0)
    kernel = prior.kernel[0].k1
    features = np.column_stack([np.ones(80), X[:, 0]])
    covariance = kernel(X, X) + 2.0 * features @ features.T + NOISE**2 * np.eye(80)
    expected = multivariate_normal.logpdf(Y[:, 0], np.zeros(80), covariance)
    assert evidence(prior) == pytest.approx(expected)


def test_a_trend_is_left_to_the_mean():
    """A straight line in x0 needs no process: the data decide its slope, far from its prior."""
    y = 3.0 * X[:, 0] + NOISE * RNG.standard_normal(80)
    prior = fit_prior(X, y, NOISE, mean_features=(0,), intercept=False)
    assert prior.kernel[0].k1.variance < 0.01
    slope = np.diff(
        ExactPosterior(prior, noise=NOISE).fit(X, y).predict(np.eye(3)[:1] * [[0], [1]]), axis=0
    )
    assert slope.item() == pytest.approx(3.0, abs=0.1)


def test_outputs_have_kernels_of_their_own():
    y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] ** 2])
    table = lengthscales(fit_prior(X, y, NOISE, mean_features=()))
    assert table.argmin(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize("features", [(), (0, 2)])
def test_units_and_origin_do_not_matter(features):
    """Inputs and outputs in other units and from other origins, the search included."""
    small = fit_prior(X, Y, NOISE, mean_features=features)
    large = fit_prior(1e3 * X + 4e3, 50.0 * Y + 2000.0, 50.0 * NOISE, mean_features=features)
    important = [0, 2]
    np.testing.assert_allclose(
        lengthscales(large)[0, important], 1e3 * lengthscales(small)[0, important], rtol=0.02
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:5], Y), r"X has shape \(5, 3\): must be \(80, n_in\), as y has 80 rows"),
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
