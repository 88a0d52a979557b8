"""The written-out backward pass is the derivative of the forward pass."""

import pytest
import torch

from bnn.networks.activations import ACTIVATIONS
from bnn.networks.mlp import MLP
from bnn.training.backprop import LayerBlocks, Pass, with_ones


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_equals_autograd(activation):
    """∂/∂ω of a random linear functional of the outputs, against reverse-mode autograd."""
    torch.manual_seed(0)
    architecture = MLP((3, 7, 5, 2), activation)
    weights = 0.7 * torch.randn(4, architecture.n_weights)
    X = torch.randn(4, 6, 3)
    direction = torch.randn(4, 6, 2)

    blocks = LayerBlocks(architecture, 4, torch.device("cpu")).load(weights)
    gradients = LayerBlocks(architecture, 4, torch.device("cpu"))
    run = Pass(architecture, blocks, gradients, 6)
    inputs = run.inputs(with_ones(X))
    outputs = run.forward(inputs).transpose(1, 2).clone()
    run.delta.copy_(direction.transpose(1, 2))
    run.backward(inputs)

    leaf = weights.clone().requires_grad_()
    values = X
    names = {"identity": lambda z: z}
    phi = names.get(activation) or getattr(torch.nn.functional, activation)
    for layer, (kernel, bias) in zip(architecture.layers, architecture.unpack(leaf), strict=True):
        values = values @ kernel + bias[:, None]
        values = phi(values) if layer.index < 2 else values
    values.backward(direction)
    torch.testing.assert_close(outputs, values.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(outputs, architecture.forward(weights, X), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(gradients.export(), leaf.grad, rtol=1e-5, atol=1e-5)
