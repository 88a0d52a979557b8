"""First-order expansion of K networks in their weights, at fixed points.

Entry j n + i of a vector over points and outputs is point i of output j.
"""

import torch
from torch import Tensor

from bnn.networks.activations import ACTIVATIONS
from bnn.networks.architecture import Architecture


class Linearisation:
    """Values of k networks with weights (k, d) at fixed points X, and products with Jacobians J."""

    def __init__(self, architecture: Architecture, weights: Tensor, X: Tensor) -> None:
        activation = ACTIVATIONS[architecture.activation]
        self._inputs, z = map(list, zip(*architecture.layer_values(weights, X), strict=True))
        self.values = z.pop()
        slopes = [torch.ones_like(values) for values in z]
        for slope, values in zip(slopes, z, strict=True):
            activation.backward(slope, values)
        layers = architecture.unpack(weights)
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
        total: Tensor = self.values.new_zeros(k, n_out, n, n_out, n)
        for j in range(n_out):
            total[:, j, :, j] = self._gram(-1)
        for layer, sensitivity in enumerate(self._sensitivities[::-1]):
            flat = sensitivity.reshape(k, n_out * n, -1)
            product = (flat @ flat.mT).view(k, n_out, n, n_out, n)
            total.addcmul_(product, self._gram(layer)[:, None, :, None])
        return total.view(k, n_out * n, n_out * n)

    def jacobian(self) -> Tensor:
        """Return J, (k, n_out n, d)."""
        k, n, n_out = self.values.shape
        last = torch.eye(n_out, dtype=self.values.dtype, device=self.values.device)
        last = last[None, :, None].expand(k, -1, n, -1)
        parts = []
        for inputs, sensitivity in zip(
            self._inputs, [*self._sensitivities[::-1], last], strict=True
        ):
            kernel = torch.einsum("kna,kjnw->kjnaw", inputs, sensitivity)
            parts += [kernel.flatten(3), sensitivity]
        return torch.cat(parts, dim=3).reshape(k, n_out * n, -1)

    def _gram(self, layer: int) -> Tensor:
        """Return a·a' + 1 of a layer's inputs, (k, n, n); 1 is the bias'."""
        inputs: Tensor = self._inputs[layer]
        return inputs @ inputs.mT + 1.0

    def pull_back(self, direction: Tensor) -> Tensor:
        """Return Jᵀ v, (k, d), of directions v (k, n_out n)."""
        k, n, n_out = self.values.shape
        direction = direction.view(k, n_out, n)
        deltas = [torch.einsum("kjn,kjnw->knw", direction, s) for s in self._sensitivities[::-1]]
        parts = []
        for inputs, delta in zip(self._inputs, [*deltas, direction.mT], strict=True):
            parts += [(inputs.mT @ delta).reshape(k, -1), delta.sum(dim=1)]
        return torch.cat(parts, dim=1)
