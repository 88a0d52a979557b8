"""Networks fitted to given functions, in the metric of a posterior covariance."""

import torch
from torch import Tensor

from bnn._validation import Floats, Ints
from bnn.gauss_newton.jacobian import Linearisation
from bnn.gauss_newton.levenberg_marquardt import StoppingRule, fit_members
from bnn.networks.architecture import Architecture
from bnn.training.loop import TrainingResult


class Metric:
    """The covariance S + δ² I that residuals are measured with.

    S has diagonal blocks (B, m, m) with B m = n_out n. The effective number of directions is
    tr S (S + δ² I)⁻¹, at least 1.
    """

    def __init__(self, blocks: Tensor, nugget: float) -> None:
        noise = nugget**2 * torch.eye(blocks.shape[1], dtype=blocks.dtype, device=blocks.device)
        self.blocks = blocks + noise
        self._roots = torch.linalg.cholesky(self.blocks)
        traces = torch.cholesky_inverse(self._roots).diagonal(dim1=1, dim2=2).sum()
        self.directions = max(blocks.shape[0] * blocks.shape[1] - nugget**2 * float(traces), 1.0)
        self.mean_diagonal = float(self.blocks.diagonal(dim1=1, dim2=2).mean())

    def mean_square(self, residuals: Tensor) -> Tensor:
        """Return eᵀ (S + δ² I)⁻¹ e per direction, (k,), of residuals e (k, n_out n)."""
        blocks = residuals.view(len(residuals), len(self.blocks), -1).permute(1, 2, 0)
        whitened: Tensor = torch.linalg.solve_triangular(self._roots, blocks, upper=False)
        return whitened.square().sum(dim=(0, 1)) / self.directions

    def add_to(self, matrices: Tensor, factors: Tensor) -> None:
        """Add factor · S to each matrix (k, n_out n, n_out n), in place."""
        m = self.blocks.shape[1]
        for b, block in enumerate(self.blocks):
            rows = slice(b * m, (b + 1) * m)
            matrices[:, rows, rows] += factors[:, None, None] * block


class FunctionFit:
    """Objective eᵀ (S + δ² I)⁻¹ e per direction, with e = f^ω(X) - t and targets t (k, n, n_out).

    The damped Gauss-Newton step -Jᵀ (J Jᵀ + λ (S + δ² I))⁻¹ e needs one system in the residuals,
    which are fewer than the weights. λ is relative to the mean diagonals of both terms.
    """

    def __init__(
        self, architecture: Architecture, X: Tensor, targets: Tensor, metric: Metric
    ) -> None:
        self._architecture, self._X, self._metric = architecture, X, metric
        self._targets = targets

    def loss(self, weights: Tensor, members: Tensor) -> Tensor:
        """Return the objective, (k,)."""
        values = self._architecture.forward(weights, self._X)
        return self._metric.mean_square(self._residuals(values, members))

    def step(self, weights: Tensor, members: Tensor, damping: Tensor) -> Tensor:
        """Return damped Gauss-Newton steps, (k, d)."""
        state = Linearisation(self._architecture, weights, self._X)
        kernels = state.tangent_kernel()
        scale = kernels.diagonal(dim1=1, dim2=2).mean(dim=1) / self._metric.mean_diagonal
        self._metric.add_to(kernels, damping * scale)
        residuals = self._residuals(state.values, members)
        solution = torch.cholesky_solve(residuals[:, :, None], torch.linalg.cholesky(kernels))
        return -state.pull_back(solution[:, :, 0])

    def _residuals(self, values: Tensor, members: Tensor) -> Tensor:
        return (values - self._targets[members]).mT.reshape(len(members), -1)


def fit_functions(
    architecture: Architecture,
    weights: Floats,
    X: Floats,
    targets: Floats,  # t, (K, n, n_out)
    covariance: Floats,  # diagonal blocks of S, (B, m, m)
    nugget: float,  # δ
    rule: StoppingRule,
    device: str = "cpu",
    progress: str | None = None,
) -> TrainingResult:
    """Minimise eᵀ (S + δ² I)⁻¹ e per direction, e = f^ω(X) - t, from weights (K, d)."""
    place = torch.device(device)
    points, goals, blocks = (
        torch.as_tensor(v, dtype=torch.float64, device=place) for v in (X, targets, covariance)
    )
    metric = Metric(blocks, nugget)

    def problem(members: Ints, _: torch.device) -> FunctionFit:
        return FunctionFit(architecture, points, goals[members], metric)

    return fit_members(problem, weights, targets[0].size ** 2, rule, device, progress)
