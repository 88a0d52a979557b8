"""Estimates of noise and prior from the evidence, for estimators to which they are not given."""

from typing import Any

import numpy as np

from bnn._validation import Array, check_option
from bnn.gp.evidence.model import estimated_model
from bnn.gp.evidence.output_data import FEW
from bnn.gp.evidence.prescribed import MeanForm
from bnn.noise import Covariance, Noise, StudentNoise, checked_noise
from bnn.noise.models import (
    TAILS_ALONE,
    DataNoise,
    covariances_of_data,
    is_heavy_tailed,
    is_whole,
    warn_of_excess,
    without_zeros,
)

WIDE = 0.5  # prior standard deviation of an output that does not vary, relative to its value
NOISE_RESTARTS = {"constant": 8, "heteroscedastic": 2}  # random starts of searches for the noise


def noise_beside_prior(
    noise: Noise | StudentNoise | str | None, X: Array, y: Array, data_noise: DataNoise | None
) -> Any:
    """Return the given noise, or estimate noise of the given kind, for a given prior."""
    heavy = is_heavy_tailed(noise)
    if heavy and data_noise is not None:
        raise ValueError(f"noise = {noise!r:.60}: {TAILS_ALONE}")
    if isinstance(noise, StudentNoise):
        return noise
    if heavy:
        return StudentNoise(likely_noise("constant", X, y))
    if is_whole(data_noise, noise, y.shape[1]):
        return np.zeros((y.shape[1], y.shape[1]))
    return without_zeros(likely_noise(noise, X, y, data_noise), y)


def likely_noise(
    noise: Noise | str | None, X: Array, y: Array, data_noise: DataNoise | None = None
) -> Noise:
    """Return the given noise, or estimate Gaussian noise from the evidence of data.

    None and "constant" give standard deviations, (n_out,), and "heteroscedastic" gives a
    HeteroscedasticNoise. If the standard deviations of the data are known, None and zero give
    zeros, (n_out, n_out). The estimate uses at most FEW rows, chosen at random.
    """
    if is_whole(data_noise, noise, y.shape[1]):
        return np.zeros((y.shape[1], y.shape[1]))
    kind = "constant" if noise is None else noise
    if not isinstance(kind, str):
        return kind
    check_option("noise", kind, NOISE_RESTARTS)
    restarts = NOISE_RESTARTS[kind]
    estimate = estimated_model(
        X, y, kind, data_noise, form=MeanForm(), restarts=restarts, most_rows=FEW
    ).noise
    assert not isinstance(estimate, StudentNoise)
    return estimate


def likely_prior(
    prior: Any, noise: Noise | StudentNoise, X: Array, y: Array, data_noise: DataNoise | None = None
) -> Any:
    """Return the given prior, or estimate an average over families under this noise for None.

    The prior of an output that does not vary is as wide as its bounds, because networks need that.
    """
    if prior is not None:
        return prior
    return estimated_model(X, y, noise, data_noise, constant_deviation=WIDE).prior


def noise_of_training(
    noise: Noise | str | None, X: Array, y: Array, data_noise: DataNoise | None
) -> tuple[Covariance, Array]:
    """Return the noise of ensemble members, and its covariances at the data.

    Args:
        noise: Given noise, its kind, or None.
        X: (N, n_in).
        y: (N, n_out).
        data_noise: What is known of the noise of each datum, which the covariances include.

    Returns:
        Σ_noise or a HeteroscedasticNoise, and covariances, (n_out, n_out) or (N, n_out, n_out).
    """
    model = likely_noise(noise, X, y, data_noise)
    sizes = X.shape[1], y.shape[1]
    whole = is_whole(data_noise, model, y.shape[1])
    member_noise = np.zeros(sizes[1:] * 2) if whole else checked_noise(model, *sizes)
    covariances = covariances_of_data(member_noise, X, data_noise)
    warn_of_excess(covariances, y, stacklevel=7)
    return member_noise, covariances
