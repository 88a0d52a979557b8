"""The mean of data: a linear trend, a low-fidelity model, and what is left of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process import kernels as sk

from bnn._validation import (
    Array,
    Ints,
    as_data,
    check_flags,
    check_integers,
    check_outputs_vary,
    check_positive,
    varies,
)
from bnn.gp.hyperparameters import linear_trend
from bnn.gp.kernels import Multiple
from bnn.gp.means import LinearMean, ModelMean

DIGITS = 9  # of what inputs are sorted by, beyond which units and sums round
FACTOR = 1.0  # prior standard deviation of the factor ρ of a low-fidelity model


def detrended(
    X: ArrayLike,
    y: ArrayLike,
    mean: Callable[[Array], ArrayLike] | None = None,
    mean_features: Sequence[int] | None = None,
    intercept: bool = True,
    coefficient_variance: float | None = None,
) -> tuple[Array, Array, list[sk.Kernel | None], Any]:
    """Return X, y minus the known mean, kernels of the uncertain part of the mean, known mean."""
    X, y = as_data(X, y)
    if len(X) < 2:
        raise ValueError(f"X has {len(X)} rows: must be at least 2")
    model = None if mean is None else ModelMean(mean)
    if model is not None:
        if model(X).shape != y.shape:
            raise ValueError(f"mean(X) has shape {model(X).shape}: must be {y.shape}")
        y = y - model(X)
    varying = varying_inputs(X)
    check_outputs_vary(y, "" if model is None else " beside mean(X)")
    check_flags(intercept=intercept)
    if coefficient_variance is not None:
        check_positive(coefficient_variance=coefficient_variance)
    features = range(X.shape[1]) if mean_features is None else mean_features
    check_integers("mean_features", features, 0)
    if any(i >= X.shape[1] for i in features):
        raise ValueError(f"mean_features = {list(features)}: must be among 0 to {X.shape[1] - 1}")
    chosen = [int(i) for i in features if i in varying]
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
    return X, columns, trends, linear if model is None else model


def varying_inputs(X: Array) -> Ints:
    """Return the numbers of the inputs of X (N, n_in) that vary; ValueError if there is none."""
    varying = np.flatnonzero(varies(X))
    if not varying.size:
        raise ValueError("X: no input varies, so that no prior can be estimated: give one")
    return varying


def sorted_inputs(X: Array, y: Array, chosen: Ints) -> Ints:
    """Return numbers of inputs in an order that does not depend on the one in which they stand.

    Random numbers go to inputs by this order, so that inputs may change places.

    Args:
        X: (N, n_in).
        y: Outputs less their means, (N, n_out).
        chosen: Numbers of the inputs, which vary.
    """
    u = (X[:, chosen] - X[:, chosen].min(axis=0)) / np.ptp(X[:, chosen], axis=0)
    scaled = y / np.sqrt(np.mean(y**2, axis=0))
    by_outputs = [np.linalg.norm(scaled.T @ each, axis=0) for each in (u, u**2)]
    keys = np.vstack([*by_outputs, u.mean(axis=0)]) / np.array([[len(X)], [len(X)], [1]])
    return np.asarray(chosen[np.lexsort(np.round(keys[::-1], DIGITS))])


class Sorted:
    """Inputs in the order of `sorted_inputs`, those that do not vary last.

    Attributes:
        X: Sorted inputs, (N, n_in).
    """

    def __init__(self, X: Array, y: Array) -> None:
        varying = sorted_inputs(X, y, varying_inputs(X))
        self._order = np.append(varying, np.setdiff1d(np.arange(X.shape[1]), varying))
        self._back = np.argsort(self._order)
        self.X = X[:, self._order]

    def values(self, by_input: Array) -> Array:
        """Return values by input, (..., n_in), in the order of the sorted inputs."""
        return by_input[..., self._order]

    def back(self, by_input: Array) -> Array:
        """Return values by sorted input, (..., n_in), in the order that was given."""
        return by_input[..., self._back]

    def kernel(self, given: sk.Kernel | None) -> Callable[[Array, Array], Array] | None:
        """Return a kernel of inputs in the order that was given as a function of sorted ones."""
        if given is None:
            return None
        return lambda A, B: np.asarray(given(self.back(A), self.back(B)))
