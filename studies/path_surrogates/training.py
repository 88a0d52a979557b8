"""Training of K networks side by side on stresses along paths, with Adam and squared errors.

Each network has its own minibatches, and validates on its own fifth of the paths. The learning rate
decreases along a cosine. The weights with the smallest validation error are kept.
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

    residuals: np.ndarray  # validation mean square error of each network and component, (K, 3)
    history: list[float]  # mean validation error at each validation


def parted(n: int, members: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the row numbers of training and validation paths of each network, (K, ...) each."""
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
        parameters: Parameters of the networks, whose first dimension is K.
        errors: Function that returns the mean square error of each component, (K, 3), for row
            numbers of paths, (K, B).
        rows: Training and validation rows from `parted`.
        rng: Generator for the minibatches.
        updates: Number of updates, divided by the square root of the number of paths.
        batch: Number of paths per update and network.
        rate: Initial learning rate.
        every: Number of updates between two validations.
        clip: Whether to limit the gradient norm of each network to one.

    Returns:
        Validation errors of the best weights, and their history.
    """
    learnt, held = rows
    adam = torch.optim.Adam(parameters, lr=rate)
    last = round(updates * math.sqrt(learnt.shape[1] + held.shape[1]))
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, last)
    best = np.full(len(learnt), np.inf)
    residuals = np.empty((len(learnt), 3))
    best_parameters = [parameter.detach().clone() for parameter in parameters]
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
                held_errors = errors(held).numpy()
            history.append(float(held_errors.mean()))
            better = np.flatnonzero(held_errors.mean(axis=1) < best)
            best[better] = held_errors[better].mean(axis=1)
            residuals[better] = held_errors[better]
            for old, new in zip(best_parameters, parameters, strict=True):
                old[better] = new.detach()[better]
    with torch.no_grad():
        for old, new in zip(best_parameters, parameters, strict=True):
            new.copy_(old)
    return Trained(residuals, history)


def minibatches(
    learnt: np.ndarray, size: int, updates: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield rows (K, size) for each update, in a random order per network and epoch."""
    size = min(size, learnt.shape[1])
    rows = learnt[:, :0]
    for _ in range(updates):
        if rows.shape[1] < size:
            rows = rng.permuted(learnt, axis=1)
        yield rows[:, :size]
        rows = rows[:, size:]


def _clip(parameters: Sequence[Tensor]) -> None:
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    squares = torch.stack([torch.square(g).flatten(1).sum(dim=1) for g in gradients]).sum(dim=0)
    factor = 1.0 / torch.sqrt(squares).clamp_min(1.0)
    for gradient in gradients:
        gradient.mul_(factor.view(-1, *[1] * (gradient.ndim - 1)))
