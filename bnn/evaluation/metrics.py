"""Scores for the accuracy of predictions and the quality of their uncertainty.

Arrays are (n,) or (n, n_out); samples of an ensemble are (K, n, n_out). Averages over outputs are
unweighted means. If `noise` is given, its variance is added to the epistemic variance. Pass
standard deviations, Σ_noise, or one covariance per point, (n, n_out, n_out), in the units of y; for
input-dependent noise pass noise(X). NaN in y marks a missing value, which is ignored. Any other NaN
or infinity raises a ValueError, as do arrays whose shapes do not match. Scores of a mean and a
standard deviation accept predictions of any library; for an ensemble pass `samples.mean(axis=0)`
and `samples.std(axis=0, ddof=1)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.linalg import solve_triangular
from scipy.stats import norm

from bnn._validation import (
    LARGEST,
    Array,
    Ints,
    as_array,
    as_finite,
    check_flags,
    check_fraction,
    check_option,
    check_positive,
)
from bnn.noise import Noise, StudentNoise, noise_covariance
from bnn.noise.student import scaled

Values: TypeAlias = ArrayLike  # (n,) or (n, n_out)
Score: TypeAlias = Any  # a float, or an array (n_out,) with per_output=True


def _columns(name: str, values: Values) -> Array:
    """Return finite values as (n, n_out)."""
    array = as_finite(name, values)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: must be (n,) or (n, n_out)")
    return array[:, None] if array.ndim == 1 else array


def _truth(y: Values) -> Array:
    """Return y as (n, n_out), with NaN for missing values."""
    array = as_array("y", y)
    missing = np.isnan(array)
    values = _columns("y", np.where(missing, 0.0, array))
    if missing.all():
        raise ValueError("y has no value, only NaN")
    return np.where(missing.reshape(values.shape), np.nan, values)


def _counts(values: Array) -> Ints:
    """Return the number of values of each output, (n_out,); ValueError if an output has none."""
    counts = np.count_nonzero(~np.isnan(values), axis=0)
    for j in np.flatnonzero(counts == 0)[:1]:
        raise ValueError(f"y: output {j} has no value, only NaN")
    return np.asarray(counts)


def _mean(values: Array) -> Array:
    """Return the means, (n_out,), over points of values (n, n_out), without NaN."""
    return np.asarray(np.nansum(values, axis=0) / _counts(values))


def _patterns(y: Array) -> Iterator[tuple[Any, Any]]:
    """Group the rows of y (n, n_out) by the outputs they have; yield the rows and these outputs."""
    present = ~np.isnan(y)
    if present.all():
        yield slice(None), slice(None)
        return
    patterns, number = np.unique(present, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        if pattern.any():
            yield np.flatnonzero(number.ravel() == k), np.flatnonzero(pattern)


def _of_outputs(covariances: Array, rows: Any, outputs: Any) -> Array:
    """Select rows and outputs of covariances, (n_out, n_out) or (n, n_out, n_out)."""
    of_rows = covariances[rows] if covariances.ndim == 3 else covariances
    return np.asarray(of_rows[..., outputs, :][..., outputs])


def _errors(
    y: Values, mean: Values, std: Values, noise: Noise | None
) -> tuple[Array, Array, Array]:
    """Return y - mean and std, (n, n_out) each, and Σ_noise (per point), or zeros without noise."""
    truth = _truth(y)
    centre = _columns("mean", mean)
    scale = _columns("std", std)
    if not truth.shape == centre.shape == scale.shape:
        raise ValueError(f"shapes differ: y {truth.shape}, mean {centre.shape}, std {scale.shape}")
    n, n_out = truth.shape
    added = np.zeros((n_out, n_out)) if noise is None else noise_covariance(noise, n_out, n)
    if np.any(scale < 0):
        raise ValueError("std: must be > 0 everywhere")
    # Squares of smaller deviations would vanish.
    total = np.maximum(scale, np.sqrt(np.einsum("...jj->...j", added)))
    for i, j in np.argwhere(total < 1.0 / LARGEST)[:1]:
        needed = f"must be at least {1.0 / LARGEST:g} everywhere, or noise must be given"
        raise ValueError(f"std[{i}, {j}] = {scale[i, j]:.3g}: {needed}")
    return truth - centre, scale, added


def _z_scores(y: Values, mean: Values, std: Values, noise: Noise | None) -> tuple[Array, Array]:
    """Return z = (y - mean) / std and the std, noise included, (n, n_out) each."""
    residuals, scale, added = _errors(y, mean, std, noise)
    if noise is not None:
        scale = np.sqrt(scale**2 + np.einsum("...jj->...j", added))
    return residuals / scale, scale


def _averaged(values: Array, per_output: bool) -> Score:
    """Return the means over points of values (n, n_out), or their mean over the outputs."""
    check_flags(per_output=per_output)
    if not per_output and not np.isnan(values).any():
        return float(values.mean())
    by_output = _mean(values)
    return by_output if per_output else float(by_output.mean())


def _sampled(y: Values, samples: ArrayLike) -> tuple[Array, Array]:
    """Check y and samples, and return them as (n, n_out) and (K, n, n_out)."""
    y = _truth(y)
    samples = as_finite("samples", samples)
    if samples.ndim != 3 or samples.shape[1:] != y.shape:
        n, n_out = y.shape
        raise ValueError(f"samples have shape {samples.shape}: must be (K, {n}, {n_out}) as y")
    return y, samples


def _logs(squares: Array, d: int, determinant: float = 0.0, nu: float = np.inf) -> Array:
    """Return log densities from squared distances and a log determinant.

    They are those of Student's t with ν degrees of freedom, or normal if ν is infinite.
    """
    if np.isinf(nu):
        return np.asarray(-0.5 * (squares + (d * np.log(2.0 * np.pi) + determinant)))
    # log p = log Γ((ν + d)/2) - log Γ(ν/2) - d/2 log(ν π) - (ν + d)/2 log(1 + s/ν) - ½ log |Ψ|
    constant = special.gammaln(0.5 * (nu + d)) - special.gammaln(0.5 * nu)
    constant -= 0.5 * d * np.log(nu * np.pi)
    logs = constant - 0.5 * (nu + d) * np.log1p(squares / nu)
    return np.asarray(logs - 0.5 * determinant)


def _log_density(residuals: Array, std: Array, added: Array, nu: float = np.inf) -> float:
    """Return Σ_i log p of residuals under `_logs` with the scale matrices diag(std_i²) + added."""
    if np.isnan(residuals).any():
        sums = [
            _log_density(
                residuals[rows][:, outputs],
                std[rows][:, outputs],
                _of_outputs(added, rows, outputs),
                nu,
            )
            for rows, outputs in _patterns(residuals)
        ]
        return float(np.sum(sums))
    d = residuals.shape[1]
    roots = np.linalg.cholesky(std[:, :, None] ** 2 * np.eye(d) + added)
    with np.errstate(over="ignore"):  # the density may vanish: its logarithm is -inf then
        squares = np.sum(np.linalg.solve(roots, residuals[:, :, None]) ** 2, axis=(1, 2))
    logs = _logs(squares, d, nu=nu)
    return float(logs.sum() - np.log(np.einsum("njj->nj", roots).copy()).sum())


def rmse(y: Values, mean: Values, per_output: bool = False) -> Score:
    """Return the root of the mean squared error.

    Args:
        y: True values, (n,) or (n, n_out).
        mean: Prediction, of the same shape.
        per_output: Whether to return one value per output instead of one value for all residuals.

    Returns:
        RMSE, a number or (n_out,).

    Raises:
        ValueError: If the shapes differ.

    Examples:
        >>> from bnn import metrics
        >>> metrics.rmse([1.0, 2.0], [1.0, 4.0])
        1.4142135623730951
    """
    y = _truth(y)
    mean = _columns("mean", mean)
    if y.shape != mean.shape:
        raise ValueError(f"shapes differ: y {y.shape}, mean {mean.shape}")
    squared = (y - mean) ** 2
    check_flags(per_output=per_output)
    if per_output:
        return np.sqrt(_mean(squared))
    return float(np.sqrt(squared[~np.isnan(squared)].mean()))


def calibration_curve(
    y: Values, mean: Values, std: Values, noise: Noise | None = None
) -> tuple[Array, Array]:
    """Compare the observed with the expected distribution of z = (y - mean) / std.

    Args:
        y: True values, (n,) or (n, n_out).
        mean: Predicted mean, of the same shape.
        std: Predicted standard deviation, of the same shape; in the paper epistemic only.
        noise: Noise that is added to std, see the module docstring.

    Returns:
        Expected levels, (100,), which are Φ at 100 equidistant points in [-3, 3]; and the observed
        fractions of z below these points, (100, n_out).

    Examples:
        >>> from bnn import metrics
        >>> expected, observed = metrics.calibration_curve([0.0, 9.0], [0.0, 0.0], [1.0, 1.0])
        >>> expected.shape, observed.shape
        ((100,), (100, 1))
    """
    levels = norm.cdf(np.linspace(-3.0, 3.0, 100))
    z, _ = _z_scores(y, mean, std, noise)
    below = z[None] <= norm.ppf(levels)[:, None, None]
    return levels, below.sum(axis=1) / _counts(z)


def miscalibration_area(
    y: Values, mean: Values, std: Values, noise: Noise | None = None, per_output: bool = False
) -> Score:
    """Integrate |observed - expected| of the calibration curve over [0, 1].

    The curve is piecewise constant around each level, with steps at the midpoints between levels.

    Args:
        y: True values, (n,) or (n, n_out).
        mean: Predicted mean, of the same shape.
        std: Predicted standard deviation, of the same shape; in the paper epistemic only.
        noise: Noise that is added to std, see the module docstring.
        per_output: Whether to return one value per output instead of their mean.

    Returns:
        Area, a number or (n_out,).

    Source: Tran et al. (2020), as computed for the paper's tables.

    Examples:
        >>> from bnn import metrics
        >>> round(metrics.miscalibration_area([0.0, 0.1], [0.0, 0.0], [1.0, 1.0]), 2)
        0.23
    """
    levels, observed = calibration_curve(y, mean, std, noise)
    edges = np.concatenate([[0.0], 0.5 * (levels[1:] + levels[:-1]), [1.0]])
    area = np.diff(edges) @ np.abs(observed - levels[:, None])
    return _averaged(area[None], per_output)


def elppd(
    y: Values, samples: ArrayLike, noise: Noise | StudentNoise, density: str = "mixture"
) -> float:
    """Return the expected log pointwise predictive density of an ensemble.

    If the standard deviation of the members exceeds the noise, a mixture of few members has gaps
    between its peaks. It then scores far below the posterior from which the members are drawn.
    Student's t has no gaps: it is the predictive density of a Gaussian f given K draws.

    Args:
        y: True values, (n,) or (n, n_out). The score depends on the units of y.
        samples: f of each member, (K, n, n_out).
        noise: Standard deviations, Σ_noise or one covariance per point, in the same units; or a
            StudentNoise, only for the mixture.
        density: "mixture", as in the paper, or "student_t". Student's t has K - 1 degrees of
            freedom, the mean of the members and the scale matrix (1 + 1/K) diag(variances of the
            members) + Σ_noise.

    Returns:
        Σ_i log p(y_i), joint over the outputs, where p is the mixture
        1/K Σ_k N(y_i; f^[k](x_i), Σ_noise) or Student's t.

    Raises:
        ValueError: If the density is unknown, or is "student_t" with a single member or with a
            StudentNoise.

    Source: Gelman et al. (2014); the equation for ELPPD in the paper.

    Examples:
        >>> from bnn import metrics
        >>> round(metrics.elppd([0.0], samples=[[[0.0]], [[0.0]]], noise=1.0), 3)
        -0.919
    """
    check_option("density", density, ("mixture", "student_t"))
    (y, samples) = _sampled(y, samples)
    nu = np.inf
    if isinstance(noise, StudentNoise):
        check_option("density under a StudentNoise", density, ("mixture",))
        covariances = noise_covariance(noise.noise, *y.shape[::-1])
        nu = noise.degrees
        noise = scaled(noise, covariances)
    if density == "student_t":
        if len(samples) < 2:
            raise ValueError("samples: must be of at least 2 members for density = 'student_t'")
        spread = np.sqrt(1.0 + 1.0 / len(samples)) * samples.std(axis=0, ddof=1)
        return _log_density(*_errors(y, samples.mean(axis=0), spread, noise), len(samples) - 1)
    covariances = noise_covariance(noise, *y.shape[::-1])
    residuals = y - samples
    sums = [
        _mixture(residuals[:, rows][:, :, outputs], _of_outputs(covariances, rows, outputs), nu)
        for rows, outputs in _patterns(y)
    ]
    return float(np.sum(sums))


def _mixture(residuals: Array, covariances: Array, nu: float) -> float:
    """Return Σ_i log(1/K Σ_k p(r_ki)) of residuals r (K, n, d), with one or n covariances."""
    K, _, d = residuals.shape
    logs = []
    roots = np.linalg.cholesky(covariances.reshape(-1, d, d))
    for root, r in zip(roots, np.split(residuals, len(roots), axis=1), strict=True):
        with np.errstate(over="ignore"):  # as in `_log_density`
            squares = np.sum(solve_triangular(root, r.reshape(-1, d).T, lower=True) ** 2, axis=0)
        determinant = 2.0 * np.log(np.diag(root).copy()).sum()
        logs.append(_logs(squares, d, determinant, nu).reshape(K, -1))
    return float(np.sum(special.logsumexp(np.hstack(logs), axis=0) - np.log(K)))


def elppd_gaussian(y: Values, mean: Values, std: Values, noise: Noise | None = None) -> float:
    """Return the expected log pointwise predictive density of Gaussian predictions.

    Args:
        y: True values, (n,) or (n, n_out). The score depends on the units of y.
        mean: Predicted mean, of the same shape.
        std: Predicted standard deviation, of the same shape.
        noise: Noise that is added to std, with its correlations, see the module docstring.

    Returns:
        Σ_i log N(y_i; mean_i, diag(std_i²) + Σ_noise), joint over the outputs.

    Examples:
        >>> from bnn import metrics
        >>> round(metrics.elppd_gaussian([0.0], mean=[0.0], std=[1.0]), 3)
        -0.919
    """
    return _log_density(*_errors(y, mean, std, noise))


def crps(y: Values, samples: ArrayLike, per_output: bool = False) -> Score:
    """Return the continuous ranked probability score of an ensemble; lower is better.

    Args:
        y: True values, (n,) or (n, n_out).
        samples: f of each member, (K, n, n_out); add draws of the noise to score the total
            uncertainty.
        per_output: Whether to return one value per output instead of their mean.

    Returns:
        Mean over points of E|s - y| - E|s - s'| / 2, where E is the mean over members s and s'.

    Source: Gneiting & Raftery (2007).

    Examples:
        >>> from bnn import metrics
        >>> metrics.crps([0.0], samples=[[[-1.0]], [[1.0]]])
        0.5
    """
    y, samples = _sampled(y, samples)
    samples = np.sort(samples, axis=0)
    K = len(samples)
    weights = (2.0 * np.arange(1, K + 1) - K - 1.0) / K**2
    spread = np.tensordot(weights, samples, axes=1)
    score = _mean(np.abs(samples - y).mean(axis=0) - spread)
    return _averaged(score[None], per_output)


def crps_gaussian(
    y: Values, mean: Values, std: Values, noise: Noise | None = None, per_output: bool = False
) -> Score:
    """Return the CRPS of Gaussian predictions, in closed form.

    Args:
        y: True values, (n,) or (n, n_out).
        mean: Predicted mean, of the same shape.
        std: Predicted standard deviation, of the same shape.
        noise: Noise that is added to std, see the module docstring.
        per_output: Whether to return one value per output instead of their mean.

    Returns:
        Mean over points of std (z (2Φ(z) - 1) + 2φ(z) - 1/√π).

    Examples:
        >>> from bnn import metrics
        >>> round(metrics.crps_gaussian([0.0], mean=[0.0], std=[1.0]), 3)
        0.234
    """
    z, deviation = _z_scores(y, mean, std, noise)
    with np.errstate(over="ignore"):  # far from the mean the density is zero
        inner = z * (2.0 * norm.cdf(z) - 1.0) + 2.0 * norm.pdf(z) - 1.0 / np.sqrt(np.pi)
    return _averaged(_mean(deviation * inner)[None], per_output)


def coverage(
    y: Values,
    mean: Values,
    std: Values,
    level: float = 0.95,
    noise: Noise | None = None,
    per_output: bool = False,
) -> Score:
    """Return the fraction of points inside the central Gaussian interval.

    Args:
        y: True values, (n,) or (n, n_out).
        mean: Predicted mean, of the same shape.
        std: Predicted standard deviation, of the same shape.
        level: Nominal probability, in (0, 1).
        noise: Noise that is added to std, see the module docstring.
        per_output: Whether to return one value per output instead of their mean.

    Returns:
        Fraction, a number or (n_out,).

    Raises:
        ValueError: If the level is not in (0, 1).

    Examples:
        >>> from bnn import metrics
        >>> metrics.coverage([0.0, 5.0], mean=[0.1, 0.1], std=[1.0, 1.0])
        0.5
    """
    check_positive(level=level)
    check_fraction(level=level)
    z, _ = _z_scores(y, mean, std, noise)
    inside = np.abs(z) <= norm.ppf(0.5 + 0.5 * level)
    return _averaged(np.where(np.isnan(z), np.nan, inside), per_output)
