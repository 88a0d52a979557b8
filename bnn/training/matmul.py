"""The fastest batched matrix product that a device has."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bnn._validation import check_option


@dataclass(frozen=True)
class Products:
    """Batched products out[k] = A[k] B[k] of prepared matrices (k, m, n) and (k, n, p).

    The last axis of out, and the last or the last but one of B, must be contiguous.
    """

    operand: Callable[[Tensor], Any]  # tensor → view that multiply takes; making it costs time
    multiply: Callable[[Any, Any, Any], object]  # (A, B, out) → out ← A B


TORCH = Products(lambda tensor: tensor, lambda A, B, out: torch.bmm(A, B, out=out))


def has_feature(name: str) -> bool:
    """Tell whether numba compiles for processors that have a feature, such as fma."""
    from llvmlite import binding
    from numba import config

    asked: str | None = vars(config)["CPU_FEATURES"]  # by the variable NUMBA_CPU_FEATURES
    if asked is not None:
        return f"+{name}" in asked.split(",")
    return bool(binding.get_host_cpu_features().get(name, False))


def products_on(device: torch.device) -> Products:
    """Return our own products on a CPU with FMA, unless BNN_PRODUCTS=torch; else PyTorch's."""
    choice = os.environ.get("BNN_PRODUCTS", "own")
    check_option("BNN_PRODUCTS", choice, ("own", "torch"))
    if choice == "own" and device.type == "cpu" and has_feature("fma"):
        from bnn.training.vector_products import multiply  # imports numba

        return Products(Tensor.numpy, multiply)
    return TORCH
