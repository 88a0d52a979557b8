"""The aleatory noise: a covariance, or one that depends on the input; and resampled data."""

from bnn.noise.covariances import RESAMPLINGS, noise_covariance, replicate_covariance, resample
from bnn.noise.given import (
    Covariance,
    Noise,
    NoiseWarning,
    checked_noise,
    covariance_at,
    noise_of_data,
    uncorrelated,
)
from bnn.noise.heteroscedastic import HeteroscedasticNoise

__all__ = [
    "RESAMPLINGS", "Covariance", "HeteroscedasticNoise", "Noise", "NoiseWarning", "checked_noise",
    "covariance_at", "noise_covariance", "noise_of_data", "replicate_covariance", "resample",
    "uncorrelated",
]  # fmt: skip
