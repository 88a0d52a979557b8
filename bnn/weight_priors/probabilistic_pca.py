"""Proper Gaussian over the weights: sample covariance plus a variance in every direction."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from bnn._seeding import RandomState, generator
from bnn.networks.architecture import Architecture
from bnn.training.penalties import IsotropicMinusLowRank, Regulariser
from bnn.weight_priors.statistics import SMALLEST_VARIANCE, checked_ensemble, principal_directions


class ProbabilisticPCA:
    """N(μ0, Σ0 + τ² I) with the ensemble's sample covariance Σ0 = V S² Vᵀ / (K-1).

    Unlike the low-rank density it is proper: all d directions have a finite variance, at a cost of
    O(K d) for a penalty, a gradient or a sample.

    Args:
        mean: μ0, (d,).
        deviations: Standard deviations S / sqrt(K-1) along the directions, (r,).
        directions: V, orthonormal, (d, r).
        noise_variance: τ².

    Source: Tipping & Bishop (1999), with τ² from held-out networks: their estimate is the mean of
    the discarded eigenvalues, which K < d networks make zero.
    """

    N_FOLDS = 5

    def __init__(
        self,
        mean: np.ndarray,
        deviations: np.ndarray,
        directions: np.ndarray,
        noise_variance: float,
    ) -> None:
        self.mean = np.asarray(mean, dtype=float)
        self.deviations = np.asarray(deviations, dtype=float)
        self.directions = np.asarray(directions, dtype=float)
        self.noise_variance = float(noise_variance)

    @classmethod
    def fit(cls, weights: np.ndarray, architecture: Architecture) -> ProbabilisticPCA:
        """Take μ0 and Σ0 from an ensemble (K, d), and τ² that predicts left-out networks best.

        τ² maximises the summed log-density of every fifth of the networks under μ0 and Σ0 of the
        others.
        """
        weights = checked_ensemble(weights, architecture)
        if len(weights) < 3:
            raise ValueError(f"K = {len(weights)}: probabilistic PCA needs at least 3 networks")
        fold = np.arange(len(weights)) % min(cls.N_FOLDS, len(weights))
        pairs = [(cls._of(weights[fold != i], 1.0), weights[fold == i]) for i in np.unique(fold)]

        def negative_log_likelihood(log_variance: float) -> float:
            return -sum(p.with_noise(np.exp(log_variance)).log_prob(w).sum() for p, w in pairs)

        bounds = np.log([SMALLEST_VARIANCE, max(weights.var(), 10.0 * SMALLEST_VARIANCE)])
        best = minimize_scalar(negative_log_likelihood, bounds=bounds, method="bounded")
        return cls._of(weights, np.exp(best.x))

    @classmethod
    def _of(cls, weights: np.ndarray, noise_variance: float) -> ProbabilisticPCA:
        singular_values, directions = principal_directions(weights)
        deviations = singular_values / np.sqrt(len(weights) - 1)
        return cls(weights.mean(axis=0), deviations, directions, noise_variance)

    def with_noise(self, noise_variance: float) -> ProbabilisticPCA:
        """Return the same density with another τ²."""
        return ProbabilisticPCA(self.mean, self.deviations, self.directions, noise_variance)

    @property
    def variance(self) -> np.ndarray:
        """Diagonal of Σ0 + τ² I, (d,)."""
        return np.sum((self.directions * self.deviations) ** 2, axis=1) + self.noise_variance

    def covariance_parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return D (d,) and R (d, r) with Σ0 + τ² I = diag(D) + R Rᵀ."""
        diagonal = np.full(self.mean.size, self.noise_variance)
        return diagonal, self.directions * self.deviations

    def sample(self, n: int, random_state: RandomState = None) -> np.ndarray:
        """Draw weights, (n, d)."""
        rng = generator(random_state)
        along = rng.standard_normal((n, self.deviations.size)) * self.deviations
        noise = rng.standard_normal((n, self.mean.size))
        return self.mean + along @ self.directions.T + np.sqrt(self.noise_variance) * noise

    def penalty(self, weights: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Return (ω - ω0)ᵀ (Σ0 + τ² I)⁻¹ (ω - ω0) of each network, (K,)."""
        difference = np.asarray(weights, float) - anchors
        along = difference @ self.directions
        across = np.maximum(np.sum(difference**2, axis=-1) - np.sum(along**2, axis=-1), 0.0)
        total = self.deviations**2 + self.noise_variance
        return across / self.noise_variance + np.sum(along**2 / total, axis=-1)

    def log_prob(self, weights: np.ndarray) -> np.ndarray:
        """Return log p0(ω), (K,)."""
        d, r = self.directions.shape
        log_determinant = np.log(self.deviations**2 + self.noise_variance).sum()
        log_determinant += (d - r) * np.log(self.noise_variance)
        constant = d * np.log(2.0 * np.pi) + log_determinant
        return -0.5 * (self.penalty(weights, self.mean) + constant)

    def regulariser(self) -> Regulariser:
        """Return the term for the training loop, 1/τ² |δ|² - |Fᵀ δ|² with δ = ω - ω0."""
        precision = 1.0 / self.noise_variance
        reduction = precision - 1.0 / (self.deviations**2 + self.noise_variance)
        return IsotropicMinusLowRank(precision, self.directions * np.sqrt(reduction))
