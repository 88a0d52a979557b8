"""Generalised normal density of the weights, whose tails are fitted."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import gamma, gammaln
from scipy.stats import gennorm

from bnn._validation import Array
from bnn.ensembles.weight_priors.density import (
    SMALLEST_VARIANCE,
    WeightPrior,
    as_vector,
    unbiased_variance,
)
from bnn.networks.mlp import MLP
from bnn.training.penalties import PowerRegulariser


class FactorisedGeneralisedNormal(WeightPrior):
    """∏_j p(ω_j) with p(ω_j) ∝ exp(-(|ω_j - μ0_j| / α0_j)^β0_j).

    `fit` finds one α0 and one β0 per kernel and per bias, by maximum likelihood. The penalty is
    2 Σ_j (|ω_j - ω0_j| / α0_j)^β0_j.

    Args:
        mean: Means μ0, (d,).
        alpha: Scales α0_j, (d,).
        beta: Shapes β0_j, (d,).

    Source: section 2.2.1 of the paper.

    Examples:
        >>> import bnn
        >>> network = bnn.MLP((1, 4, 1))
        >>> weights = network.initial_weights(5, random_state=0)
        >>> prior = bnn.FactorisedGeneralisedNormal.fit(weights, network)
        >>> prior.sample(3, 0).shape
        (3, 13)
    """

    def __init__(self, mean: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> None:
        self.mean = as_vector("mean", mean)
        self.alpha = as_vector("alpha", alpha, self.mean.size, positive=True)
        self.beta = as_vector("beta", beta, self.mean.size, positive=True)
        # α² Γ(3/β) / Γ(1/β)
        self.variance = self.alpha**2 * gamma(3.0 / self.beta) / gamma(1.0 / self.beta)

    @classmethod
    def _fit(cls, weights: Array, architecture: MLP) -> Self:
        centred = weights - weights.mean(axis=0)
        alpha = np.empty(architecture.n_weights)
        beta = np.empty(architecture.n_weights)
        for columns in architecture.groups.values():
            alpha[columns], beta[columns] = fit_generalised_normal(centred[:, columns])
        return cls(weights.mean(axis=0), alpha, beta)

    def regulariser(self) -> PowerRegulariser:
        """Return the gradient of the penalty, for the training loop."""
        return PowerRegulariser(self.alpha, self.beta)

    def _deviations(self, n: int, rng: np.random.Generator) -> Array:
        noise: Array = gennorm.rvs(self.beta, size=(n, self.mean.size), random_state=rng)
        return self.alpha * noise

    def _penalty(self, differences: Array) -> Array:
        return np.asarray(2.0 * np.sum((np.abs(differences) / self.alpha) ** self.beta, axis=-1))

    def _log_normaliser(self) -> float:
        # -2 Σ_j log(β_j / (2 α_j Γ(1/β_j)))
        return float(-2.0 * np.sum(np.log(0.5 * self.beta / self.alpha) - gammaln(1.0 / self.beta)))


def fit_generalised_normal(centred: Array) -> tuple[float, float]:
    """Return the maximum-likelihood α and β, in [0.2, 10], of p ∝ exp(-(|w| / α)^β), w (K, n)."""
    variance = unbiased_variance(centred)
    if variance < SMALLEST_VARIANCE:  # constant weights: return a narrow Gaussian
        return float(np.sqrt(2.0 * SMALLEST_VARIANCE)), 2.0
    size = np.abs(centred.ravel()) / np.sqrt(variance)

    def alpha_of(beta: float) -> float:
        # α = (β mean(|w|^β))^(1/β) maximises the likelihood at a given β.
        return float((beta * np.mean(size**beta)) ** (1.0 / beta))

    def negative_log_likelihood(log_beta: float) -> float:
        beta = np.exp(log_beta)
        # At the best α, the mean of (|w| / α)^β is 1 / β.
        return float(np.log(2.0 * alpha_of(beta) / beta) + gammaln(1.0 / beta) + 1.0 / beta)

    bounds = np.log([0.2, 10.0])
    best = minimize_scalar(negative_log_likelihood, bounds=bounds, method="bounded")
    beta = float(np.exp(best.x))
    return alpha_of(beta) * float(np.sqrt(variance)), beta
