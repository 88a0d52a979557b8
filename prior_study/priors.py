"""Functional priors A to D with their exact moments (section 2.2.1 of the paper)."""

from dataclasses import dataclass

import numpy as np

from bnn import RBF, GaussianProcessPrior, LinearMean, RandomMean

SLOPE = 2.0  # of the mean m(x) = 2x of priors A to C
CUBIC = 5.0  # of the random mean m(x) = 5 u x³ of prior D, u ~ U(-1, 1)


@dataclass(frozen=True)
class StudyPrior:
    """A functional prior p(g) with its exact moments."""

    process: GaussianProcessPrior  # prior from which realisations are drawn
    epochs: int  # published number of pre-training epochs
    label: str  # formula of the prior in the paper, for legends
    cubic: float = 0.0  # c of a random mean m(x) = c u x³, u ~ U(-1, 1); zero for a fixed mean

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the mean of g(X), (n,), at X (n, 1)."""
        return np.zeros(len(X)) if self.cubic else self.process.mean_values(X)[:, 0]

    def covariance(self, X: np.ndarray) -> np.ndarray:
        """Return the covariance of g(X), k + c² x³ x'³ / 3, (n, n), at X (n, 1)."""
        cubes = self.cubic * X[:, 0] ** 3
        return self.process.covariance(X, X) + np.outer(cubes, cubes) / 3.0


def random_cubic(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the random mean of prior D, (n,), at X (n, 1)."""
    return CUBIC * rng.uniform(-1.0, 1.0) * X[:, 0] ** 3


def _rising(lengthscale: float, epochs: int) -> StudyPrior:
    """Return a prior with the mean 2x."""
    process = GaussianProcessPrior(LinearMean(np.array([SLOPE])), RBF(0.6, lengthscale))
    return StudyPrior(process, epochs, f"$m = 2x$, $k_0 = 0.6$, $L = {lengthscale:g}$")


STUDY_PRIORS = {
    "A": _rising(lengthscale=0.8, epochs=100),
    "B": _rising(lengthscale=0.2, epochs=200),
    "C": _rising(lengthscale=0.05, epochs=2000),
    "D": StudyPrior(
        GaussianProcessPrior(RandomMean(random_cubic), RBF(0.1, 0.2)),
        250,
        "$m = 5ux^3$, $k_0 = 0.1$, $L = 0.2$",
        CUBIC,
    ),
}
