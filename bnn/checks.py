"""Checks of hyper-parameters, each with an exact message."""

from __future__ import annotations

import numpy as np
import torch


def check_option(name: str, value, options) -> None:
    """Raise ValueError unless value is one of the options."""
    if value not in options:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(options)}")


def check_integer(name: str, value, smallest: int) -> None:
    """Raise ValueError unless value is an integer >= smallest."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
        raise ValueError(f"{name} = {value!r}: must be an integer >= {smallest}")


def check_device(device: str) -> None:
    """Raise ValueError unless device is "cpu", or "cuda" where that is available."""
    if device != "cpu" and not str(device).startswith("cuda"):
        raise ValueError(f"device = {device!r}: must be 'cpu' or 'cuda'")
    if device != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device = {device!r}: this PyTorch sees no CUDA device, use 'cpu'")
