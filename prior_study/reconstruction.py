"""From weight priors back to functions (section 2.2.2, Fig. 4), and how far off they are."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from bnn import MLP
from bnn.ensembles.weight_priors import WEIGHT_PRIORS
from bnn.gp.process import covariance_root
from prior_study.config import HIDDEN, StudyConfig

ARCHITECTURE = MLP((1, *HIDDEN, 1))
CENTRAL = norm.cdf([-1.0, 1.0])  # of a Gaussian this holds mean ± one standard deviation
# In the order of Fig. 4 a-d.
WEIGHT_PRIOR_NAMES = ("isotropic", "factorised", "generalised_normal", "low_rank")


@dataclass(frozen=True)
class Moments:
    """Mean and covariance of random functions on a grid of n points."""

    mean: np.ndarray  # (n,)
    covariance: np.ndarray  # (n, n)

    @classmethod
    def of(cls, functions: np.ndarray) -> "Moments":
        """Sample moments of functions (K, n), with divisor K-1."""
        values = np.asarray(functions, dtype=float)
        return cls(values.mean(axis=0), np.cov(values, rowvar=False))

    @property
    def std(self) -> np.ndarray:
        """Marginal standard deviations, (n,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


@dataclass(frozen=True)
class Distance:
    """Distance of random functions with moments m, C from a functional prior with m0, C0."""

    # |m - m0| / √(|m0|² + tr C0): the mean of a prior may be zero, its functions are not.
    mean: float
    # ||C - C0|| / ||C0|| in the Frobenius norm.
    covariance: float
    # √((|m - m0|² + tr(C + C0 - 2 (C0^½ C C0^½)^½)) / n), the 2-Wasserstein distance of Gaussians
    # with these moments: a root mean square over the grid in units of y.
    wasserstein: float


def distance(found: Moments, true: Moments) -> Distance:
    """Distance of functions from a prior, by moments on the same grid; zero for equal moments."""
    # Gelbrich (1990): W² = |m - m0|² + tr C + tr C0 - 2 tr (C0^½ C C0^½)^½. With C = R Rᵀ the last
    # trace is the sum of the singular values of R0ᵀ R.
    roots = covariance_root(true.covariance).T @ covariance_root(found.covariance)
    fidelity = np.linalg.svd(roots, compute_uv=False).sum()
    traces = np.trace(found.covariance) + np.trace(true.covariance)
    bures = max(traces - 2.0 * fidelity, 0.0)
    shift = np.sum((found.mean - true.mean) ** 2)
    size = np.sum(true.mean**2) + np.trace(true.covariance)
    difference = np.linalg.norm(found.covariance - true.covariance)
    return Distance(
        mean=float(np.sqrt(shift / size)),
        covariance=float(difference / np.linalg.norm(true.covariance)),
        wasserstein=float(np.sqrt((shift + bures) / len(true.mean))),
    )


def half_widths(functions: np.ndarray) -> np.ndarray:
    """Half the width of the central 68.3 % of functions (K, n), (n,); σ where they are Gaussian."""
    low, high = np.quantile(functions, CENTRAL, axis=0)
    return 0.5 * (high - low)


def width_error(found: np.ndarray, true: np.ndarray) -> float:
    """Root mean square of log(w / w0) of half widths, w of functions (K, n): log 2 for twice w0."""
    # Quantiles do not depend on a few functions far from the others.
    ratio = np.log(half_widths(found) / true)
    return float(np.sqrt(np.mean(ratio**2)))


def steepness(functions: np.ndarray, spacing: float) -> float:
    """RMS slope over RMS size of functions (K, n) about their mean; 1/L for an RBF kernel."""
    about_mean = functions - functions.mean(axis=0)
    slopes = np.diff(about_mean, axis=1) / spacing
    return float(np.sqrt(np.mean(slopes**2) / np.mean(about_mean**2)))


def sampled_functions(kind: str, weights: np.ndarray, config: StudyConfig) -> np.ndarray:
    """Networks drawn from a kind of weight prior learnt from weights (K, d), (functions, n)."""
    density = WEIGHT_PRIORS[kind].fit(weights, ARCHITECTURE)
    address = np.random.SeedSequence(config.seed, spawn_key=(WEIGHT_PRIOR_NAMES.index(kind),))
    drawn = density.sample(config.functions, address).astype(np.float32)
    return ARCHITECTURE.forward(drawn, config.grid)[:, :, 0]
