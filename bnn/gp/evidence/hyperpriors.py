"""Hyperpriors of the open parameters of a kernel, and the search for these parameters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.stats import qmc
from sklearn.gaussian_process import kernels as sk

from bnn._seeding import generator
from bnn._validation import Array, Ints
from bnn.gp.evidence.density import FamilyDensity
from bnn.gp.evidence.families import (
    LENGTHSCALE_DEVIATION,
    LIMITS,
    OFFSET,
    SPARSE_DEVIATION,
    TREND,
    TREND_DEVIATION,
    UNIFORM,
    VARIANCE_DEVIATION,
)
from bnn.gp.evidence.laplace import STEPS, THINNED, further_starts, most_probable, some_rows
from bnn.gp.evidence.prescribed import Hyperprior, PrescribedCovariance
from bnn.gp.kernel import QUANTITIES, UNLISTED, Kernel, Place, check_finite
from bnn.gp.open_parameters import (
    OpenParameter,
    fields_of,
    has_effect,
    open_parameters,
    slopes,
)
from bnn.gp.process import GaussianProcessPrior
from bnn.gp.units import Unit, contributions, default_of, units_of
from bnn.gp.warping import Warped
from safe_files.help_page import ExplainedWarning

# Median of period / range, standard deviation of its logarithm, and the largest such ratio. The
# shortest period contains two data on average.
PERIOD = 0.3
PERIOD_DEVIATION = 1.2
LONGEST = 4.0
NUMBER_DEVIATION = 2.0  # of the logarithm of any other parameter
FAR_FROM_MEDIAN = 2.5  # deviations of an estimate from its median at which `fit` warns
REACH = 3.0  # distance of its bounds from the median, in deviations
PEAKS = 4  # peaks of a scan from which searches start
ENDS = 2  # results of searches with some data from which searches with all data start
START_STEPS = STEPS // 2  # most steps of the search from each start
FINAL_STEPS = 5 * STEPS  # most steps of the last search
FINAL_TOLERANCE = 1e-13  # of the last search, because products of kernels have long flat ridges


class HyperpriorWarning(ExplainedWarning):
    """The estimate of an open parameter of a kernel is far from the median of its hyperprior."""


def kernel_covariance(
    prior: GaussianProcessPrior,
    X: Array,
    y: Array,
    scaling: tuple[Ints, Array, Array],
    sparse: bool,
) -> PrescribedCovariance:
    """Return the covariance of a prior of one output, with hyperpriors of its open parameters.

    Args:
        prior: The prior, with open parameters only for inputs that vary.
        X: Inputs, (N, n_in).
        y: The output minus its mean, (N,).
        scaling: Indices of the inputs that vary, their least values and ranges.
        sparse: Whether there are few data per input, see `Family`.

    Raises:
        ValueError: If the kernel, or a derivative of it with respect to an open parameter, is not
            finite at the data, for the medians of its open parameters.
    """
    features = prior.active_dims_of(0, X.shape[1])
    kernel = prior.kernels[0]
    hyperpriors = _hyperpriors(kernel, _Scales(y, X[:, features], sparse))
    covariance = PrescribedCovariance(
        kernel, X, *scaling, float(y.var()), features=features, hyperpriors=hyperpriors
    )
    seen = X[:, features]
    medians = np.array([hyperprior.median for hyperprior in hyperpriors])
    at_medians = covariance.kernel(medians)
    check_finite(at_medians, at_medians(seen), seen, seen)
    by_parameter = slopes(kernel, np.exp(medians), seen)
    for parameter, slope in zip(open_parameters(kernel), by_parameter, strict=True):
        what = f"the derivative with respect to {parameter.name} of "
        check_finite(at_medians, slope, seen, seen, what)
    return covariance


def _hyperpriors(kernel: sk.Kernel, scales: _Scales) -> list[Hyperprior]:
    """Return the hyperpriors of the open parameters of a kernel, in their order."""
    hyperpriors = []
    for field in fields_of(kernel).values():
        if isinstance(field, sk.Kernel):
            hyperpriors += _hyperpriors(field, scales.of_terms(kernel))
    if isinstance(kernel, Kernel):
        parameters = [p for p in open_parameters(kernel) if p.kernel is kernel]
        hyperpriors += scales.hyperpriors(kernel, parameters)
    return hyperpriors


def _has_amplitude(kernel: sk.Kernel, X: Array) -> bool:
    """Return whether an open parameter of a kernel has the unit of a power of the output."""
    for term, name, entry, quantity in open_parameters(kernel):
        if quantity in ("variance", "slope"):
            return True
        unit = units_of(term, X).get((name, entry)) if quantity == UNLISTED else None
        if unit is not None and unit.output:
            return True
    return False


def warn_of_far(covariance: PrescribedCovariance, logs: Array, stacklevel: int) -> None:
    """Warn if the estimate of a parameter of a custom kernel is far from its median.

    `logs` are the logarithms of the open parameters, averaged over their posterior.
    """
    parameters = open_parameters(covariance.open_kernel)
    for parameter, hyperprior, value in zip(parameters, covariance.hyperpriors, logs, strict=True):
        away = abs(value - hyperprior.median) / hyperprior.deviation
        if parameter.quantity in (UNLISTED, "number") and away > FAR_FROM_MEDIAN:
            name = f"{parameter.name} of the kernel {type(parameter.kernel).__name__}"
            estimate = f"is estimated as {np.exp(value):.3g}, far from its median "
            warnings.warn(
                f"{name} {estimate}{np.exp(hyperprior.median):.3g}: change its default, or its "
                "kind in `quantities`, if the unit of the data is another one",
                HyperpriorWarning,
                stacklevel=stacklevel + 1,
            )


class _Scales:
    """The scales of the data of an output, which determine hyperpriors of open parameters.

    `power` is the power of the output's variance that is the unit of the kernel: one, but less for
    a factor of a product whose other factor also has an open variance.
    """

    def __init__(self, column: Array, X: Array, sparse: bool, power: float = 1.0) -> None:
        self._of_data = column, X, sparse
        self._X = X
        self._ranges = np.ptp(X, axis=0)
        self._n_data = len(X)
        # If the mean is far from the data, a variance may have to explain this distance.
        self._spread = float(column.var() ** power)
        self._square = float(np.mean(column**2) ** power)
        self._power = power
        self._growth = np.sqrt(np.count_nonzero(self._ranges)) if sparse else 1.0
        self._deviation = SPARSE_DEVIATION if sparse else LENGTHSCALE_DEVIATION

    def of_terms(self, kernel: sk.Kernel) -> _Scales:
        """Return the scales of the kernels within another one."""
        column, X, sparse = self._of_data
        if isinstance(kernel, Warped):
            X = kernel.coordinates(X)
        power = self._power
        if isinstance(kernel, sk.Exponentiation):
            power /= kernel.exponent
        if isinstance(kernel, sk.Product):
            sharing = sum(_has_amplitude(factor, X) for factor in (kernel.k1, kernel.k2))
            power /= max(sharing, 1)
        return _Scales(column, X, sparse, power)

    def hyperpriors(self, kernel: Kernel, parameters: Sequence[OpenParameter]) -> list[Hyperprior]:
        """Return the hyperpriors of the logarithms of the parameters of one kernel."""
        units = units_of(kernel, self._X) if any(p.quantity == UNLISTED for p in parameters) else {}
        hyperpriors: dict[Place, Hyperprior] = {}
        for parameter in parameters:
            place = parameter.name, parameter.entry
            if parameter.quantity != UNLISTED:
                hyperpriors[place] = self._hyperprior(parameter)
                continue
            unit = units.get(place)
            if unit is None or (unit.inputs is None and unit.output <= 0.0):
                kind = type(kernel).__name__
                listed = f"add quantities = {{{parameter.name!r}: kind}} to the class"
                needed = f"{listed}, where kind is one of {', '.join(QUANTITIES)}"
                raise ValueError(
                    f"{parameter.name} = None of the kernel {kind}: the formula does not show "
                    f"its unit, so {needed}"
                )
            hyperpriors[place] = _number(self._scale(kernel, place, unit))
        medians = {place: float(np.exp(h.median)) for place, h in hyperpriors.items()}
        shares = contributions(kernel, medians, self._X) if units else {}
        for place, unit in units.items():
            # A term f of k ∝ θ^(2/a) has the slope 2 f / a. Its size shall be that of the output.
            size = 0.5 * unit.output * shares[place]
            is_listed = place[0] in kernel.quantities
            if not is_listed and unit.output > 0.0 and 0.0 < size < np.inf:
                factor = (self._middle / size) ** (0.5 * unit.output)
                hyperpriors[place] = _number(medians[place] * factor)
        return list(hyperpriors.values())

    def _scale(self, kernel: Kernel, place: Place, unit: Unit) -> float:
        """Return the median of a parameter: the default of a number, or one in units of data."""
        inputs = np.zeros(self._X.shape[1]) if unit.inputs is None else unit.inputs
        if not unit.output and not inputs.any():
            return default_of(kernel, *place)
        ranges = np.where(self._ranges > 0.0, self._ranges, 1.0)
        return float(self._middle ** (0.5 * unit.output) * np.prod(ranges**inputs))

    @property
    def _middle(self) -> float:
        return float(np.sqrt(self._spread) * np.sqrt(self._square))

    def _hyperprior(self, parameter: OpenParameter) -> Hyperprior:
        """Return the hyperprior of the logarithm of a parameter whose kind is listed."""
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
            longest = np.max(self._ranges * has_effect(kernel))
            ends = longest * np.array([2.0 / self._n_data, LONGEST])
            return _log_normal(PERIOD * longest, PERIOD_DEVIATION, ends, periodic=True)
        return _number(default_of(kernel, name, entry))

    def _of_variance(self, median: float) -> Hyperprior:
        low, high = LIMITS["variance"]
        deviation = np.hypot(VARIANCE_DEVIATION, 0.5 * np.log(self._square / self._spread))
        return _log_normal(
            median * self._middle, deviation, (low * self._spread, high * self._square)
        )


def _number(median: float) -> Hyperprior:
    reach = np.exp(REACH * NUMBER_DEVIATION)
    return _log_normal(median, NUMBER_DEVIATION, median * np.array([1.0 / reach, reach]))


def _log_normal(
    median: float, deviation: float, limits: Sequence[float] | Array, periodic: bool = False
) -> Hyperprior:
    low, high = np.log(limits)
    return Hyperprior(float(np.log(median)), float(deviation), (low, high), periodic)


def most_probable_of_kernel(density: FamilyDensity, restarts: int, seed: int | None) -> Array:
    """Return the most probable η of a given kernel, by searches from many starts.

    If there are more than THINNED data, the first searches use only so many of them. Their
    best results are starts of the search with all data.

    Args:
        density: log p(y, η).
        restarts: Number of random starts from the hyperprior, see `further_starts`. As many starts
            are drawn uniformly within the bounds, for modes that are rare under the hyperprior.
        seed: Seed of these draws, and of the data that are searched first.
    """
    few = density.thinned(some_rows(len(density.y), THINNED, seed))
    starts = further_starts(few, restarts, 0, seed)
    low, high = few.limits.T
    if restarts:
        cube = qmc.LatinHypercube(len(low), seed=generator(seed)).random(restarts)
        starts += list(low + (high - low) * cube)
    starts += _scanned(few, starts[0])
    ends = [most_probable(few, [start], START_STEPS) for start in starts]
    best = max(ends, key=few.value)
    ends += [most_probable(few, [start], START_STEPS) for start in _scanned(few, best)]
    ends.sort(key=few.value)
    return most_probable(density, ends[-ENDS:], FINAL_STEPS, FINAL_TOLERANCE)


def _scanned(density: FamilyDensity, eta: Array) -> list[Array]:
    """Scan each period in η, and return η with the periods of the highest peaks of the density."""
    starts = []
    assert density.covariance is not None
    for i, hyperprior in enumerate(density.covariance.hyperpriors, density.open.start):
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
        values = np.array([density.value(point) for point in points])
        padded = np.concatenate([[-np.inf], values, [-np.inf]])
        peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
        starts += list(points[peaks[np.argsort(-values[peaks])[:PEAKS]]])
    return starts
