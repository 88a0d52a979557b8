"""Estimates of noise and prior from the evidence, for estimators to which they are not given."""

from typing import Any

import numpy as np

from bnn._validation import Array, check_option
from bnn.gp.evidence.groups import found_for
from bnn.gp.evidence.scaling import FEW
from bnn.noise import Covariance, Noise, StudentNoise, checked_noise
from bnn.noise.given import warn_of_excess, without_zeros
from bnn.noise.known import TAILS_ALONE, DataNoise, covariances_of_data, no_noise

WIDE = 0.5  # prior standard deviation of an output that does not vary, relative to its value
RESTARTS = {"constant": 8, "heteroscedastic": 2}  # random starts of searches for the noise


def noise_beside_prior(
    noise: Noise | StudentNoise | str | None, X: Array, y: Array, known: DataNoise | None
) -> Any:
    """Return the given noise, or estimate noise of the given kind, for a given prior."""
    heavy = isinstance(noise, StudentNoise) or (isinstance(noise, str) and noise == "student_t")
    if heavy and known is not None:
        raise ValueError(f"noise = {noise!r:.60}: {TAILS_ALONE}")
    if isinstance(noise, StudentNoise):
        return noise
    if heavy:
        return StudentNoise(likely_noise("constant", X, y))
    found = likely_noise(noise, X, y, known)
    return found if no_noise(found) else without_zeros(found, y)


def likely_noise(
    noise: Noise | str | None, X: Array, y: Array, known: DataNoise | None = None
) -> Noise:
    """Return the given noise, or estimate Gaussian noise from the evidence of data.

    None and "constant" give standard deviations, (n_out,), and "heteroscedastic" gives a
    HeteroscedasticNoise. If the standard deviations of the data are known, None gives zeros,
    (n_out, n_out). The estimate uses at most FEW rows, chosen at random.
    """
    if noise is None and known is not None and known.std is not None:
        return np.zeros((y.shape[1], y.shape[1]))
    kind = "constant" if noise is None else noise
    if not isinstance(kind, str):
        return kind
    check_option("noise", kind, RESTARTS)
    found = found_for(X, y, kind, known, form={}, restarts=RESTARTS[kind], most=FEW)[1]
    assert not isinstance(found, StudentNoise)
    return found


def likely_prior(
    prior: Any, noise: Noise | StudentNoise, X: Array, y: Array, known: DataNoise | None = None
) -> Any:
    """Return the given prior, or estimate an average over families under this noise for None.

    The prior of an output that does not vary is as wide as its bounds, because networks need that.
    """
    return found_for(X, y, noise, known, constants=WIDE)[0] if prior is None else prior


def noise_of_training(
    noise: Noise | str | None, X: Array, y: Array, known: DataNoise | None
) -> tuple[Covariance, Array]:
    """Return the noise of ensemble members, and its covariances at the data.

    Args:
        noise: Given noise, its kind, or None.
        X: (N, n_in).
        y: (N, n_out).
        known: What is known of the noise of each datum, which the covariances include.

    Returns:
        Σ_noise or a HeteroscedasticNoise, and covariances, (n_out, n_out) or (N, n_out, n_out).
    """
    found = likely_noise(noise, X, y, known)
    sizes = X.shape[1], y.shape[1]
    zeros = known is not None and no_noise(found)
    kept = np.zeros(sizes[1:] * 2) if zeros else checked_noise(found, *sizes)
    covariances = covariances_of_data(kept, X, known)
    warn_of_excess(covariances, y, stacklevel=7)
    return kept, covariances
