"""Mean functions of Gaussian process priors."""

import numpy as np

from bnn import (
    LinearMean,
)


def test_linear_mean_is_least_squares():
    """θ = xᵀy / xᵀx through the origin; with intercept the residual has no mean."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (30, 2)), rng.standard_normal((30, 2))
    theta = X[:, 0] @ y / (X[:, 0] @ X[:, 0])
    mean = LinearMean.fit(X, y, [0])
    np.testing.assert_allclose(mean(X), X[:, :1] * theta)
    residual = y - LinearMean.fit(X, y, [0, 1], intercept=True)(X)
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=1e-12)
