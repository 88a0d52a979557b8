"""The covariance diag(D) + R Rᵀ of many weights, where R has few columns."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bnn._text import Short
from bnn._validation import Array

Values = TypeVar("Values", Array, Tensor)


@dataclass(frozen=True, repr=False)
class DiagonalPlusLowRank(Short, Generic[Values]):
    """The covariance P = diag(D) + R Rᵀ and its inverse diag(D)⁻¹ - F Fᵀ, in O(d r)."""

    diagonal: Values  # D, (d,), positive
    root: Values  # R, (d, r)
    factor: Values  # F, (d, r)
    log_determinant: float  # of P

    @classmethod
    def diagonal_only(cls, variance: ArrayLike) -> "DiagonalPlusLowRank[Array]":
        """Return diag(D) of variances D (d,)."""
        diagonal = np.asarray(variance, dtype=float)
        no_columns = np.zeros((diagonal.size, 0))
        # log |diag(D)| = Σ_j log D_j
        log_determinant = float(np.log(diagonal).sum())
        return DiagonalPlusLowRank(diagonal, no_columns, no_columns, log_determinant)

    @classmethod
    def isotropic_plus(
        cls, variance: float, directions: Array, deviations: Array
    ) -> "DiagonalPlusLowRank[Array]":
        """Return τ² I + V S² Vᵀ, for a variance τ², orthonormal directions V and deviations S."""
        d, r = directions.shape
        # P = τ² (I - V Vᵀ) + V (S² + τ² I) Vᵀ, since the columns of V are orthonormal.
        total = deviations**2 + variance
        # R = V S
        root = directions * deviations
        # P⁻¹ = I / τ² - F Fᵀ with F = V (1 / τ² - 1 / (S² + τ²))^½
        factor = directions * np.sqrt(1.0 / variance - 1.0 / total)
        # log |P| = Σ_i log(S_i² + τ²) + (d - r) log τ²
        log_determinant = float(np.log(total).sum() + (d - r) * np.log(variance))
        return DiagonalPlusLowRank(np.full(d, variance), root, factor, log_determinant)

    def to(self, device: torch.device) -> "DiagonalPlusLowRank[Tensor]":
        """Return the same covariance as float64 tensors on a device."""
        parts = (self.diagonal, self.root, self.factor)
        D, R, F = (torch.as_tensor(v, dtype=torch.float64, device=device) for v in parts)
        return DiagonalPlusLowRank(D, R, F, self.log_determinant)

    def multiply(self, rows: Values) -> Values:
        """Return u P, (..., d), of rows u (..., d)."""
        # u P = u D + (u R) Rᵀ
        return rows * self.diagonal + (rows @ self.root) @ self.root.T

    def quadratic(self, differences: Values) -> Values:
        """Return uᵀ P⁻¹ u, (K,), of differences u (K, d)."""
        # uᵀ P⁻¹ u = uᵀ D⁻¹ u - |Fᵀ u|²
        whole: Values = (differences**2 / self.diagonal).sum(-1)
        along: Values = ((differences @ self.factor) ** 2).sum(-1)
        return whole - along
