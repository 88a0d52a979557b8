"""The fastest batched matrix product that a device has."""

from __future__ import annotations

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

    Attributes:
        operand: Tensor → what multiply takes, a view of it; made once, since views cost time.
        multiply: (A, B, out) → out ← A B. The last axis of out, and the last or the last but
            one of B, must be contiguous.
    """

    operand: Callable[[Tensor], Any]
    multiply: Callable[[Any, Any, Any], object]


def _identity(tensor: Tensor) -> Tensor:
    return tensor


def _bmm(A: Tensor, B: Tensor, out: Tensor) -> None:
    torch.bmm(A, B, out=out)


TORCH = Products(_identity, _bmm)


@functools.cache
def _has_wide_vectors() -> bool:
    from llvmlite import binding

    return bool(binding.get_host_cpu_features().get("avx512f", False))


def products_on(device: torch.device) -> Products:
    """Choose the products of a device.

    Args:
        device: Where the matrices lie.

    Returns:
        Our own products on processors with 512-bit vectors, see bnn.training.avx512, unless the
        environment variable BNN_PRODUCTS is "torch"; those of PyTorch elsewhere.

    Raises:
        ValueError: If BNN_PRODUCTS is neither "own" nor "torch".
    """
    choice = os.environ.get("BNN_PRODUCTS", "own")
    check_option("BNN_PRODUCTS", choice, ("own", "torch"))
    if choice == "own" and device.type == "cpu" and _has_wide_vectors():
        from bnn.training.avx512 import multiply  # imports numba

        return Products(Tensor.numpy, multiply)
    return TORCH
