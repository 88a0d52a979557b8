"""Fit of networks to given functions, in the metric of a posterior covariance."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bnn._validation import Array, Floats, Ints
from bnn.networks.mlp import MLP
from bnn.training.gauss_newton.jacobian import Linearisation
from bnn.training.gauss_newton.levenberg_marquardt import StoppingRule, fit_members
from bnn.training.loop import TrainingResult

_PRODUCTS = 200  # largest number of conjugate gradient iterations per system
_AHEAD = 0.1  # fraction of the step at which the curvature along it is measured
# The fit starts with this nugget, and reduces it by factors of ten to a smaller one: with a small
# nugget the objective has valleys that are too narrow to follow from distant initial weights.
_FIRST_NUGGET = 0.01
# Steps of larger problems are limited by memory bandwidth, so they use single precision if the
# rounding of M allows it.
_LARGE = 4000  # residuals per member
_JITTER = 1e-5  # relative increase of the preconditioner's diagonal, against rounding errors


class Metric:
    """The covariance M = S + D of the residuals, with D = δ² I for each output.

    S is block-diagonal, with blocks (B, m, m) and B m = n_out n; δ is (n_out,).
    """

    def __init__(self, S: Array | Tensor, deltas: Array | Tensor, device: str = "cpu") -> None:
        blocks = torch.as_tensor(S, device=device)
        nuggets = torch.as_tensor(deltas, device=device)
        size = blocks.shape[0] * blocks.shape[1]
        self._n = size // len(nuggets)
        diagonals = nuggets.square().repeat_interleave(self._n).view(len(blocks), -1)
        # M = S + D = L Lᵀ
        self.blocks = blocks + torch.diag_embed(diagonals)
        self._roots, failed = torch.linalg.cholesky_ex(self.blocks)
        if failed.any():
            raise ValueError(
                f"nugget = {float(nuggets.min()):.2g} in the networks' units: too small for "
                "double precision, give a larger nugget or noise"
            )
        self._diagonals = diagonals
        # The smaller δ² is, the more accurate a step has to be. The factor was found by trial.
        self.accuracy = min(max(100.0 * float(nuggets.min()) ** 2, 1e-6), 0.01)
        self.mean_diagonal = float(self.blocks.diagonal(dim1=1, dim2=2).mean())
        rounding = torch.finfo(torch.float32).eps * float(self.blocks.abs().sum(dim=2).max())
        enough = size >= _LARGE and rounding < self.accuracy * float(nuggets.min()) ** 2
        self.step_blocks = self.blocks.float() if enough else self.blocks

    @cached_property
    def directions(self) -> float:
        """Effective number of directions, tr S M⁻¹, at least 1."""
        # tr S M⁻¹ = tr (M - D) M⁻¹ = n_out n - tr D M⁻¹
        precisions = torch.cholesky_inverse(self._roots).diagonal(dim1=1, dim2=2)
        return max(precisions.numel() - float((self._diagonals * precisions).sum()), 1.0)

    def squares(self, residuals: Tensor) -> Tensor:
        """Return eᵀ M⁻¹ e, (k,), of residuals e (k, n_out n)."""
        blocks = residuals.view(len(residuals), len(self.blocks), -1).permute(1, 2, 0)
        # eᵀ M⁻¹ e = |L⁻¹ e|²
        whitened: Tensor = torch.linalg.solve_triangular(self._roots, blocks, upper=False)
        return whitened.square().sum(dim=(0, 1))

    def multiply(self, vectors: Tensor) -> Tensor:
        """Return M v, (k, n_out n), of vectors v (k, n_out n), in the precision of steps."""
        blocks = vectors.view(len(vectors), len(self.blocks), -1).permute(1, 2, 0)
        return (self.step_blocks @ blocks).permute(2, 0, 1).reshape(vectors.shape)

    def add_outputs_to(self, matrices: Tensor, factors: Tensor) -> None:
        """Add factors (k,) times the block of M of each output to matrices (k, n_out, n, n)."""
        per_block = matrices.shape[1] // len(self.blocks)
        for j in range(matrices.shape[1]):
            block, start = divmod(j, per_block)
            rows = slice(start * self._n, (start + 1) * self._n)
            matrices[:, j] += factors[:, None, None] * self.step_blocks[block, rows, rows]


class FunctionFit:
    """Objective eᵀ M⁻¹ e per direction, with e = f^ω(X) - t and targets t (k, n, n_out).

    The damped Gauss-Newton step is v = -Jᵀ (J Jᵀ + λ M)⁻¹ e. The system has one equation per
    residual. λ is the damping times the ratio of the mean diagonals of J Jᵀ and M. Conjugate
    gradients solve the system. Their preconditioner is the diagonal block of each output, which is
    the whole system if there is one output. A second system gives the bend a of the step, which
    corrects it for the curvature of f^ω (geodesic acceleration).
    """

    lengths: Sequence[float] = (1.0, 0.5, 0.25)

    def __init__(self, architecture: MLP, X: Tensor, targets: Tensor, metric: Metric) -> None:
        self._architecture = architecture
        self._X = X
        self._metric = metric
        self._targets = targets

    def loss(self, weights: Tensor, members: Tensor) -> Tensor:
        """Return the objective, (k,)."""
        values = self._architecture.forward(weights, self._X)
        return self._metric.squares(self._residuals(values, members)) / self._metric.directions

    def step(self, weights: Tensor, members: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
        """Return damped Gauss-Newton steps, NaN if rounding errors prevent one, and their bends."""
        precision = self._metric.step_blocks.dtype
        state = Linearisation(self._architecture, weights.to(precision), self._X.to(precision))
        kernels = state.tangent_kernels()
        diagonal = kernels.diagonal(dim1=2, dim2=3)
        scale = diagonal.mean(dim=(1, 2)) / self._metric.mean_diagonal
        factors = damping.to(precision) * scale
        # The block of output j is J_j J_jᵀ + λ M_j = L_j L_jᵀ.
        self._metric.add_outputs_to(kernels, factors)
        if precision == torch.float32:
            diagonal *= 1.0 + _JITTER
        roots, failed = torch.linalg.cholesky_ex(kernels)

        def product(v: Tensor) -> Tensor:
            # v → (J Jᵀ + λ M) v
            damped = factors[:, None] * self._metric.multiply(v)
            return state.push_forward(state.pull_back(v)) + damped

        def precondition(v: Tensor) -> Tensor:
            # v → L⁻ᵀ L⁻¹ v; several times faster than torch.cholesky_solve for one right side
            half = torch.linalg.solve_triangular(roots, v.view(*roots.shape[:3], 1), upper=False)
            whole: Tensor = torch.linalg.solve_triangular(roots.mT, half, upper=True)
            return whole.view(v.shape)

        def solve(right: Tensor, accuracy: float) -> Tensor:
            # r → -Jᵀ (J Jᵀ + λ M)⁻¹ r
            x = conjugate_gradients(product, precondition, right.to(precision), accuracy)
            return -state.pull_back(x)

        residuals = self._residuals(self._architecture.forward(weights, self._X), members)
        steps = solve(residuals, self._metric.accuracy)
        # b = (f(ω + h v) - f(ω) - h J v) / h² is half of the second derivative of f along v. It
        # gives the bend a = -Jᵀ (J Jᵀ + λ M)⁻¹ b; Transtrum & Sethna (2012).
        values = self._architecture.forward(weights + _AHEAD * steps, self._X)
        ahead = self._residuals(values, members)
        bent = (ahead - residuals - _AHEAD * state.push_forward(steps)) / _AHEAD**2
        bends = solve(bent, 10.0 * self._metric.accuracy)
        steps[failed.any(dim=1)] = torch.nan
        return steps.to(weights.dtype), bends.to(weights.dtype)

    def _residuals(self, values: Tensor, members: Tensor) -> Tensor:
        return (values - self._targets[members]).mT.reshape(len(members), -1)


def conjugate_gradients(
    product: Callable[[Tensor], Tensor],
    precondition: Callable[[Tensor], Tensor],
    right: Tensor,
    accuracy: float,  # of the residual relative to the right side, in the preconditioner's norm
) -> Tensor:
    """Solve k positive definite systems with right sides (k, m); Hestenes & Stiefel (1952)."""
    solution = torch.zeros_like(right)
    residual = right.clone()
    direction = torch.zeros_like(right)
    before = right.new_zeros(len(right))
    goal = before
    for number in range(_PRODUCTS):
        # s = P⁻¹ r with the preconditioner P
        scaled = precondition(residual)
        square = (residual * scaled).sum(dim=1)
        goal = accuracy**2 * square if number == 0 else goal
        going = square > goal
        if not going.any():
            break
        # d ← s + (rᵀs / previous rᵀs) d
        direction = scaled + torch.where(before > 0, square / before, 0.0)[:, None] * direction
        # x ← x + α d and r ← r - α A d, with α = rᵀs / dᵀ A d
        image = product(direction)
        length = torch.where(going, square / (direction * image).sum(dim=1), 0.0)[:, None]
        solution = solution + length * direction
        residual = residual - length * image
        before = square
    return solution


def fit_functions(
    architecture: MLP,
    weights: Floats,
    X: Floats,
    targets: Floats,  # t, (K, n, n_out)
    covariance: Array,  # diagonal blocks of S, (B, m, m)
    nuggets: Array,  # δ, (n_out,)
    rule: StoppingRule,
    device: str = "cpu",
    progress: str | None = None,
) -> TrainingResult:
    """Minimise eᵀ M⁻¹ e per direction, with e = f^ω(X) - t, from initial weights (K, d)."""
    place = torch.device(device)
    nugget = _FIRST_NUGGET
    metrics = []
    while nugget > 2.0 * nuggets.min():
        metrics.append(Metric(covariance, np.maximum(nuggets, nugget), device))
        nugget /= 10.0
    metrics.append(Metric(covariance, nuggets, device))
    points = torch.as_tensor(X, dtype=torch.float64, device=place)
    goals = torch.as_tensor(targets, dtype=torch.float64, device=place)

    def problems(members: Ints) -> list[FunctionFit]:
        return [FunctionFit(architecture, points, goals[members], metric) for metric in metrics]

    return fit_members(problems, weights, targets[0].size ** 2, rule, device, progress)
