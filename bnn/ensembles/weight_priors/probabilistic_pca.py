"""Gaussian over the weights: the sample covariance plus a variance in every direction."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from bnn._validation import Array, check_positive
from bnn.ensembles.weight_priors.density import SMALLEST_VARIANCE, as_vector
from bnn.ensembles.weight_priors.gaussian import ProperGaussian
from bnn.ensembles.weight_priors.low_rank import as_directions, principal_directions
from bnn.networks.mlp import MLP
from bnn.training.gauss_newton.weight_space import DiagonalPlusLowRank


class ProbabilisticPCA(ProperGaussian):
    """N(μ0, Σ0 + τ² I) with the sample covariance Σ0 = V S² Vᵀ / (K-1) of at least 3 networks.

    Unlike the low-rank density it is proper: the variance is positive in all d directions. A
    penalty, a gradient or a sample costs O(K d). `fit` chooses τ² by cross-validation in five
    folds: it maximises the likelihood of held-out networks under the density of the others.

    Args:
        mean: Mean μ0 of the weights, (d,).
        deviations: Standard deviations S / sqrt(K-1) along the directions, (r,).
        directions: Orthonormal directions V, (d, r).
        noise_variance: τ².

    Source: Tipping & Bishop (1999). Their τ² is the mean of the discarded eigenvalues, which is
    zero for K < d networks; hence the cross-validation.

    Examples:
        >>> import bnn
        >>> network = bnn.MLP((1, 4, 1))
        >>> weights = network.initial_weights(5, random_state=0)
        >>> prior = bnn.ProbabilisticPCA.fit(weights, network)
        >>> prior.sample(3, 0).shape
        (3, 13)
    """

    def __init__(
        self, mean: ArrayLike, deviations: ArrayLike, directions: ArrayLike, noise_variance: float
    ) -> None:
        check_positive(noise_variance=noise_variance)
        size = as_vector("mean", mean).size
        self.deviations = as_vector("deviations", deviations, positive=True)
        self.directions = as_directions(directions, size, self.deviations.size)
        self.noise_variance = float(noise_variance)
        covariance = DiagonalPlusLowRank.isotropic_plus(
            self.noise_variance, self.directions, self.deviations
        )
        super().__init__(mean, covariance)

    @classmethod
    def _fit(cls, weights: Array, _: MLP) -> Self:
        if len(weights) < 3:
            raise ValueError(f"K = {len(weights)}: probabilistic PCA needs at least 3 networks")
        fold = np.arange(len(weights)) % min(5, len(weights))
        learnt = []
        held_out = []
        for i in np.unique(fold):
            learnt.append(cls._of(weights[fold != i], 1.0))
            held_out.append(weights[fold == i])

        def negative_log_likelihood(log_variance: float) -> float:
            tau2 = np.exp(log_variance)
            log_likelihoods = []
            for prior, others in zip(learnt, held_out, strict=True):
                # Σ = V S² Vᵀ / (K-1) + τ² I
                density = cls(prior.mean, prior.deviations, prior.directions, tau2)
                log_likelihoods.append(density.log_prob(others).sum())
            return -float(sum(log_likelihoods))

        bounds = np.log([SMALLEST_VARIANCE, max(weights.var(), 10.0 * SMALLEST_VARIANCE)])
        best = minimize_scalar(negative_log_likelihood, bounds=bounds, method="bounded")
        return cls._of(weights, np.exp(best.x))

    @classmethod
    def _of(cls, weights: Array, noise_variance: float) -> Self:
        # W0 = U S Vᵀ, with deviations S / √(K-1)
        singular_values, directions = principal_directions(weights)
        deviations = singular_values / np.sqrt(len(weights) - 1)
        return cls(weights.mean(axis=0), deviations, directions, noise_variance)
