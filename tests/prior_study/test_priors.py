"""Functional priors A to D: exact moments."""

import numpy as np
import pytest

from prior_study import STUDY_PRIORS

X = np.array([[-0.9], [-0.3], [0.1], [0.8]])
COUNT = 4000


def test_marginals_are_those_of_the_paper():
    """Those of D of its random cubic and its kernel."""
    for name in "ABC":
        np.testing.assert_allclose(np.diag(STUDY_PRIORS[name].covariance(X)), 0.6, rtol=1e-12)
        np.testing.assert_allclose(STUDY_PRIORS[name].mean(X), 2 * X[:, 0], rtol=1e-12)
    expected = 25 * X[:, 0] ** 6 / 3 + 0.1
    np.testing.assert_allclose(np.diag(STUDY_PRIORS["D"].covariance(X)), expected, rtol=1e-12)


@pytest.mark.parametrize("name", STUDY_PRIORS)
def test_realisations_have_the_exact_moments(name):
    prior = STUDY_PRIORS[name]
    values = prior.process.sample(X, COUNT, 0)[:, :, 0]
    covariance = prior.covariance(X)
    deviation = np.sqrt(np.diag(covariance))
    np.testing.assert_array_less(
        np.abs(values.mean(axis=0) - prior.mean(X)), 4.5 * deviation / np.sqrt(COUNT)
    )
    # The error of a sample covariance of Gaussians is at most √(2 / n) σ_i σ_j.
    error = np.abs(np.cov(values, rowvar=False) - covariance) / np.outer(deviation, deviation)
    assert error.max() < 4.5 * np.sqrt(2 / COUNT)
