"""Gaussian conditioning against the objective that it minimises."""

import numpy as np

from bnn.priors.conditioning import Conditioning


def test_conditioning_minimises_the_printed_objective():
    """The gradient of both quadratic terms vanishes at f*, and their Hessian is S⁻¹."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((10, 10))
    noise = np.array([[0.3, 0.1], [0.1, 0.2]])
    C = root @ root.T
    g = rng.standard_normal((1, 5, 2))
    targets = rng.standard_normal((1, 3, 2))
    posterior = Conditioning.on_first_points(C[None], noise, 3)
    best = posterior.apply(g, targets)[0]
    misfit = np.zeros((5, 2))
    misfit[:3] = (best[:3] - targets[0]) @ np.linalg.inv(noise)
    gradient = misfit.T.ravel() + np.linalg.solve(C, (best - g[0]).T.ravel())
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    picked = np.kron(np.eye(2), np.eye(3, 5))
    hessian = np.linalg.inv(C) + picked.T @ np.kron(np.linalg.inv(noise), np.eye(3)) @ picked
    np.testing.assert_allclose(posterior.covariance[0] @ hessian, np.eye(10), atol=1e-9)
