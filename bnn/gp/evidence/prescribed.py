"""The mean of data and covariances that no family has, and the data minus their mean.

The mean is a linear trend or a low-fidelity model. Its uncertain coefficients give a covariance.
The other such covariance is that of a kernel whose open parameters are estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process import kernels as sk

from bnn._validation import (
    Array,
    Ints,
    check_flags,
    check_integers,
    check_outputs_vary,
    check_positive,
    varies,
)
from bnn.gp.kernels import Linear, Multiple
from bnn.gp.low_fidelity import MultipleProcess, ProcessModel
from bnn.gp.means import ModelMean
from bnn.gp.open_parameters import slopes, with_values
from bnn.regressor import PredictiveRegressor

FACTOR = 1.0  # prior standard deviation of the factor ρ of a low-fidelity model
FACTORS = (-9.0, 11.0)  # bounds of ρ in a search
COEFFICIENT_DEVIATION = 10.0  # prior, of a coefficient, for x and y of unit standard deviation
BEYOND = 10.0  # distance beyond the data, in their ranges, at which the slope of a trend changes


class Hyperprior(NamedTuple):
    """Normal distribution of a hyperparameter η, and the bounds of its search."""

    median: float
    deviation: float
    limits: tuple[float, float]
    periodic: bool = False  # whether η is a period, over which the density has many peaks


@dataclass(frozen=True)
class MeanForm:
    """Form of the mean: a linear trend, and a low-fidelity model if there is one.

    Attributes:
        model: The low-fidelity model, or None.
        features: Indices of the inputs of the trend; None takes all.
        intercept: Whether the trend has a constant.
        coefficient_variance: Prior variance of its coefficients around zero at x = 0; None takes a
            large one, around the mean of the data.
    """

    model: ModelMean | None = None
    features: Sequence[int] | None = None
    intercept: bool = True
    coefficient_variance: float | None = None

    @classmethod
    def checked(
        cls,
        X: Array,
        y: Array,
        mean: Callable[[Array], ArrayLike] | PredictiveRegressor | None = None,
        mean_features: Sequence[int] | None = None,
        intercept: bool = True,
        coefficient_variance: float | None = None,
    ) -> Self:
        """Return the form that arguments of `fit_prior` describe; ValueError if one is invalid."""
        model = None
        if mean is not None:
            model = ProcessModel(mean) if hasattr(mean, "joint_moments") else ModelMean(mean)
            if model(X).shape != y.shape:
                raise ValueError(f"mean(X) has shape {model(X).shape}: must be {y.shape}")
        check_flags(intercept=intercept)
        if coefficient_variance is not None:
            check_positive(coefficient_variance=coefficient_variance)
        n_in = X.shape[1]
        features = range(n_in) if mean_features is None else mean_features
        check_integers("mean_features", features, 0)
        if any(i >= n_in for i in features):
            raise ValueError(f"mean_features = {list(features)}: must be among 0 to {n_in - 1}")
        return cls(model, mean_features, intercept, coefficient_variance)


def detrended(X: Array, y: Array, form: MeanForm) -> tuple[Array, list[sk.Kernel | None], Array]:
    """Subtract the known part of the mean from data.

    Args:
        X: (N, n_in).
        y: (N, n_out).
        form: Form of the mean.

    Returns:
        y minus the known mean, (N, n_out); for each output the kernel of the uncertain part of the
        mean, or None; and the known constants, (n_out,), which do not include those of a model.

    Raises:
        ValueError: If y minus the mean does not vary.
    """
    model = form.model
    if model is not None:
        y = y - model(X)
    of_model = " after subtracting mean(X)", "remove it from y, or pass a prior with this mean"
    check_outputs_vary(y, *(() if model is None else of_model))
    if isinstance(model, ProcessModel):
        y = y - (likely_factors(model(X), y) - 1.0) * model(X)
    varying = varies(X)
    features = range(X.shape[1]) if form.features is None else form.features
    chosen = [int(i) for i in features if varying[i]]
    variance = form.coefficient_variance
    centred = form.intercept and variance is None and model is None
    constants = y.mean(axis=0) if centred else np.zeros(y.shape[1])
    columns = y - constants
    trends = list[sk.Kernel | None]()
    for j, column in enumerate(columns.T):
        # Spread around the average of the data, or around the low-fidelity model.
        spread = column.var() if model is None else np.mean(column**2)
        trend = linear_trend(X, spread, chosen, form.intercept, variance)
        if model is not None and not isinstance(model, ProcessModel):
            multiple = Multiple(model, j, FACTOR**2)
            trend = multiple if trend is None else trend + multiple
        trends.append(trend)
    return columns, trends, constants


def likely_factors(m: Array, away: Array) -> Array:
    """Return ρ_j, (n_out,), by least squares with a constant and the prior N(1, FACTOR²).

    Args:
        m: Values of a low-fidelity model at the data, (N, n_out).
        away: Data minus these values, (N, n_out).
    """
    centred = m - m.mean(axis=0)
    # ρ - 1 = Σ_i m_i r_i / (Σ_i m_i² + var r / FACTOR²), for residuals of the variance of r = y - m
    squares = np.sum(centred**2, axis=0) + away.var(axis=0) / FACTOR**2
    return np.asarray(1.0 + np.sum(centred * away, axis=0) / squares)


def linear_trend(
    X: Array, spread: float, chosen: list[int], intercept: bool, variance: float | None
) -> Linear | None:
    """Return the kernel of a linear mean of chosen inputs for one output; None without terms.

    `spread` is the variance of the output. `variance` is the prior variance of the coefficients
    around zero at x = 0; None takes a large one, around the mean of the data.
    """
    if not chosen and not intercept:
        return None
    offset = COEFFICIENT_DEVIATION**2 * spread if variance is None else variance
    slopes = np.zeros(X.shape[1])
    slopes[chosen] = offset / X.var(axis=0)[chosen] if variance is None else variance
    offset = offset if intercept else 0.0
    if variance is not None:
        return Linear(tuple(slopes), offset)
    origin = X.mean(axis=0) if intercept else np.zeros(X.shape[1])
    # An input that does not vary has no slope.
    ranges = np.where(varies(X), np.ptp(X, axis=0), 1.0)
    reach = np.abs(X - origin).max(axis=0) + BEYOND * ranges
    return Linear(tuple(slopes), offset, tuple(origin), tuple(reach))


@dataclass(eq=False)
class PrescribedCovariance:
    """Covariance of a given kernel, or of a mean with uncertain coefficients, for scaled data.

    Attributes:
        open_kernel: Kernel in the units of X and y; None stands for zero covariance.
        X: Inputs, (N, n_in).
        inputs: Indices of the inputs that are scaled, (n,).
        low: Least values of these inputs, (n,).
        width: Ranges of these inputs, (n,).
        spread: Variance of y, by which the covariance is divided.
        features: Indices of the inputs of the kernel; None takes all.
        hyperpriors: Hyperpriors of the logarithms of its open parameters.
    """

    open_kernel: Any
    X: Array
    inputs: Ints
    low: Array
    width: Array
    spread: float
    features: Sequence[int] | None = None
    hyperpriors: Sequence[Hyperprior] = ()

    def thinned(self, rows: Ints) -> Self:
        """Return the covariance for some of the data."""
        return replace(self, X=self.X[rows])

    def kernel(self, logs: Array) -> Any:
        """Return the kernel in the units of X and y, for logarithms of its open parameters."""
        if not self.hyperpriors:
            return self.open_kernel
        return with_values(self.open_kernel, np.exp(logs))

    @cached_property
    def _without_open(self) -> Array:
        """The covariance of the scaled data under a kernel without open parameters, (N, N)."""
        if self.open_kernel is None:
            return np.zeros((len(self.X), len(self.X)))
        return np.asarray(self.open_kernel(self._seen(self.X)) / self.spread)

    def covariance(self, logs: Array) -> Array:
        """Return the covariance of the scaled data, (N, N)."""
        if not self.hyperpriors:
            return self._without_open
        return np.asarray(self.kernel(logs)(self._seen(self.X)) / self.spread)

    def slopes(self, logs: Array) -> Iterator[Array]:
        """Yield the derivatives of the covariance with respect to the logarithms, (N, N) each."""
        if self.hyperpriors:
            for slope in slopes(self.open_kernel, np.exp(logs), self._seen(self.X)):
                yield slope / self.spread

    def at(self, places: Array, logs: Array) -> tuple[Array, Array]:
        """Return covariances with the data, (N, m), and variances, (m,), at m scaled places."""
        kernel = self.kernel(logs)
        if kernel is None:
            return np.zeros((len(self.X), len(places))), np.zeros(len(places))
        points = self._seen(self._points(places))
        return kernel(self._seen(self.X), points) / self.spread, kernel.diag(points) / self.spread

    def factor(self, logs: Array) -> float:  # noqa: ARG002
        """Return the factor ρ of the low-fidelity model in the mean."""
        return 1.0

    def mean(self, logs: Array) -> Array:  # noqa: ARG002
        """Return the mean of the scaled data, (N,), minus the part already subtracted from them."""
        return np.zeros(len(self.X))

    def mean_slopes(self, logs: Array) -> Array:
        """Return the derivatives of the mean with respect to the open parameters, (p, N)."""
        return np.zeros((len(logs), len(self.X)))

    def mean_at(self, places: Array, logs: Array) -> Array:  # noqa: ARG002
        """Return this mean at m scaled places, (m,)."""
        return np.zeros(len(places))

    def _seen(self, X: Array) -> Array:
        return X if self.features is None else X[:, self.features]

    def _points(self, places: Array) -> Array:
        """Return scaled places (m, n) in the units of the inputs, (m, n_in)."""
        points = np.tile(self.X[0], (len(places), 1))
        points[:, self.inputs] = self.low + self.width * places
        return points


@dataclass(eq=False)
class PrescribedProcess(PrescribedCovariance):
    """Mean and covariance of a fitted process times an open factor ρ, plus a linear trend.

    Attributes:
        model: The process.
        output: Index of its output.
        subtracted: Factor whose multiple of the mean has been subtracted from the data.
    """

    _: KW_ONLY
    model: ProcessModel
    output: int
    subtracted: float
    hyperpriors: Sequence[Hyperprior] = (Hyperprior(1.0, FACTOR, FACTORS),)

    @cached_property
    def _of_process(self) -> Array:
        """The covariance of the scaled data for ρ = 1, (N, N)."""
        return self.model.between(self.X, self.X, self.output) / self.spread

    @cached_property
    def _mean(self) -> Array:
        """The mean of the scaled data for ρ = 1, (N,)."""
        return np.asarray(self.model(self.X)[:, self.output] / np.sqrt(self.spread))

    def factor(self, logs: Array) -> float:
        """Return ρ, which is the open parameter itself, not its exponential."""
        return float(logs[0])

    def kernel(self, logs: Array) -> Any:
        """Return the kernel in the units of X and y."""
        process = MultipleProcess(self.model, self.output, self.factor(logs))
        return process if self.open_kernel is None else self.open_kernel + process

    def covariance(self, logs: Array) -> Array:
        """Return the covariance of the scaled data, (N, N)."""
        return np.asarray(self._without_open + self.factor(logs) ** 2 * self._of_process)

    def slopes(self, logs: Array) -> Iterator[Array]:
        """Yield the derivative of the covariance with respect to ρ, (N, N)."""
        yield 2.0 * self.factor(logs) * self._of_process

    def mean(self, logs: Array) -> Array:
        """Return the mean of the scaled data, (N,), minus the multiple already subtracted."""
        return np.asarray((self.factor(logs) - self.subtracted) * self._mean)

    def mean_slopes(self, logs: Array) -> Array:  # noqa: ARG002
        """Return the derivative of the mean with respect to ρ, (1, N)."""
        return self._mean[None]

    def mean_at(self, places: Array, logs: Array) -> Array:
        """Return this mean at m scaled places, (m,)."""
        values = self.model(self._points(places))[:, self.output]
        return np.asarray((self.factor(logs) - self.subtracted) * values / np.sqrt(self.spread))
