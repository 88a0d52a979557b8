"""The fastest batched matrix product that a device has."""

import functools
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


@functools.cache
def _has_wide_vectors() -> bool:
    from llvmlite import binding

    return bool(binding.get_host_cpu_features().get("avx512f", False))


def products_on(device: torch.device) -> Products:
    """Return our own products on a CPU with AVX-512, unless BNN_PRODUCTS=torch; else PyTorch's."""
    choice = os.environ.get("BNN_PRODUCTS", "own")
    check_option("BNN_PRODUCTS", choice, ("own", "torch"))
    if choice == "own" and device.type == "cpu" and _has_wide_vectors():
        from bnn.training.avx512 import multiply  # imports numba

        return Products(Tensor.numpy, multiply)
    return TORCH
