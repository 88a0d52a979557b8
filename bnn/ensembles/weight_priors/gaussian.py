"""Gaussian densities of the weights with an invertible covariance."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bnn._validation import Array, check_count, check_positive
from bnn.ensembles.weight_priors.density import (
    SMALLEST_VARIANCE,
    WeightPrior,
    as_vector,
    unbiased_variance,
)
from bnn.networks.mlp import MLP
from bnn.training.gauss_newton.weight_space import DiagonalPlusLowRank
from bnn.training.penalties import GaussianRegulariser


class ProperGaussian(WeightPrior):
    """N(μ0, Σ) with Σ = diag(D) + R Rᵀ; the penalty is (ω - ω0)ᵀ Σ⁻¹ (ω - ω0)."""

    def __init__(self, mean: ArrayLike, covariance: DiagonalPlusLowRank[Array]) -> None:
        self.mean = as_vector("mean", mean)
        self.covariance = covariance
        # diag Σ = D + Σ_i R_i²
        self.variance = np.sum(covariance.root**2, axis=1) + covariance.diagonal

    def regulariser(self) -> GaussianRegulariser:
        """Return the gradient of the penalty, for the training loop."""
        # Σ⁻¹ = D⁻¹ - F Fᵀ
        return GaussianRegulariser(1.0 / self.covariance.diagonal, self.covariance.factor)

    def _deviations(self, n: int, rng: np.random.Generator) -> Array:
        d, r = self.covariance.root.shape
        # R z + D^½ z' with independent standard normal z and z'
        along = rng.standard_normal((n, r)) @ self.covariance.root.T
        across: Array = np.sqrt(self.covariance.diagonal) * rng.standard_normal((n, d))
        return along + across

    def _penalty(self, differences: Array) -> Array:
        return self.covariance.quadratic(differences)

    def _log_normaliser(self) -> float:
        # d log 2π + log |Σ|
        return float(self.mean.size * np.log(2.0 * np.pi) + self.covariance.log_determinant)


class FactorisedGaussian(ProperGaussian):
    """∏_j N(μ0_j, σ0_j²); `fit` learns one variance per kernel and per bias.

    Args:
        mean: Means μ0, (d,).
        variance: Variances σ0_j², (d,).

    Source: section 2.2.1 of the paper; its Table 1 has the variances.

    Examples:
        >>> import bnn
        >>> network = bnn.MLP((1, 4, 1))
        >>> weights = network.initial_weights(5, random_state=0)
        >>> prior = bnn.FactorisedGaussian.fit(weights, network)
        >>> prior.sample(3, 0).shape
        (3, 13)
    """

    def __init__(self, mean: ArrayLike, variance: ArrayLike) -> None:
        size = as_vector("mean", mean).size
        variances = as_vector("variance", variance, size, positive=True)
        super().__init__(mean, DiagonalPlusLowRank.diagonal_only(variances))

    @classmethod
    def _fit(cls, weights: Array, architecture: MLP) -> Self:
        centred = weights - weights.mean(axis=0)
        variance = np.empty(architecture.n_weights)
        for columns in architecture.groups.values():
            variance[columns] = max(unbiased_variance(centred[:, columns]), SMALLEST_VARIANCE)
        return cls(weights.mean(axis=0), variance)


class IsotropicGaussian(ProperGaussian):
    """N(0, σ0² I), the traditional prior; `fit` takes the variance of all centred weights.

    Args:
        variance: σ0².
        n_weights: Number of weights, d.

    Source: equation 7 of the paper, with λ = 1 / σ0².

    Examples:
        >>> import bnn
        >>> network = bnn.MLP((1, 4, 1))
        >>> weights = network.initial_weights(5, random_state=0)
        >>> prior = bnn.IsotropicGaussian.fit(weights, network)
        >>> prior.sample(3, 0).shape
        (3, 13)
    """

    def __init__(self, variance: float, n_weights: int) -> None:
        check_positive(variance=variance)
        check_count("n_weights", n_weights, 1)
        variances = np.full(n_weights, float(variance))
        super().__init__(np.zeros(n_weights), DiagonalPlusLowRank.diagonal_only(variances))

    @classmethod
    def _fit(cls, weights: Array, architecture: MLP) -> Self:
        variance = unbiased_variance(weights - weights.mean(axis=0))
        return cls(max(variance, SMALLEST_VARIANCE), architecture.n_weights)
