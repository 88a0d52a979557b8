"""Adam for a group of members: their data, forward and backward passes, losses."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bnn._validation import Floats, Ints
from bnn.networks.mlp import MLP
from bnn.training.backprop import LayerBlocks, Pass, with_ones
from bnn.training.execution import capture
from bnn.training.penalties import Regulariser
from bnn.training.settings import TrainingSettings

# At this count t of steps β^t is zero, so that Adam's bias corrections are 1 from the beginning.
_STEP_WITHOUT_CORRECTION = 1e9
_MASK = 0xFFFFFFFF  # selects the lowest 32 bits


@dataclass(frozen=True)
class Objective:
    """Precision P, penalty and anchors ω0 of the loss (y - f)ᵀ P (y - f) + penalty(ω - ω0)."""

    # P = Σ_noise⁻¹, (n_out, n_out), or per point, ((K,) N, n_out, n_out); None is the identity
    precision: Floats | None = None
    regulariser: Regulariser | None = None
    anchors: Floats | None = None  # ω0, (K, d); needed with a regulariser

    def of(self, members: Ints) -> "Objective":
        """Return the objective of the given members."""
        anchors = None if self.anchors is None else self.anchors[members]
        precision = self.precision
        if precision is not None and precision.ndim == 4:
            precision = precision[members]
        return Objective(precision, self.regulariser, anchors)


def _float32(values: Floats, device: torch.device) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float32, device=device)


class MemberData:
    """Data X (N, n_in) or (k, N, n_in) and y (k, N, n_out), in the order of the current epoch.

    If each point has a separate precision matrix, its entries are appended to the targets in y.
    """

    def __init__(
        self,
        X: Floats,
        y: Floats,
        seeds: NDArray[np.uint32],
        shuffled: bool,
        device: torch.device,
        precision: Floats | None = None,
    ) -> None:
        k, n = y.shape[:2]
        inputs = with_ones(_float32(X, device))
        targets = _float32(y, device)
        if precision is not None and precision.ndim > 2:
            entries = _float32(precision, device).flatten(-2)
            targets = torch.cat([targets, entries.expand(k, n, -1)], dim=2)
        self._offset = n * torch.arange(k, device=device)[:, None]
        self._shared = inputs.ndim == 2
        shape = (k, n, inputs.shape[-1])
        self.X = inputs.expand(shape).clone(memory_format=torch.contiguous_format)
        self.y = targets.clone()
        self._X = inputs.flatten(0, -2)
        self._y = targets.flatten(0, -2)
        self._shuffler = Shuffler(seeds, n, device) if shuffled else None

    def shuffle(self, epoch: int) -> None:
        """Bring the points into their order in an epoch."""
        if self._shuffler is None:
            return
        order = self._shuffler.permutations(epoch)
        rows = (order + self._offset).view(-1)
        torch.index_select(self._y, 0, rows, out=self.y.view(-1, self.y.shape[-1]))
        rows = order.view(-1) if self._shared else rows
        torch.index_select(self._X, 0, rows, out=self.X.view(-1, self.X.shape[-1]))


class Adam:
    """Fused Adam on flat buffers of weights and gradients; it changes the weights in place."""

    def __init__(self, weights: Tensor, gradients: Tensor, settings: TrainingSettings) -> None:
        self._weights = weights
        self._gradients = gradients
        self._moments = torch.zeros_like(weights), torch.zeros_like(weights)
        self._first = 0.0 if settings.bias_correction else _STEP_WITHOUT_CORRECTION
        self._count = torch.tensor(self._first, device=weights.device)
        self._constants: dict[str, Any] = {
            "lr": settings.learning_rate,
            "beta1": settings.beta1,
            "beta2": settings.beta2,
            "eps": settings.epsilon,
            "weight_decay": 0.0,
            "amsgrad": False,
            "maximize": False,
        }

    def step(self) -> None:
        """Update the weights with the current gradients."""
        first, second = self._moments
        self._count.add_(1.0)
        # torch.optim calls this operator too, but its overhead exceeds the time of some products.
        torch.ops.aten._fused_adam_(
            [self._weights],
            [self._gradients],
            [first],
            [second],
            [],
            [self._count],
            **self._constants,
        )

    def reset(self) -> None:
        """Reset the moments and the count of steps."""
        self._count.fill_(self._first)
        for moment in self._moments:
            moment.zero_()


class MemberGroup:
    """k members in training on X (N, n_in) or (k, N, n_in) and y (k, N, n_out)."""

    def __init__(
        self,
        architecture: MLP,
        weights: Floats,
        X: Floats,
        y: Floats,
        settings: TrainingSettings,
        seeds: NDArray[np.uint32],
        objective: Objective,
        device: torch.device,
    ) -> None:
        k, n = y.shape[:2]
        batch = min(settings.batch_size or n, n)
        self.data = MemberData(X, y, seeds, batch < n, device, objective.precision)
        self.weights = LayerBlocks(architecture, k, device).load(torch.as_tensor(weights))
        self.gradients = LayerBlocks(architecture, k, device)
        self.adam = Adam(self.weights.flat, self.gradients.flat, settings)
        self._batches = self._views(architecture, batch, n)
        self.n = n
        self._sums = settings.batch_sums
        self.loss = torch.zeros(k, device=device)
        self.record = torch.full((settings.epochs, k), torch.nan, device=device)
        self._precision = None
        if objective.precision is not None and objective.precision.ndim == 2:
            self._precision = _float32(objective.precision, device).repeat(k, 1, 1)
        self._add_penalty = None
        if objective.regulariser is not None:
            self._add_penalty = objective.regulariser.on(self.weights.slices, device)
            self._differences = LayerBlocks(architecture, k, device)
            self._anchors = LayerBlocks(architecture, k, device)
            self._anchors.load(torch.as_tensor(objective.anchors))
        self._start = self.weights.flat.clone()
        self._steps = capture(self.steps, self._restart) if device.type == "cuda" else self.steps

    def _views(
        self, architecture: MLP, batch: int, n: int
    ) -> list[tuple[Pass, Any, Tensor, Tensor | None]]:
        slices = [slice(start, min(start + batch, n)) for start in range(0, n, batch)]
        sizes = {points.stop - points.start for points in slices}
        passes = {size: Pass(architecture, self.weights, self.gradients, size) for size in sizes}
        runs = [passes[points.stop - points.start] for points in slices]
        views = []
        for run, points in zip(runs, slices, strict=True):
            y, entries = self.data.y[:, points].mT.tensor_split([architecture.n_outputs], dim=1)
            shape = len(entries), architecture.n_outputs, -1, entries.shape[2]
            P = entries.view(shape) if entries.shape[1] else None
            views.append((run, run.inputs(self.data.X[:, points]), y, P))
        return views

    def run_epoch(self, epoch: int) -> None:
        """Train on all data once, and record the losses."""
        self.data.shuffle(epoch)
        self._steps()
        torch.div(self.loss, self.n, out=self.record[epoch])

    def steps(self) -> None:
        """Take the steps of one epoch, always with the same calls on the same buffers."""
        self.loss.zero_()
        for run, inputs, y, P in self._batches:
            self._data_gradient(run.forward(inputs), y, P, run.delta)
            run.backward(inputs)
            self._penalty_gradient()
            self.adam.step()

    def _data_gradient(self, outputs: Tensor, y: Tensor, P: Tensor | None, delta: Tensor) -> None:
        # r = f - y, (k, n_out, b)
        residual = outputs.sub_(y)
        # δ = P r
        if self._precision is not None:
            torch.bmm(self._precision, residual, out=delta)
        elif P is not None:
            torch.sum(P * residual[:, None], dim=2, out=delta)
        else:
            delta.copy_(residual)
        # loss ← loss + Σ_i r_iᵀ P r_i
        self.loss.add_(residual.mul_(delta).sum(dim=(1, 2)))
        # ∂loss/∂f = 2 P r / b: a minibatch has the factor N / b, and all terms are divided by N
        delta.mul_(2.0 if self._sums else 2.0 / y.shape[2])

    def _penalty_gradient(self) -> None:
        if self._add_penalty is not None:
            # ω - ω0
            torch.sub(self.weights.flat, self._anchors.flat, out=self._differences.flat)
            scale = 1.0 if self._sums else 1.0 / self.n
            self._add_penalty(self._differences.blocks, self.gradients.blocks, scale)

    def _restart(self) -> None:
        self.weights.flat.copy_(self._start)
        self.adam.reset()


def _mix(x: Tensor) -> Tensor:
    """Hash 32-bit integers held in int64, in place (finaliser of MurmurHash3)."""
    x.bitwise_xor_(x >> 16).mul_(0x85EBCA6B).bitwise_and_(_MASK)
    x.bitwise_xor_(x >> 13).mul_(0xC2B2AE35).bitwise_and_(_MASK)
    return x.bitwise_xor_(x >> 16)


class Shuffler:
    """Permutations of n < 2^30 points for k members with seeds (k,) uint32.

    They depend only on the seed of a member and on the epoch, and are equal on all devices.
    """

    def __init__(self, seeds: NDArray[np.uint32], n: int, device: torch.device) -> None:
        self._seeds = torch.as_tensor(seeds.astype(np.int64), device=device)[:, None]
        self._index = torch.arange(n, device=device)
        self._bits = max(int(n - 1).bit_length(), 1)

    def permutations(self, epoch: int) -> Tensor:
        """Return the order of the points in an epoch, (k, n) int64, each row a permutation."""
        member = _mix((self._seeds + (epoch * 0x9E3779B9)) & _MASK)
        member = _mix(member ^ self._seeds)
        # The index in the low bits makes keys distinct, and sorted keys contain the permutation.
        keys = _mix(member ^ _mix(self._index + 0x632BE5AB))
        keys = keys.bitwise_left_shift_(self._bits).bitwise_or_(self._index)
        if keys.is_cuda:
            keys = torch.sort(keys, dim=1).values
        else:
            keys.numpy().sort(axis=1)
        return keys.bitwise_and_((1 << self._bits) - 1)
