"""Batched forward and backward passes, written out, in preallocated buffers.

Weights are kept layer by layer: block l is (k, (n_in + 1) n_out), the matrices [W; b] of k
networks. The bias is the kernel's last row, met by a constant 1 behind each activation, so that a
layer costs one batched product forward and two backward.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bnn.activations import ACTIVATIONS
from bnn.networks import Architecture

# In float32 numbers.
CACHE_LINE = 16


class LayerBlocks:
    """One flat buffer of k weight vectors, layer by layer.

    Args:
        architecture: The layout.
        k: Number of networks.
        device: Where the buffer lies.
    """

    def __init__(self, architecture: Architecture, k: int, device: torch.device) -> None:
        self.slices = [slice(s.start, s.stop) for s in architecture.layers]
        # Blocks start at cache lines and end in padding: matrix products depend, in the last bit,
        # on the alignment, and vector instructions round differently from the remainder loop.
        starts = [0]
        for columns in self.slices:
            size = k * (columns.stop - columns.start)
            starts.append(starts[-1] + -(-size // CACHE_LINE) * CACHE_LINE)
        self.flat = torch.zeros(starts[-1], device=device)
        self.blocks = [
            self.flat[start : start + k * (s.stop - s.start)].view(k, -1)
            for start, s in zip(starts, self.slices, strict=False)
        ]
        self.matrices = [
            block.view(k, layer.n_in + 1, layer.n_out)
            for block, layer in zip(self.blocks, architecture.layers, strict=True)
        ]

    def load(self, weights: Tensor) -> LayerBlocks:
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
    """Forward and backward pass of k networks on batches of one size.

    Arrays are (k, features, batch): the batch, a multiple of the vector length, is the fast axis.

    Args:
        architecture: The networks.
        k: Number of networks.
        batch: Points a network and pass.
        device: Where the buffers lie.
    """

    def __init__(
        self, architecture: Architecture, k: int, batch: int, device: torch.device
    ) -> None:
        self.activation = ACTIVATIONS[architecture.activation]
        widths = architecture.widths
        self.z = [torch.empty(k, n, batch, device=device) for n in widths[1:]]
        self.delta = [torch.empty_like(z) for z in self.z]
        self.inputs = [torch.ones(k, n + 1, batch, device=device) for n in widths[:-1]]

    def forward(self, X: Tensor, weights: LayerBlocks) -> Tensor:
        """Evaluate the networks.

        Args:
            X: Inputs with ones appended, (k, n_in + 1, batch).
            weights: The weights.

        Returns:
            Outputs, (k, n_out, batch), a buffer of this object.
        """
        self.inputs[0] = X
        last = len(self.z) - 1
        for index, (z, matrix) in enumerate(zip(self.z, weights.matrices, strict=True)):
            torch.bmm(matrix.transpose(1, 2), self.inputs[index], out=z)
            if index < last:
                self.activation.forward(z, self.inputs[index + 1][:, :-1])
        return self.z[-1]

    def backward(self, weights: LayerBlocks, gradients: LayerBlocks) -> None:
        """Write ∂loss/∂ω to the gradients, given ∂loss/∂f in self.delta[-1].

        Args:
            weights: Those of the last forward pass.
            gradients: Overwritten.
        """
        for index in range(len(self.z) - 1, -1, -1):
            delta = self.delta[index]
            torch.bmm(self.inputs[index], delta.transpose(1, 2), out=gradients.matrices[index])
            if index > 0:
                torch.bmm(weights.matrices[index][:, :-1], delta, out=self.delta[index - 1])
                self.activation.backward(self.delta[index - 1], self.z[index - 1])
