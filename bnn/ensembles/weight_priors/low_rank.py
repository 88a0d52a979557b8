"""Weight prior of the paper: a Gaussian with the sample covariance of the networks."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bnn._validation import Array, as_points, check_count
from bnn.ensembles.weight_priors.density import WeightPrior, as_vector
from bnn.networks.mlp import MLP
from bnn.training.penalties import LowRankRegulariser


def principal_directions(weights: Array) -> tuple[Array, Array]:
    """Return S (r,) and V (d, r) of the decomposition W0 = U S Vᵀ of the centred weights (K, d)."""
    # W0 = U S Vᵀ
    _, s, vt = np.linalg.svd(weights - weights.mean(axis=0), full_matrices=False)
    # Centring makes the K-th singular value zero, up to rounding errors, so r <= K-1. Values below
    # 1e-6 of the largest are rounding errors of float32 weights.
    rank = int(np.count_nonzero(s[: len(weights) - 1] > 1e-6 * s[0]))
    if rank == 0:
        raise ValueError("weights: all networks are equal, there is no covariance to learn")
    return s[:rank], vt[:rank].T


def as_directions(directions: ArrayLike, d: int, r: int) -> Array:
    """Return directions as float64; ValueError unless they are (d, r) and finite."""
    array = as_points("directions", directions)
    if array.shape != (d, r):
        needed = f"({d}, {r}), the lengths of mean and of singular_values or deviations"
        raise ValueError(f"directions has shape {array.shape}: must be {needed}")
    return array


class LowRankGaussian(WeightPrior):
    """N(μ0, Σ0) with the sample covariance Σ0 = V S² Vᵀ / (K-1) of the networks.

    The density is degenerate: the r <= K-1 directions V span its support. The penalty
    (K-1) |S⁻¹ Vᵀ (ω - ω0)|² is zero along all other directions. Samples are
    ω = V S z / sqrt(K-1) + μ0 with z ~ N(0, I).

    Args:
        mean: Mean μ0 of the weights, (d,).
        singular_values: Singular values S of the centred weights W0, (r,).
        directions: Right singular vectors V, (d, r).
        n_networks: Number of networks, K.

    Source: section 2.2.3, equations 9 to 11 and appendix B of the paper.

    Examples:
        >>> import bnn
        >>> network = bnn.MLP((1, 4, 1))
        >>> weights = network.initial_weights(5, random_state=0)
        >>> prior = bnn.LowRankGaussian.fit(weights, network)
        >>> prior.rank
        4
        >>> prior.sample(3, 0).shape
        (3, 13)
    """

    def __init__(
        self, mean: ArrayLike, singular_values: ArrayLike, directions: ArrayLike, n_networks: int
    ) -> None:
        check_count("n_networks", n_networks, 2)
        self.mean = as_vector("mean", mean)
        self.singular_values = as_vector("singular_values", singular_values, positive=True)
        self.directions = as_directions(directions, self.mean.size, self.singular_values.size)
        self.rank = self.singular_values.size
        # standard deviations along the directions, (r,)
        self.deviations: Array = self.singular_values / np.sqrt(n_networks - 1)
        # diag Σ0 = Σ_i (V_i S_i)² / (K-1)
        self.variance = np.sum((self.directions * self.deviations) ** 2, axis=1)

    @classmethod
    def _fit(cls, weights: Array, _: MLP) -> Self:
        return cls(weights.mean(axis=0), *principal_directions(weights), len(weights))

    def covariance(self) -> Array:
        """Return Σ0, (d, d)."""
        # Σ0 = R Rᵀ with R = V S / √(K-1)
        root = self.directions * self.deviations
        return root @ root.T

    def complement_distance(self, weights: ArrayLike, anchors: ArrayLike) -> Array:
        """Return how far networks moved along the directions that have no penalty.

        Args:
            weights: ω, (K, d).
            anchors: ω0, (K, d) or (d,).

        Returns:
            |(I - V Vᵀ)(ω - ω0)| of each network, (K,).
        """
        difference = self._differences(weights, anchors)
        # |(I - V Vᵀ) u| with u = ω - ω0
        along = difference @ self.directions
        return np.asarray(np.linalg.norm(difference - along @ self.directions.T, axis=-1))

    def regulariser(self) -> LowRankRegulariser:
        """Return the gradient of the penalty, for the training loop."""
        # Σ0⁺ = F Fᵀ with F = √(K-1) V S⁻¹
        return LowRankRegulariser(self.directions / self.deviations)

    def _deviations(self, n: int, rng: np.random.Generator) -> Array:
        # V S z / √(K-1)
        return rng.standard_normal((n, self.rank)) @ (self.directions * self.deviations).T

    def _penalty(self, differences: Array) -> Array:
        # (K-1) |S⁻¹ Vᵀ (ω - ω0)|²
        return np.asarray(np.sum((differences @ self.directions / self.deviations) ** 2, axis=-1))

    def _log_normaliser(self) -> float:
        # r log 2π + log |S² / (K-1)|
        return float(self.rank * np.log(2.0 * np.pi) + 2.0 * np.sum(np.log(self.deviations)))
