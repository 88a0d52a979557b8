"""Distances between random functions."""

import numpy as np
import pytest

from prior_study import Moments, distance
from prior_study.reconstruction import half_widths, steepness, width_error

N = 25
X = np.linspace(-1, 1, N)
TRUE = Moments(2 * X, 0.6 * np.exp(-0.5 * (X[:, None] - X) ** 2 / 0.2**2))


def test_a_shift_is_its_own_wasserstein_distance():
    distances = distance(Moments(TRUE.mean + 0.3, TRUE.covariance), TRUE)
    assert distances.wasserstein == pytest.approx(0.3, rel=1e-6)
    assert distances.covariance == 0


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 3.0])
def test_scaled_functions_have_the_closed_form_distance(factor):
    # W² = tr((a C^½ - C^½)²) = (a - 1)² tr C, for covariances that commute
    distances = distance(Moments(TRUE.mean, factor**2 * TRUE.covariance), TRUE)
    assert distances.wasserstein == pytest.approx(
        abs(factor - 1) * np.sqrt(0.6), rel=1e-6, abs=1e-6
    )
    assert distances.covariance == pytest.approx(abs(factor**2 - 1))


def test_sample_moments_converge_to_the_true_ones():
    rng = np.random.default_rng(0)
    distances = [
        distance(Moments.of(rng.multivariate_normal(TRUE.mean, TRUE.covariance, count)), TRUE)
        for count in (100, 10_000)
    ]
    assert distances[1].covariance < 0.2 * distances[0].covariance
    assert distances[1].wasserstein < 0.2 * distances[0].wasserstein


def test_half_width_of_gaussian_functions_is_their_standard_deviation():
    values = 0.7 * np.random.default_rng(1).standard_normal((20_000, 3))
    np.testing.assert_allclose(half_widths(values), 0.7, rtol=0.03)


def test_error_of_the_width_is_blind_to_shifts_and_outliers():
    values = np.random.default_rng(2).standard_normal((1000, N))
    widths = half_widths(values)
    assert width_error(values + 5.0, widths) == pytest.approx(0, abs=1e-12)
    assert width_error(2 * values, widths) == pytest.approx(np.log(2))
    assert width_error(np.vstack([values, np.full((3, N), 1e6)]), widths) < 0.02


def test_steepness_of_an_rbf_process_is_its_inverse_lengthscale():
    grid = np.linspace(-1, 1, 101)
    covariance = np.exp(-0.5 * (grid[:, None] - grid) ** 2 / 0.2**2) + 1e-10 * np.eye(101)
    functions = np.random.default_rng(1).multivariate_normal(7 * grid, covariance, size=800)
    slopes = steepness(functions, spacing=0.02)
    assert slopes == pytest.approx(1 / 0.2, rel=0.03)
    assert steepness(3 * functions, spacing=0.02) == pytest.approx(slopes)
