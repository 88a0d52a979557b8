"""Activation functions with their derivatives, both written into given buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

LEAKY_SLOPE = 0.01
_aten = torch.ops.aten


@dataclass(frozen=True)
class Activation:
    """An activation a = φ(z) and the product δ ← δ φ'(z).

    Attributes:
        forward: (z, out) → out = φ(z).
        backward: (delta, z) → delta ← delta φ'(z), in place.
        gain: Factor on He's standard deviation, sqrt(2 / (1 + slope²)) for leaky ReLU.
    """

    forward: Callable[[Tensor, Tensor], object]
    backward: Callable[[Tensor, Tensor], object]
    gain: float


def _leaky_relu(z: Tensor, out: Tensor) -> None:
    _aten.leaky_relu.out(z, LEAKY_SLOPE, out=out)


def _leaky_relu_backward(delta: Tensor, z: Tensor) -> None:
    _aten.leaky_relu_backward.grad_input(delta, z, LEAKY_SLOPE, False, grad_input=delta)


def _relu(z: Tensor, out: Tensor) -> None:
    torch.clamp_min(z, 0.0, out=out)


def _relu_backward(delta: Tensor, z: Tensor) -> None:
    _aten.threshold_backward.grad_input(delta, z, 0.0, grad_input=delta)


def _tanh(z: Tensor, out: Tensor) -> None:
    torch.tanh(z, out=out)


def _tanh_backward(delta: Tensor, z: Tensor) -> None:
    _aten.tanh_backward.grad_input(delta, torch.tanh(z), grad_input=delta)


def _sigmoid(z: Tensor, out: Tensor) -> None:
    torch.sigmoid(z, out=out)


def _sigmoid_backward(delta: Tensor, z: Tensor) -> None:
    _aten.sigmoid_backward.grad_input(delta, torch.sigmoid(z), grad_input=delta)


def _silu(z: Tensor, out: Tensor) -> None:
    _aten.silu.out(z, out=out)


def _silu_backward(delta: Tensor, z: Tensor) -> None:
    _aten.silu_backward.grad_input(delta, z, grad_input=delta)


def _gelu(z: Tensor, out: Tensor) -> None:
    out.copy_(torch.nn.functional.gelu(z))  # its out= variant ignores strides


def _gelu_backward(delta: Tensor, z: Tensor) -> None:
    delta.copy_(_aten.gelu_backward(delta, z))


def _elu(z: Tensor, out: Tensor) -> None:
    _aten.elu.out(z, out=out)


def _elu_backward(delta: Tensor, z: Tensor) -> None:
    _aten.elu_backward.grad_input(delta, 1.0, 1.0, 1.0, False, z, grad_input=delta)


def _softplus(z: Tensor, out: Tensor) -> None:
    _aten.softplus.out(z, out=out)


def _softplus_backward(delta: Tensor, z: Tensor) -> None:
    _aten.softplus_backward.grad_input(delta, z, 1.0, 20.0, grad_input=delta)


def _identity(z: Tensor, out: Tensor) -> None:
    out.copy_(z)


def _identity_backward(delta: Tensor, z: Tensor) -> None:
    del delta, z


ACTIVATIONS = {
    "leaky_relu": Activation(
        _leaky_relu, _leaky_relu_backward, (2.0 / (1.0 + LEAKY_SLOPE**2)) ** 0.5
    ),
    "relu": Activation(_relu, _relu_backward, 2.0**0.5),
    "tanh": Activation(_tanh, _tanh_backward, 1.0),
    "sigmoid": Activation(_sigmoid, _sigmoid_backward, 1.0),
    "silu": Activation(_silu, _silu_backward, 2.0**0.5),
    "gelu": Activation(_gelu, _gelu_backward, 2.0**0.5),
    "elu": Activation(_elu, _elu_backward, 2.0**0.5),
    "softplus": Activation(_softplus, _softplus_backward, 2.0**0.5),
    "identity": Activation(_identity, _identity_backward, 1.0),
}
