"""Functional priors p(g) from samplers, low-fidelity models or tables of realisations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import KDTree
from scipy.stats import qmc, rv_continuous, rv_discrete, truncnorm

from bnn._seeding import RandomState, generator, member_generators, seed_sequence, spawn
from bnn._validation import (
    Array,
    as_columns,
    as_finite,
    as_points,
    check_count,
    check_function,
    check_option,
    check_positive,
    check_ranges,
    own_copy,
    read_only,
    varies,
)
from bnn.priors.function_prior import FunctionalPrior, FunctionPrior
from bnn.scaling import BoundsScaler
from safe_files.progress import counted

__all__ = ["SamplerPrior", "TablePrior"]  # what bnn exports

FLAT = 1e-8  # least singular value, in half ranges, of points that fill a volume


def truncated_normal_hypercube(
    n: int, n_features: int, random_state: RandomState = None, bound: float = 2.0
) -> Array:
    """Draw a Latin hypercube of a truncated standard normal distribution.

    Args:
        n: Number of points, M.
        n_features: Number of inputs.
        random_state: Seed.
        bound: Bound of the truncation, in standard deviations.

    Returns:
        Points, (n, n_features) in [-bound, bound].

    Source: Algorithm 3 of the paper.
    """
    check_count("n", n, 1)
    check_count("n_features", n_features, 1)
    check_positive(bound=bound)
    uniform = qmc.LatinHypercube(n_features, seed=generator(random_state)).random(n)
    return np.asarray(truncnorm.ppf(uniform, -bound, bound))


def draw_realisations(
    prior: FunctionalPrior, X: Array, n_samples: int, random_state: RandomState = None
) -> Array:
    """Draw and check values of g, (n_samples, n, n_out); X is (n, n_in) or (n_samples, n, n_in)."""
    if X.ndim == 3:
        seeds = seed_sequence(random_state)
        draws = [draw_realisations(prior, x, 1, spawn(seeds, k)) for k, x in enumerate(X)]
        return np.concatenate(draws)
    if not isinstance(prior, FunctionPrior):  # priors of other classes get an integer seed
        random_state = int(seed_sequence(random_state).generate_state(1)[0])
    values = np.asarray(prior.sample(X, n_samples, random_state), dtype=float)
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3 or values.shape[:2] != (n_samples, len(X)):
        needed = f"({n_samples}, {len(X)}, n_out)"
        raise ValueError(f"the prior returned shape {values.shape}: must be {needed}")
    bad = np.flatnonzero(~np.isfinite(values).all(axis=(1, 2)))
    if bad.size:
        where = f"realisation {bad[0]} ({bad.size} of {n_samples} realisations)"
        raise ValueError(f"the prior returned values that are not finite in {where}")
    return values


@dataclass(frozen=True, repr=False)
class SamplerPrior(FunctionPrior):
    """A prior from any sampler or low-fidelity model with random parameters.

    Attributes:
        function: Function that returns one realisation, (n,) or (n, n_out). It is called as
            function(X, **values) if there are parameters, else as function(X, rng), where rng is a
            NumPy Generator. X is (n, n_in) and read-only.
        parameters: Mapping from the name of each parameter to a scipy.stats distribution, a
            function of rng, or a constant.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> from scipy import stats
        >>> slopes = {"slope": stats.norm(2.0, 0.1)}
        >>> prior = bnn.SamplerPrior(lambda X, slope: slope * X[:, 0], slopes)
        >>> prior.sample(np.ones((3, 1)), n_samples=4, random_state=0).shape
        (4, 3, 1)
    """

    function: Callable[..., ArrayLike]
    parameters: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_function("function", self.function)
        if not isinstance(self.parameters, Mapping | None):
            raise ValueError(f"parameters = {self.parameters!r:.60}: must be a mapping or None")
        for name, value in (self.parameters or {}).items():
            if isinstance(value, rv_continuous | rv_discrete):
                needed = f"give its parameters, as in {value.name}(...)"
                raise ValueError(f"parameters[{name!r}] = {value.name}: {needed}")
        object.__setattr__(self, "parameters", own_copy(self.parameters))

    def _draw(self, X: Array, n_samples: int, random_state: RandomState) -> Array:
        X = read_only(X)
        generators = member_generators(seed_sequence(random_state), n_samples)
        shown = counted(generators, "realisations", "realisation")
        return np.stack([self._realisation(X, rng) for rng in shown])

    def _realisation(self, X: Array, rng: np.random.Generator) -> Array:
        if self.parameters is None:
            drawn = self.function(X, rng)
        else:
            drawn = self.function(X, **{n: _draw(p, rng) for n, p in self.parameters.items()})
        return as_columns("a realisation of the prior", drawn, len(X))


def _draw(distribution: Any, rng: np.random.Generator) -> Any:
    if hasattr(distribution, "rvs"):
        return distribution.rvs(random_state=rng)
    return distribution(rng) if callable(distribution) else distribution


class TablePrior(FunctionPrior):
    """A prior from a table of realisations, such as earlier simulations or measurements.

    Args:
        points: Points of the table, (n, n_in); pre-training uses them as its inputs.
        values: Realisations at the points, (n_realisations, n, n_out) or (n_realisations, n), at
            least two of them.
        interpolation: "linear", "nearest", or None, which allows only the tabulated points. Use
            "linear" for a FunctionAnchoredEnsemble if its data lie between the points: networks
            cannot follow the steps of "nearest" well, and intervals become too narrow. Outside the
            range of the points, "linear" takes the value at the nearest point. Distances are
            relative to the range of each input. Inputs that do not vary between the points are
            ignored. With many inputs "linear" is slow.

    Raises:
        ValueError: If shapes do not match, there is only one realisation, a value is not finite,
            the interpolation is unknown, or linear and the points do not span their inputs.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> points = np.linspace(0.0, 1.0, 5)[:, None]
        >>> values = np.outer([1.0, 2.0], points[:, 0])
        >>> prior = bnn.TablePrior(points, values, interpolation="linear")
        >>> prior.sample(np.array([[0.3]]), n_samples=2, random_state=0).shape
        (2, 1, 1)
    """

    def __init__(
        self, points: ArrayLike, values: ArrayLike, interpolation: str | None = None
    ) -> None:
        self.points = as_points("points", points)
        check_ranges(points=self.points)
        table = as_finite("values", values)
        self.values = table[:, :, None] if table.ndim == 2 else table
        self.interpolation = interpolation
        if self.values.ndim != 3 or 0 in self.values.shape:
            needed = "(n_realisations, n, n_out) or (n_realisations, n)"
            raise ValueError(f"values has shape {table.shape}: must be {needed}")
        if len(self.values) < 2:
            raise ValueError("values has one realisation: at least 2 are needed")
        n = len(self.points)
        n_values = self.values.shape[1]
        if n_values != n:
            raise ValueError(f"values have {n_values} points: must be {n}, one for each of points")
        if interpolation is not None:
            check_option("interpolation", interpolation, ("linear", "nearest"))
        if interpolation == "linear":
            _check_span(self._scaled(self.points))

    def stored_fields(self) -> dict[str, Any]:
        """Return the content of a file: the arguments of the constructor."""
        return {"points": self.points, "values": self.values, "interpolation": self.interpolation}

    def _draw(self, X: Array, n_samples: int, random_state: RandomState) -> Array:
        """Draw rows of the table, without repetition if there are enough."""
        rng = generator(random_state)
        repeats = -(-n_samples // len(self.values))
        order = np.concatenate([rng.permutation(len(self.values)) for _ in range(repeats)])
        return self._at(X, self.values[order[:n_samples]])

    def _at(self, X: Array, values: Array) -> Array:
        if X.shape[1] != self.points.shape[1]:
            raise ValueError(f"X has {X.shape[1]} inputs: must be {self.points.shape[1]}")
        distances, nearest = KDTree(self.points).query(X)
        away = distances > 0.0
        if not away.any():
            return values[:, nearest]
        if self.interpolation is None:
            place = X[np.flatnonzero(away)[0]].tolist()
            raise ValueError(
                f"X has the point {place}, which differs from the table's points: give "
                'TablePrior(..., interpolation="linear")'
            )
        varying = np.flatnonzero(varies(self.points))
        if not len(varying):
            return values[:, nearest]
        if self.interpolation == "linear" and len(varying) == 1:
            column = varying[0]
            order = np.argsort(self.points[:, column])
            places = self.points[order, column]
            at = X[:, column]
            return np.apply_along_axis(lambda v: np.interp(at, places, v[order]), 1, values)
        scaled = self._scaled(self.points)
        at = self._scaled(X)
        nearest[away] = KDTree(scaled).query(at[away])[1]
        if self.interpolation == "nearest":
            return values[:, nearest]
        by_point = np.moveaxis(values, 1, 0)
        linear = LinearNDInterpolator(scaled, by_point)(at)
        outside = ~np.isfinite(linear).reshape(len(X), -1).all(axis=1)
        linear[outside] = by_point[nearest[outside]]
        return np.moveaxis(linear, 0, 1)

    def _scaled(self, X: Array) -> Array:
        """Return the inputs that vary between the points, in half ranges of the points.

        Distances then do not depend on the units of the inputs.
        """
        scaled = BoundsScaler.fit(self.points).transform(X)
        return np.asarray(scaled[:, varies(self.points)])


def _check_span(scaled: Array) -> None:
    """Raise ValueError unless the points (n, n_in) fill a volume, as linear interpolation needs."""
    n_in = scaled.shape[1]
    rank = np.linalg.matrix_rank(scaled - scaled.mean(axis=0), tol=FLAT) if n_in else 0
    if rank < n_in:
        raise ValueError(
            f"points: {n_in} inputs vary, but fill only {rank} dimensions; "
            "use interpolation='nearest'"
        )
