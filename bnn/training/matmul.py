"""The fastest batched matrix product that a device has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


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
    """Return our own products on processors with 512-bit vectors, those of PyTorch elsewhere."""
    if device.type == "cpu" and _has_wide_vectors():
        from bnn.training.avx512 import multiply  # imports numba

        return Products(Tensor.numpy, multiply)
    return TORCH
