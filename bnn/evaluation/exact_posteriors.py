"""Exact posteriors, against which ensembles can be judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve
from scipy.stats import multivariate_normal

from bnn._seeding import RandomState, generator
from bnn._validation import as_columns, as_points
from bnn.function_priors.gaussian_process import GaussianProcessPrior, covariance_root
from bnn.noise import noise_covariance


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


class GaussianProcessPosterior:
    """Exact posterior of a Gaussian process prior with independent outputs.

    Bounds of the prior are not part of the posterior.

    Args:
        prior: The prior; its mean must not be random.
        X: (N, n_in).
        y: (N,) or (N, n_out).
        noise: Standard deviations, or Σ_noise, see bnn.noise.

    Source: Rasmussen & Williams (2006), equations 2.22 to 2.24 and 2.30.
    """

    def __init__(self, prior: GaussianProcessPrior, X: np.ndarray, y: np.ndarray, noise) -> None:
        self.prior, self.X = prior, as_points("X", X)
        y = as_columns("y", y, len(self.X))
        if y.shape[1] != prior.n_outputs:
            raise ValueError(f"y has {y.shape[1]} outputs: must be {prior.n_outputs}")
        self.noise_covariance = noise_covariance(noise, prior.n_outputs)
        # Output by output: entry j N + i is point i of output j.
        prior_blocks = [prior.covariance(self.X, self.X, j) for j in range(prior.n_outputs)]
        K = block_diag(*prior_blocks) + np.kron(self.noise_covariance, np.eye(len(y)))
        self._factor = cho_factor(K, lower=True)
        self._residual = (y - prior.mean_values(self.X)).T.ravel()
        self._solution = cho_solve(self._factor, self._residual)

    def _own(self, X: np.ndarray) -> np.ndarray:
        outputs = range(self.prior.n_outputs)
        return block_diag(*[self.prior.covariance(X, X, j) for j in outputs])

    def _cross(self, X: np.ndarray) -> np.ndarray:
        outputs = range(self.prior.n_outputs)
        return block_diag(*[self.prior.covariance(X, self.X, j) for j in outputs])

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the joint posterior of f at X.

        Args:
            X: (n, n_in).

        Returns:
            Mean, (n, n_out), and covariance, (n_out n, n_out n), entry j n + i being point i of
            output j.
        """
        X = as_points("X", X)
        cross = self._cross(X)
        mean = self.prior.mean_values(X) + (cross @ self._solution).reshape(-1, len(X)).T
        own = self._own(X)
        return mean, own - cross @ cho_solve(self._factor, cross.T)

    def predict(self, X: np.ndarray, return_std: bool = False, total: bool = False):
        """Return the mean, and the standard deviation on request.

        Args:
            X: (n, n_in).
            return_std: Whether to return it.
            total: Whether it includes the noise.

        Returns:
            Mean, (n, n_out); with return_std also the standard deviation, (n, n_out).
        """
        mean, covariance = self.moments(X)
        if not return_std:
            return mean
        variance = np.maximum(np.diag(covariance), 0.0).reshape(-1, len(X)).T
        return mean, np.sqrt(variance + total * np.diag(self.noise_covariance))

    def sample(self, X: np.ndarray, n_samples: int, random_state: RandomState = None) -> np.ndarray:
        """Draw functions from the posterior, (n_samples, n, n_out)."""
        mean, covariance = self.moments(X)
        root = covariance_root(covariance, scale=self._own(as_points("X", X)).max())
        noise = generator(random_state).standard_normal((n_samples, len(root)))
        return mean + (noise @ root.T).reshape(n_samples, -1, len(X)).transpose(0, 2, 1)

    def elppd(self, X: np.ndarray, y: np.ndarray) -> float:
        """Return Σ_i log p(y_i | x_i, D), joint over the outputs, noise included."""
        mean, covariance = self.moments(X)
        n = len(X)
        y = as_columns("y", y, n)
        total = 0.0
        for i in range(n):
            at = np.arange(y.shape[1]) * n + i
            local = covariance[np.ix_(at, at)] + self.noise_covariance
            total += multivariate_normal.logpdf(y[i], mean[i], local)
        return float(total)

    def log_evidence(self) -> float:
        """Return log p(y | X)."""
        log_determinant = 2.0 * np.log(np.diag(self._factor[0])).sum()
        quadratic = self._residual @ self._solution
        return -0.5 * float(quadratic + log_determinant + self._residual.size * np.log(2 * np.pi))
