"""The posterior of a Gaussian process as a BoTorch model that can be conditioned on new results."""

import copy
from typing import Any, Self, TypeAlias

import numpy as np
import torch
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from sklearn.gaussian_process import kernels as sk
from sklearn.utils import gen_batches
from torch import Tensor

from bnn._validation import Array, Ints
from bnn.gp.conditioning import EIGENVALUE_ERROR, ENTRIES, ProcessPosterior
from bnn.gp.kernel import Gradient, check_finite
from bnn.gp.kernels import kernel_gradient
from bnn.gp.mixture import MixturePosterior, mixed
from bnn.gp.regressor import GPRegressor
from bnn.interop.selected_outputs import SelectedOutputs, broadcast
from bnn.interop.torch_noise import double

_Seeing: TypeAlias = tuple[sk.Kernel, list[int]]  # a kernel, and the indices of its inputs
MOST_SLOPES = 2**20  # kernel derivatives kept for the backward pass; more are recomputed


class _Kernels(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """Kernel values, (k, b, n, N + n), of points X (b, n, n_in) with N data and with X itself."""

    @staticmethod
    def forward(ctx: Any, X: Tensor, data: Array, kernels: list[_Seeing]) -> Tensor:
        """Return the values, and keep the derivatives for `backward` if they fit in memory."""
        points = X.numpy()
        b, n, n_in = points.shape
        diagonal = len(data) + np.arange(n)
        ctx.save_for_backward(X)
        ctx.constants = data, kernels
        keeps = ctx.needs_input_grad[0] and points.size * (len(data) + n) <= MOST_SLOPES
        ctx.slopes = []
        by_kernel = []
        for kernel, seen in kernels:
            flat = points.reshape(-1, n_in)[:, seen]
            if keeps:
                values, slopes = _with_slopes(points, data, kernel, seen)
                ctx.slopes.append(slopes)
            else:
                cross = kernel(flat, data[:, seen]).reshape(b, n, -1)
                values = _with_slopes(points, data[:0], kernel, seen)[0]
                values = np.concatenate([cross, values], axis=-1)
            # A white-noise kernel adds to the diagonal only.
            values[:, range(n), diagonal] = kernel.diag(flat).reshape(b, n)
            check_finite(kernel, values.reshape(b * n, -1), flat)
            by_kernel.append(values)
        return torch.from_numpy(np.stack(by_kernel))

    @staticmethod
    def backward(ctx: Any, *by_values: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient with respect to X, from that with respect to the values."""
        (X,) = ctx.saved_tensors
        data, kernels = ctx.constants
        by_points = torch.zeros_like(X)
        # x_i affects row i and column i of the symmetric matrix k(x_i, x_l).
        by_cross, by_k_xx = by_values[0].tensor_split([len(data)], dim=-1)
        both = torch.cat([by_cross, by_k_xx + by_k_xx.mT], dim=-1)[..., None, :]
        for number, (kernel, seen) in enumerate(kernels):
            if ctx.slopes:
                slopes = ctx.slopes[number]
            else:
                slopes = _with_slopes(X.numpy(), data, kernel, seen)[1]
            by_points[..., seen] += (both[number] @ torch.from_numpy(slopes)).squeeze(-2)
        return by_points, None, None


def _with_slopes(points: Array, data: Array, kernel: sk.Kernel, seen: list[int]) -> Gradient:
    """Return the values of `_Kernels`, and their gradients with respect to the kernel's inputs."""
    of_data = np.broadcast_to(data, (len(points), *data.shape))
    others = np.concatenate([of_data, points], axis=1)[..., seen]
    return kernel_gradient(kernel, points[..., seen][:, :, None], others[:, None])


class _Processes:
    """S Gaussian processes given the same data, in which the same outputs share kernels."""

    def __init__(self, posteriors: list[ProcessPosterior]) -> None:
        first = posteriors[0]
        n_in = first.X.shape[1]
        self.data = first.X
        self.solved = torch.stack([double(p.solved) for p in posteriors])
        self.axes = torch.stack([double(p.axes) for p in posteriors])
        self.pairs = self.axes[:, :, None] * self.axes[:, None]
        self.coupled = first.coupled
        self.alike = first.prior.alike
        slopes, constants = zip(*(p.prior.linear_mean(n_in) for p in posteriors), strict=True)
        self.mean = [torch.stack([double(a) for a in values]) for values in (slopes, constants)]
        self.different = sorted(set(self.alike))
        priors = [p.prior for p in posteriors]
        self.kernels = [
            (prior.kernels[j], prior.active_dims_of(j, n_in))
            for j in self.different
            for prior in priors
        ]
        for kernel, seen in self.kernels:  # raises an error if there is no gradient
            kernel_gradient(kernel, first.X[:1, seen], first.X[:1, seen])
        self.columns = first.columns
        self.factors = []
        for factor, *others in zip(*(p.factors for p in posteriors), strict=True):
            roots = torch.stack([double(one.root) for one in (factor, *others)])
            self.factors.append((factor.output, roots, factor.missing))

    def moments(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Return means (S, b, n, n_out) and covariances (S, b, n n_out, n n_out) at X."""
        b, n, _ = X.shape
        S, N, n_out = self.solved.shape
        function: Any = _Kernels
        values = function.apply(X, self.data, self.kernels).reshape(-1, S, b, n, N + n)
        cross = dict(zip(self.different, values[..., :N].unbind(), strict=True))
        k_xx = dict(zip(self.different, values[..., N:].unbind(), strict=True))
        columns = [cross[j] @ self.solved[:, None, :, [c]] for c, j in enumerate(self.alike)]
        A, a = self.mean
        mean = torch.cat(columns, dim=-1) @ self.axes[:, None].mT
        mean = mean + X @ A[:, None].mT + a[:, None, None]
        if self.coupled:
            joined = [_block_diagonal([parts[j] for j in self.alike]) for parts in (cross, k_xx)]
            [(_, roots, gone)] = self.factors
            blocks = joined[1] - _explained(roots, joined[0], gone)
            joint = blocks.reshape(S, b, n_out, n, n_out, n).permute(0, 1, 3, 2, 5, 4)
        else:
            left = [k_xx[j] - _explained(roots, cross[j], gone) for j, roots, gone in self.factors]
            blocks = torch.stack([left[number] for number in self.columns], dim=1)
            # Cov(f_j(x_i), f_k(x_l)) = Σ_c U_jc S_c,il U_kc
            joint = torch.einsum("sjkc,scbil->sbijlk", self.pairs, blocks)
        return mean, joint.reshape(S, b, n * n_out, n * n_out)


def _explained(roots: Tensor, cross: Tensor, missing: Ints) -> Tensor:
    """Return Wᵀ W with W = L⁻¹ k(X_train, X), from L (S, N, N) and k(X, X_train) (S, b, n, N)."""
    if missing.size:
        there = torch.ones(roots.shape[-1], dtype=torch.float64)
        there[missing] = 0.0
        cross = cross * there
    # The points of all batches are columns of one matrix, so that L is not copied for each batch.
    whitened: Tensor = torch.linalg.solve_triangular(roots, cross.flatten(1, 2).mT, upper=False)
    rows = whitened.mT.reshape(cross.shape)
    return rows @ rows.mT


def _block_diagonal(blocks: list[Tensor]) -> Tensor:
    """Return a matrix, (..., k n, k m), with blocks (..., n, m) on its diagonal."""
    rows = []
    for j, block in enumerate(blocks):
        zeros = torch.zeros_like(block)
        rows.append(torch.cat([zeros] * j + [block] + [zeros] * (len(blocks) - j - 1), dim=-1))
    return torch.cat(rows, dim=-2)


class BotorchProcess(SelectedOutputs, Model):  # type: ignore[misc, unused-ignore]
    """A Gaussian process with the mean and covariance of the posterior, conditioned on results."""

    def __init__(self, model: GPRegressor) -> None:
        super().__init__()
        posterior = model.posterior_
        n_out = model.y_.shape[1]
        posteriors, weights = mixed(posterior)
        # Processes with the same structure are computed together.
        groups: dict[Any, list[int]] = {}
        for number, p in enumerate(posteriors):
            key = p.coupled, tuple(p.prior.alike), tuple(p.columns)
            groups.setdefault(key, []).append(number)
        self.processes = [_Processes([posteriors[i] for i in group]) for group in groups.values()]
        # The outputs of a mixture are independent unless their noise is correlated.
        self.apart = isinstance(posterior, MixturePosterior) and posterior.independent
        self.weights = double(weights[np.concatenate(list(groups.values()))])
        self.noise = model.noise_
        self.n_outputs = n_out
        self.outputs = list(range(n_out))
        variances = np.max([p.prior.variances(model.X_).max(axis=1) for p in posteriors], axis=0)
        # Rounding errors of k - Wᵀ W
        self.errors = double(EIGENVALUE_ERROR * len(model.X_) * variances)
        # Results on which the model is conditioned: inputs, outputs, values and noise.
        self.at: Tensor = torch.empty(0, model.X_.shape[1], dtype=torch.float64)
        self.entries: list[int] = []  # index of point times n_outputs, plus index of output
        self.values: Tensor = torch.empty(0, dtype=torch.float64)
        self.of_values: Tensor = torch.empty(0, 0, dtype=torch.float64)

    @property
    def batch_shape(self) -> torch.Size:
        """Batch shape of the model; empty before the model is conditioned."""
        return self.values.shape[:-1]

    def _mixed(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean (..., n, n_out), covariance (..., n n_out, n n_out) before conditioning."""
        flat = X.reshape(-1, *X.shape[-2:])
        n = X.shape[-2]
        n_data = len(self.processes[0].data)
        size = max(ENTRIES // (n * (n_data + n) * len(self.weights)), 1)
        moments = [self._mixed_batches(flat[rows]) for rows in gen_batches(len(flat), size)]
        mean, joint = (torch.cat(batches) for batches in zip(*moments, strict=True))
        batch = X.shape[:-2]
        return mean.reshape(*batch, n, -1), joint.reshape(*batch, *joint.shape[1:])

    def _mixed_batches(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and covariance of `_mixed` at X (b, n, n_in)."""
        n = X.shape[-2]
        moments = [processes.moments(X) for processes in self.processes]
        means, covariances = (torch.cat(groups) for groups in zip(*moments, strict=True))
        # Cov f = Σ_s w_s (S_s + (m_s - m) (m_s - m)ᵀ), with √w_sj √w_sk between outputs j and k
        mean = torch.einsum("sj,sbnj->bnj", self.weights, means)
        roots = self.weights.sqrt()
        away = (roots[:, None, None] * (means - mean)).flatten(-2)
        roots = roots.repeat(1, n)[:, None, :, None]
        joint = (roots * covariances * roots.mT).sum(dim=0) + torch.einsum(
            "sbi,sbk->bik", away, away
        )
        joint = joint + torch.diag(self.errors.repeat(n))
        if self.apart:
            joint = joint * torch.eye(self.n_outputs, dtype=joint.dtype).repeat(n, n)
        return mean, joint

    def _moments(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean (..., n, q) and covariance (..., n q, n q) of the outputs of this model."""
        n = X.shape[-2]
        at_X = [i * self.n_outputs + j for i in range(n) for j in self.outputs]
        if not self.entries:
            mean, joint = self._mixed(X)
            return mean[..., self.outputs], joint[..., at_X, :][..., at_X]
        batch = broadcast(X.shape[:-2], self.batch_shape)
        both = [points.expand(*batch, *points.shape[-2:]) for points in (X, self.at)]
        mean, joint = self._mixed(torch.cat(both, dim=-2))
        results = [n * self.n_outputs + i for i in self.entries]
        # A = C(results, results) + Σ = L Lᵀ, W = L⁻¹ C(results, X)
        L = torch.linalg.cholesky(joint[..., results, :][..., results] + self.of_values)
        W = torch.linalg.solve_triangular(L, joint[..., results, :][..., at_X], upper=False)
        flat = mean.flatten(-2)
        misfit = (self.values - flat[..., results]).unsqueeze(-1)
        shift = (W.mT @ torch.linalg.solve_triangular(L, misfit, upper=False)).squeeze(-1)
        mean = (flat[..., at_X] + shift).reshape(*batch, n, -1)
        return mean, joint[..., at_X, :][..., at_X] - W.mT @ W

    def _posterior(self, X: Tensor, observation_noise: bool | Tensor) -> Any:
        points = X.to(torch.float64)
        mean, joint = self._moments(points)
        if observation_noise is not False:
            joint = joint + self._noise(points, observation_noise)
        if len(self.outputs) == 1:
            distribution: Any = MultivariateNormal(mean.squeeze(-1), joint)
        else:
            distribution = MultitaskMultivariateNormal(mean, joint)
        return GPyTorchPosterior(distribution)

    def condition_on_observations(
        self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **_: Any
    ) -> Self:
        """Return the model conditioned on results.

        Args:
            X: Inputs of the results, (..., n, n_in).
            Y: Results, (..., n, n_out).
            noise: Variances of the results, of the shape of Y; None means the fitted noise.

        Returns:
            The conditioned model.
        """
        points = X.to(torch.float64)
        of_values = self._noise(points, noise)
        batch = broadcast(points.shape[:-2], Y.shape[:-2], of_values.shape[:-2], self.batch_shape)
        model = copy.copy(self)
        start = self.at.shape[-2]
        numbers = range(start, start + points.shape[-2])
        pairs = (self.at, points)
        model.at = torch.cat([p.expand(*batch, *p.shape[-2:]) for p in pairs], dim=-2)
        model.entries = self.entries + [
            i * self.n_outputs + j for i in numbers for j in self.outputs
        ]
        flat = self.values, Y.to(torch.float64).flatten(-2)
        model.values = torch.cat([v.expand(*batch, v.shape[-1]) for v in flat], dim=-1)
        k = len(self.entries)
        joined = torch.zeros(*batch, len(model.entries), len(model.entries), dtype=torch.float64)
        joined[..., :k, :k] = self.of_values
        joined[..., k:, k:] = of_values
        model.of_values = joined
        return model

    def fantasize(
        self, X: Tensor, sampler: Any, observation_noise: Tensor | None = None, **_: Any
    ) -> Self:
        """Return the model conditioned on results that a sampler draws at X (..., n, n_in)."""
        drawn = sampler(
            self.posterior(
                X, observation_noise=True if observation_noise is None else observation_noise
            )
        )
        return self.condition_on_observations(X, drawn, observation_noise)
