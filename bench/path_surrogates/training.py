"""Training of K networks side by side on stresses along paths, by Adam on the squared error.

Each network has its own minibatches and its own fifth of the paths for validation. The learning
rate falls along a cosine, and the weights with the smallest validation error are kept.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

VALIDATION = 0.2  # of the paths


@dataclass
class Trained:
    """Results of training in addition to the weights."""

    residuals: np.ndarray  # mean square error of each network and component (K, 3), validation
    history: list[float]  # mean of the same at each validation


def parted(n: int, members: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Paths for training and for validation of each network, (K, ...) row numbers."""
    orders = np.array([rng.permutation(n) for _ in range(members)])
    held = max(round(VALIDATION * n), 1)
    return orders[:, held:], orders[:, :held]


def train(
    parameters: Sequence[Tensor],
    errors: Callable[[np.ndarray], Tensor],
    rows: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
    *,
    updates: float,
    batch: int,
    rate: float,
    every: int,
    clip: bool = False,
) -> Trained:
    """Train networks, and leave them with their best weights.

    Args:
        parameters: Of the networks, whose first dimension is K.
        errors: Rows (K, B) of the paths → mean square error of each component, (K, 3).
        rows: As `parted` returns them.
        rng: For the minibatches.
        updates: Number of updates, over the root of the number of paths.
        batch: Paths of an update.
        rate: First learning rate.
        every: Updates between two validations.
        clip: Whether the gradient of each network has at most the norm one.
    """
    learnt, held = rows
    adam = torch.optim.Adam(parameters, lr=rate)
    last = round(updates * math.sqrt(learnt.shape[1] + held.shape[1]))
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, last)
    best = np.full(len(learnt), np.inf)
    residuals = np.empty((len(learnt), 3))
    kept = [each.detach().clone() for each in parameters]
    history = []
    for update, now in enumerate(minibatches(learnt, batch, last, rng), start=1):
        adam.zero_grad()
        errors(now).mean(dim=1).sum().backward()
        if clip:
            _clip(parameters)
        adam.step()
        falling.step()
        if update % every == 0 or update == last:
            with torch.no_grad():
                found = errors(held).numpy()
            history.append(float(found.mean()))
            better = np.flatnonzero(found.mean(axis=1) < best)
            best[better] = found[better].mean(axis=1)
            residuals[better] = found[better]
            for old, new in zip(kept, parameters, strict=True):
                old[better] = new.detach()[better]
    with torch.no_grad():
        for old, new in zip(kept, parameters, strict=True):
            new.copy_(old)
    return Trained(residuals, history)


def minibatches(
    learnt: np.ndarray, size: int, updates: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Rows (K, size) for each update: each network has its own order, a new one when used up."""
    size = min(size, learnt.shape[1])
    rows = learnt[:, :0]
    for _ in range(updates):
        if rows.shape[1] < size:
            rows = rng.permuted(learnt, axis=1)
        yield rows[:, :size]
        rows = rows[:, size:]


def _clip(parameters: Sequence[Tensor]) -> None:
    gradients = [each.grad for each in parameters if each.grad is not None]
    squares = torch.stack([torch.square(g).flatten(1).sum(dim=1) for g in gradients]).sum(dim=0)
    factor = 1.0 / torch.sqrt(squares).clamp_min(1.0)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.ndim - 1)))
