"""First-order expansion of K networks in their weights, at fixed points.

Entry j n + i of a vector over points and outputs is point i of output j.
"""

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

from bnn.networks.activations import ACTIVATIONS
from bnn.networks.mlp import MLP

_ROWS = 400  # of a block of a kernel matrix: it stays in the cache during the sum over layers


class Linearisation:
    """Values of k networks with weights (k, d) at points X, and products with their Jacobian J."""

    def __init__(self, architecture: MLP, weights: Tensor, X: Tensor) -> None:
        activation = ACTIVATIONS[architecture.activation]
        inputs, z = zip(*architecture.layer_values(weights, X), strict=True)
        self._inputs = list(inputs)
        *hidden, self.values = z
        self._unpack = architecture.unpack
        self._layers = architecture.unpack(weights)
        self._slopes = [torch.ones_like(values) for values in hidden]
        for slope, values in zip(self._slopes, hidden, strict=True):
            activation.backward(slope, values)

    @cached_property
    def _sensitivities(self) -> list[Tensor]:
        """∂f_j(x_i) / ∂z for each hidden layer, (k, n_out, n, width)."""
        from_last: list[Tensor] = []
        for (kernel, _), slope in zip(self._layers[:0:-1], self._slopes[::-1], strict=True):
            above = from_last[-1] @ kernel[:, None].mT if from_last else kernel.mT[:, :, None]
            from_last.append(above * slope[:, None])
        return from_last[::-1]

    def tangent_kernels(self) -> Tensor:
        """Return the lower triangle of J Jᵀ for each output, (k, n_out, n, n), without forming J.

        Entries above the diagonal are invalid, because most of them are not computed.
        """
        k, n, n_out = self.values.shape
        total: Tensor = self.values.new_zeros(k, n_out, n, n)
        for start in range(0, n, _ROWS):
            end = min(start + _ROWS, n)
            rows = total[:, :, start:end, :end]
            rows += self._gram(-1, start, end)[:, None]
            for layer, sensitivity in enumerate(self._sensitivities):
                gram = self._gram(layer, start, end)
                # J Jᵀ += (s sᵀ) ∘ (a aᵀ + 1) per layer and output, without a buffer for all outputs
                for j, s in enumerate(sensitivity.unbind(dim=1)):
                    rows[:, j].addcmul_(s[:, start:end] @ s[:, :end].mT, gram)
        return total

    def jacobian(self) -> Tensor:
        """Return J, (k, n_out n, d)."""
        k, n, n_out = self.values.shape
        last = torch.eye(n_out, dtype=self.values.dtype, device=self.values.device)
        last = last[None, :, None].expand(k, -1, n, -1)
        parts = []
        for inputs, sensitivity in zip(self._inputs, [*self._sensitivities, last], strict=True):
            kernel = torch.einsum("kna,kjnw->kjnaw", inputs, sensitivity)
            parts += [kernel.flatten(3), sensitivity]
        return torch.cat(parts, dim=3).reshape(k, n_out * n, -1)

    def input_jacobian(self) -> Tensor:
        """Return ∂f_j(x_i) / ∂x, (k, n_out, n, n_in)."""
        kernel = self._layers[0][0]
        if not self._sensitivities:  # the output is linear in the inputs
            n = self.values.shape[1]
            return kernel.mT[:, :, None].expand(-1, -1, n, -1)
        return self._sensitivities[0] @ kernel[:, None].mT

    def _gram(self, layer: int, start: int, end: int) -> Tensor:
        """Return rows of a·a' + 1 for the inputs a of a layer, up to column end."""
        inputs: Tensor = self._inputs[layer]
        return inputs[:, start:end] @ inputs[:, :end].mT + 1.0  # 1: the bias

    def pull_back(self, direction: Tensor) -> Tensor:
        """Return Jᵀ v, (k, d), of directions v (k, n_out n)."""
        k, n, n_out = self.values.shape
        # δ is v at first, then φ'(z) W δ for the layer below. The gradients are aᵀ δ and Σ δ.
        delta = direction.view(k, n_out, n).mT
        parts = []
        for inputs, (kernel, _), slope in list(self._parts())[::-1]:
            delta = delta * slope
            parts += [delta.sum(dim=1), (inputs.mT @ delta).reshape(k, -1)]
            delta = delta @ kernel.mT
        return torch.cat(parts[::-1], dim=1)

    def push_forward(self, direction: Tensor) -> Tensor:
        """Return J u, (k, n_out n), of directions u (k, d)."""
        moved = torch.zeros_like(self._inputs[0])
        for (dW, db), (inputs, (kernel, _), slope) in zip(
            self._unpack(direction), self._parts(), strict=True
        ):
            # ∂z = a ∂W + ∂b + ∂a W, then ∂a = φ'(z) ∂z
            moved = (torch.baddbmm(db[:, None], inputs, dW) + moved @ kernel) * slope
        return moved.mT.reshape(len(direction), -1)

    def _parts(self) -> Iterator[tuple[Tensor, tuple[Tensor, Tensor], Tensor]]:
        """Return the inputs, weights and slopes φ'(z) of each layer; the last layer has slope 1."""
        last = self.values.new_ones(())
        return zip(self._inputs, self._layers, [*self._slopes, last], strict=True)
