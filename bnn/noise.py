"""The aleatory noise Σ_noise, given as a scalar, per output, or as a matrix."""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from bnn._validation import Array, Floats, as_array, as_columns

RESAMPLINGS = ("bootstrap", "likelihood", "none")
Noise = float | Sequence[float] | Floats  # standard deviations, or a covariance matrix

LARGEST = 1e150  # standard deviation, whose square is a number in double precision

# Probability that data of noise alone scatter as little as those that are warned of; data of a
# function and noise do so more rarely still.
_CHANCE = 1e-3


class NoiseWarning(UserWarning):
    """The noise given exceeds the scatter of the data."""


def noise_covariance(noise: ArrayLike, n_outputs: int) -> Array:
    """Return Σ_noise, (n_out, n_out), of standard deviations (one or n_out) or itself."""
    values = as_array("noise", noise).copy()  # the matrix of a user may change
    if values.ndim < 2:
        if values.ndim == 1 and values.shape != (n_outputs,):
            raise ValueError(f"noise has {values.size} entries: must be one, or {n_outputs}")
        if not np.all((values > 0) & (values < LARGEST)):
            raise ValueError(f"noise = {values}: standard deviations must be > 0 and finite")
        return np.diag(np.broadcast_to(values, (n_outputs,)) ** 2)
    if values.shape != (n_outputs, n_outputs):
        raise ValueError(f"noise has shape {values.shape}: must be ({n_outputs}, {n_outputs})")
    largest = np.abs(values).max()
    if not (np.isfinite(largest) and np.allclose(values, values.T, atol=1e-8 * largest)):
        raise ValueError("noise: the covariance must be symmetric and finite")
    smallest = np.linalg.eigvalsh(values)[0]
    if smallest <= 0:
        raise ValueError(
            f"noise: the covariance has eigenvalue {smallest:.3g}, must be positive definite"
        )
    return values


def noise_of_data(noise: ArrayLike, y: Array) -> Array:
    """Return Σ_noise of data y (N, n_out); warn where they scatter less than noise alone would."""
    covariance = noise_covariance(noise, y.shape[1])
    least = chi2.ppf(_CHANCE, len(y) - 1) * np.diag(covariance)
    for j in np.flatnonzero(len(y) * y.var(axis=0) < least)[:1]:
        given, found = f"{np.sqrt(covariance[j, j]):.3g}", f"{y[:, j].std():.3g}"
        message = f"noise: {given} of output {j} exceeds the scatter of the data, {found}"
        warnings.warn(message, NoiseWarning, stacklevel=4)
    return covariance


def replicate_covariance(y: Floats, groups: NDArray[np.generic]) -> Array:
    """Estimate Σ_noise of outputs y from repeated runs, which have equal numbers in groups (N,)."""
    y = as_columns("y", y, len(y))
    if np.shape(groups) != (len(y),):
        raise ValueError(f"groups has shape {np.shape(groups)}: must be ({len(y)},), one per row")
    _, group = np.unique(groups, return_inverse=True)
    counts = np.bincount(group)
    sums = np.zeros((len(counts), y.shape[1]))
    np.add.at(sums, group, y)
    within = y - (sums / counts[:, None])[group]
    freedom = len(y) - len(counts)
    if freedom < y.shape[1]:
        raise ValueError(
            f"groups: {len(y)} rows in {len(counts)} groups leave {freedom} degrees of freedom, "
            f"{y.shape[1]} outputs need as many"
        )
    return noise_covariance(within.T @ within / freedom, y.shape[1])


def resample(
    X: Floats, y: Floats, resampling: str, covariance: Floats, generators: list[np.random.Generator]
) -> tuple[Floats, Floats]:
    """Give each member its own X ((K,) N, n_in) and y (K, N, n_out); "resample" of Algorithm 1."""
    if resampling == "bootstrap":
        rows = np.stack([rng.integers(len(y), size=len(y)) for rng in generators])
        return X[rows], y[rows]
    if resampling == "likelihood":
        root = np.linalg.cholesky(covariance)
        return X, np.stack([y + rng.standard_normal(y.shape) @ root.T for rng in generators])
    return X, np.repeat(y[None], len(generators), axis=0)
