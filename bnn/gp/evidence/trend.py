"""The mean of data: a linear trend, a low-fidelity model, and what is left of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

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
from bnn.gp.means import LinearMean, ModelMean
from bnn.gp.open_parameters import slopes, with_values

FACTOR = 1.0  # prior standard deviation of the factor ρ of a low-fidelity model
WIDE = 10.0  # prior deviation of a coefficient of the mean, for x and y of unit deviation
BEYOND = 2.0  # ranges beyond the data, within which a trend goes on


class Hyperprior(NamedTuple):
    """Normal distribution of a hyper-parameter η, and the bounds of its search."""

    median: float
    deviation: float
    limits: tuple[float, float]
    periodic: bool = False  # whether the density has a peak for each of many η


def detrended(
    X: Array,
    y: Array,
    mean: Callable[[Array], ArrayLike] | None = None,
    mean_features: Sequence[int] | None = None,
    intercept: bool = True,
    coefficient_variance: float | None = None,
) -> tuple[Array, list[sk.Kernel | None], Any]:
    """Return y minus the known mean, kernels of the uncertain part of the mean, known mean."""
    model = None if mean is None else ModelMean(mean)
    if model is not None:
        if model(X).shape != y.shape:
            raise ValueError(f"mean(X) has shape {model(X).shape}: must be {y.shape}")
        y = y - model(X)
    check_outputs_vary(y, "" if model is None else " beside mean(X)")
    check_flags(intercept=intercept)
    if coefficient_variance is not None:
        check_positive(coefficient_variance=coefficient_variance)
    varying = varies(X)
    features = range(X.shape[1]) if mean_features is None else mean_features
    check_integers("mean_features", features, 0)
    if any(i >= X.shape[1] for i in features):
        raise ValueError(f"mean_features = {list(features)}: must be among 0 to {X.shape[1] - 1}")
    chosen = [int(i) for i in features if varying[i]]
    centred = intercept and coefficient_variance is None and model is None
    means = y.mean(axis=0) if centred else np.zeros(y.shape[1])
    columns = y - means
    trends = list[sk.Kernel | None]()
    for j, column in enumerate(columns.T):
        # Spread around the average of the data, or around the low-fidelity model.
        spread = column.var() if model is None else np.mean(column**2)
        trend = linear_trend(X, spread, chosen, intercept, coefficient_variance)
        if model is not None:
            multiple = Multiple(model, j, FACTOR**2)
            trend = multiple if trend is None else trend + multiple
        trends.append(trend)
    linear = LinearMean(np.zeros((y.shape[1], X.shape[1])), means) if means.any() else 0.0
    return columns, trends, linear if model is None else model


def linear_trend(
    X: Array, spread: float, chosen: list[int], intercept: bool, variance: float | None
) -> Linear | None:
    """Return the kernel of a linear mean, for outputs of variance `spread`; None without a mean."""
    if not chosen and not intercept:
        return None
    offset = WIDE**2 * spread if variance is None else variance
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


class GivenCovariance:
    """Covariance of what is given, a mean of uncertain coefficients or a kernel, for scaled data.

    Args:
        kernel: A kernel of some inputs in the units of y; None is no covariance.
        X: Inputs, (N, n_in).
        varying: Numbers of the inputs that are scaled.
        low: Their least values, (n,).
        width: Their ranges, (n,).
        spread: Variance of y, by which the covariance is divided.
        features: Numbers of the inputs of the kernel; None takes all.
        open_: Hyperpriors of the logarithms of its open parameters.
    """

    def __init__(
        self,
        kernel: sk.Kernel | None,
        X: Array,
        varying: Ints,
        low: Array,
        width: Array,
        spread: float,
        features: Sequence[int] | None = None,
        open_: Sequence[Hyperprior] = (),
    ) -> None:
        self._kernel = kernel
        self._X = X
        self._scaling = varying, low, width
        self._spread = spread
        self._features = list(range(X.shape[1])) if features is None else list(features)
        self.open = open_
        self._latest: tuple[bytes, Any] = b"", None
        if not open_:
            zeros = np.zeros((len(X), len(X)))
            self._covariance = zeros if kernel is None else kernel(self._seen(X)) / spread

    def thinned(self, rows: Ints) -> "GivenCovariance":
        """Return the covariance for some of the data."""
        X = self._X[rows]
        scaling = *self._scaling, self._spread
        return GivenCovariance(self._kernel, X, *scaling, self._features, self.open)

    def kernel(self, logs: Array) -> Any:
        """Return the kernel in the units of X and y, with logarithms of its open parameters."""
        if not self.open:
            return self._kernel
        key = logs.tobytes()
        if self._latest[0] != key:  # a search asks for values and slopes in turn
            self._latest = key, with_values(self._kernel, np.exp(logs))
        return self._latest[1]

    def covariance(self, logs: Array) -> Array:
        """Return the covariance of the data, (N, N)."""
        if not self.open:
            return self._covariance
        return np.asarray(self.kernel(logs)(self._seen(self._X)) / self._spread)

    def slopes(self, logs: Array) -> Iterator[Array]:
        """Give the derivatives of the covariance by the logarithms, (N, N) each."""
        for slope in slopes(self._kernel, self.kernel(logs), self._seen(self._X)):
            yield slope / self._spread

    def at(self, places: Array, logs: Array) -> tuple[Array, Array]:
        """Return covariances with the data, (N, m), and variances, (m,), at m scaled places."""
        if self._kernel is None:
            return np.zeros((len(self._X), len(places))), np.zeros(len(places))
        varying, low, width = self._scaling
        points = np.tile(self._X[0], (len(places), 1))
        points[:, varying] = low + width * places
        kernel = self.kernel(logs)
        between = kernel(self._seen(self._X), self._seen(points)) / self._spread
        return between, kernel.diag(self._seen(points)) / self._spread

    def _seen(self, X: Array) -> Array:
        return X[:, self._features]
