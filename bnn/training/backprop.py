"""Batched forward and backward passes without autograd, in preallocated buffers.

Weights are stored layer by layer: block l is (k, (n_in + 1) n_out), the matrices [W; b] of k
networks. The bias is the last row, which multiplies a constant 1 that is appended to the
activations. So a layer needs one batched product forward and two backward.
"""

from typing import Any, Self

import torch
from torch import Tensor

from bnn.networks.activations import ACTIVATIONS
from bnn.networks.mlp import MLP
from bnn.training.matmul import products_on

CACHE_LINE = 16  # in float32 numbers


class LayerBlocks:
    """One flat buffer for the weights of k networks, layer by layer."""

    def __init__(self, architecture: MLP, k: int, device: torch.device) -> None:
        self.slices = [slice(layer.start, layer.stop) for layer in architecture.layers]
        # Blocks start at cache lines and are padded to whole lines, so that results do not depend
        # on the number of networks. The last bit of a matrix product depends on its alignment, and
        # vector instructions round differently from the loop over the remaining numbers.
        starts = [0]
        for columns in self.slices:
            size = k * (columns.stop - columns.start)
            lines = -(-size // CACHE_LINE)  # rounded up
            starts.append(starts[-1] + lines * CACHE_LINE)
        self.flat = torch.zeros(starts[-1], device=device)
        self.blocks = []
        for start, columns in zip(starts[:-1], self.slices, strict=True):
            size = k * (columns.stop - columns.start)
            self.blocks.append(self.flat[start : start + size].view(k, -1))
        self.matrices = [
            block.view(k, layer.n_in + 1, layer.n_out)
            for block, layer in zip(self.blocks, architecture.layers, strict=True)
        ]

    def load(self, weights: Tensor) -> Self:
        """Copy weights (k, d) into the blocks."""
        for block, columns in zip(self.blocks, self.slices, strict=True):
            block.copy_(weights[:, columns])
        return self

    def export(self) -> Tensor:
        """Return the weights, (k, d)."""
        return torch.cat(self.blocks, dim=1)


def with_ones(X: Tensor) -> Tensor:
    """Append the constant input of the bias: (..., n_in) → (..., n_in + 1)."""
    return torch.cat([X, torch.ones_like(X[..., :1])], dim=-1)


class Pass:
    """Forward and backward pass of k networks on batches of one size; gradients are overwritten.

    Arrays are (k, features, batch), with the batch, often a multiple of the vector length, as the
    contiguous axis. All views are created once, because this takes as long as a small product.
    """

    def __init__(
        self, architecture: MLP, weights: LayerBlocks, gradients: LayerBlocks, batch: int
    ) -> None:
        self._activation = ACTIVATIONS[architecture.activation]
        k = len(weights.blocks[0])
        device = weights.flat.device
        widths = architecture.widths
        products = products_on(device)
        operand = products.operand
        self._operand = operand
        self._multiply = products.multiply
        self._z = [torch.empty(k, n, batch, device=device) for n in widths[1:]]
        self._deltas = [torch.empty_like(z) for z in self._z]
        hidden = [torch.ones(k, n + 1, batch, device=device) for n in widths[1:-1]]
        self._outlets = [values[:, :-1] for values in hidden]
        self._hidden = [operand(values) for values in hidden]
        self._products = [operand(z) for z in self._z]
        self._forward = [operand(matrix.transpose(1, 2)) for matrix in weights.matrices]
        self._kernels = [operand(matrix[:, :-1]) for matrix in weights.matrices]
        self._errors = [operand(delta) for delta in self._deltas]
        self._errors_transposed = [operand(delta.transpose(1, 2)) for delta in self._deltas]
        self._gradients = [operand(matrix) for matrix in gradients.matrices]

    @property
    def delta(self) -> Tensor:
        """Buffer for ∂loss/∂f, (k, n_out, batch), to be filled before backward() is called."""
        return self._deltas[-1]

    def inputs(self, X: Tensor) -> Any:
        """Prepare inputs with ones appended, (k, batch, n_in + 1), for forward() and backward()."""
        return self._operand(X.transpose(1, 2))

    def forward(self, inputs: Any) -> Tensor:
        """Evaluate the networks at prepared inputs; return a buffer (k, n_out, batch)."""
        for index, outlet in enumerate(self._outlets):
            # z = [W; b]ᵀ [a; 1], then a = φ(z)
            self._multiply(self._forward[index], inputs, self._products[index])
            self._activation.forward(self._z[index], outlet)
            inputs = self._hidden[index]
        self._multiply(self._forward[-1], inputs, self._products[-1])
        return self._z[-1]

    def backward(self, inputs: Any) -> None:
        """Write ∂loss/∂ω to the gradients, given prepared inputs and ∂loss/∂f in self.delta."""
        multiply = self._multiply
        errors = self._errors
        for index in range(len(self._z) - 1, 0, -1):
            below = index - 1
            # ∂loss/∂[W; b] = [a; 1] δᵀ
            multiply(self._hidden[below], self._errors_transposed[index], self._gradients[index])
            # δ of the layer below = φ'(z) W δ
            multiply(self._kernels[index], errors[index], errors[below])
            self._activation.backward(self._deltas[below], self._z[below])
        multiply(inputs, self._errors_transposed[0], self._gradients[0])
