"""Hyperpriors of the open parameters of a given kernel, and the search for these parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import qmc

from bnn._seeding import generator
from bnn._validation import Array, Ints
from bnn.gp.evidence.families import (
    LENGTHSCALE_DEVIATION,
    LIMITS,
    OFFSET,
    SPARSE_DEVIATION,
    TREND,
    TREND_DEVIATION,
    UNIFORM,
    VARIANCE_DEVIATION,
    FamilyDensity,
)
from bnn.gp.evidence.laplace import STEPS, further_starts, most_probable, some_rows
from bnn.gp.evidence.trend import GivenCovariance, Hyperprior
from bnn.gp.open_parameters import OpenParameter, open_parameters
from bnn.gp.process import GaussianProcessPrior

# Median of period / range, standard deviation of its logarithm, and the largest such ratio. The
# shortest period contains two data on average.
PERIOD = 0.3
PERIOD_DEVIATION = 1.2
LONGEST = 4.0
NUMBER_DEVIATION = 2.0  # of the logarithm of any other parameter, whose median is its default
REACH = 3.0  # distance of its bounds from the median, in deviations
SEARCHED = 300  # most data of a search from many starts
PEAKS = 4  # peaks of a scan from which searches start
ENDS = 2  # results of searches with some data from which searches with all data start
FIRST_STEPS = STEPS // 2  # most steps of the search from each start
LAST_STEPS = 5 * STEPS  # most steps of the last search
TOLERANCE = 1e-13  # of the last search, because products of kernels have long flat ridges


def given_covariance(
    prior: GaussianProcessPrior,
    output: int,
    X: Array,
    column: Array,
    scaling: tuple[Ints, Array, Array],
    sparse: bool,
) -> GivenCovariance:
    """Return the covariance of one output of a prior, with hyperpriors of its open parameters.

    Args:
        prior: The prior, with open parameters only for inputs that vary.
        output: Index of the output.
        X: Inputs, (N, n_in).
        column: The output minus its mean, (N,).
        scaling: Indices of the inputs that vary, their least values and ranges.
        sparse: Whether there are few data per input, see `Family`.
    """
    features = prior.features_of(output, X.shape[1])
    kernel = prior.kernels[output]
    scales = _Scales(column, X[:, features], sparse)
    hyperpriors = [scales.hyperprior(each) for each in open_parameters(kernel)]
    return GivenCovariance(
        kernel, X, *scaling, float(column.var()), features=features, open_=hyperpriors
    )


class _Scales:
    """The scales of the data of an output, which determine hyperpriors of open parameters."""

    def __init__(self, column: Array, X: Array, sparse: bool) -> None:
        self._ranges = np.ptp(X, axis=0)
        self._n_data = len(X)
        # If the mean is far from the data, a variance may have to explain this distance.
        self._spread = float(column.var())
        self._square = float(np.mean(column**2))
        self._growth = np.sqrt(np.count_nonzero(self._ranges)) if sparse else 1.0
        self._deviation = SPARSE_DEVIATION if sparse else LENGTHSCALE_DEVIATION

    def hyperprior(self, parameter: OpenParameter) -> Hyperprior:
        """Return the hyperprior of the logarithm of a parameter."""
        kernel, name, entry, quantity = parameter
        width = self._ranges[entry or 0]
        if quantity == "variance":
            return self._of_variance(OFFSET**2 if name == "offset" else 1.0)
        if quantity == "slope":
            unit = UNIFORM * self._spread / width**2
            return _log_normal(TREND * unit, TREND_DEVIATION, unit * np.array(LIMITS["trend"]))
        lengths = np.array(LIMITS["lengthscale"])
        if quantity == "length":
            return _log_normal(self._growth * width, self._deviation, width * lengths)
        if quantity == "ratio":
            return _log_normal(1.0, LENGTHSCALE_DEVIATION, lengths)
        if quantity == "period":
            # Inputs of infinite length scale have no effect.
            scales = np.array([1.0 if L is None else L for L in np.ravel(kernel.lengthscale)])
            longest = np.max(self._ranges * np.isfinite(scales.astype(float)))
            ends = longest * np.array([2.0 / self._n_data, LONGEST])
            return _log_normal(PERIOD * longest, PERIOD_DEVIATION, ends, periodic=True)
        median = type(kernel).__dataclass_fields__[name].default
        reach = np.exp(REACH * NUMBER_DEVIATION)
        return _log_normal(median, NUMBER_DEVIATION, median * np.array([1.0 / reach, reach]))

    def _of_variance(self, median: float) -> Hyperprior:
        low, high = LIMITS["variance"]
        middle = np.sqrt(self._spread) * np.sqrt(self._square)
        deviation = np.hypot(VARIANCE_DEVIATION, 0.5 * np.log(self._square / self._spread))
        return _log_normal(median * middle, deviation, (low * self._spread, high * self._square))


def _log_normal(
    median: float, deviation: float, limits: Sequence[float] | Array, periodic: bool = False
) -> Hyperprior:
    low, high = np.log(limits)
    return Hyperprior(float(np.log(median)), float(deviation), (low, high), periodic)


def searched(density: FamilyDensity, restarts: int, seed: int | None) -> Array:
    """Return the most probable η of a given kernel, by searches from many starts.

    If there are more than SEARCHED data, the first searches use SEARCHED of them. Their best
    results are starts of the search with all data.

    Args:
        density: log p(y, η).
        restarts: Number of random starts from the hyperprior, see `further_starts`. As many starts
            are drawn uniformly within the bounds, for modes that are rare under the hyperprior.
        seed: Seed of these draws, and of the data that are searched first.
    """
    few = density.thinned(some_rows(len(density.y), SEARCHED, seed))
    starts = further_starts(few, restarts, 0, seed)
    low, high = few.limits.T
    if restarts:
        cube = qmc.LatinHypercube(len(low), seed=generator(seed)).random(restarts)
        starts += list(low + (high - low) * cube)
    starts += _scanned(few, starts[0])
    ends = [most_probable(few, [start], FIRST_STEPS) for start in starts]
    best = max(ends, key=few.value)
    ends += [most_probable(few, [start], FIRST_STEPS) for start in _scanned(few, best)]
    ends.sort(key=few.value)
    return most_probable(density, ends[-ENDS:], LAST_STEPS, TOLERANCE)


def _scanned(density: FamilyDensity, eta: Array) -> list[Array]:
    """Scan each period in η, and return η with the periods of the highest peaks of the density."""
    found = []
    assert density.given is not None
    for i, hyperprior in enumerate(density.given.open, density.open.start):
        if not hyperprior.periodic:
            continue
        low, high = hyperprior.limits
        # Frequencies are scanned in steps of half a wave within the data, the width of a peak.
        shortest, longest = np.exp(-high), np.exp(-low)
        step = 0.5 * LONGEST * shortest
        count = 2 + int((longest - shortest) / step)
        periods = -np.log(np.linspace(shortest, longest, count))
        points = np.tile(eta, (count, 1))
        points[:, i] = np.clip(periods, low, high)
        values = np.array([density.value(each) for each in points])
        padded = np.concatenate([[-np.inf], values, [-np.inf]])
        peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
        found += list(points[peaks[np.argsort(-values[peaks])[:PEAKS]]])
    return found
