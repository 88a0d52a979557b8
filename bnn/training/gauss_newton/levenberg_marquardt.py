"""Levenberg-Marquardt for K independent least-squares problems."""

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from bnn._validation import Floats, Ints
from bnn.training.execution import run_groups
from bnn.training.loop import TrainingResult
from safe_files.help_page import see
from safe_files.progress import progress_bar

_DAMPING = 1e-2
_LEAST_DAMPING = 1e-8
_LARGEST_BEND = 0.75  # largest 2 |a| s / |v| for which a is used; Transtrum & Sethna (2012)
_SHORTEST_STEP = 1e-8  # relative to the largest weight; below the resolution of float32 results
_WINDOW = 30  # iterations over which the rate of decrease of a member is measured
_GROUP_ENTRIES = 4_000_000  # largest number of matrix entries for a group of members


class Problem(Protocol):
    """Objectives of a group of members; weights are (k, d) float64."""

    # Fractions s of a step, tried in turn, with the whole step first: a member moves by s v + s² a.
    lengths: Sequence[float]

    def loss(self, weights: Tensor, members: Tensor) -> Tensor:
        """Return the objective, (k,), of the members with these indices, at weights (k, d)."""
        ...

    def step(self, weights: Tensor, members: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
        """Return damped Gauss-Newton steps v and their bends a, (k, d), for dampings (k,)."""
        ...


@dataclass(frozen=True)
class StoppingRule:
    """When the fit of a member ends."""

    iterations: int  # largest number of iterations
    loss: float = -np.inf  # end when the objective is at most this
    decrease: float = 0.0  # end when a whole step lowers the objective by at most this fraction


def late_members(late: int, n_members: int, iterations: int) -> str:
    """Return the message that some members did not converge, and what helps."""
    members = f"{late} of {n_members} members"
    return (
        f"{members} did not converge within {iterations} Gauss-Newton iterations, and may be "
        "inaccurate where there are few data: allow more iterations, take the logarithm of a "
        f"skewed input, or use GPRegressor, which needs no training; {see('warnings')}"
    )


def minimise(
    problem: Problem, weights: Tensor, rule: StoppingRule, stop: threading.Event
) -> tuple[Tensor, Tensor, Tensor]:
    """Fit k members at once from weights (k, d) float64; Levenberg (1944), Marquardt (1963)."""
    # Returns weights, objectives from the start on (iterations + 1, k), and a mask of success (k,).
    weights = weights.clone()
    members = torch.arange(len(weights), device=weights.device)
    record = weights.new_full((rule.iterations + 1, len(weights)), torch.nan)
    record[0] = problem.loss(weights, members)
    members = members[record[0] > rule.loss]
    damping = weights.new_full((len(weights),), _DAMPING)
    for iteration in range(1, rule.iterations + 1):
        if len(members) == 0 or stop.is_set():
            break
        before = record[iteration - 1, members]
        step, bend = problem.step(weights[members], members, damping[members])
        # 2 |a| / |v|
        relative = 2.0 * bend.norm(dim=1) / step.norm(dim=1)
        moved = torch.empty_like(step)
        after = torch.full_like(before, torch.inf)
        better = torch.zeros_like(members, dtype=torch.bool)
        whole = better
        # Trying a shorter step costs much less than computing another direction.
        for length in problem.lengths:
            if better.all():
                break
            trusted = (length * relative <= _LARGEST_BEND)[:, None]
            # v s + a s²
            along = length * step + length**2 * torch.where(trusted, bend, 0.0)
            moved[~better] = weights[members[~better]] + along[~better]
            after[~better] = problem.loss(moved[~better], members[~better])
            better = after < before
            whole = better if length == 1.0 else whole
        # max |v| <= 1e-8 max |ω|
        short = step.abs().amax(dim=1) <= _SHORTEST_STEP * moved.abs().amax(dim=1)
        weights[members] = torch.where(better[:, None], moved, weights[members])
        # A whole step lowers the damping, a shortened step doubles it, a failed step quadruples it.
        factor = torch.where(whole, (after / before).clamp(0.1, 0.5), torch.where(better, 2.0, 4.0))
        damping[members] = (damping[members] * factor).clamp_min(_LEAST_DAMPING)
        after = torch.where(better, after, before)
        record[iteration, members] = after
        # If even a very short step does not lower the objective, the weights are at a minimum or
        # at a kink of the objective.
        flat = torch.where(whole, before - after <= rule.decrease * before, short)
        ended = flat | (after <= rule.loss)
        if rule.loss > -np.inf and iteration >= _WINDOW:
            # Fits slow down with time. So give up a member that would not reach rule.loss in the
            # remaining iterations at the mean rate of the last window.
            pace = (after / record[iteration - _WINDOW, members]) ** (1.0 / _WINDOW)
            ended |= after * pace ** (rule.iterations - iteration) > rule.loss
        members = members[~ended]
    if rule.loss > -np.inf:  # a member at a minimum above rule.loss is not finished
        return weights, record, record.nan_to_num(torch.inf).amin(dim=0) <= rule.loss
    finished = torch.ones(len(weights), dtype=torch.bool, device=weights.device)
    finished[members] = False
    return weights, record, finished


def fit_members(
    make_problems: Callable[[Ints], Sequence[Problem]],
    weights: Floats,
    n_entries: int,  # number of entries of the largest matrix of one member
    rule: StoppingRule,
    device: str = "cpu",
    progress: str | None = None,
) -> TrainingResult:
    """Fit K members from weights (K, d), in groups that run in parallel on the cores."""
    # Each problem of a group starts at the solution of the previous problem.
    place = torch.device(device)
    size = max(_GROUP_ENTRIES // n_entries, 1)
    groups = np.array_split(np.arange(len(weights)), -(-len(weights) // size))
    with progress_bar(len(weights), progress, "member") as bar:

        def run(members: Ints, stop: threading.Event) -> tuple[Tensor, Tensor, Tensor]:
            """Solve the problems of a group of members one after the other."""
            with torch.no_grad():
                start = torch.as_tensor(weights[members], dtype=torch.float64, device=place)
                for problem in make_problems(members):
                    result = minimise(problem, start, rule, stop)
                    start = result[0]
            bar.update(len(members))
            return result

        workers = torch.get_num_threads() if place.type == "cpu" else 1
        parts = run_groups(run, groups, workers)
    networks, records, ended = zip(*parts, strict=True)
    losses = torch.cat(records, dim=1).cpu().numpy()
    iterations = np.isfinite(losses).sum(axis=0) - 1
    finished = torch.cat(ended).cpu().numpy()
    if not finished.all():
        message = late_members(np.count_nonzero(~finished), len(weights), rule.iterations)
        warnings.warn(message, ConvergenceWarning, stacklevel=5)
    # Losses are the objective at the start and after each iteration; epochs are iterations.
    fitted = torch.cat(networks).cpu().numpy().astype(np.float32)
    return TrainingResult(fitted, losses[: iterations.max() + 1], iterations, ())
