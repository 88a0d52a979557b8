"""Covariances of the noise: given, or estimated from repeated runs; resampling of data."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from bnn._validation import (
    LARGEST,
    Array,
    Floats,
    Ints,
    as_array,
    as_columns,
    as_finite,
    check_readable,
    power_of_two,
)
from safe_files.help_page import ExplainedWarning

RESAMPLINGS = ("bootstrap", "likelihood", "none")
NOMINAL = 0.95  # nominal coverage of the joint region of the outputs, which tests an estimate
LEAST_COVERAGE = 0.85  # a lower actual coverage gives a NoiseWarning


class NoiseWarning(ExplainedWarning):
    """Noise that exceeds the scatter of the data, or comes from too few runs, or nested lists."""


def noise_covariance(
    noise: ArrayLike | Callable[[Array], Array], n_outputs: int, n_points: int | None = None
) -> Array:
    """Convert noise, given as standard deviations or as a covariance, to a checked covariance.

    Args:
        noise: Standard deviations, one number or (n_out,), or Σ_noise, (n_out, n_out). With
            n_points also a covariance per point, (n_points, n_out, n_out). [0.5] is a standard
            deviation and [[0.5]] a variance.
        n_outputs: Number of outputs.
        n_points: Number of points; None allows no covariance per point.

    Returns:
        Σ_noise, (n_out, n_out) or (n_points, n_out, n_out).

    Raises:
        ValueError: If the noise is not a positive definite covariance of n_outputs outputs.

    Warns:
        NoiseWarning: If the variance of one output is given as nested lists, such as [[0.5]].

    Examples:
        >>> from bnn.noise import noise_covariance
        >>> noise_covariance([0.1, 0.2], n_outputs=2)
        array([[0.01, 0.  ],
               [0.  , 0.04]])
    """
    if callable(noise):
        raise ValueError(
            "noise depends on the input: a constant covariance is needed here; for metrics pass "
            "the covariances at your points, noise(X)"
        )
    values = as_array("noise", noise)
    if values.ndim < 2:
        if values.ndim == 1 and values.shape != (n_outputs,):
            needed = f"must be a number, or have one per output, {n_outputs}"
            by_row = "for each row give fit(X, y, noise_std=...)"
            raise ValueError(f"noise has {values.size} entries: {needed}; {by_row}")
        if not np.all((values > 1.0 / LARGEST) & (values < LARGEST)):
            needed = f"must be > 0 and finite, from {1.0 / LARGEST:g} to {LARGEST:g}"
            raise ValueError(f"noise = {values}: standard deviations {needed}")
        return np.diag(np.broadcast_to(values, (n_outputs,)) ** 2)
    shape = n_outputs, n_outputs
    if values.shape not in {shape, (n_points, *shape)}:
        raise ValueError(f"noise has shape {values.shape}: must be {shape}")
    if not np.all(np.abs(values) < LARGEST**2):
        raise ValueError("noise: the covariance must be finite")
    variances = np.einsum("...jj->...j", values)
    # In units near the deviations of the outputs, so that none is lost in the rounding errors of a
    # larger one
    units = power_of_two(np.sqrt(np.abs(variances)))
    scaled = values / units[..., :, None] / units[..., None, :]
    mirrored = scaled.swapaxes(-2, -1)
    largest = np.abs(scaled).max(axis=(-2, -1), keepdims=True)
    if np.any(np.abs(scaled - mirrored) > 1e-8 * largest + 1e-5 * np.abs(mirrored)):
        raise ValueError("noise: the covariance must be symmetric")
    smallest = min(np.linalg.eigvalsh(scaled)[..., 0].min(), variances.min())
    if smallest <= LARGEST**-2:
        raise ValueError(
            f"noise: the covariance has eigenvalue {smallest:.3g}, must be positive definite"
        )
    if values.shape == (1, 1) and isinstance(noise, list | tuple):
        read = f"is read as a variance, standard deviation {values[0, 0] ** 0.5:.3g}"
        other = "give one number for a standard deviation, or an array for a variance"
        warnings.warn(f"noise = {noise!r:.60} {read}: {other}", NoiseWarning, stacklevel=2)
    return values


def deviations(y: Array, groups: ArrayLike) -> tuple[Array, Ints, Ints]:
    """Return y (N, n_out) minus group means, the group index of each row, and the group sizes."""
    check_readable(groups=groups)
    try:
        labels = np.asarray(groups)
    except ValueError:  # rows of different lengths
        raise ValueError(f"groups = {groups!r:.60}: must be ({len(y)},), one per row") from None
    if labels.shape != (len(y),):
        raise ValueError(f"groups has shape {labels.shape}: must be ({len(y)},), one per row")
    _, group = np.unique(labels, return_inverse=True)
    counts = np.bincount(group)
    sums = np.zeros((len(counts), y.shape[1]))
    np.add.at(sums, group, y)
    if len(y) - len(counts) < y.shape[1]:
        raise ValueError(
            f"groups: {len(y)} rows in {len(counts)} groups leave {len(y) - len(counts)} degrees "
            f"of freedom: must be at least {y.shape[1]}, the number of outputs"
        )
    return y - (sums / counts[:, None])[group], group, counts


def warn_of_few(held: float, freedom: int, stacklevel: int) -> None:
    """Warn if the joint region of an estimate contains far less of new noise than it should."""
    if held < LEAST_COVERAGE:
        message = (
            f"groups: {freedom} degrees of freedom are too few to estimate the noise: the joint "
            f"{NOMINAL:.0%} region of the outputs contains about {held:.0%} of new noise"
        )
        warnings.warn(message, NoiseWarning, stacklevel=stacklevel + 1)


def replicate_covariance(y: Floats, groups: ArrayLike) -> Array:
    """Estimate the covariance of the noise from repeated runs.

    Args:
        y: Outputs, (N,) or (N, n_out).
        groups: Labels of the runs, (N,); runs with equal inputs have equal labels.

    Returns:
        Σ_noise, (n_out, n_out).

    Raises:
        ValueError: If the groups do not match y, or leave too few degrees of freedom.

    Warns:
        NoiseWarning: If there are so few degrees of freedom that the estimated joint 95 % region of
            the outputs contains less than 85 % of new noise.

    Source: Hotelling (1931), Annals of Mathematical Statistics 2, for the coverage of the region.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> y = np.array([1.0, 3.0, 10.0, 12.0, 5.0, 7.0])
        >>> bnn.noise.replicate_covariance(y, groups=[0, 0, 1, 1, 2, 2])
        array([[2.]])
    """
    values = as_finite("y", y)
    rows = as_columns("y", values, len(np.atleast_1d(values)))
    within, _, counts = deviations(rows, groups)
    freedom = len(within) - len(counts)
    covariance = noise_covariance(within.T @ within / freedom, within.shape[1])
    # eᵀ Σ⁻¹ e (ν - d + 1) / (ν d) of new noise e has the distribution F(d, ν - d + 1).
    d = within.shape[1]
    left = freedom - d + 1
    held = f_distribution.cdf(chi2.ppf(NOMINAL, d) * left / (freedom * d), d, left)
    warn_of_few(float(held), freedom, stacklevel=2)
    return covariance


def is_diagonal(covariance: Array) -> bool:
    """Return whether all covariances (..., n_out, n_out) are diagonal."""
    return np.array_equal(covariance, covariance * np.eye(covariance.shape[-1]))


def apart(noise: Array, missing: NDArray[np.bool_], of_missing: Array | None = None) -> Array:
    """Return noise covariances in which missing outputs are uncorrelated with all other outputs.

    Args:
        noise: Covariance, (n_out, n_out), or at each point, ((K,) N, n_out, n_out).
        missing: Mask of missing outputs, ((K,) N, n_out).
        of_missing: Covariance that missing outputs get, (n_out, n_out) and diagonal; None is I.

    Returns:
        The noise as it is if nothing is missing, else ((K,) N, n_out, n_out).
    """
    if not missing.any():
        return noise
    of_missing = np.eye(missing.shape[-1]) if of_missing is None else of_missing
    return np.where(of_pairs(missing), of_missing, noise)


def of_pairs(missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each pair of outputs whether one of them is missing, (..., n_out, n_out)."""
    return np.asarray(missing[..., :, None] | missing[..., None, :])


def noise_blocks(covariance: Array, n: int, n_blocks: int) -> Array:
    """Return the covariance of the noise at n points as diagonal blocks.

    The argument is one covariance (n_out, n_out), or one per point. The result has n_out blocks
    (n, n) for diagonal noise. Otherwise it has one block (n_out n, n_out n), in which entry
    j n + i is point i of output j.
    """
    n_out = covariance.shape[-1]
    points = np.arange(n)
    at = np.broadcast_to(covariance, (n, n_out, n_out))
    if n_blocks == n_out:
        blocks = np.zeros((n_out, n, n))
        blocks[:, points, points] = np.einsum("njj->jn", at)
        return blocks
    whole = np.zeros((n_out, n, n_out, n))
    whole[:, points, :, points] = at
    return whole.reshape(1, n_out * n, n_out * n)


def resample(
    X: Floats, y: Floats, resampling: str, covariance: Floats, generators: list[np.random.Generator]
) -> tuple[Floats, Floats]:
    """Draw separate data for each member of an ensemble ("resample" in Algorithm 1).

    Args:
        X: Inputs, (N, n_in).
        y: Outputs, (N, n_out).
        resampling: "bootstrap" (rows with replacement), "likelihood" (y + noise) or "none".
        covariance: Σ_noise, (n_out, n_out), or Σ(x), (N, n_out, n_out).
        generators: Random generators of the K members.

    Returns:
        Inputs, (N, n_in), or (K, N, n_in) for the bootstrap, and outputs, (K, N, n_out).

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> rng = [np.random.default_rng(k) for k in range(3)]
        >>> X, y = np.zeros((5, 1)), np.zeros((5, 2))
        >>> inputs, outputs = bnn.noise.resample(X, y, "likelihood", np.eye(2), rng)
        >>> inputs.shape, outputs.shape
        ((5, 1), (3, 5, 2))
    """
    if resampling == "bootstrap":
        rows = np.stack([rng.integers(len(y), size=len(y)) for rng in generators])
        return X[rows], y[rows]
    if resampling == "likelihood":
        # y + L z, with Σ_noise = L Lᵀ and z ~ N(0, I)
        root = np.linalg.cholesky(covariance)
        drawn = [rng.standard_normal(y.shape) for rng in generators]
        if root.ndim == 2:
            return X, np.stack([y + z @ root.T for z in drawn])
        return X, np.stack([y + (root @ z[:, :, None])[:, :, 0] for z in drawn])
    return X, np.repeat(y[None], len(generators), axis=0)
