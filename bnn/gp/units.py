"""Units of the parameters of a custom kernel, which follow from its formula.

A parameter θ_i of unit y^a_i x^b_i is multiplied by c^a_i if the unit of y changes, and k by c².
So Σ_i a_i ∂k/∂ log θ_i = 2 k. If the unit of x changes, k stays the same, and therefore
Σ_i b_i ∂k/∂ log θ_i + Σ_j x_j ∂k/∂x_j = 0. The exponents solve these equations at all points.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import NamedTuple

import numpy as np

from bnn._validation import Array, varies
from bnn.gp.kernel import STEP, Kernel, Place, check_finite, differences, with_parameters

MOST_POINTS = 5  # most data from which the points of the equations are made, and one per input
NEARER = (1.0, 0.3, 0.1, 0.03)  # distances of these points, relative to the distances of data
OTHER = (0.8, 1.25)  # factors of parameters, because units must not depend on values
EFFECT = 1e-6  # least derivative of k that is not rounding, relative to k
SOLVED = 1e-4  # largest residual of an equation that holds, relative to its derivatives
FIXED = 1e-3  # weight of parameters that are set, which get units only if open ones do not suffice
PARTS = 12  # exponents are rounded to fractions of this denominator ...
FRACTION_ERROR = 1e-3  # ... if they are as close to them


class Unit(NamedTuple):
    """The unit of a parameter, y^output x^inputs."""

    output: float
    inputs: Array | None  # exponent of the unit of each input, (n_in,); None if there is no answer


def units_of(kernel: Kernel, X: Array) -> dict[Place, Unit]:
    """Return the units of the open parameters of a kernel of X that follow from its formula.

    A parameter without effect on k is left out. The result is empty if the formula is not defined
    near all data. ValueError means that k is not finite at the data, for the defaults.
    """
    open_, set_ = _parameters(kernel)
    if not open_:
        return {}
    with_defaults = with_parameters(kernel, open_)
    check_finite(with_defaults, with_defaults(X), X, X)
    points = _points(X)
    units: dict[Place, Unit] = {}
    for extra in (set_, {}):
        try:
            units = _solved(kernel, open_, extra, points)
        except (ArithmeticError, ValueError):  # the formula is not defined at these points
            continue
        if all(place in units and units[place].inputs is not None for place in open_):
            break
    return units


def default_of(kernel: Kernel, name: str, entry: int | None = None) -> float:
    """Return the default of a field, or of its entry, or one if this is not a positive number."""
    default = type(kernel).__dataclass_fields__[name].default
    if isinstance(default, tuple) and entry is not None and entry < len(default):
        default = default[entry]
    number = isinstance(default, int | float) and not isinstance(default, bool)
    return float(default) if number and 0.0 < default < np.inf else 1.0


def _parameters(kernel: Kernel) -> tuple[dict[Place, float], dict[Place, float]]:
    """Return the open parameters and the positive numbers that are set, each with a value."""
    open_: dict[Place, float] = {}
    set_: dict[Place, float] = {}
    for field in fields(kernel):
        value = getattr(kernel, field.name)
        is_tuple = isinstance(value, tuple | list)
        for entry, number in enumerate(value) if is_tuple else [(None, value)]:
            place = field.name, entry
            default = default_of(kernel, field.name, entry)
            if number is None and field.name in kernel.open_fields():
                open_[place] = default
            elif isinstance(number, float) and 0.0 < number < np.inf:
                set_[place] = default
    return open_, set_


def _points(X: Array) -> Array:
    """Return points within the ranges of X, (n, n_in), at several distances, in ranges."""
    ranges = np.where(varies(X), np.ptp(X, axis=0), 1.0)
    rows = np.linspace(0, len(X) - 1, min(MOST_POINTS, len(X))).astype(int).tolist()
    # Inputs that vary do so in some of these rows. Otherwise their parameters seem to have no
    # effect, as with designs on a grid and with categories.
    for column in X.T[varies(X)]:
        if not varies(column[rows]):
            rows.append(int(np.abs(column - column[rows[0]]).argmax()))
    data = X[rows] / ranges
    nearer = [data + share * (np.roll(data, 1, axis=0) - data) for share in NEARER]
    return np.vstack([data, *nearer])


def _solved(
    kernel: Kernel, open_: dict[Place, float], set_: dict[Place, float], points: Array
) -> dict[Place, Unit]:
    """Solve the equations for the exponents, at two sets of values of the parameters."""
    places = [*open_, *set_]
    weights = np.array([1.0] * len(open_) + [FIXED] * len(set_))
    values, slopes, moves = [], [], []
    for factors in (np.ones(len(places)), np.linspace(*OTHER, len(places))):
        theta = {
            place: factor * {**open_, **set_}[place]
            for place, factor in zip(places, factors, strict=True)
        }
        values.append(np.ravel(with_parameters(kernel, theta)(points)))
        of_place = [_slope(kernel, theta, place, points) for place in places]
        slopes.append(np.array(of_place).T)
        of_input = [_move(kernel, theta, points, j) for j in range(points.shape[1])]
        moves.append(np.array(of_input).T)
    k, D, M = np.concatenate(values), np.vstack(slopes), np.vstack(moves)
    if not (np.isfinite(k).all() and np.isfinite(D).all() and np.isfinite(M).all()):
        raise ValueError("k is not finite")
    sizes = np.abs(D).max(axis=0)
    effective = sizes > EFFECT * np.abs(k).max()
    scaled = np.where(effective, D / np.where(effective, sizes, 1.0), 0.0) * weights

    def exponents(target: Array) -> Array | None:
        if np.abs(target).max() <= EFFECT * np.abs(k).max():
            return np.zeros(len(places))
        solution = np.linalg.lstsq(scaled, target, rcond=1e-8)[0]
        if np.abs(scaled @ solution - target).max() > SOLVED * np.abs(target).max():
            return None
        exact = solution * weights / np.where(effective, sizes, 1.0)
        rounded = np.round(PARTS * exact) / PARTS
        return np.where(np.abs(rounded - exact) < FRACTION_ERROR, rounded, exact)

    # A kernel whose amplitude stands in its formula is a number, times the unit of another factor.
    output = exponents(2.0 * k)
    output = np.zeros(len(places)) if output is None else output
    columns = [exponents(-column) for column in M.T]
    if any(column is None for column in columns):  # one length for inputs of the same unit
        common = exponents(-M.sum(axis=1))
        columns = [None if common is None else common / len(columns)] * len(columns)
    has_inputs = not any(column is None for column in columns)
    inputs = np.array(columns).T if has_inputs else [None] * len(places)
    pairs = zip(places, effective, output, inputs, strict=True)
    return {p: Unit(float(a), b) for p, acts, a, b in pairs if acts and p in open_}


def _slope(kernel: Kernel, theta: dict[Place, float], place: Place, points: Array) -> Array:
    """Return ∂k/∂ log θ of one parameter at all pairs of points."""

    def at(steps: float) -> Array:
        moved = {**theta, place: theta[place] * (1.0 + steps * STEP)}
        return np.ravel(with_parameters(kernel, moved)(points))

    return differences(at) / STEP


def _move(kernel: Kernel, theta: dict[Place, float], points: Array, j: int) -> Array:
    """Return Σ x_j ∂k/∂x_j of both points of all pairs, for one input."""
    with_values = with_parameters(kernel, theta)

    def at(steps: float) -> Array:
        factors = np.ones(points.shape[1])
        factors[j] += steps * STEP
        return np.ravel(with_values(points * factors))

    return differences(at) / STEP


def contributions(kernel: Kernel, values: Mapping[Place, float], X: Array) -> dict[Place, float]:
    """Return the mean of ∂k(x, x)/∂ log θ over the points X (N, n_in), for each parameter."""

    def mean(place: Place, steps: float) -> Array:
        moved = {**values, place: values[place] * (1.0 + steps * STEP)}
        return np.asarray(np.mean(with_parameters(kernel, moved).diag(X)))

    return {place: float(differences(partial(mean, place)) / STEP) for place in values}
