"""Functional priors p(g): what is known about the function before any data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
from scipy.stats import qmc, truncnorm

from bnn._seeding import RandomState, generator, member_generators, seed_sequence
from bnn._validation import Array
from bnn.function_priors.gaussian_process import GaussianProcessPrior


@runtime_checkable
class FunctionalPrior(Protocol):
    """Anything that draws realisations g^[k] of a function."""

    def sample(self, X: Array, n_samples: int, random_state: RandomState = None) -> Array:
        """Draw realisations.

        Args:
            X: (n, n_in).
            n_samples: Number of realisations.
            random_state: Seed; a prior that is not of this package is given an integer.

        Returns:
            Realisations, (n_samples, n, n_out).
        """
        ...


def latin_hypercube(
    n: int, n_features: int, random_state: RandomState = None, bound: float = 2.0
) -> Array:
    """Draw a Latin hypercube through a standard normal truncated at ±bound.

    Args:
        n: Number of points, M.
        n_features: Number of inputs.
        random_state: Seed.
        bound: Truncation in standard deviations.

    Returns:
        Points, (n, n_features) in [-bound, bound].

    Source: Algorithm 3 of the paper.
    """
    uniform = qmc.LatinHypercube(n_features, seed=generator(random_state)).random(n)
    points: Array = truncnorm.ppf(uniform, -bound, bound)
    return points


def draw_realisations(
    prior: FunctionalPrior, X: Array, n_samples: int, random_state: RandomState = None
) -> Array:
    """Draw from any prior and check the realisations.

    Args:
        prior: The prior.
        X: (n, n_in).
        n_samples: Number of realisations.
        random_state: Seed.

    Returns:
        Realisations, (n_samples, n, n_out) float64.

    Raises:
        ValueError: If the prior returned another shape or values that are not finite.
    """
    if not isinstance(prior, OWN):  # every library takes an integer
        random_state = int(seed_sequence(random_state).generate_state(1)[0])
    values = np.asarray(prior.sample(X, n_samples, random_state), dtype=float)
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3 or values.shape[:2] != (n_samples, len(X)):
        raise ValueError(
            f"the prior returned shape {values.shape}: must be ({n_samples}, {len(X)}, n_out)"
        )
    bad = np.flatnonzero(~np.isfinite(values).all(axis=(1, 2)))
    if bad.size:
        raise ValueError(
            f"the prior returned values that are not finite in realisation {bad[0]} "
            f"({bad.size} of {n_samples} realisations)"
        )
    return values


@dataclass(frozen=True)
class SamplerPrior:
    """A prior from any sampler or low-fidelity model with random parameters.

    Attributes:
        function: Returns one realisation, (n,) or (n, n_out). Called as function(X, rng) without
            parameters, and as function(X, **values) with parameters; X is (n, n_in).
        parameters: Name → scipy.stats distribution, function rng → value, or constant value.
    """

    function: Callable[..., ArrayLike]
    parameters: Mapping[str, Any] | None = None

    def sample(self, X: Array, n_samples: int, random_state: RandomState = None) -> Array:
        """Draw realisations.

        Args:
            X: (n, n_in).
            n_samples: Number of realisations.
            random_state: Seed.

        Returns:
            Realisations, (n_samples, n, n_out).
        """
        X = np.asarray(X, dtype=float)
        draws = member_generators(seed_sequence(random_state), n_samples)
        return np.stack([np.reshape(self._realisation(X, rng), (len(X), -1)) for rng in draws])

    def _realisation(self, X: Array, rng: np.random.Generator) -> Array:
        if self.parameters is None:
            drawn = self.function(X, rng)
        else:
            drawn = self.function(X, **{n: _draw(p, rng) for n, p in self.parameters.items()})
        values = np.asarray(drawn, dtype=float)
        if values.shape[:1] != (len(X),) or values.ndim > 2:
            raise ValueError(
                f"the prior returned shape {values.shape}: must be ({len(X)},) or ({len(X)}, n_out)"
            )
        return values


def _draw(distribution: Any, rng: np.random.Generator) -> Any:
    if hasattr(distribution, "rvs"):
        return distribution.rvs(random_state=rng)
    return distribution(rng) if callable(distribution) else distribution


class TablePrior:
    """A prior from a table of realisations, such as earlier simulations or measurements.

    Args:
        points: (n, n_in); pre-training takes these as its inputs.
        values: Realisations at the points, (n_realisations, n, n_out) or (n_realisations, n).
        interpolation: "linear", "nearest", or None, which allows the tabulated points only.

    Raises:
        ValueError: If shapes do not fit, a value is not finite or interpolation is unknown.
    """

    def __init__(
        self, points: ArrayLike, values: ArrayLike, interpolation: str | None = None
    ) -> None:
        self.points = np.asarray(points, dtype=float)
        table = np.asarray(values, dtype=float)
        self.values = table[:, :, None] if table.ndim == 2 else table
        self.interpolation = interpolation
        if self.points.ndim != 2 or self.values.ndim != 3:
            raise ValueError("points must be (n, n_in) and values (n_realisations, n, n_out)")
        if self.values.shape[1] != len(self.points):
            raise ValueError(
                f"values have {self.values.shape[1]} points: must be {len(self.points)}"
            )
        if not (np.isfinite(self.points).all() and np.isfinite(self.values).all()):
            raise ValueError("the table holds values that are not finite")
        if interpolation not in (None, "linear", "nearest"):
            raise ValueError(f"interpolation = {interpolation!r}: must be None, linear or nearest")

    def sample(self, X: Array, n_samples: int, random_state: RandomState = None) -> Array:
        """Draw rows of the table, without repetition as long as there are enough.

        Args:
            X: (n, n_in).
            n_samples: Number of realisations.
            random_state: Seed.

        Returns:
            Realisations, (n_samples, n, n_out).
        """
        rng = generator(random_state)
        repeats = -(-n_samples // len(self.values))
        order = np.concatenate([rng.permutation(len(self.values)) for _ in range(repeats)])
        return self._at(np.asarray(X, dtype=float), self.values[order[:n_samples]])

    def _at(self, X: Array, values: Array) -> Array:
        if np.array_equal(X, self.points):
            return values
        if self.interpolation is None:
            raise ValueError("X differs from the table's points: choose an interpolation")
        by_point = np.moveaxis(values, 1, 0)
        if self.interpolation == "nearest":
            return np.moveaxis(NearestNDInterpolator(self.points, by_point)(X), 0, 1)
        if self.points.shape[1] == 1:
            order = np.argsort(self.points[:, 0])
            flat = by_point[order].reshape(len(order), -1)
            columns = [np.interp(X[:, 0], self.points[order, 0], c) for c in flat.T]
            return np.moveaxis(np.stack(columns, 1).reshape(len(X), *by_point.shape[1:]), 0, 1)
        linear = LinearNDInterpolator(self.points, by_point)(X)
        outside = ~np.isfinite(linear).reshape(len(X), -1).all(axis=1)
        if outside.any():
            linear[outside] = NearestNDInterpolator(self.points, by_point)(X[outside])
        return np.moveaxis(linear, 0, 1)


# Priors of this package, which take any random state.
OWN = (GaussianProcessPrior, SamplerPrior, TablePrior)
