"""Functions drawn from weight priors (section 2.2.2, Fig. 4), and their distance from the prior."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from bnn import MLP
from bnn.ensembles.weight_priors import WEIGHT_PRIORS
from bnn.gp.process import covariance_root
from prior_study.config import HIDDEN, StudyConfig

ARCHITECTURE = MLP((1, *HIDDEN, 1))
CENTRAL = norm.cdf([-1.0, 1.0])  # probabilities of mean ± one standard deviation of a Gaussian
# In the order of Fig. 4 a-d.
WEIGHT_PRIOR_NAMES = ("isotropic", "factorised", "generalised_normal", "low_rank")


@dataclass(frozen=True)
class Moments:
    """Mean and covariance of random functions on a grid of n points."""

    mean: np.ndarray  # (n,)
    covariance: np.ndarray  # (n, n)

    @classmethod
    def of(cls, functions: np.ndarray) -> "Moments":
        """Return the sample moments of functions (K, n); the covariance has the divisor K-1."""
        values = np.asarray(functions, dtype=float)
        return cls(values.mean(axis=0), np.cov(values, rowvar=False))

    @property
    def std(self) -> np.ndarray:
        """Marginal standard deviations, (n,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


@dataclass(frozen=True)
class Distance:
    """Distance of random functions with moments m, C from a functional prior with m0, C0."""

    # |m - m0| / √(|m0|² + tr C0): relative to the size of functions, because m0 may be zero.
    mean: float
    # ||C - C0|| / ||C0|| in the Frobenius norm.
    covariance: float
    # √((|m - m0|² + tr(C + C0 - 2 (C0^½ C C0^½)^½)) / n), the 2-Wasserstein distance of Gaussians
    # with these moments: a root mean square over the grid, in units of y.
    wasserstein: float


def distance(moments: Moments, exact: Moments) -> Distance:
    """Return the distance of functions from a prior with exact moments, on the same grid."""
    # Gelbrich (1990): W² = |m - m0|² + tr C + tr C0 - 2 tr (C0^½ C C0^½)^½. With C = R Rᵀ the last
    # trace is the sum of the singular values of R0ᵀ R.
    roots = covariance_root(exact.covariance).T @ covariance_root(moments.covariance)
    fidelity = np.linalg.svd(roots, compute_uv=False).sum()
    traces = np.trace(moments.covariance) + np.trace(exact.covariance)
    bures = max(traces - 2.0 * fidelity, 0.0)
    shift = np.sum((moments.mean - exact.mean) ** 2)
    size = np.sum(exact.mean**2) + np.trace(exact.covariance)
    difference = np.linalg.norm(moments.covariance - exact.covariance)
    return Distance(
        mean=float(np.sqrt(shift / size)),
        covariance=float(difference / np.linalg.norm(exact.covariance)),
        wasserstein=float(np.sqrt((shift + bures) / len(exact.mean))),
    )


def half_widths(functions: np.ndarray) -> np.ndarray:
    """Return half the width of the central 68.3 % of functions (K, n), (n,); σ if Gaussian."""
    low, high = np.quantile(functions, CENTRAL, axis=0)
    return 0.5 * (high - low)


def width_error(functions: np.ndarray, widths: np.ndarray) -> float:
    """Return the root mean square of log(w / w0), with half widths w of functions (K, n).

    The half widths w0 of the prior are `widths`, (n,). If all w are twice w0, the error is log 2.
    """
    # Half widths come from quantiles, which do not depend on a few extreme functions.
    ratio = np.log(half_widths(functions) / widths)
    return float(np.sqrt(np.mean(ratio**2)))


def steepness(functions: np.ndarray, spacing: float) -> float:
    """Return RMS slope / RMS value of functions (K, n) about their mean; 1/L for an RBF kernel."""
    about_mean = functions - functions.mean(axis=0)
    slopes = np.diff(about_mean, axis=1) / spacing
    return float(np.sqrt(np.mean(slopes**2) / np.mean(about_mean**2)))


def sampled_functions(kind: str, weights: np.ndarray, config: StudyConfig) -> np.ndarray:
    """Fit a kind of weight prior to weights (K, d), and draw functions from it, (functions, n)."""
    density = WEIGHT_PRIORS[kind].fit(weights, ARCHITECTURE)
    address = np.random.SeedSequence(config.seed, spawn_key=(WEIGHT_PRIOR_NAMES.index(kind),))
    drawn = density.sample(config.functions, address).astype(np.float32)
    return ARCHITECTURE.forward(drawn, config.grid)[:, :, 0]
