"""Gaussian densities of the weights whose covariance has an inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bnn._seeding import RandomState, generator
from bnn._validation import Array
from bnn.networks.architecture import Architecture
from bnn.training.covariance import DiagonalPlusLowRank
from bnn.training.penalties import GaussianRegulariser
from bnn.weight_priors.density import (
    SMALLEST_VARIANCE,
    WeightPrior,
    checked_ensemble,
    unbiased_variance,
)


class ProperGaussian(WeightPrior):
    """N(μ0, diag(D) + R Rᵀ), with penalty (ω - ω0)ᵀ (diag(D) + R Rᵀ)⁻¹ (ω - ω0).

    Args:
        mean: μ0, (d,).
        covariance: The covariance.
    """

    def __init__(self, mean: ArrayLike, covariance: DiagonalPlusLowRank[Array]) -> None:
        self.mean = np.asarray(mean, dtype=float)
        self._covariance = covariance

    @property
    def variance(self) -> Array:
        """Variance of each weight, (d,)."""
        variance: Array = np.sum(self._covariance.root**2, axis=1) + self._covariance.diagonal
        return variance

    def covariance_parts(self) -> DiagonalPlusLowRank[Array]:
        """Return the covariance as a diagonal matrix plus one of low rank."""
        return self._covariance

    def sample(self, n: int, random_state: RandomState = None) -> Array:
        """See WeightPrior."""
        rng, (d, r) = generator(random_state), self._covariance.root.shape
        along = rng.standard_normal((n, r)) @ self._covariance.root.T
        across: Array = np.sqrt(self._covariance.diagonal) * rng.standard_normal((n, d))
        return self.mean + along + across

    def penalty(self, weights: ArrayLike, anchors: ArrayLike) -> Array:
        """See WeightPrior."""
        difference: Array = np.asarray(weights, float) - np.asarray(anchors)
        return self._covariance.quadratic(difference)

    def log_prob(self, weights: ArrayLike) -> Array:
        """See WeightPrior."""
        constant = self.mean.size * np.log(2.0 * np.pi) + self._covariance.log_determinant
        log_prob: Array = -0.5 * (self.penalty(weights, self.mean) + constant)
        return log_prob

    def regulariser(self) -> GaussianRegulariser:
        """See WeightPrior."""
        return GaussianRegulariser(1.0 / self._covariance.diagonal, self._covariance.factor)


class FactorisedGaussian(ProperGaussian):
    """∏_j N(μ0_j, σ0_j²), with one variance for each kernel and each bias.

    Args:
        mean: μ0, (d,).
        variance: σ0_j², (d,).

    Source: section 2.2.1 of the paper; its Table 1 has the variances.
    """

    def __init__(self, mean: ArrayLike, variance: ArrayLike) -> None:
        super().__init__(mean, DiagonalPlusLowRank.diagonal_only(variance))

    @classmethod
    def fit(cls, weights: ArrayLike, architecture: Architecture) -> FactorisedGaussian:
        """Take μ0 and the variance of each kernel and bias, see WeightPrior."""
        weights = checked_ensemble(weights, architecture)
        centred = weights - weights.mean(axis=0)
        variance = np.empty(architecture.n_weights)
        for columns in architecture.groups.values():
            variance[columns] = max(unbiased_variance(centred[:, columns]), SMALLEST_VARIANCE)
        return cls(weights.mean(axis=0), variance)


class IsotropicGaussian(FactorisedGaussian):
    """N(0, σ0² I), the traditional prior.

    Args:
        variance: σ0².
        n_weights: d.

    Source: equation 7 of the paper, with λ = 1 / σ0².
    """

    def __init__(self, variance: float, n_weights: int) -> None:
        super().__init__(np.zeros(n_weights), np.full(n_weights, float(variance)))

    @classmethod
    def fit(cls, weights: ArrayLike, architecture: Architecture) -> IsotropicGaussian:
        """Take σ0² as the variance over all demeaned weights, see WeightPrior."""
        weights = checked_ensemble(weights, architecture)
        variance = unbiased_variance(weights - weights.mean(axis=0))
        return cls(max(variance, SMALLEST_VARIANCE), architecture.n_weights)
