"""Choice of the fastest batched matrix product for a device."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bnn._validation import check_option
from bnn.training.processor import has_feature


@dataclass(frozen=True)
class Products:
    """Batched products out[k] = A[k] B[k] of prepared matrices A (k, m, n) and B (k, n, p).

    The last axis of out, and one of the last two axes of B, must be contiguous.
    """

    operand: Callable[[Tensor], Any]  # tensor → view that multiply accepts; creating it takes time
    multiply: Callable[[Any, Any, Any], object]  # (A, B, out) → out ← A B


TORCH = Products(lambda tensor: tensor, lambda A, B, out: torch.bmm(A, B, out=out))


def products_on(device: torch.device) -> Products:
    """Return our products on a CPU with AVX2 and FMA, unless BNN_PRODUCTS=torch, else PyTorch's."""
    choice = os.environ.get("BNN_PRODUCTS", "own")
    check_option("BNN_PRODUCTS", choice, ("own", "torch"))
    supported = device.type == "cpu" and has_feature("avx2") and has_feature("fma")
    if choice == "own" and supported:
        from bnn.training.vector_products import multiply  # imports numba

        return Products(Tensor.numpy, multiply)
    return TORCH
