"""The covariance diag(D) + R Rᵀ of many weights, from few directions."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bnn._validation import Array

Values = TypeVar("Values", Array, Tensor)


@dataclass(frozen=True)
class DiagonalPlusLowRank(Generic[Values]):
    """The covariance P = diag(D) + R Rᵀ and its inverse diag(D)⁻¹ - F Fᵀ, in O(d r)."""

    diagonal: Values  # D, (d,), positive
    root: Values  # R, (d, r)
    factor: Values  # F, (d, r)
    log_determinant: float  # of P

    @classmethod
    def diagonal_only(cls, variance: ArrayLike) -> "DiagonalPlusLowRank[Array]":
        """Return diag(D) of variances D (d,)."""
        diagonal = np.asarray(variance, dtype=float)
        nothing = np.zeros((diagonal.size, 0))
        return DiagonalPlusLowRank(diagonal, nothing, nothing, float(np.log(diagonal).sum()))

    @classmethod
    def isotropic_plus(
        cls, variance: float, directions: Array, deviations: Array
    ) -> "DiagonalPlusLowRank[Array]":
        """Return τ² I + V S² Vᵀ, for a variance τ², orthonormal directions V and deviations S."""
        d, r = directions.shape
        total = deviations**2 + variance
        root = directions * deviations
        factor = directions * np.sqrt(1.0 / variance - 1.0 / total)
        log_determinant = float(np.log(total).sum() + (d - r) * np.log(variance))
        return DiagonalPlusLowRank(np.full(d, variance), root, factor, log_determinant)

    def to(self, device: torch.device) -> "DiagonalPlusLowRank[Tensor]":
        """Return the same covariance as float64 tensors on a device."""
        parts = (self.diagonal, self.root, self.factor)
        D, R, F = (torch.as_tensor(v, dtype=torch.float64, device=device) for v in parts)
        return DiagonalPlusLowRank(D, R, F, self.log_determinant)

    def multiply(self, rows: Values) -> Values:
        """Return rows P, (..., d)."""
        return rows * self.diagonal + (rows @ self.root) @ self.root.T

    def quadratic(self, differences: Values) -> Values:
        """Return uᵀ P⁻¹ u, (K,), of differences u (K, d)."""
        whole: Values = (differences**2 / self.diagonal).sum(-1)
        along: Values = ((differences @ self.factor) ** 2).sum(-1)
        return whole - along
