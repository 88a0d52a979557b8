"""Gauss-Newton in weight space: the closed form of a linear network, and very small noise."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bnn import MLP
from bnn.training.gauss_newton.levenberg_marquardt import StoppingRule
from bnn.training.gauss_newton.weight_space import DiagonalPlusLowRank, fit_weights

K = 6
N = 6
RULE = StoppingRule(200, decrease=1e-9)


def sine(X):
    return np.sin(3.0 * X)


def fit(network, noise, truth):
    """Members with anchors and data of their own."""
    rng = np.random.default_rng(0)
    X = np.linspace(-1.0, 1.0, N)[:, None]
    y = truth(X) + noise * rng.standard_normal((K, N, 1))
    anchors = rng.standard_normal((K, network.n_weights)).astype(np.float32)
    prior = DiagonalPlusLowRank.diagonal_only(np.ones(network.n_weights))
    arguments = network, anchors, X, y, np.eye(1) * noise**2, prior, RULE, anchors
    return X, y, anchors, fit_weights(*arguments)


@pytest.mark.parametrize("noise", [1.0, 1e-2, 1e-6])
def test_a_linear_network_arrives_at_the_closed_form(noise):
    X, y, anchors, found = fit(MLP((1, 1)), noise, lambda X: 1.5 * X - 0.5)
    features = np.column_stack([X, np.ones(N)])
    normal = features.T @ features / noise**2 + np.eye(2)
    right = y[:, :, 0] @ features / noise**2 + anchors
    np.testing.assert_allclose(found.weights, np.linalg.solve(normal, right.T).T, rtol=2e-7)


@pytest.mark.parametrize("noise", [1e-5, 1e-6])
def test_nobody_stays_at_the_start_however_small_the_noise(noise):
    """The objective falls from more than 1e10 to some units; who is still on the way is counted.

    SciPy's least_squares ends between 11 and 24 from the same starts, after 300 evaluations.
    """
    with pytest.warns(ConvergenceWarning, match="6 of 6 members did not converge within 200"):
        _, _, _, found = fit(MLP((1, 8, 1), "silu"), noise, sine)
    assert np.all(found.losses[0] > 1e10)
    assert np.all(found.losses[found.epochs, np.arange(K)] < 1e3)
