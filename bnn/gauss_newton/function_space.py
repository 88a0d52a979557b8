"""Networks fitted to given functions, in the metric of a posterior covariance."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bnn._validation import Array, Floats, Ints
from bnn.gauss_newton.jacobian import Linearisation
from bnn.gauss_newton.levenberg_marquardt import StoppingRule, fit_members
from bnn.networks.mlp import MLP
from bnn.training.loop import TrainingResult

_PRODUCTS = 200  # for a step at most
_AHEAD = 0.1  # of the step: where its bend is measured
# Smaller nuggets are reached from this one in steps of ten: the objective of a small one alone has
# a valley too narrow to follow.
_FIRST_NUGGET = 0.01
# Steps of larger problems wait for memory, so they are made in single precision where M allows it.
_LARGE = 4000  # residuals of a member
_JITTER = 1e-5  # relative, on the preconditioner's diagonal: rounding must not make it indefinite


class Metric:
    """The covariance M = S + D that residuals are measured with, D = δ² I for each output.

    S has diagonal blocks (B, m, m) with B m = n_out n, δ is (n_out,).
    """

    def __init__(self, S: Array | Tensor, deltas: Array | Tensor, device: str = "cpu") -> None:
        blocks, nuggets = (torch.as_tensor(values, device=device) for values in (S, deltas))
        size = blocks.shape[0] * blocks.shape[1]
        self._n = size // len(nuggets)
        own = nuggets.square().repeat_interleave(self._n).view(len(blocks), -1)
        self.blocks = blocks + torch.diag_embed(own)
        self._roots, failed = torch.linalg.cholesky_ex(self.blocks)
        if failed.any():
            raise ValueError(
                f"nugget = {float(nuggets.min()):.2g} in the networks' units: too small for "
                "double precision, give a larger nugget or noise"
            )
        self._own = own
        # The smaller δ² is, the more accurately a step has to be solved for: by measurement.
        self.accuracy = min(max(100.0 * float(nuggets.min()) ** 2, 1e-6), 0.01)
        self.mean_diagonal = float(self.blocks.diagonal(dim1=1, dim2=2).mean())
        rounding = torch.finfo(torch.float32).eps * float(self.blocks.abs().sum(dim=2).max())
        enough = size >= _LARGE and rounding < self.accuracy * float(nuggets.min()) ** 2
        self.step_blocks = self.blocks.float() if enough else self.blocks

    @cached_property
    def directions(self) -> float:
        """The effective number of directions, tr S M⁻¹, at least 1."""
        precisions = torch.cholesky_inverse(self._roots).diagonal(dim1=1, dim2=2)
        return max(precisions.numel() - float((self._own * precisions).sum()), 1.0)

    def squares(self, residuals: Tensor) -> Tensor:
        """Return eᵀ M⁻¹ e, (k,), of residuals e (k, n_out n)."""
        blocks = residuals.view(len(residuals), len(self.blocks), -1).permute(1, 2, 0)
        whitened: Tensor = torch.linalg.solve_triangular(self._roots, blocks, upper=False)
        return whitened.square().sum(dim=(0, 1))

    def multiply(self, vectors: Tensor) -> Tensor:
        """Return M v, (k, n_out n), of vectors v (k, n_out n) in the precision of steps."""
        blocks = vectors.view(len(vectors), len(self.blocks), -1).permute(1, 2, 0)
        return (self.step_blocks @ blocks).permute(2, 0, 1).reshape(vectors.shape)

    def add_outputs_to(self, matrices: Tensor, factors: Tensor) -> None:
        """Add factor · M of each output to its matrix of (k, n_out, n, n), in place."""
        per_block = matrices.shape[1] // len(self.blocks)
        for j in range(matrices.shape[1]):
            block, start = divmod(j, per_block)
            rows = slice(start * self._n, (start + 1) * self._n)
            matrices[:, j] += factors[:, None, None] * self.step_blocks[block, rows, rows]


class FunctionFit:
    """Objective eᵀ M⁻¹ e per direction, with e = f^ω(X) - t and targets t (k, n, n_out).

    The damped Gauss-Newton step -Jᵀ (J Jᵀ + λ M)⁻¹ e needs one system in the residuals. λ is
    relative to the mean diagonals of both terms. The system is solved by conjugate gradients,
    preconditioned by its diagonal blocks of each output: for one output, these are the system.
    A second one bends the step by the curvature of f^ω along it (geodesic acceleration).
    """

    lengths: Sequence[float] = (1.0, 0.5, 0.25)

    def __init__(self, architecture: MLP, X: Tensor, targets: Tensor, metric: Metric) -> None:
        self._architecture, self._X, self._metric = architecture, X, metric
        self._targets = targets

    def loss(self, weights: Tensor, members: Tensor) -> Tensor:
        """Return the objective, (k,)."""
        values = self._architecture.forward(weights, self._X)
        return self._metric.squares(self._residuals(values, members)) / self._metric.directions

    def step(self, weights: Tensor, members: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
        """Return damped Gauss-Newton steps, NaN where rounding forbids one, and their bends."""
        precision = self._metric.step_blocks.dtype
        state = Linearisation(self._architecture, weights.to(precision), self._X.to(precision))
        kernels = state.tangent_kernels()
        diagonal = kernels.diagonal(dim1=2, dim2=3)
        scale = diagonal.mean(dim=(1, 2)) / self._metric.mean_diagonal
        factors = damping.to(precision) * scale
        self._metric.add_outputs_to(kernels, factors)
        if precision == torch.float32:
            diagonal *= 1.0 + _JITTER
        roots, failed = torch.linalg.cholesky_ex(kernels)

        def product(v: Tensor) -> Tensor:
            damped = factors[:, None] * self._metric.multiply(v)
            return state.push_forward(state.pull_back(v)) + damped

        def precondition(v: Tensor) -> Tensor:
            # Several times as fast as torch.cholesky_solve for a single right side.
            half = torch.linalg.solve_triangular(roots, v.view(*roots.shape[:3], 1), upper=False)
            whole: Tensor = torch.linalg.solve_triangular(roots.mT, half, upper=True)
            return whole.view(v.shape)

        def solve(right: Tensor, accuracy: float) -> Tensor:
            found = conjugate_gradients(product, precondition, right.to(precision), accuracy)
            return -state.pull_back(found)

        residuals = self._residuals(self._architecture.forward(weights, self._X), members)
        steps = solve(residuals, self._metric.accuracy)
        # Half of the second derivative along the step, by a difference; Transtrum & Sethna (2012).
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
    accuracy: float,  # relative to the right sides, in the preconditioner's norm
) -> Tensor:
    """Solve k positive definite systems with right sides (k, m); Hestenes & Stiefel (1952)."""
    solution, residual, direction = torch.zeros_like(right), right.clone(), torch.zeros_like(right)
    before = goal = right.new_zeros(len(right))
    for number in range(_PRODUCTS):
        scaled = precondition(residual)
        square = (residual * scaled).sum(dim=1)
        goal = accuracy**2 * square if number == 0 else goal
        going = square > goal
        if not going.any():
            break
        direction = scaled + torch.where(before > 0, square / before, 0.0)[:, None] * direction
        image = product(direction)
        length = torch.where(going, square / (direction * image).sum(dim=1), 0.0)[:, None]
        solution, residual = solution + length * direction, residual - length * image
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
    """Minimise eᵀ M⁻¹ e per direction, e = f^ω(X) - t, from weights (K, d)."""
    place, nugget, metrics = torch.device(device), _FIRST_NUGGET, []
    while nugget > 2.0 * nuggets.min():
        metrics.append(Metric(covariance, np.maximum(nuggets, nugget), device))
        nugget /= 10.0
    metrics.append(Metric(covariance, nuggets, device))
    points, goals = (torch.as_tensor(v, dtype=torch.float64, device=place) for v in (X, targets))

    def problems(members: Ints) -> list[FunctionFit]:
        return [FunctionFit(architecture, points, goals[members], metric) for metric in metrics]

    return fit_members(problems, weights, targets[0].size ** 2, rule, device, progress)
