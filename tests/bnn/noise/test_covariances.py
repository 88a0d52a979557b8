"""The noise covariance from replicates."""

import warnings

import numpy as np
import pytest

import bnn
from bnn.noise import replicate_covariance
from bnn.noise.models import warn_of_excess
from tests.bnn.small import small

RNG = np.random.default_rng(2)
TRUE = np.array([[0.04, 0.03], [0.03, 0.09]])


def replicates(counts):
    groups = np.repeat(np.arange(len(counts)), counts)
    noise = RNG.standard_normal((len(groups), 2)) @ np.linalg.cholesky(TRUE).T
    return 10.0 * RNG.standard_normal((len(counts), 2))[groups] + noise, groups


def test_covariance_is_found_under_large_differences_between_groups():
    """2000 degrees of freedom: within 5 standard errors, groups of unequal size in any order."""
    y, groups = replicates([3, 7, 12] * 105)
    order = RNG.permutation(len(y))
    freedom = len(y) - 315
    error = np.sqrt((TRUE**2 + np.outer(np.diag(TRUE), np.diag(TRUE))) / freedom)
    assert np.all(np.abs(replicate_covariance(y[order], groups[order]) - TRUE) < 5 * error)
    one, groups = replicates([9])
    np.testing.assert_allclose(replicate_covariance(one, groups), np.cov(one.T))


@pytest.mark.parametrize("n", [2, 30])
def test_data_that_are_all_noise_are_rarely_said_to_have_less(n):
    """One set of data in a thousand, within 4 standard errors of 2,000 sets."""
    said = []
    for sample in np.split(0.3 * RNG.standard_normal((n, 2000)), 2000, axis=1):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_of_excess(np.array([[0.3**2]]), sample, stacklevel=1)
        said.append([warning.category for warning in caught] == [bnn.NoiseWarning])
    assert np.mean(said) == pytest.approx(1e-3, abs=4 * np.sqrt(1e-3 / 2000))


@pytest.mark.slow
@pytest.mark.usefixtures("one_family")
@pytest.mark.parametrize(
    "make",
    [bnn.VanillaEnsemble, bnn.AnchoredEnsemble, bnn.FunctionAnchoredEnsemble, bnn.GPRegressor],
)
def test_noise_beyond_the_scatter_of_the_data_is_pointed_out(make):
    model = small(make)
    X = RNG.uniform(-1, 1, (20, 2))
    y = np.column_stack([X[:, 0], 1e-3 * X[:, 1]])
    with pytest.warns(bnn.NoiseWarning, match="noise: .* 0.1 of output 1 exceeds .*, 0.000"):
        model.fit(X, y)
    model.set_params(noise=[0.1, 1e-4]).fit(X, y)
