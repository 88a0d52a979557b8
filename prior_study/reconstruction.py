"""From weight priors back to functions, and how far those are from the functional prior.

Source: section 2.2.2 of the paper, Fig. 4; the distances are added here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from bnn import Architecture
from bnn._seeding import seed_sequence, spawn
from bnn.function_priors.gaussian_process import covariance_root
from bnn.weight_priors import WEIGHT_PRIORS

CENTRAL = norm.cdf([-1.0, 1.0])  # of a Gaussian this holds mean ± one standard deviation
# In the order of Fig. 4 a-d.
WEIGHT_PRIOR_NAMES = ("isotropic", "factorised", "generalised_normal", "low_rank")


@dataclass(frozen=True)
class Moments:
    """Mean and covariance of random functions on a grid of n points.

    Attributes:
        mean: (n,).
        covariance: (n, n).
    """

    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def of(cls, functions: np.ndarray) -> Moments:
        """Sample moments of functions (K, n), with divisor K-1."""
        values = np.asarray(functions, dtype=float)
        return cls(values.mean(axis=0), np.cov(values, rowvar=False))

    @property
    def std(self) -> np.ndarray:
        """Marginal standard deviations, (n,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


@dataclass(frozen=True)
class Distance:
    """Distance of random functions from a functional prior.

    Attributes:
        mean: |m - m0| / √(|m0|² + tr C0): the mean of a prior may be zero, its functions are not.
        covariance: ||C - C0|| / ||C0|| in the Frobenius norm.
        wasserstein: √((|m - m0|² + tr(C + C0 - 2 (C0^½ C C0^½)^½)) / n), the 2-Wasserstein
            distance of Gaussians with these moments, a root mean square over the grid in units
            of y.
    """

    mean: float
    covariance: float
    wasserstein: float


def distance(found: Moments, true: Moments) -> Distance:
    """Distance of functions from a functional prior by their moments; zero for equal moments.

    Source: Gelbrich (1990) for the Wasserstein distance.
    """
    shift = np.sum((found.mean - true.mean) ** 2)
    size = np.sum(true.mean**2) + np.trace(true.covariance)
    difference = np.linalg.norm(found.covariance - true.covariance)
    return Distance(
        mean=float(np.sqrt(shift / size)),
        covariance=float(difference / np.linalg.norm(true.covariance)),
        wasserstein=float(np.sqrt((shift + _bures(found, true)) / len(true.mean))),
    )


def _bures(found: Moments, true: Moments) -> float:
    """tr(C + C0 - 2 (C0^½ C C0^½)^½); the last trace is the sum of singular values of R0ᵀ R."""
    roots = covariance_root(true.covariance).T @ covariance_root(found.covariance)
    fidelity = np.linalg.svd(roots, compute_uv=False).sum()
    return max(np.trace(found.covariance) + np.trace(true.covariance) - 2.0 * fidelity, 0.0)


def half_widths(functions: np.ndarray) -> np.ndarray:
    """Half the width of the central 68.3 % of functions (K, n) at each point, (n,).

    It is the standard deviation of Gaussian functions and blind to a few that are far out.
    """
    low, high = np.quantile(functions, CENTRAL, axis=0)
    return 0.5 * (high - low)


def width_error(found: np.ndarray, true: np.ndarray) -> float:
    """Root mean square over the grid of log(w / w0), of the half widths of functions (K, n).

    It is zero for the true half widths w0 (n,), and log 2 = 0.69 for twice or half of them.
    """
    ratio = np.log(half_widths(found) / true)
    return float(np.sqrt(np.mean(ratio**2)))


def sampled_functions(
    kind: str,
    weights: np.ndarray,
    architecture: Architecture,
    grid: np.ndarray,
    count: int,
    seed: int,
) -> np.ndarray:
    """Networks drawn from a weight prior that is learnt from an ensemble, on a grid.

    Args:
        kind: Of the weight prior, one of WEIGHT_PRIOR_NAMES.
        weights: ω0^[k] of the ensemble, (K, d).
        architecture: Their layout.
        grid: (n, 1).
        count: Number of networks drawn.
        seed: Of the draws.

    Returns:
        Functions, (count, n) float32.
    """
    density = WEIGHT_PRIORS[kind].fit(weights, architecture)
    address = spawn(seed_sequence(seed), WEIGHT_PRIOR_NAMES.index(kind))
    drawn = density.sample(count, address).astype(np.float32)
    return architecture.forward(drawn, grid)[:, :, 0]
