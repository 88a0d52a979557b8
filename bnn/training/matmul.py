"""Choice of the fastest batched matrix product for a device."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bnn._validation import check_option


@dataclass(frozen=True)
class Products:
    """Batched products out[k] = A[k] B[k] of prepared matrices A (k, m, n) and B (k, n, p).

    The last axis of out, and one of the last two axes of B, must be contiguous.
    """

    operand: Callable[[Tensor], Any]  # tensor → view that multiply accepts; creating it takes time
    multiply: Callable[[Any, Any, Any], object]  # (A, B, out) → out ← A B


TORCH = Products(lambda tensor: tensor, lambda A, B, out: torch.bmm(A, B, out=out))


def has_feature(name: str) -> bool:
    """Return whether numba compiles for a processor with a feature, such as fma."""
    from llvmlite import binding
    from numba import config

    asked: str | None = vars(config)["CPU_FEATURES"]  # set by the variable NUMBA_CPU_FEATURES
    if asked is not None:
        return f"+{name}" in asked.split(",")
    return bool(binding.get_host_cpu_features().get(name, False))


def products_on(device: torch.device) -> Products:
    """Return our products on a CPU with FMA, unless BNN_PRODUCTS=torch; otherwise PyTorch's."""
    choice = os.environ.get("BNN_PRODUCTS", "own")
    check_option("BNN_PRODUCTS", choice, ("own", "torch"))
    if choice == "own" and device.type == "cpu" and has_feature("fma"):
        from bnn.training.vector_products import multiply  # imports numba

        return Products(Tensor.numpy, multiply)
    return TORCH
