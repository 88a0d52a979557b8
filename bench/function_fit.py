"""Optimisers of functional anchoring on one problem: python -m bench.function_fit prints the table.

The objective of each member is its mean squared distance to the posterior realisation, a direction
in units of the posterior variance; it counts as reached at `FunctionAnchoring.tolerance`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import torch
from torch import Tensor

import bnn.ensembles.function_anchoring
from bench.bnn import MATERIALS
from bnn import Architecture, FunctionAnchoring, TrainingSettings, anchor_functions, pretrain
from bnn.gauss_newton.function_space import Metric, fit_functions
from bnn.gauss_newton.levenberg_marquardt import StoppingRule

TOLERANCE = FunctionAnchoring().tolerance
ACTIVATIONS = {"silu": (50, 50, 50), "leaky_relu": (20, 20, 20, 20)}


@dataclass(frozen=True)
class Task:
    """What functional anchoring asks of the optimiser, for some members."""

    architecture: Architecture
    weights: np.ndarray  # (k, d)
    X: np.ndarray  # (n, n_in)
    targets: np.ndarray  # (k, n, n_out)
    covariance: np.ndarray  # (n_out, n, n)
    nugget: float

    def _forward(self, weights: Tensor, X: Tensor) -> Tensor:
        """Outputs (k, n, n_out) at X; Architecture.forward keeps no gradients."""
        phi = getattr(torch.nn.functional, self.architecture.activation)
        values, last = X, len(self.architecture.layers) - 1
        for number, (kernel, bias) in enumerate(self.architecture.unpack(weights)):
            values = values @ kernel + bias[:, None]
            values = phi(values) if number < last else values
        return values

    def objective(self) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Start (k, d) and objective (k,) in float64."""
        X, targets, blocks = (
            torch.as_tensor(v, dtype=torch.float64) for v in (self.X, self.targets, self.covariance)
        )
        metric = Metric(blocks, self.nugget)

        def objective(weights: Tensor) -> Tensor:
            residuals = self._forward(weights, X) - targets
            return metric.mean_square(residuals.mT.reshape(len(targets), -1))

        return torch.as_tensor(self.weights, dtype=torch.float64), objective

    def member(self, k: int) -> Task:
        """The problem of one member."""
        return replace(self, weights=self.weights[k : k + 1], targets=self.targets[k : k + 1])


def make_task(n_members: int, activation: str, n_data: int = 50) -> Task:
    """The materials' problem with data drawn from its prior, pre-trained as usual."""
    X = 2.0 * np.random.default_rng(0).uniform(size=(n_data, 4)) - 1.0
    pretrained = pretrain(
        MATERIALS.prior,
        n_features=4,
        n_pretrained=n_members,
        hidden=ACTIVATIONS[activation],
        activation=activation,
        settings=TrainingSettings(epochs=500),
        random_state=0,
    )
    with mock.patch.object(
        bnn.ensembles.function_anchoring, "fit_functions", wraps=fit_functions
    ) as fit:
        anchor_functions(
            pretrained,
            X,
            MATERIALS.prior.sample(X, 1, 1)[0],
            noise=np.array([0.066, 0.0388, 0.0193, 0.0524, 0.25]),
            settings=FunctionAnchoring(iterations=1),
            random_state=0,
        )
    return Task(*fit.call_args.args[:6])


def gauss_newton(task: Task) -> np.ndarray:
    """Objectives at the end of Gauss-Newton in dual form, as bnn takes it, (k,)."""
    fit = fit_functions(
        task.architecture, task.weights, task.X, task.targets, task.covariance, task.nugget,
        StoppingRule(FunctionAnchoring().iterations, loss=TOLERANCE),
    )  # fmt: skip
    return np.array([row[np.isfinite(row)][-1] for row in fit.losses.T])


def adam(task: Task, seconds: float, rate: float) -> np.ndarray:
    """Lowest objectives within the time, all members at once on the full batch, (k,)."""
    weights, objective = task.objective()
    weights.requires_grad_()
    optimiser = torch.optim.Adam([weights], lr=rate)
    best, begin = torch.full((len(weights),), torch.inf, dtype=torch.float64), time.perf_counter()
    while time.perf_counter() - begin < seconds and not bool((best <= TOLERANCE).all()):
        optimiser.zero_grad()
        losses = objective(weights)
        losses.sum().backward()
        optimiser.step()
        best = torch.minimum(best, losses.detach())
    return best.numpy()


def l_bfgs(task: Task, seconds: float) -> np.ndarray:
    """Objectives after an equal share of the time for each member, strong Wolfe steps, (k,)."""
    k, found = len(task.weights), []
    for number in range(k):
        weights, objective = task.member(number).objective()
        weights.requires_grad_()
        optimiser = torch.optim.LBFGS(
            [weights], max_iter=2, history_size=100, line_search_fn="strong_wolfe"
        )

        def closure(weights=weights, objective=objective, optimiser=optimiser) -> Tensor:
            optimiser.zero_grad()
            loss = objective(weights).sum()
            loss.backward()
            return loss

        begin, loss = time.perf_counter(), float("inf")
        while time.perf_counter() - begin < seconds / k and loss > TOLERANCE:
            optimiser.step(closure)
            loss = float(objective(weights.detach()))
        found.append(loss)
    return np.array(found)


OPTIMISERS = {
    "L-BFGS, 100 pairs": l_bfgs,
    "Adam, step 0.001": lambda task, seconds: adam(task, seconds, 1e-3),
    "Adam, step 0.003": lambda task, seconds: adam(task, seconds, 3e-3),
}


def row(name: str, seconds: float, losses: np.ndarray) -> str:
    """A line of the table."""
    reached = int(np.sum(losses <= TOLERANCE))
    return f"  {name:24}{seconds:6.1f} s  objective {np.mean(losses):8.3g}  {reached}/{len(losses)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--activation", choices=ACTIVATIONS, default="silu")
    parser.add_argument("--factors", type=float, nargs="+", default=[1.0, 5.0])
    arguments = parser.parse_args()
    task = make_task(arguments.members, arguments.activation)
    start, objective = task.objective()
    print(ACTIVATIONS[arguments.activation], arguments.activation, end=", ")
    print(f"objective at the start {float(objective(start).mean()):.0f}")
    print(f"  wall time, mean objective and members that reached {TOLERANCE}")
    begin = time.perf_counter()
    losses = gauss_newton(task)
    needed = time.perf_counter() - begin
    print(row("Gauss-Newton, dual form", needed, losses))
    for name, optimise in OPTIMISERS.items():
        for factor in arguments.factors:
            begin = time.perf_counter()
            losses = optimise(task, factor * needed)
            print(row(name, time.perf_counter() - begin, losses), flush=True)


if __name__ == "__main__":
    main()
