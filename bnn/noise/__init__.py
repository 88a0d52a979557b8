"""Noise of data: constant, heteroscedastic or with heavy tails; resampling of data."""

from bnn.noise.covariances import (
    RESAMPLINGS,
    NoiseWarning,
    noise_covariance,
    replicate_covariance,
    resample,
)
from bnn.noise.heteroscedastic import HeteroscedasticNoise, Noise
from bnn.noise.models import (
    Covariance,
    checked_noise,
    checked_tails,
    covariance_at,
    noise_gradient,
)
from bnn.noise.student import StudentNoise

__all__ = [
    "RESAMPLINGS",
    "Covariance",
    "HeteroscedasticNoise",
    "Noise",
    "NoiseWarning",
    "StudentNoise",
    "checked_noise",
    "checked_tails",
    "covariance_at",
    "noise_covariance",
    "noise_gradient",
    "replicate_covariance",
    "resample",
]
