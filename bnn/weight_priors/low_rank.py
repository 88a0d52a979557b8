"""The published density of the weights: a Gaussian with the networks' sample covariance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bnn._seeding import RandomState, generator
from bnn._validation import Array
from bnn.networks.architecture import Architecture
from bnn.training.penalties import LowRankRegulariser
from bnn.weight_priors.density import WeightPrior, checked_ensemble

# Singular values below this fraction of the largest are rounding errors of float32 weights.
RELATIVE_CUTOFF = 1e-6


def principal_directions(weights: Array) -> tuple[Array, Array]:
    """Take the singular value decomposition W0 = U S Vᵀ of centred weights.

    Args:
        weights: (K, d).

    Returns:
        Singular values S, (r,), and directions V, (d, r), with r <= K-1: centring makes singular
        value number K zero, up to rounding.

    Raises:
        ValueError: If all networks are equal.
    """
    _, s, vt = np.linalg.svd(weights - weights.mean(axis=0), full_matrices=False)
    rank = int(np.sum(s[: len(weights) - 1] > RELATIVE_CUTOFF * s[0]))
    if rank == 0:
        raise ValueError("weights: all networks are equal, there is no covariance to learn")
    return s[:rank], vt[:rank].T


class LowRankGaussian(WeightPrior):
    """N(μ0, Σ0) with the sample covariance Σ0 = V S² Vᵀ / (K-1) of the networks.

    The density is degenerate: its support are the r <= K-1 directions V. The penalty
    (K-1) |S⁻¹ Vᵀ (ω - ω0)|² is zero along all other directions.

    Args:
        mean: μ0, (d,).
        singular_values: S of the centred matrix W0, (r,).
        directions: V, (d, r).
        n_networks: K.

    Source: section 2.2.3, equations 9 to 11 and appendix B of the paper.
    """

    def __init__(
        self, mean: ArrayLike, singular_values: ArrayLike, directions: ArrayLike, n_networks: int
    ) -> None:
        self.mean = np.asarray(mean, dtype=float)
        self.singular_values = np.asarray(singular_values, dtype=float)
        self.directions = np.asarray(directions, dtype=float)
        self.n_networks = int(n_networks)

    @classmethod
    def fit(cls, weights: ArrayLike, architecture: Architecture) -> LowRankGaussian:
        """Take μ0, S and V from the centred weights, see WeightPrior."""
        weights = checked_ensemble(weights, architecture)
        return cls(weights.mean(axis=0), *principal_directions(weights), len(weights))

    @property
    def rank(self) -> int:
        """Number of directions, at most K-1."""
        return self.singular_values.size

    @property
    def deviations(self) -> Array:
        """Standard deviation along each direction, S / sqrt(K-1), (r,)."""
        deviations: Array = self.singular_values / np.sqrt(self.n_networks - 1)
        return deviations

    @property
    def variance(self) -> Array:
        """Diagonal of Σ0, (d,)."""
        variance: Array = np.sum((self.directions * self.deviations) ** 2, axis=1)
        return variance

    def covariance(self, columns: slice = slice(None)) -> Array:
        """Return the covariance of some weights.

        Args:
            columns: The weights.

        Returns:
            Block of Σ0, (n, n).
        """
        root = self.directions[columns] * self.deviations
        return root @ root.T

    def sample(self, n: int, random_state: RandomState = None) -> Array:
        """Draw ω = V S z / sqrt(K-1) + μ0 with z ~ N(0, I), see WeightPrior."""
        noise = generator(random_state).standard_normal((n, self.rank))
        return self.mean + noise @ (self.directions * self.deviations).T

    def penalty(self, weights: ArrayLike, anchors: ArrayLike) -> Array:
        """See WeightPrior."""
        along = (np.asarray(weights, float) - np.asarray(anchors)) @ self.directions
        penalty: Array = np.sum((along / self.deviations) ** 2, axis=-1)
        return penalty

    def complement_distance(self, weights: ArrayLike, anchors: ArrayLike) -> Array:
        """Return how far networks moved along the directions without penalty.

        Args:
            weights: ω, (K, d).
            anchors: ω0, (K, d).

        Returns:
            |(I - V Vᵀ)(ω - ω0)| of each network, (K,).
        """
        difference = np.asarray(weights, float) - np.asarray(anchors)
        along = difference @ self.directions
        distance: Array = np.linalg.norm(difference - along @ self.directions.T, axis=-1)
        return distance

    def log_prob(self, weights: ArrayLike) -> Array:
        """Return the log-density within span(V), ignoring the part of ω outside, (K,)."""
        constant = self.rank * np.log(2.0 * np.pi) + 2.0 * np.sum(np.log(self.deviations))
        log_prob: Array = -0.5 * (self.penalty(weights, self.mean) + constant)
        return log_prob

    def regulariser(self) -> LowRankRegulariser:
        """See WeightPrior."""
        return LowRankRegulariser(self.directions / self.deviations)
