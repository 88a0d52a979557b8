"""Noise by the evidence of data without repeated runs: constant, or by input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, as_data, check_integers, check_positive
from bnn.gp.evidence.prior import fit_prior
from bnn.gp.evidence.trend import Sorted, detrended
from bnn.gp.hyperparameters import (
    density_of,
    importance_sample,
    maximise,
    search_bar,
    threads_for,
)
from bnn.gp.mixture import MixturePosterior, MixturePrior
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import HeteroscedasticNoise
from bnn.noise.heteroscedastic import StandardBasis

LEAST_DEVIATION = 1e-6  # of the slopes of the noise
ODDS = 10.0  # prior odds of constant noise against noise by input


def fit_noise(
    X: ArrayLike, y: ArrayLike, *, restarts: int = 8, random_state: int | None = 0, **form: Any
) -> Array:
    """Estimate constant noise for `fit_prior` and the estimators from data without repeated runs.

    The variance of the noise is its posterior mean. Variance and length scales of the prior and the
    variance of the noise have log-normal hyperpriors, over which an importance sample averages.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        restarts: As for `fit_prior`.
        random_state: As for `fit_prior`.
        form: mean, mean_features, intercept or coefficient_variance, as for `fit_prior`.

    Returns:
        Standard deviations of the noise, (n_out,).

    Raises:
        ValueError: As `fit_prior`.

    Warns:
        ConvergenceWarning: As `fit_prior`.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> rng = np.random.default_rng(0)
        >>> bnn.evidence.fit_noise(X, y + 0.1 * rng.standard_normal(12)).round(1)
        array([0.1])
    """
    X, columns, trends, _ = detrended(X, y, **form)
    none = np.zeros((len(X), 0))
    pairs = zip(columns.T, trends, strict=True)
    with search_bar("noise", len(trends), restarts, 1) as bar, threads_for(len(X)):
        found = [
            _averaged_noise(X, y, k, none, 0.0, restarts, random_state, bar.update)
            for y, k in pairs
        ]
    return np.sqrt([variances[0] for _, variances, _ in found])


def _averaged_noise(
    X: Array,
    y: Array,
    trend: sk.Kernel | None,
    basis: Array,
    deviation: float,
    restarts: int,
    seed: int | None,
    step: Callable[[], object],
) -> tuple[Array, Array, float]:
    """Average the noise of one output over its hyper-parameters.

    Log σ has slopes in a basis (N, p), of a prior standard deviation; zero leaves σ constant.
    `step` is called after each search and after the average.

    Returns:
        E β of the slopes, (p,), E σ_i² at the data, (N,), and the log evidence up to a constant.
    """
    ordered = Sorted(X, y[:, None])
    n_in = X.shape[1]
    squares = basis[:, n_in:]
    own = np.hstack([ordered.values(basis[:, :n_in]), squares]) if deviation else basis[:, :0]
    fixed = ordered.kernel(trend)
    density = density_of(ordered.X, y, fixed, None, True, own, deviation or 1.0)
    best = maximise(density, restarts, seed, step)
    points, logs, evidence = importance_sample(density, best, seed)
    step()
    # E σ² = Σ_s w_s σ_s², and likewise E β
    weights = np.exp(logs)
    variances = weights @ [density.variances(eta) for eta in points]
    slopes = np.zeros(basis.shape[1])
    if deviation:
        slopes = weights @ points[:, n_in + 2 :]
        slopes[:n_in] = ordered.back(slopes[:n_in])
    return slopes, np.asarray(variances), evidence


def fit_heteroscedastic_noise(
    X: ArrayLike,
    y: ArrayLike,
    *,
    squares: Sequence[int] = (),
    slope_deviation: float = 0.25,
    restarts: int = 2,
    random_state: int | None = 0,
    **form: Any,
) -> HeteroscedasticNoise:
    """Estimate noise that depends on the input from data without repeated runs.

    The slopes of log σ, per standard deviation of an input over the data, are hyper-parameters
    with normal priors, beside those of `fit_noise`. Few data tell little of them, and a single
    value is overconfident, so they are averaged: over an importance sample, and with the
    zeros of constant noise, by the evidence of all outputs. Constant noise is ten times as probable
    a priori. The level of the noise is that of its mean variances.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        squares: As for `HeteroscedasticNoise.from_replicates`.
        slope_deviation: Prior standard deviation of the slopes.
        restarts: As for `fit_prior`.
        random_state: As for `fit_prior`.
        form: mean, mean_features, intercept or coefficient_variance, as for `fit_prior`.

    Returns:
        The noise, with the correlations between outputs.

    Raises:
        ValueError: As `fit_prior`.

    Warns:
        ConvergenceWarning: As `fit_prior`.

    Source: Hoeting, Madigan, Raftery & Volinsky (1999), Statistical Science 14, for averages over
    models.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> rng = np.random.default_rng(0)
        >>> noisy = y + 0.1 * rng.standard_normal(12)
        >>> noise = bnn.evidence.fit_heteroscedastic_noise(X, noisy, restarts=0)
        >>> noise(X).shape
        (12, 1, 1)
    """
    check_positive(slope_deviation=slope_deviation)
    if slope_deviation < LEAST_DEVIATION:
        needed = f"must be at least {LEAST_DEVIATION:g}; fit_noise has no slopes"
        raise ValueError(f"slope_deviation = {slope_deviation}: {needed}")
    check_integers("squares", squares, 0)
    inputs, columns, trends, _ = detrended(X, y, **form)
    basis = StandardBasis(inputs, squares)
    found = []
    deviations = (0.0, slope_deviation)
    searched = len(deviations) * len(trends)
    with search_bar("noise by input", searched, restarts, 1) as bar, threads_for(len(inputs)):
        for deviation in deviations:
            outputs = []
            for column, trend in zip(columns.T, trends, strict=True):
                averages = _averaged_noise(
                    inputs,
                    column,
                    trend,
                    basis.values,
                    deviation,
                    restarts,
                    random_state,
                    bar.update,
                )
                outputs.append(averages)
            found.append([np.array(each) for each in zip(*outputs, strict=True)])
    (_, constant, without), (slopes, variances, evidences) = found
    # The probability of slopes, with the evidence of all outputs.
    share = expit(np.sum(evidences - without) - np.log(ODDS))
    variances = share * variances + (1.0 - share) * constant
    noise = basis.noise(0.5 * np.log(variances).mean(axis=1), share * slopes.T)
    if len(variances) == 1:
        return noise
    prior = fit_prior(X, y, noise, restarts=restarts, random_state=random_state, **form)
    return replace(noise, correlation=noise_correlation(prior, noise, *as_data(X, y)))


def noise_correlation(
    prior: MixturePrior | GaussianProcessPrior, noise: HeteroscedasticNoise, X: Array, y: Array
) -> Array:
    """Return the correlation of the noise of the outputs, given its standard deviations.

    It is that of the expected scatter of (y - f) / σ, and of n_out observations without any.
    """
    assert isinstance(prior, MixturePrior)
    covariances = noise(X)
    given = MixturePosterior(prior, covariances, X, y)
    deviations = np.sqrt(np.einsum("njj->nj", covariances))
    away = (y - given.mean(X)) / deviations
    # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S at each datum
    spread = given.covariances(X) / deviations[:, :, None] / deviations[:, None, :]
    scatter = away.T @ away + spread.sum(axis=0) + y.shape[1] * np.eye(y.shape[1])
    scale = np.sqrt(np.diag(scatter))
    return np.asarray(scatter / np.outer(scale, scale))
