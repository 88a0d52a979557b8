"""Optimisers of functional anchoring on one problem: python -m bench.function_fit prints the table.

The objective of each member is its mean squared distance to the posterior realisation, a direction
in units of the posterior variance; it counts as reached at `FunctionAnchoring.tolerance`.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple
from unittest import mock

import numpy as np
import torch
from torch import Tensor

import bnn.ensembles.function_anchoring as room
from bench.bnn import MATERIALS
from bnn import Architecture, FunctionAnchoring, TrainingSettings, anchor_functions, pretrain
from bnn.gauss_newton.function_space import Metric, fit_functions
from bnn.gauss_newton.levenberg_marquardt import StoppingRule
from figures.materials.problem import noise_std

TOLERANCE = FunctionAnchoring().tolerance
FACTOR = 5.0  # times what Gauss-Newton takes, for the other optimisers


class Task(NamedTuple):
    """What functional anchoring asks of the optimiser, for some members."""

    architecture: Architecture
    weights: np.ndarray  # (k, d)
    X: np.ndarray  # (n, n_in)
    targets: np.ndarray  # (k, n, n_out)
    covariance: np.ndarray  # (n_out, n, n)
    nuggets: np.ndarray  # (n_out,)

    def objective(self) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Start (k, d) and objective (k,) in float64; Architecture.forward keeps no gradients."""
        start, X, targets, blocks = (torch.as_tensor(v, dtype=torch.float64) for v in self[1:5])
        metric, phi = Metric(blocks, self.nuggets), torch.nn.functional.silu

        def objective(weights: Tensor) -> Tensor:
            values = X
            *hidden, (kernel, bias) = self.architecture.unpack(weights)
            for inner, shift in hidden:
                values = phi(values @ inner + shift[:, None])
            residuals = values @ kernel + bias[:, None] - targets
            squares = metric.squares(residuals.mT.reshape(len(targets), -1))
            return squares / metric.directions

        return start, objective


def make_task(n_members: int) -> Task:
    """The materials' problem with data drawn from its prior, pre-trained as usual."""
    X = 2.0 * np.random.default_rng(0).uniform(size=(50, 4)) - 1.0
    networks = pretrain(
        MATERIALS.prior, n_features=4, n_pretrained=n_members, hidden=(50, 50, 50),
        activation="silu", settings=TrainingSettings(epochs=500), random_state=0,
        input_bounds=None, output_bounds=None, prior_range=2.0,
    )  # fmt: skip
    y, brief = MATERIALS.prior.sample(X, 1, 1)[0], FunctionAnchoring(iterations=1)
    with mock.patch.object(room, "fit_functions", wraps=fit_functions) as fit:
        anchor_functions(networks, X, y, noise=noise_std(), settings=brief, random_state=0)
    return Task(*fit.call_args.args[:6])


def gauss_newton(task: Task) -> np.ndarray:
    """Objectives at the end of Gauss-Newton in dual form, as bnn takes it, (k,)."""
    fit = fit_functions(*task, StoppingRule(FunctionAnchoring().iterations, loss=TOLERANCE))
    return np.array([row[np.isfinite(row)][-1] for row in fit.losses.T])


def descend(optimiser_of: Callable, task: Task, seconds: float) -> np.ndarray:
    """Lowest objectives that a PyTorch optimiser of all members meets within the time, (k,)."""
    weights, objective = task.objective()
    optimiser = optimiser_of([weights.requires_grad_()])
    lowest = torch.full((len(weights),), torch.inf, dtype=torch.float64)

    def closure() -> Tensor:
        optimiser.zero_grad()
        losses = objective(weights)
        losses.sum().backward()
        torch.minimum(lowest, losses.detach(), out=lowest)
        return losses.sum()

    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds and bool((lowest > TOLERANCE).any()):
        optimiser.step(closure)
    return lowest.numpy()


def l_bfgs(task: Task, seconds: float) -> np.ndarray:
    """L-BFGS with strong Wolfe steps and an equal share of the time for each member, (k,)."""
    steps = {"max_iter": 2, "history_size": 100, "line_search_fn": "strong_wolfe"}
    members = [
        task._replace(weights=weights[None], targets=targets[None])
        for weights, targets in zip(task.weights, task.targets, strict=True)
    ]
    optimiser, share = partial(torch.optim.LBFGS, **steps), seconds / len(members)
    return np.concatenate([descend(optimiser, member, share) for member in members])


def report(name: str, optimise: Callable[..., np.ndarray], *arguments: object) -> float:
    """Print a line of the table; returns the seconds that the optimiser took."""
    begin = time.perf_counter()
    losses = optimise(*arguments)
    seconds, reached = time.perf_counter() - begin, int(np.sum(losses <= TOLERANCE))
    print(f"  {name:24}{seconds:6.1f} s  objective {losses.mean():8.3g}  {reached}/{len(losses)}")
    return seconds


def main() -> None:
    task = make_task(n_members=4)
    print(f"wall time, mean objective and members that reached {TOLERANCE}")
    seconds = FACTOR * report("Gauss-Newton, dual form", gauss_newton, task)
    report("L-BFGS, 100 pairs", l_bfgs, task, seconds)
    for rate in (1e-3, 3e-3):
        adam = partial(descend, partial(torch.optim.Adam, lr=rate))
        report(f"Adam, step {rate}", adam, task, seconds)


if __name__ == "__main__":
    main()
