"""Truth beside predictions: checked columns, residuals, and scores averaged over points."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bnn._validation import Array, as_finite, check_flags
from bnn.noise import Noise, noise_covariance

Values: TypeAlias = ArrayLike  # (n,) or (n, n_out)
Score: TypeAlias = Any  # a float, or an array (n_out,) with per_output=True


def columns(name: str, values: Values) -> Array:
    """Return finite values as (n, n_out)."""
    array = as_finite(name, values)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(f"{name} has shape {array.shape}: must be (n,) or (n, n_out)")
    return array[:, None] if array.ndim == 1 else array


def errors(y: Values, mean: Values, std: Values, noise: Noise | None) -> tuple[Array, Array, Array]:
    """Return y - mean and std, (n, n_out) each, and Σ_noise (at each point), zeros for none."""
    truth = columns("y", y)
    centre = columns("mean", mean)
    scale = columns("std", std)
    if not truth.shape == centre.shape == scale.shape:
        raise ValueError(f"shapes differ: y {truth.shape}, mean {centre.shape}, std {scale.shape}")
    n, n_out = truth.shape
    added = np.zeros((n_out, n_out)) if noise is None else noise_covariance(noise, n_out, n)
    if np.any(scale < 0) or not np.all(scale + np.einsum("...jj->...j", added) > 0):
        raise ValueError("std: must be > 0 everywhere")
    return truth - centre, scale, added


def z_scores(y: Values, mean: Values, std: Values, noise: Noise | None) -> tuple[Array, Array]:
    """Return z = (y - mean) / std and std with the noise, (n, n_out) each."""
    residuals, scale, added = errors(y, mean, std, noise)
    if noise is not None:
        scale = np.sqrt(scale**2 + np.einsum("...jj->...j", added))
    return residuals / scale, scale


def averaged(values: Array, per_output: bool) -> Score:
    """Return the means over points of values (n, n_out), or their mean over the outputs."""
    check_flags(per_output=per_output)
    return values.mean(axis=0) if per_output else float(values.mean())


def sampled(y: Values, samples: ArrayLike) -> tuple[Array, Array]:
    """Return y (n, n_out) and samples (K, n, n_out), which fit each other."""
    y = columns("y", y)
    samples = as_finite("samples", samples)
    if samples.ndim != 3 or samples.shape[1:] != y.shape:
        n, n_out = y.shape
        raise ValueError(f"samples have shape {samples.shape}: must be (K, {n}, {n_out}) as y")
    return y, samples
