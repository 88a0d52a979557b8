"""The noise of an estimator as PyTorch tensors."""

from typing import Any

import torch
from torch import Tensor

from bnn.noise import Covariance, HeteroscedasticNoise, StudentNoise
from bnn.noise.heteroscedastic import LARGEST_LOG


def double(values: Any) -> Tensor:
    """Return values as a tensor in double precision."""
    return torch.tensor(values, dtype=torch.float64)


def noise_at(noise: Covariance | StudentNoise, X: Tensor) -> Tensor:
    """Return Σ(x), (..., n, n_out, n_out), at X (..., n, n_in)."""
    covariance = noise.noise if isinstance(noise, StudentNoise) else noise
    if isinstance(covariance, HeteroscedasticNoise):
        limits = double(covariance.limits)
        coefficients = double(covariance.coefficients)
        squares = list(covariance.squares)
        if limits.ndim == 2:
            z = X.clamp(*limits)
            logs = coefficients[0] + torch.cat([z, z[..., squares] ** 2], dim=-1) @ coefficients[1:]
        else:
            z = X.unsqueeze(-1).clamp(*limits)
            basis = torch.cat([z, z[..., squares, :] ** 2], dim=-2)
            logs = coefficients[0] + (basis * coefficients[1:]).sum(dim=-2)
        scale = torch.exp(logs.clamp(-LARGEST_LOG, LARGEST_LOG))
        return scale.unsqueeze(-1) * double(covariance.correlation) * scale.unsqueeze(-2)
    return double(covariance).expand(*X.shape[:-1], -1, -1)


def noise_of_points(noise: Tensor) -> Tensor:
    """Return the joint covariance (..., n q, n q) of noise (..., n, q, q) at n points."""
    n, q = noise.shape[-3:-1]
    apart = noise.unsqueeze(-2) * torch.eye(n, dtype=noise.dtype)[:, None, :, None]
    return apart.reshape(*noise.shape[:-3], n * q, n * q)
