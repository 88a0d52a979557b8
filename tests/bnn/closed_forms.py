"""Posteriors that tests compare with: linear Gaussian, and by importance weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bnn._seeding import RandomState
from bnn._validation import as_columns, as_points
from bnn.noise import noise_covariance
from bnn.priors.samplers import FunctionalPrior, draw_realisations


@dataclass(frozen=True)
class LinearGaussianPosterior:
    """Posterior of weights w in y = Φ w + ε, w ~ N(μ, Σ), ε ~ N(0, σ² I).

    Attributes:
        mean: (d,).
        covariance: (d, d).
    """

    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def condition(
        cls,
        features: np.ndarray,
        y: np.ndarray,
        noise: float,
        prior_mean: np.ndarray,
        prior_covariance: np.ndarray,
    ) -> LinearGaussianPosterior:
        """Condition on data.

        Args:
            features: Φ, (N, d).
            y: (N,).
            noise: σ.
            prior_mean: μ, (d,).
            prior_covariance: Σ, (d, d), singular ones too.

        Returns:
            The posterior.
        """
        cross = prior_covariance @ features.T
        gain = np.linalg.solve(features @ cross + noise**2 * np.eye(len(y)), cross.T).T
        mean = prior_mean + gain @ (y - features @ prior_mean)
        return cls(mean, prior_covariance - gain @ cross.T)

    def predict(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean (n,) and covariance (n, n) of Φ w at features (n, d)."""
        return features @ self.mean, features @ self.covariance @ features.T


@dataclass(frozen=True)
class WeightedRealisations:
    """Prior realisations weighted by their likelihood.

    Attributes:
        values: Realisations, (R, n, n_out).
        weights: Normalised, (R,).
    """

    values: np.ndarray
    weights: np.ndarray

    @classmethod
    def condition(
        cls,
        prior: FunctionalPrior,
        X: np.ndarray,
        y: np.ndarray,
        noise,
        X_new: np.ndarray,
        n_realisations: int = 100_000,
        random_state: RandomState = None,
    ) -> WeightedRealisations:
        """Condition on data; few of them, since the weights degenerate with many.

        Args:
            prior: The prior.
            X: (N, n_in).
            y: (N,) or (N, n_out).
            noise: Standard deviations, or Σ_noise, see bnn.noise.
            X_new: Where the posterior is asked for, (n, n_in).
            n_realisations: R.
            random_state: Seed.

        Returns:
            The weighted realisations at X_new.

        Source: importance sampling with the prior as proposal, Robert & Casella (2004), ch. 3.3.
        """
        X = as_points("X", X)
        y = as_columns("y", y, len(X))
        points = np.concatenate([X, np.asarray(X_new, dtype=float)])
        values = draw_realisations(prior, points, n_realisations, random_state)
        residual = values[:, : len(X)] - y
        precision = np.linalg.inv(noise_covariance(noise, y.shape[1]))
        squares = np.einsum("kni,ij,knj->k", residual, precision, residual, optimize=True)
        weights = np.exp(-0.5 * (squares - squares.min()))
        return cls(values[:, len(X) :], weights / weights.sum())

    @property
    def effective_size(self) -> float:
        """Equivalent number of equally weighted realisations, 1 / Σ w²."""
        return float(1.0 / np.sum(self.weights**2))

    def predict(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation, each (n, n_out)."""
        mean = np.tensordot(self.weights, self.values, axes=1)
        return mean, np.sqrt(np.tensordot(self.weights, (self.values - mean) ** 2, axes=1))
