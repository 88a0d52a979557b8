"""Posteriors that tests compare with: linear Gaussian, and by importance weights."""

import numpy as np

from bnn._validation import as_columns
from bnn.noise import noise_covariance
from bnn.priors.samplers import draw_realisations


def linear_gaussian(features, y, noise, mean, covariance):
    """Return mean and covariance of w given y = Φ w + ε, w ~ N(mean, covariance), ε ~ N(0, σ² I).

    The covariance may be singular.
    """
    cross = covariance @ features.T
    gain = np.linalg.solve(features @ cross + noise**2 * np.eye(len(y)), cross.T).T
    return mean + gain @ (y - features @ mean), covariance - gain @ cross.T


def importance_weighted(prior, X, y, noise, X_new, n_realisations=100_000):
    """Return mean and deviation of f at X_new, (n, n_out), and the number of equal weights.

    Realisations of the prior are weighted by their likelihood, which only few data allow; see
    Robert & Casella (2004), ch. 3.3.
    """
    y = as_columns("y", y, len(X))
    values = draw_realisations(prior, np.concatenate([X, X_new]), n_realisations, 0)
    residual = values[:, : len(X)] - y
    precision = np.linalg.inv(noise_covariance(noise, y.shape[1]))
    squares = np.einsum("kni,ij,knj->k", residual, precision, residual, optimize=True)
    weights = np.exp(-0.5 * (squares - squares.min()))
    weights /= weights.sum()
    at_new = values[:, len(X) :]
    mean = np.tensordot(weights, at_new, axes=1)
    std = np.sqrt(np.tensordot(weights, (at_new - mean) ** 2, axes=1))
    return mean, std, 1.0 / np.sum(weights**2)


def assert_covariance(samples, covariance, errors=5.0):
    """The covariance of samples (n, d) lies within some standard errors of a Gaussian's."""
    variances = np.diag(covariance)
    error = np.sqrt((covariance**2 + np.outer(variances, variances)) / len(samples))
    assert np.all(np.abs(np.cov(samples.T) - covariance) <= errors * error + 1e-8)


def assert_moments(samples, mean, covariance, errors=5.0):
    """Mean and covariance of samples (n, d) lie within some standard errors of a Gaussian's."""
    error = np.sqrt(np.diag(covariance) / len(samples))
    assert np.all(np.abs(samples.mean(axis=0) - mean) <= errors * error + 1e-8)
    assert_covariance(samples, covariance, errors)
