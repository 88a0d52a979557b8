"""Activation functions and their derivatives, which write their results into given buffers."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

SLOPE = 0.01  # of the leaky ReLU
_aten = torch.ops.aten


@dataclass(frozen=True)
class Activation:
    """An activation a = φ(z) and the product δ ← δ φ'(z)."""

    forward: Callable[[Tensor, Tensor], object]  # (z, out) → out = φ(z)
    backward: Callable[[Tensor, Tensor], object]  # (δ, z) → δ ← δ φ'(z), in place
    gain: float = 2.0**0.5  # factor on He's standard deviation, sqrt(2 / (1 + slope²))


ACTIVATIONS = {
    "leaky_relu": Activation(
        lambda z, out: _aten.leaky_relu.out(z, SLOPE, out=out),
        lambda d, z: _aten.leaky_relu_backward.grad_input(d, z, SLOPE, False, grad_input=d),
        (2.0 / (1.0 + SLOPE**2)) ** 0.5,
    ),
    "relu": Activation(
        lambda z, out: torch.clamp_min(z, 0.0, out=out),
        lambda d, z: _aten.threshold_backward.grad_input(d, z, 0.0, grad_input=d),
    ),
    "tanh": Activation(
        lambda z, out: torch.tanh(z, out=out),
        lambda d, z: _aten.tanh_backward.grad_input(d, torch.tanh(z), grad_input=d),
        1.0,
    ),
    "silu": Activation(
        lambda z, out: _aten.silu.out(z, out=out),
        lambda d, z: _aten.silu_backward.grad_input(d, z, grad_input=d),
    ),
    "identity": Activation(lambda z, out: out.copy_(z), lambda _d, _z: None, 1.0),
}
