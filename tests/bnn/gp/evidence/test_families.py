"""Densities of families against the dense formulas, and their gradients by differences."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import bnn
from bnn.gp.evidence import families
from bnn.gp.evidence.density import FamilyDensity
from bnn.gp.evidence.families import Family, NoiseForm
from bnn.gp.evidence.prescribed import PrescribedCovariance, linear_trend

RNG = np.random.default_rng(0)
U = RNG.uniform(size=(25, 3))
Y = RNG.standard_normal(25)


FAMILIES = [
    Family((bnn.RBF,), trend=True),
    Family((bnn.Matern32,), sparse=True),
    Family((bnn.Matern52, bnn.Matern32), warped=True),
    Family((bnn.Matern32, bnn.Matern12), trend=True, warped=True, mixed=True),
]
NOISES = [None, np.zeros((25, 0)), U - 0.5]


# The data in other units beside a constant input, and a linear mean of known prior variances there
LOW, WIDTH, SPREAD = np.array([2.0, -1.0, 0.0]), np.array([3.0, 0.5, 10.0]), 4.0
POINTS = np.insert(LOW + WIDTH * U, 1, 7.0, axis=1)
MEAN = linear_trend(POINTS, SPREAD, [0, 2, 3], True, 2.0)
PRESCRIBED = PrescribedCovariance(MEAN, POINTS, np.array([0, 2, 3]), LOW, WIDTH, SPREAD)
CASES = [*((family, None) for family in FAMILIES), (Family((bnn.RBF,)), PRESCRIBED)]


def density(family, basis, trend=None):
    sizes = RNG.uniform(0.1, 0.3, 25)
    noise = (
        NoiseForm.of_variances(sizes) if basis is None else NoiseForm(np.zeros(25), sizes, basis)
    )
    return FamilyDensity(family, U, Y, noise, trend)


NAMES = ["trend", "sparse", "warped", "mixed", "known trend"]


@pytest.mark.parametrize(("family", "trend"), CASES, ids=NAMES)
@pytest.mark.parametrize("basis", NOISES, ids=["known", "constant", "by input"])
def test_density_and_gradient(family, trend, basis):
    """The normal density with the kernel as users get it, and central differences."""
    made = density(family, basis, trend)
    first = made.centre + 0.2 * RNG.standard_normal(len(made.centre))
    second = made.centre + 0.2 * RNG.standard_normal(len(made.centre))

    def expected(eta):
        kernel = made.kernel(eta, np.zeros(3), np.ones(3), 1.0)
        noise = made.noise_form.fixed
        if basis is not None:
            noise = made.noise_form.relative * np.exp(
                eta[made.noise_level] + 2.0 * basis @ eta[made.slopes]
            )
        covariance = kernel(U) + np.diag(noise)
        if trend is not None:
            covariance += MEAN(POINTS) / SPREAD
        away = (eta - made.centre) * np.sqrt(made.precision)
        return multivariate_normal.logpdf(Y, cov=covariance) - 0.5 * away @ away

    difference = made(second)[0] - made(first)[0]
    assert difference == pytest.approx(expected(second) - expected(first), rel=1e-7)
    assert made.value(first) == pytest.approx(made(first)[0], rel=1e-12)
    steps = 1e-5 * np.eye(len(first))
    slopes = [(made.value(first + h) - made.value(first - h)) / 2e-5 for h in steps]
    # Differences of values of a few hundred have errors relative to the largest slope.
    largest = np.abs(slopes).max()
    np.testing.assert_allclose(made(first)[1], slopes, rtol=1e-5, atol=1e-6 * largest)


def test_expected_squares_at_the_data():
    """(y - m)² + S_ii of the posterior, by its formulas."""
    made = density(FAMILIES[2], None)
    eta = made.centre
    K = made.kernel(eta, np.zeros(3), np.ones(3), 1.0)(U)
    gain = K @ np.linalg.inv(K + np.diag(made.noise_form.fixed))
    expected = (Y - gain @ Y) ** 2 + np.diag(K - gain @ K)
    np.testing.assert_allclose(made.squares(eta), expected, rtol=1e-6)


def test_expected_squares_include_the_nugget_of_noise_that_is_too_small():
    """As under known noise of the size of the nugget, 4 N ε times the largest variance."""
    made = density(FAMILIES[0], None)
    eta = made.centre
    variance = made.kernel(eta, np.zeros(3), np.ones(3), 1.0).diag(U).max()
    nugget = 4.0 * 25 * np.finfo(float).eps * variance
    small, enough = (
        made.with_noise(NoiseForm.of_variances(np.full(25, size)))
        for size in (1e-3 * nugget, nugget)
    )
    np.testing.assert_allclose(small.squares(eta), enough.squares(eta), rtol=1e-3)


@pytest.mark.parametrize("n_inputs", [1, 4, 16])
def test_length_scales_of_few_data_keep_pace_with_distances(n_inputs):
    """At their medians the squared distance of two random points is 1/6 for any number of inputs.

    E (u - u')² = 1/6 of one uniform input.
    """
    u = np.random.default_rng(0).uniform(size=(8000, n_inputs))
    made = FamilyDensity(
        Family((bnn.RBF,), sparse=True), u[:30], u[:30, 0], NoiseForm.of_variances(np.ones(30))
    )
    scales = np.exp(made.centre[made.parts[0][1]])
    squares = np.sum(((u[::2] - u[1::2]) / scales) ** 2, axis=1)
    assert squares.mean() == pytest.approx(1.0 / 6.0, rel=0.05)


def test_moments_beside_a_mean_of_known_prior_variances():
    """Mean and variance of f by the dense formulas, of all inputs in their own units."""
    made = density(Family((bnn.RBF,)), None, PRESCRIBED)
    eta = made.centre + 0.1
    places = np.random.default_rng(1).uniform(-0.1, 1.1, (6, 3))
    new = np.insert(LOW + WIDTH * places, 1, 7.0, axis=1)
    kernel = made.kernel(eta, LOW, WIDTH, SPREAD)
    rows = [0, 2, 3]

    def covariance(a, b):
        return kernel(a[:, rows], b[:, rows]) + MEAN(a, b)

    data = covariance(POINTS, POINTS) + SPREAD * np.diag(made.noise_form.fixed)
    cross = covariance(new, POINTS)
    mean = cross @ np.linalg.solve(data, Y)
    explained = np.sum(cross * np.linalg.solve(data, cross.T).T, axis=1)
    variances = (np.diag(covariance(new, new)) - explained) / SPREAD
    np.testing.assert_allclose(
        made.moments(eta, places, made.solved(eta)), [*mean, *variances], rtol=1e-8
    )


@pytest.mark.parametrize(("family", "trend"), CASES, ids=NAMES)
def test_a_datum_left_out_has_the_density_that_it_adds(family, trend):
    """log p(y_i | others) = log p(y) - log p(others)."""
    made = density(family, None, trend)
    _, logs = made.left_out(made.centre)
    for i in range(3):
        others = made.thinned(np.delete(np.arange(25), i))
        gain = made.log_evidence(made.centre) - others.log_evidence(made.centre)
        np.testing.assert_allclose(logs[i], gain - 0.5 * np.log(2.0 * np.pi), rtol=1e-7)


def test_the_page_states_the_hyperprior_of_length_scales():
    root = Path(bnn.__file__).parents[1]
    page = " ".join((root / "docs" / "explanation_gp.md").read_text(encoding="utf-8").split())
    first, second = families.LENGTHSCALE_MEDIANS
    assert f"with the median {first:g} ({second:g} for a second part)" in page
    assert f"a standard deviation of {families.LENGTHSCALE_DEVIATION:g}. If" in page
    assert f"the standard deviation is {families.SPARSE_DEVIATION:g}." in page
