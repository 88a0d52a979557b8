"""Densities p0(ω) over the weights, learnt from a pre-trained ensemble.

Every density has the mean μ0 of the ensemble, except the isotropic one, whose mean is zero.
Penalties are -2 log p0 up to a constant, as in the loss of Algorithm 2.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gamma, gammaln
from scipy.stats import gennorm

from bnn._seeding import RandomState, generator
from bnn.networks.architecture import Architecture
from bnn.training.penalties import (
    LowRankRegulariser,
    PowerRegulariser,
    QuadraticRegulariser,
    Regulariser,
)
from bnn.weight_priors.probabilistic_pca import ProbabilisticPCA
from bnn.weight_priors.statistics import (
    SMALLEST_VARIANCE,
    checked_ensemble,
    fit_generalised_normal,
    principal_directions,
    unbiased_variance,
)


class FactorisedGaussian:
    """∏_j N(μ0_j, σ0_j²), with one variance for each kernel and each bias.

    Args:
        mean: μ0, (d,).
        variance: σ0_j², (d,).
    """

    def __init__(self, mean: np.ndarray, variance: np.ndarray) -> None:
        self.mean = np.asarray(mean, dtype=float)
        self.variance = np.asarray(variance, dtype=float)

    @classmethod
    def fit(cls, weights: np.ndarray, architecture: Architecture) -> FactorisedGaussian:
        """Take μ0 and the variance of each group from an ensemble (K, d)."""
        weights = checked_ensemble(weights, architecture)
        centred = weights - weights.mean(axis=0)
        variance = np.empty(architecture.n_weights)
        for columns in architecture.groups.values():
            variance[columns] = max(unbiased_variance(centred[:, columns]), SMALLEST_VARIANCE)
        return cls(weights.mean(axis=0), variance)

    def covariance_parts(self) -> tuple[np.ndarray, None]:
        """Return the diagonal of the covariance, (d,); there is no low-rank part."""
        return self.variance, None

    def sample(self, n: int, random_state: RandomState = None) -> np.ndarray:
        """Draw weights, (n, d)."""
        noise = generator(random_state).standard_normal((n, self.mean.size))
        return self.mean + np.sqrt(self.variance) * noise

    def penalty(self, weights: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Return Σ_j (ω_j - ω0_j)² / σ0_j² of each network, (K,)."""
        return np.sum((np.asarray(weights, float) - anchors) ** 2 / self.variance, axis=-1)

    def log_prob(self, weights: np.ndarray) -> np.ndarray:
        """Return log p0(ω), (K,)."""
        constant = np.sum(np.log(2.0 * np.pi * self.variance))
        return -0.5 * (self.penalty(weights, self.mean) + constant)

    def regulariser(self) -> Regulariser:
        """Return the term for the training loop."""
        return QuadraticRegulariser(1.0 / self.variance)


class IsotropicGaussian(FactorisedGaussian):
    """N(0, σ0² I), the traditional prior.

    Args:
        variance: σ0².
        n_weights: d.
    """

    def __init__(self, variance: float, n_weights: int) -> None:
        super().__init__(np.zeros(n_weights), np.full(n_weights, float(variance)))

    @classmethod
    def fit(cls, weights: np.ndarray, architecture: Architecture) -> IsotropicGaussian:
        """Take σ0² as the variance over all demeaned weights (K, d)."""
        weights = checked_ensemble(weights, architecture)
        variance = unbiased_variance(weights - weights.mean(axis=0))
        return cls(max(variance, SMALLEST_VARIANCE), architecture.n_weights)


class FactorisedGeneralisedNormal:
    """∏_j p(ω_j) ∝ exp(-(|ω_j - μ0_j| / α0_j)^β0_j), one α0, β0 a kernel and a bias.

    Args:
        mean: μ0, (d,).
        alpha: Scales α0_j, (d,).
        beta: Shapes β0_j, (d,).
    """

    def __init__(self, mean: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> None:
        self.mean = np.asarray(mean, dtype=float)
        self.alpha = np.asarray(alpha, dtype=float)
        self.beta = np.asarray(beta, dtype=float)

    @classmethod
    def fit(cls, weights: np.ndarray, architecture: Architecture) -> FactorisedGeneralisedNormal:
        """Take μ0, and α0, β0 of each group by maximum likelihood, from an ensemble (K, d)."""
        weights = checked_ensemble(weights, architecture)
        centred = weights - weights.mean(axis=0)
        alpha, beta = np.empty((2, architecture.n_weights))
        for columns in architecture.groups.values():
            values = centred[:, columns]
            alpha[columns], beta[columns] = fit_generalised_normal(
                values.ravel(), unbiased_variance(values)
            )
        return cls(weights.mean(axis=0), alpha, beta)

    @property
    def variance(self) -> np.ndarray:
        """Variances α² Γ(3/β) / Γ(1/β), (d,)."""
        return self.alpha**2 * gamma(3.0 / self.beta) / gamma(1.0 / self.beta)

    def sample(self, n: int, random_state: RandomState = None) -> np.ndarray:
        """Draw weights, (n, d)."""
        shape = (n, self.mean.size)
        noise = gennorm.rvs(self.beta, size=shape, random_state=generator(random_state))
        return self.mean + self.alpha * noise

    def penalty(self, weights: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Return 2 Σ_j (|ω_j - ω0_j| / α0_j)^β0_j of each network, (K,)."""
        ratio = np.abs(np.asarray(weights, float) - anchors) / self.alpha
        return 2.0 * np.sum(ratio**self.beta, axis=-1)

    def log_prob(self, weights: np.ndarray) -> np.ndarray:
        """Return log p0(ω), (K,)."""
        constant = np.sum(np.log(0.5 * self.beta / self.alpha) - gammaln(1.0 / self.beta))
        return constant - 0.5 * self.penalty(weights, self.mean)

    def regulariser(self) -> Regulariser:
        """Return the term for the training loop."""
        return PowerRegulariser(self.alpha, self.beta)


class LowRankGaussian:
    """N(μ0, Σ0) with the ensemble's sample covariance Σ0 = V S² Vᵀ / (K-1).

    The density is degenerate: it lives on the r <= K-1 directions V. Its penalty measures only
    these, and is zero along all others.

    Args:
        mean: μ0, (d,).
        singular_values: S of the centred matrix W0, (r,).
        directions: V, (d, r).
        n_networks: K.
    """

    def __init__(
        self,
        mean: np.ndarray,
        singular_values: np.ndarray,
        directions: np.ndarray,
        n_networks: int,
    ) -> None:
        self.mean = np.asarray(mean, dtype=float)
        self.singular_values = np.asarray(singular_values, dtype=float)
        self.directions = np.asarray(directions, dtype=float)
        self.n_networks = int(n_networks)

    @classmethod
    def fit(cls, weights: np.ndarray, architecture: Architecture) -> LowRankGaussian:
        """Take μ0, S and V from the SVD of the centred ensemble (K, d).

        Centring makes singular value number K zero; it is dropped.
        """
        weights = checked_ensemble(weights, architecture)
        return cls(weights.mean(axis=0), *principal_directions(weights), len(weights))

    @property
    def rank(self) -> int:
        """Number of directions, at most K-1."""
        return self.singular_values.size

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviation along each direction, S / sqrt(K-1), (r,)."""
        return self.singular_values / np.sqrt(self.n_networks - 1)

    @property
    def variance(self) -> np.ndarray:
        """Diagonal of Σ0, (d,)."""
        return np.sum((self.directions * self.deviations) ** 2, axis=1)

    def covariance(self, columns: slice = slice(None)) -> np.ndarray:
        """Return Σ0 between the chosen weights, (n, n)."""
        root = self.directions[columns] * self.deviations
        return root @ root.T

    def sample(self, n: int, random_state: RandomState = None) -> np.ndarray:
        """Draw weights ω = V S z / sqrt(K-1) + μ0, (n, d)."""
        noise = generator(random_state).standard_normal((n, self.rank))
        return self.mean + noise @ (self.directions * self.deviations).T

    def penalty(self, weights: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Return (K-1) |S⁻¹ Vᵀ (ω - ω0)|² of each network, (K,)."""
        along = (np.asarray(weights, float) - anchors) @ self.directions
        return np.sum((along / self.deviations) ** 2, axis=-1)

    def complement_distance(self, weights: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Return |(I - V Vᵀ)(ω - ω0)| of each network, (K,): the part without penalty."""
        difference = np.asarray(weights, float) - anchors
        along = difference @ self.directions
        return np.linalg.norm(difference - along @ self.directions.T, axis=-1)

    def log_prob(self, weights: np.ndarray) -> np.ndarray:
        """Return the log-density within span(V) of each network, (K,).

        The component outside span(V), where the density is degenerate, is ignored.
        """
        constant = self.rank * np.log(2.0 * np.pi) + 2.0 * np.sum(np.log(self.deviations))
        return -0.5 * (self.penalty(weights, self.mean) + constant)

    def regulariser(self) -> Regulariser:
        """Return the term for the training loop."""
        return LowRankRegulariser(self.directions / self.deviations)


WeightPrior = (
    IsotropicGaussian
    | FactorisedGaussian
    | FactorisedGeneralisedNormal
    | LowRankGaussian
    | ProbabilisticPCA
)

# Those with a covariance that has an inverse.
ProperGaussian = (IsotropicGaussian, FactorisedGaussian, ProbabilisticPCA)

WEIGHT_PRIORS: dict[str, type[WeightPrior]] = {
    "low_rank": LowRankGaussian,
    "probabilistic_pca": ProbabilisticPCA,
    "factorised": FactorisedGaussian,
    "generalised_normal": FactorisedGeneralisedNormal,
    "isotropic": IsotropicGaussian,
}
