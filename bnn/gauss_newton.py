"""Levenberg-Marquardt in dual form, for K networks with more weights than residuals.

Entry j n + i of a vector over points and outputs is point i of output j.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from bnn.activations import ACTIVATIONS
from bnn.networks import Architecture
from bnn.parallel import run_chunks

# Damping λ, relative to the mean diagonals of J Jᵀ and S: where it starts and where it ends.
_DAMPING = 1e-2
_LEAST_DAMPING, _MOST_DAMPING = 1e-8, 1e8
# Entries of the tangent kernels of a chunk.
_CHUNK_ENTRIES = 4_000_000


class Linearisation:
    """Values of k networks at fixed points, and products with their Jacobians J.

    Args:
        architecture: The networks.
        weights: ω, (k, d) float64.
        X: (n, n_in) float64.
    """

    def __init__(self, architecture: Architecture, weights: Tensor, X: Tensor) -> None:
        activation = ACTIVATIONS[architecture.activation]
        layers = architecture.unpack(weights)
        self._inputs, slopes = [X.expand(len(weights), -1, -1)], []
        for kernel, bias in layers[:-1]:
            z = torch.baddbmm(bias[:, None], self._inputs[-1], kernel)
            slopes.append(torch.ones_like(z))
            activation.backward(slopes[-1], z)
            self._inputs.append(torch.empty_like(z))
            activation.forward(z, self._inputs[-1])
        kernel, bias = layers[-1]
        self.values = torch.baddbmm(bias[:, None], self._inputs[-1], kernel)
        # ∂f_j(x_i) / ∂z of the hidden layers, (k, n_out, n, width), last layer first.
        self._sensitivities: list[Tensor] = []
        for (kernel, _), slope in zip(layers[:0:-1], slopes[::-1], strict=True):
            if self._sensitivities:
                above = self._sensitivities[-1] @ kernel[:, None].mT
            else:
                above = kernel.mT[:, :, None]
            self._sensitivities.append(above * slope[:, None])

    def tangent_kernel(self) -> Tensor:
        """Return J Jᵀ, (k, n_out n, n_out n), summed over layers without J itself."""
        k, n, n_out = self.values.shape
        total = self.values.new_zeros(k, n_out, n, n_out, n)
        for j in range(n_out):
            total[:, j, :, j] = self._gram(-1)
        for layer, sensitivity in enumerate(self._sensitivities[::-1]):
            flat = sensitivity.reshape(k, n_out * n, -1)
            product = (flat @ flat.mT).view(k, n_out, n, n_out, n)
            total.addcmul_(product, self._gram(layer)[:, None, :, None])
        return total.view(k, n_out * n, n_out * n)

    def _gram(self, layer: int) -> Tensor:
        """Return a·a' + 1 of a layer's inputs, (k, n, n); 1 is the bias'."""
        return self._inputs[layer] @ self._inputs[layer].mT + 1.0

    def pull_back(self, direction: Tensor) -> Tensor:
        """Return Jᵀ v, (k, d), of directions v (k, n_out n)."""
        k, n, n_out = self.values.shape
        direction = direction.view(k, n_out, n)
        deltas = [torch.einsum("kjn,kjnw->knw", direction, s) for s in self._sensitivities[::-1]]
        parts = []
        for inputs, delta in zip(self._inputs, [*deltas, direction.mT], strict=True):
            parts += [(inputs.mT @ delta).reshape(k, -1), delta.sum(dim=1)]
        return torch.cat(parts, dim=1)


class Metric:
    """The covariance S + δ² I that residuals are measured with.

    Args:
        blocks: Diagonal blocks of S, (B, m, m) with B m = n_out n.
        nugget: δ.

    Attributes:
        blocks: Of S + δ² I.
        directions: Their effective number tr S (S + δ² I)⁻¹, at least 1.
    """

    def __init__(self, blocks: Tensor, nugget: float) -> None:
        noise = nugget**2 * torch.eye(blocks.shape[1], dtype=blocks.dtype, device=blocks.device)
        self.blocks = blocks + noise
        self._roots = torch.linalg.cholesky(self.blocks)
        traces = torch.cholesky_inverse(self._roots).diagonal(dim1=1, dim2=2).sum()
        self.directions = max(blocks.shape[0] * blocks.shape[1] - nugget**2 * float(traces), 1.0)
        self.mean_diagonal = float(self.blocks.diagonal(dim1=1, dim2=2).mean())

    def mean_square(self, residuals: Tensor) -> Tensor:
        """Return eᵀ (S + δ² I)⁻¹ e a direction, (k,), of residuals e (k, n_out n)."""
        blocks = residuals.view(len(residuals), len(self.blocks), -1).permute(1, 2, 0)
        whitened = torch.linalg.solve_triangular(self._roots, blocks, upper=False)
        return whitened.square().sum(dim=(0, 1)) / self.directions

    def add_to(self, matrices: Tensor, factors: Tensor) -> None:
        """Add factor · S to each matrix (k, n_out n, n_out n), in place."""
        m = self.blocks.shape[1]
        for b, block in enumerate(self.blocks):
            rows = slice(b * m, (b + 1) * m)
            matrices[:, rows, rows] += factors[:, None, None] * block


@dataclass(frozen=True)
class Fit:
    """What came out of fitting K networks.

    Attributes:
        weights: (K, d) float32.
        losses: Objective a direction (of their effective number tr S (S + δ² I)⁻¹), at the start
            and after each iteration, (iterations + 1, K); NaN after a member ended.
        iterations: That each member took, (K,).
    """

    weights: np.ndarray
    losses: np.ndarray
    iterations: np.ndarray


def fit_functions(
    architecture: Architecture,
    weights: np.ndarray,
    X: np.ndarray,
    targets: np.ndarray,
    covariance: np.ndarray,
    *,
    nugget: float,
    iterations: int,
    closeness: float,
    device: str = "cpu",
    progress: str | None = None,
) -> Fit:
    """Minimise eᵀ (S + δ² I)⁻¹ e with e = f^ω(X) - t for each network.

    The damped Gauss-Newton step -Jᵀ (J Jᵀ + λ (S + δ² I))⁻¹ e needs one system in the residuals.

    Args:
        architecture: The networks.
        weights: Start, (K, d).
        X: (n, n_in).
        targets: t, (K, n, n_out).
        covariance: Diagonal blocks of S, (B, m, m) with B m = n_out n.
        nugget: δ.
        iterations: Budget of each member.
        closeness: A member ends when the objective a direction is at most this.
        device: "cpu" or "cuda".
        progress: Title of a progress bar; None for silence.

    Returns:
        The fitted networks.

    Source: Levenberg (1944), Marquardt (1963); the tangent kernel J Jᵀ is Jacot et al. (2018)'s.
    """
    place = torch.device(device)
    points, blocks = (
        torch.as_tensor(v, dtype=torch.float64, device=place) for v in (X, covariance)
    )
    metric = Metric(blocks, nugget)
    size = max(_CHUNK_ENTRIES // targets[0].size ** 2, 1)
    chunks = np.array_split(np.arange(len(weights)), -(-len(weights) // size))
    with tqdm(total=len(weights), desc=progress, disable=progress is None, unit="member") as bar:

        def run(members: np.ndarray, stop: threading.Event) -> tuple[Tensor, Tensor]:
            start, target = (
                torch.as_tensor(v[members], dtype=torch.float64, device=place)
                for v in (weights, targets)
            )
            solver = _LevenbergMarquardt(architecture, start, points, target, metric)
            record = solver.run(iterations, closeness, stop)
            bar.update(len(members))
            return solver.weights, record

        workers = torch.get_num_threads() if place.type == "cpu" else 1
        with torch.no_grad():
            parts = run_chunks(run, chunks, workers)
    losses = torch.cat([record for _, record in parts], dim=1).cpu().numpy()
    fitted = torch.cat([w for w, _ in parts]).cpu().numpy().astype(np.float32)
    return Fit(fitted, losses, np.isfinite(losses).sum(axis=0) - 1)


class _LevenbergMarquardt:
    """k networks under fit; each iteration tries one step a member, kept where it helps."""

    def __init__(
        self,
        architecture: Architecture,
        weights: Tensor,
        X: Tensor,
        targets: Tensor,
        metric: Metric,
    ) -> None:
        self.weights = weights.clone()
        self._architecture, self._X, self._metric = architecture, X, metric
        self._targets = targets
        self._damping = weights.new_full((len(weights),), _DAMPING)

    def run(self, iterations: int, closeness: float, stop: threading.Event) -> Tensor:
        """Iterate; return the record of mean squares, (iterations + 1, k)."""
        record = self.weights.new_full((iterations + 1, len(self.weights)), torch.nan)
        active = torch.arange(len(self.weights), device=self.weights.device)
        _, record[0] = self._residuals(self._linearise(self.weights), active)
        for iteration in range(1, iterations + 1):
            active = active[record[iteration - 1, active] > closeness]
            if len(active) == 0 or stop.is_set():
                break
            record[iteration, active] = self._step(active)
        return record

    def _step(self, active: Tensor) -> Tensor:
        state = self._linearise(self.weights[active])
        residuals, before = self._residuals(state, active)
        kernels = state.tangent_kernel()
        scale = kernels.diagonal(dim1=1, dim2=2).mean(dim=1) / self._metric.mean_diagonal
        self._metric.add_to(kernels, self._damping[active] * scale)
        roots = torch.linalg.cholesky(kernels)
        solution = torch.cholesky_solve(residuals[:, :, None], roots)[:, :, 0]
        moved = self.weights[active] - state.pull_back(solution)
        _, after = self._residuals(self._linearise(moved), active)
        better = after < before
        self.weights[active] = torch.where(better[:, None], moved, self.weights[active])
        factor = torch.where(better, 0.1, 10.0)
        self._damping[active] = (self._damping[active] * factor).clamp(
            _LEAST_DAMPING, _MOST_DAMPING
        )
        return torch.where(better, after, before)

    def _linearise(self, weights: Tensor) -> Linearisation:
        return Linearisation(self._architecture, weights, self._X)

    def _residuals(self, state: Linearisation, active: Tensor) -> tuple[Tensor, Tensor]:
        residuals = (state.values - self._targets[active]).mT.reshape(len(active), -1)
        return residuals, self._metric.mean_square(residuals)
