"""Mean functions of Gaussian process priors."""

import numpy as np

import bnn
from bnn import LinearMean


def test_one_slope_for_each_output_multiplies_the_first_input():
    """A vector θ is short for a matrix whose other columns are zero."""
    X = np.random.default_rng(0).uniform(0, 1, (30, 2))
    theta = np.array([0.5, -2.0, 3.0])
    matrix = np.column_stack([theta, np.zeros(3)])
    np.testing.assert_allclose(LinearMean(theta, 0.1)(X), LinearMean(matrix, 0.1)(X))
    np.testing.assert_allclose(LinearMean(matrix, theta)(X), X[:, :1] * theta + theta)


def test_a_model_is_asked_for_nothing_beyond_the_ranges_of_the_data():
    """Radii that would be negative there, for which a solver fails."""
    X = np.random.default_rng(0).uniform([0.01, 1.0], [1.0, 2.0], (20, 2))

    def model(points):
        assert np.all((X.min(axis=0) <= points) & (points <= X.max(axis=0)))
        return np.sqrt(points[:, 0])

    bnn.evidence.fit_prior(X, X[:, 0], 0.1, mean=model, restarts=0)
