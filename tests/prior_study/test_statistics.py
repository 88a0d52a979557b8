"""Statistics of weights whose distribution is known."""

from itertools import permutations

import numpy as np
import pytest

from bnn import MLP
from prior_study.statistics import (
    directions,
    held,
    mean_correlation,
    null_correlation,
    variance_error,
    weight_statistics,
)

K = 60
SCALES = (1.0, 2.0, 0.5)  # standard deviations of the weights of each layer


@pytest.fixture(scope="module")
def architecture():
    return MLP((1, 30, 30, 1))


@pytest.fixture(scope="module")
def gaussian(architecture):
    """Independent Gaussian weights."""
    weights = np.random.default_rng(0).standard_normal((K, architecture.n_weights))
    for layer, scale in zip(architecture.layers, SCALES, strict=True):
        weights[:, layer.start : layer.stop] *= scale
    return weights


def test_gaussian_weights_are_described_as_such(gaussian, architecture):
    statistics = weight_statistics(gaussian + 7.0, architecture)
    assert statistics.groups.tolist() == ["all", "W0", "W1", "W2"]
    variance = np.array(SCALES) ** 2
    np.testing.assert_allclose(statistics.variance[1:], variance, rtol=0.15)
    beta = statistics.beta[2]  # of the kernel with 900 weights
    assert beta == pytest.approx(2.0, abs=0.1)
    assert len(statistics.singular_values) == K - 1


@pytest.mark.parametrize("together", [False, True])
def test_error_of_the_variance_meets_its_expectation(together):
    """Weights that move together leave the variance as uncertain as a single one does."""
    K = 200
    n = 50
    rng = np.random.default_rng(1)
    values = rng.standard_normal((K, 1)) * np.ones(n) if together else rng.standard_normal((K, n))
    independent = 1 if together else n
    expected = np.sqrt(2.0 / (independent * (K - 1)))  # of independent Gaussian variances
    assert variance_error(values - values.mean(axis=0)) == pytest.approx(expected, rel=0.25)


def test_independent_gaussian_weights_correlate_by_chance_alone(gaussian, architecture):
    kernel = gaussian[:, architecture.layers[1].kernel]
    chance = np.sqrt(2.0 / (np.pi * (K - 1)))  # mean |r| of Gaussian values
    assert mean_correlation(kernel) == pytest.approx(chance, rel=0.05)
    assert null_correlation(kernel) == pytest.approx(chance, rel=0.02)


def test_level_of_two_weights_is_that_of_all_permutations():
    first = np.array([0.0, 1.0, 5.0])
    second = np.array([1.0, 2.5, -9.0])
    # Each of the six orders is equally likely, so the largest of them is the level.
    level = max(abs(np.corrcoef(first, order)[0, 1]) for order in permutations(second))
    assert null_correlation(np.stack([first, second], axis=1)) == pytest.approx(level)


def test_one_in_twenty_independent_kernels_with_long_tails_is_above_its_level():
    rng = np.random.default_rng(4)
    sets = rng.standard_t(1.0, size=(120, 40, 12))
    above = [mean_correlation(kernel) > null_correlation(kernel) for kernel in sets]
    assert 1 <= sum(above) <= 12
    kernel = rng.standard_normal((K, 30)) + 0.6 * rng.standard_normal((K, 1))  # share a part
    assert mean_correlation(kernel) > null_correlation(kernel)


def test_directions_that_hold_most_of_the_variance_are_counted():
    assert directions(np.array([3.0, 1.0, 1.0, 1.0]), share=0.75) == 1
    assert directions(np.array([1.0, 1.0, 1.0, 1.0]), share=0.9) == 4
    np.testing.assert_allclose(held(np.array([3.0, 1.0, 1.0, 1.0])), [9 / 12, 10 / 12, 11 / 12, 1])
