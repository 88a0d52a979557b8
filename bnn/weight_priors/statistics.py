"""What the weights of a pre-trained ensemble look like, layer by layer."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from scipy.stats import kurtosis

from bnn.networks.architecture import Architecture

# Below this a weight does not vary: the density would be degenerate.
SMALLEST_VARIANCE = 1e-12
# Singular values below this fraction of the largest are rounding errors of float32 weights.
RELATIVE_CUTOFF = 1e-6


def checked_ensemble(weights: np.ndarray, architecture: Architecture) -> np.ndarray:
    """Validate an ensemble of weights.

    Args:
        weights: (K, d).
        architecture: Their layout.

    Returns:
        The weights in float64.

    Raises:
        ValueError: If the shape is another one, K < 2, or a value is not finite.
    """
    weights = np.asarray(weights, dtype=float)
    if weights.ndim != 2 or weights.shape[1] != architecture.n_weights:
        raise ValueError(
            f"weights have shape {weights.shape}: must be (K, {architecture.n_weights})"
        )
    if len(weights) < 2:
        raise ValueError(f"K = {len(weights)}: a weight prior needs at least 2 networks")
    if not np.isfinite(weights).all():
        raise ValueError("weights hold values that are not finite")
    return weights


def principal_directions(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return singular values S (r,) and directions V (d, r) of centred weights (K, d), r <= K-1.

    Raises:
        ValueError: If all networks are equal.
    """
    _, s, vt = np.linalg.svd(weights - weights.mean(axis=0), full_matrices=False)
    # Centring makes singular value number K zero, up to rounding errors of float32 weights.
    rank = int(np.sum(s[: len(weights) - 1] > RELATIVE_CUTOFF * s[0]))
    if rank == 0:
        raise ValueError("weights: all networks are equal, there is no covariance to learn")
    return s[:rank], vt[:rank].T


def layer_statistics(weights: np.ndarray, architecture: Architecture) -> dict[str, dict]:
    """Describe the demeaned weights of each kernel and bias.

    Args:
        weights: ω0^[k], (K, d).
        architecture: Their layout.

    Returns:
        Group (W0, b0, ..., and all) → variance, excess kurtosis, and α0, β0 of the generalised
        normal fit.

    Source: Table 1 and the histograms of the weights in the paper.
    """
    weights = checked_ensemble(weights, architecture)
    centred = weights - weights.mean(axis=0)
    statistics = {}
    for name, columns in {**architecture.groups, "all": slice(None)}.items():
        values = centred[:, columns]
        alpha, beta = fit_generalised_normal(values.ravel(), unbiased_variance(values))
        statistics[name] = {
            "variance": float(unbiased_variance(values)),
            "excess_kurtosis": float(kurtosis(values.ravel())),
            "alpha": alpha,
            "beta": beta,
        }
    return statistics


def unbiased_variance(centred: np.ndarray) -> float:
    """Return the mean over columns of the unbiased variance of centred values (K, n)."""
    return max(float((centred**2).sum() / ((len(centred) - 1) * centred.shape[1])), 0.0)


def fit_generalised_normal(values: np.ndarray, variance: float) -> tuple[float, float]:
    """Fit α, β of p ∝ exp(-(|w| / α)^β) by maximum likelihood, at zero mean.

    Args:
        values: Centred values, (n,).
        variance: Their variance; a variance of zero gives a narrow Gaussian.

    Returns:
        α and β, the latter in [0.2, 10].
    """
    if variance < SMALLEST_VARIANCE:
        return float(np.sqrt(2.0 * SMALLEST_VARIANCE)), 2.0
    size = np.abs(values) / np.sqrt(variance)

    def alpha_of(beta: float) -> float:
        return float((beta * np.mean(size**beta)) ** (1.0 / beta))

    def negative_log_likelihood(log_beta: float) -> float:
        beta = np.exp(log_beta)
        # At the best α, the mean of (|w| / α)^β is 1 / β.
        return np.log(2.0 * alpha_of(beta) / beta) + gammaln(1.0 / beta) + 1.0 / beta

    best = minimize_scalar(
        negative_log_likelihood, bounds=(np.log(0.2), np.log(10.0)), method="bounded"
    )
    beta = float(np.exp(best.x))
    return alpha_of(beta) * float(np.sqrt(variance)), beta
