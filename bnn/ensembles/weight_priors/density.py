"""Base class of the densities p0(ω) over the weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bnn._seeding import RandomState, generator
from bnn._validation import Array, as_finite, check_count, check_kind
from bnn.networks.mlp import MLP
from bnn.training.penalties import Regulariser
from safe_files.text import Short

# Least variance of a weight: smaller ones are replaced, because the density would be degenerate.
SMALLEST_VARIANCE = 1e-12


class WeightPrior(Short, ABC):
    """A density over the weights ω of one network.

    The mean is the average of the pre-trained weights (equation 8 of the paper), but zero for the
    isotropic density. Penalties are -2 log p0 up to a constant, as in the loss of Algorithm 2.
    """

    mean: Array  # μ0, (d,)
    variance: Array  # of each weight, (d,)

    @classmethod
    def fit(cls, weights: ArrayLike, architecture: MLP) -> Self:
        """Learn the density from the weights ω0 (K, d) of K >= 2 pre-trained networks."""
        return cls._fit(checked_ensemble(weights, architecture), architecture)

    @classmethod
    @abstractmethod
    def _fit(cls, weights: Array, architecture: MLP) -> Self:
        """Learn the density from checked weights."""

    @abstractmethod
    def regulariser(self) -> Regulariser:
        """Return the gradient of the penalty, for the training loop."""

    def sample(self, n: int, random_state: RandomState = None) -> Array:
        """Draw the weights of n networks, (n, d)."""
        check_count("n", n, 1)
        return self.mean + self._deviations(n, generator(random_state))

    @abstractmethod
    def _deviations(self, n: int, rng: np.random.Generator) -> Array:
        """Draw differences from the mean, (n, d)."""

    def penalty(self, weights: ArrayLike, anchors: ArrayLike) -> Array:
        """Return the penalty of weights ω (K, d) with anchors ω0, (K, d) or (d,), as (K,)."""
        return self._penalty(self._differences(weights, anchors))

    def _differences(self, weights: ArrayLike, anchors: ArrayLike) -> Array:
        """Return ω - ω0, (K, d), of weights ω (K, d) and anchors ω0, (K, d) or (d,), checked."""
        first = as_finite("weights", weights)
        second = as_finite("anchors", anchors)
        d = self.mean.size
        if first.ndim != 2 or first.shape[1] != d:
            raise ValueError(f"weights has shape {first.shape}: must be (K, {d})")
        if second.shape not in {(d,), first.shape}:
            raise ValueError(f"anchors has shape {second.shape}: must be {first.shape} or ({d},)")
        return first - second

    @abstractmethod
    def _penalty(self, differences: Array) -> Array:
        """Return the penalty of differences ω - ω0 (K, d), as (K,)."""

    def log_prob(self, weights: ArrayLike) -> Array:
        """Return log p0(ω) of ω (K, d), as (K,), for the projection of ω on the support of p0."""
        return -0.5 * (self.penalty(weights, self.mean) + self._log_normaliser())

    @abstractmethod
    def _log_normaliser(self) -> float:
        """Return -2 log p0 at the mean."""


def checked_ensemble(weights: ArrayLike, architecture: MLP) -> Array:
    """Return weights as float64; ValueError unless they are (K, d), with K >= 2, and finite."""
    check_kind("architecture", architecture, MLP)
    weights = as_finite("weights", weights)
    if weights.ndim != 2 or weights.shape[1] != architecture.n_weights:
        needed = f"(K, {architecture.n_weights})"
        raise ValueError(f"weights have shape {weights.shape}: must be {needed}")
    if len(weights) < 2:
        raise ValueError(f"K = {len(weights)}: a weight prior needs at least 2 networks")
    return weights


def as_vector(
    name: str, values: ArrayLike, size: int | None = None, positive: bool = False
) -> Array:
    """Return values as (size,) float64; ValueError unless finite, and > 0 if positive is True."""
    vector = as_finite(name, values)
    if vector.ndim != 1 or vector.size != (size or vector.size) or not vector.size:
        needed = "(d,)" if size is None else f"({size},) as the mean"
        raise ValueError(f"{name} has shape {vector.shape}: must be {needed}")
    if positive and not np.all(vector > 0.0):
        raise ValueError(f"{name} has the entry {vector.min():.3g}: must be > 0")
    return vector


def unbiased_variance(centred: Array) -> float:
    """Return the mean unbiased variance of the columns of centred values (K, n)."""
    return float((centred**2).sum() / ((len(centred) - 1) * centred.shape[1]))
