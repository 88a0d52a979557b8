"""The noise as users give it: what is kept of it, its values at points, and a check of data."""

import warnings
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.stats import chi2

from bnn._validation import Array
from bnn.noise.covariances import noise_covariance
from bnn.noise.heteroscedastic import HeteroscedasticNoise, Noise
from bnn.noise.student import StudentNoise

Covariance: TypeAlias = Array | HeteroscedasticNoise  # what is kept of Noise

# Probability that data of noise alone scatter as little as those that are warned of; data of a
# function and noise do so more rarely still.
_CHANCE = 1e-3


class NoiseWarning(UserWarning):
    """The noise given exceeds the scatter of the data."""


def checked_noise(noise: Noise, n_inputs: int, n_outputs: int) -> Covariance:
    """Return what is kept of a noise, if it fits the numbers of inputs and outputs."""
    if isinstance(noise, StudentNoise):
        raise ValueError("noise: StudentNoise is taken by ExactPosterior and fit_prior alone")
    if not isinstance(noise, HeteroscedasticNoise):
        return noise_covariance(noise, n_outputs)
    sizes = noise.n_inputs, noise.coefficients.shape[1]
    if sizes != (n_inputs, n_outputs):
        needed = f"{n_inputs} inputs and {n_outputs} outputs"
        raise ValueError(f"noise of {sizes[0]} inputs and {sizes[1]} outputs: must be of {needed}")
    return noise


def checked_tails(
    noise: Noise | StudentNoise, n_inputs: int, n_outputs: int
) -> Covariance | StudentNoise:
    """Return what is kept of a noise that may have heavy tails, as `checked_noise` does."""
    if not isinstance(noise, StudentNoise):
        return checked_noise(noise, n_inputs, n_outputs)
    kept = checked_noise(noise.noise, n_inputs, n_outputs)
    return kept if noise.freedom == np.inf else replace(noise, noise=kept)


def covariance_at(noise: Covariance | StudentNoise, X: Array) -> Array:
    """Return Σ_noise, (n_out, n_out), or Σ(x) at points X (..., n_in), (..., n_out, n_out)."""
    kept = noise.noise if isinstance(noise, StudentNoise) else noise
    if not isinstance(kept, HeteroscedasticNoise):
        return np.asarray(kept)
    at = kept(X.reshape(-1, X.shape[-1]))
    return at.reshape(*X.shape[:-1], *at.shape[1:])


def noise_of_data(noise: Noise, X: Array, y: Array) -> Covariance:
    """Check the noise of data X (N, n_in), y (N, n_out); warn if they scatter less than it."""
    kept = checked_noise(noise, X.shape[1], y.shape[1])
    variances = np.einsum("...jj->...j", covariance_at(kept, X)) * np.ones((len(y), 1))
    # Satterthwaite's degrees of freedom, where the variances differ.
    total = variances.sum(axis=0)
    squares = np.square(variances).sum(axis=0)
    least = chi2.ppf(_CHANCE, total**2 / squares - 1.0) * squares / total
    for j in np.flatnonzero(len(y) * y.var(axis=0) < least)[:1]:
        given = f"{np.sqrt(total[j] / len(y)):.3g}"
        found = f"{y[:, j].std():.3g}"
        message = f"noise: {given} of output {j} exceeds the scatter of the data, {found}"
        warnings.warn(message, NoiseWarning, stacklevel=4)
    return kept
