"""Functional priors A to D with their exact moments (section 2.2.1 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnn import RBF, GaussianProcessPrior, RandomMean

SLOPE = 2.0  # of the mean m(x) = 2x of priors A to C
CUBIC = 5.0  # of the random mean m(x) = 5 u x³ of prior D, u ~ U(-1, 1)


def rising_mean(X: np.ndarray) -> np.ndarray:
    """Mean of priors A to C at X (n, 1): (n,)."""
    return SLOPE * X[:, 0]


def random_cubic(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One draw of the random mean of prior D at X (n, 1): (n,)."""
    return CUBIC * rng.uniform(-1.0, 1.0) * X[:, 0] ** 3


def zero_mean(X: np.ndarray) -> np.ndarray:
    """Expectation of the random mean of prior D at X (n, 1): (n,)."""
    return np.zeros(len(X))


def random_cubic_covariance(X: np.ndarray) -> np.ndarray:
    """Covariance of the random mean of prior D at X (n, 1): 25 x³ x'³ / 3, (n, n)."""
    cubes = CUBIC * X[:, 0] ** 3
    return np.outer(cubes, cubes) / 3.0


@dataclass(frozen=True)
class StudyPrior:
    """A functional prior p(g) and what is known about it exactly.

    Attributes:
        process: From which realisations are drawn.
        epochs: Published number of pre-training epochs.
        mean: X (n, 1) → E g(X), (n,).
        mean_covariance: X (n, 1) → covariance of a random mean, (n, n); None where it is fixed.
        label: What the paper calls it, for legends.
    """

    process: GaussianProcessPrior
    epochs: int
    mean: Callable[[np.ndarray], np.ndarray]
    mean_covariance: Callable[[np.ndarray], np.ndarray] | None = None
    label: str = ""

    def covariance(self, X: np.ndarray) -> np.ndarray:
        """Exact covariance of g(X) at X (n, 1): (n, n)."""
        kernel = self.process.covariance(X, X)
        return kernel if self.mean_covariance is None else kernel + self.mean_covariance(X)


def _rising(lengthscale: float, epochs: int) -> StudyPrior:
    process = GaussianProcessPrior(rising_mean, RBF(variance=0.6, lengthscale=lengthscale))
    label = f"$m = 2x$, $k_0 = 0.6$, $L = {lengthscale:g}$"
    return StudyPrior(process, epochs, rising_mean, label=label)


STUDY_PRIORS = {
    "A": _rising(lengthscale=0.8, epochs=100),
    "B": _rising(lengthscale=0.2, epochs=200),
    "C": _rising(lengthscale=0.05, epochs=2000),
    "D": StudyPrior(
        GaussianProcessPrior(RandomMean(random_cubic), RBF(variance=0.1, lengthscale=0.2)),
        epochs=250,
        mean=zero_mean,
        mean_covariance=random_cubic_covariance,
        label="$m = 5ux^3$, $k_0 = 0.1$, $L = 0.2$",
    ),
}
