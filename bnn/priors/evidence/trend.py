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
from bnn.priors.hyperparameters import linear_trend
from bnn.priors.kernels import Multiple
from bnn.priors.means import LinearMean, ModelMean

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
