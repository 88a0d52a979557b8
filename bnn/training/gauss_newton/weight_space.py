"""Optimum of the objective of Algorithm 2, for proper Gaussian priors over the weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bnn._validation import Array, Floats, Ints
from bnn.networks.mlp import MLP
from bnn.training.gauss_newton.jacobian import Linearisation
from bnn.training.gauss_newton.levenberg_marquardt import StoppingRule, fit_members
from bnn.training.loop import TrainingResult
from safe_files.text import Short

Values = TypeVar("Values", Array, Tensor)


@dataclass(frozen=True, repr=False)
class DiagonalPlusLowRank(Short, Generic[Values]):
    """The covariance P = diag(D) + R Rᵀ and its inverse diag(D)⁻¹ - F Fᵀ, in O(d r) operations."""

    diagonal: Values  # D, (d,), positive
    root: Values  # R, (d, r)
    factor: Values  # F, (d, r)
    log_determinant: float  # log |P|

    @classmethod
    def diagonal_only(cls, variance: ArrayLike) -> "DiagonalPlusLowRank[Array]":
        """Return the covariance diag(D) with variances D (d,)."""
        diagonal = np.asarray(variance, dtype=float)
        no_columns = np.zeros((diagonal.size, 0))
        # log |diag(D)| = Σ_j log D_j
        log_determinant = float(np.log(diagonal).sum())
        return DiagonalPlusLowRank(diagonal, no_columns, no_columns, log_determinant)

    @classmethod
    def isotropic_plus(
        cls, variance: float, directions: Array, deviations: Array
    ) -> "DiagonalPlusLowRank[Array]":
        """Return τ² I + V S² Vᵀ for a variance τ², orthonormal directions V (d, r) and S (r,)."""
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
        """Return uᵀ P⁻¹ u, (K,), for differences u (K, d)."""
        # uᵀ P⁻¹ u = uᵀ D⁻¹ u - |Fᵀ u|²
        whole: Values = (differences**2 / self.diagonal).sum(-1)
        along: Values = ((differences @ self.factor) ** 2).sum(-1)
        return whole - along


class WeightFit:
    """Objective Σ_i (y_i - f(x_i))ᵀ Σ⁻¹ (y_i - f(x_i)) + (ω - ω0)ᵀ P⁻¹ (ω - ω0).

    With r = f - y and damping λ P⁻¹, the Gauss-Newton step is

        -u - P Jᵀ (J P Jᵀ + (1 + λ) Σ)⁻¹ (r - J u)  with u = (ω - ω0) / (1 + λ).

    Its system has one equation per value in y. Data are X (N, n_in) or (k, N, n_in) and y (k, N,
    n_out), and the anchors ω0 are (k, d). The noise Σ is (n_out, n_out), or (k, N, n_out, n_out) if
    it differs between points. Entries of y that are NaN are left out; Σ must have no covariances
    with them.
    """

    lengths: Sequence[float] = (1.0,)  # only whole steps: shorter ones led to higher minima

    def __init__(
        self,
        architecture: MLP,
        X: Tensor,
        y: Tensor,
        noise: Tensor,
        prior: DiagonalPlusLowRank[Tensor],
        anchors: Tensor,
    ) -> None:
        self._architecture = architecture
        self._X = X
        # Residuals and rows of the Jacobian are zero where y is missing.
        self._present = (~torch.isnan(y)).to(y.dtype)
        self._all = bool(self._present.all())
        self._y = torch.nan_to_num(y)
        self._prior = prior
        self._anchors = anchors
        # P = D + R Rᵀ gives J P Jᵀ = J̃ (I + R̃ R̃ᵀ) J̃ᵀ with J̃ = J D^½ and R̃ = D^-½ R.
        # The last bit of torch.sqrt depends on the processor.
        self._deviations = prior.diagonal.rsqrt().reciprocal()
        self._root = prior.root / self._deviations[:, None]
        self._precision = torch.linalg.inv(noise)
        k, n, n_out = y.shape
        # The covariance of all data of a member; entry j n + i is point i of output j.
        if noise.ndim == 2:
            # Σ ⊗ I
            self._noise = torch.kron(noise, torch.eye(n, dtype=y.dtype, device=y.device))
        else:
            blocks = torch.diag_embed(noise.permute(0, 2, 3, 1))  # (k, n_out, n_out, N, N)
            self._noise = blocks.transpose(2, 3).reshape(k, n_out * n, n_out * n)

    def loss(self, weights: Tensor, members: Tensor) -> Tensor:
        """Return the objective, (k,)."""
        # r = f - y, (k, N, n_out)
        residual = self._architecture.forward(weights, self._inputs(members)) - self._y[members]
        residual = residual if self._all else residual * self._present[members]
        # Σ_i r_iᵀ Σ⁻¹ r_i
        if self._precision.ndim == 2:
            data = torch.einsum("kni,ij,knj->k", residual, self._precision, residual)
        else:
            data = torch.einsum("kni,knij,knj->k", residual, self._precision[members], residual)
        # + (ω - ω0)ᵀ P⁻¹ (ω - ω0)
        return data + self._prior.quadratic(weights - self._anchors[members])

    def step(self, weights: Tensor, members: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
        """Return damped Gauss-Newton steps, (k, d), and zeros as their bends."""
        state = Linearisation(self._architecture, weights, self._inputs(members))
        # J̃ = J D^½ and J̃ R̃
        jacobian = state.jacobian().mul_(self._deviations)
        present = None if self._all else self._present[members].mT.flatten(1)
        if present is not None:
            jacobian.mul_(present[:, :, None])
        along = jacobian @ self._root
        factors = (1.0 + damping)[:, None]
        noise = self._noise if self._noise.ndim == 2 else self._noise[members]
        # A = (1 + λ) Σ + J̃ J̃ᵀ + (J̃ R̃) (J̃ R̃)ᵀ = (1 + λ) Σ + J P Jᵀ
        system = torch.baddbmm(factors[:, :, None] * noise, jacobian, jacobian.mT)
        system.baddbmm_(along, along.mT)
        # u = (ω - ω0) / (1 + λ)
        back = (weights - self._anchors[members]) / factors
        residual = (state.values - self._y[members]).mT.flatten(1)
        # b = r - J u
        right = residual - state.push_forward(back)
        right = right if present is None else right * present
        # A = L Lᵀ; if this fails the step is NaN, so that it is rejected and the damping rises.
        root, failed = torch.linalg.cholesky_ex(system)
        root[failed > 0] = torch.nan
        # A⁻¹ b = L⁻ᵀ L⁻¹ b
        solution = torch.cholesky_solve(right[:, :, None], root)[:, :, 0]
        # v = -u - P Jᵀ A⁻¹ b
        step = -back - self._prior.multiply(state.pull_back(solution))
        return step, torch.zeros_like(step)

    def _inputs(self, members: Tensor) -> Tensor:
        return self._X if self._X.ndim == 2 else self._X[members]


def fit_weights(
    architecture: MLP,
    start: Floats,
    X: Floats,  # (N, n_in) or (K, N, n_in)
    y: Floats,  # (K, N, n_out)
    noise: Floats,  # (n_out, n_out), or per point, ((K,) N, n_out, n_out)
    covariance: DiagonalPlusLowRank[Array],
    rule: StoppingRule,
    anchors: Floats,
    device: str = "cpu",
    progress: str | None = None,
) -> TrainingResult:
    """Minimise the objective of Algorithm 2 for each network, from initial weights (K, d)."""
    place = torch.device(device)

    def tensor(values: Floats) -> Tensor:
        return torch.as_tensor(values, dtype=torch.float64, device=place)

    prior = covariance.to(place)
    if noise.ndim > 2:
        noise = np.broadcast_to(noise, (len(y), *noise.shape[-3:]))

    def problem(members: Ints) -> list[WeightFit]:
        inputs = tensor(X if X.ndim == 2 else X[members])
        targets = tensor(y[members])
        centres = tensor(anchors[members])
        covariances = tensor(noise if noise.ndim == 2 else noise[members])
        return [WeightFit(architecture, inputs, targets, covariances, prior, centres)]

    n_entries = y[0].size * architecture.n_weights
    return fit_members(problem, start, n_entries, rule, device, progress)
