"""Shuffles that depend on (member seed, epoch) alone, on any device."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_MASK = 0xFFFFFFFF


def _mix(x: Tensor) -> Tensor:
    """Hash 32-bit integers held in int64, in place (finaliser of MurmurHash3)."""
    x.bitwise_xor_(x >> 16).mul_(0x85EBCA6B).bitwise_and_(_MASK)
    x.bitwise_xor_(x >> 13).mul_(0xC2B2AE35).bitwise_and_(_MASK)
    return x.bitwise_xor_(x >> 16)


class Shuffler:
    """Permutations of n < 2^30 points for k members with seeds (k,) uint32."""

    def __init__(self, seeds: NDArray[np.uint32], n: int, device: torch.device) -> None:
        self._seeds = torch.as_tensor(seeds.astype(np.int64), device=device)[:, None]
        self._index = torch.arange(n, device=device)
        self._bits = max(int(n - 1).bit_length(), 1)

    def permutations(self, epoch: int) -> Tensor:
        """Return the order of the points in an epoch, (k, n) int64, each row a permutation."""
        member = _mix((self._seeds + (epoch * 0x9E3779B9)) & _MASK)
        member = _mix(member ^ self._seeds)
        # The index in the low bits makes the keys distinct, so that sorting values is enough.
        keys = _mix(member ^ _mix(self._index + 0x632BE5AB))
        keys = keys.bitwise_left_shift_(self._bits).bitwise_or_(self._index)
        if keys.is_cuda:
            keys = torch.sort(keys, dim=1).values
        else:
            keys.numpy().sort(axis=1)
        return keys.bitwise_and_((1 << self._bits) - 1)
