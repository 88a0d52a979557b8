"""Tensors of PyTorch in modules that work without it."""

import sys
from typing import Any, TypeGuard


def is_tensor(value: object) -> TypeGuard[Any]:
    """Return whether a value is a tensor; nothing is while PyTorch has not been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
