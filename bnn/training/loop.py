"""The training loop: Adam on K networks at once, each with separate data and shuffles."""

import threading
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from bnn._validation import Array, Floats, Ints, as_finite, check_device, check_kind
from bnn.networks.mlp import MLP
from bnn.training.backprop import CACHE_LINE
from bnn.training.execution import run_groups
from bnn.training.members import MemberGroup, Objective
from bnn.training.settings import Convergence, TrainingSettings
from safe_files.help_page import ExplainedError, ExplainedWarning
from safe_files.progress import progress_bar


class DivergenceWarning(ExplainedWarning):
    """Some members have weights or losses that are not finite; they are left out."""


class DivergenceError(ExplainedError, RuntimeError):
    """The weights and losses of fewer than two members are finite."""

    section = "warnings"


# Number of weights in a group of members. With gradients and moments, four times as many numbers
# are in use, which should fit the cache.
_GROUP_WEIGHTS = 400_000
# Weights (k, d), losses (epochs, k) and epochs (k,) of the members of a group.
GroupResult: TypeAlias = tuple[Floats, Floats, Ints]
# Members of a run, and its settings.
Plan: TypeAlias = tuple[Ints, TrainingSettings]


@dataclass(frozen=True)
class TrainingResult:
    """Weights and losses of K trained networks."""

    weights: Floats  # (K, d) float32
    losses: Floats  # data term averaged over points, (epochs, K); NaN after the end of a member
    epochs: Ints  # number of epochs of each member, (K,)
    diverged: tuple[int, ...]  # indices of members whose weights or losses are not finite


def member_groups(n_members: int, size: int, workers: int = 1) -> list[Ints]:
    """Split members 0..K-1 into about K / size groups, if possible a multiple of `workers`."""
    # Results must not depend on the groups, not even in the last bit. So a group starts at a
    # multiple of 16 members, which gives the matrices of a member the same alignment in any group.
    # A group has at least two members, since a product of single matrices rounds differently.
    n = -(-max(round(n_members / size), 1) // workers) * workers
    n = min(n, -(-n_members // CACHE_LINE))
    starts = np.unique([CACHE_LINE * round(n_members * i / n / CACHE_LINE) for i in range(n)])
    groups = np.split(np.arange(n_members), starts[1:])
    if len(groups[-1]) == 1:
        groups[-1] = groups[-1].repeat(2)
    return [group for group in groups if len(group)]


class ConvergenceMonitor:
    """Ends each member according to its losses and the variance of its targets, (k,)."""

    def __init__(
        self, criterion: Convergence | None, variances: Floats, group: MemberGroup
    ) -> None:
        self._criterion = criterion
        self._group = group
        device = group.loss.device
        self._targets = torch.as_tensor(variances, dtype=torch.float32, device=device)
        self._done = torch.zeros(len(variances), dtype=torch.bool, device=device)
        self._previous = torch.full_like(self._targets, torch.inf)
        self._epochs = torch.zeros(len(variances), dtype=torch.long, device=device)
        self._weights = group.weights.export()

    def all_done(self, epoch: int) -> bool:
        """Test the losses after an epoch, and keep the weights of members that have ended."""
        rule = self._criterion
        if rule is None or (epoch + 1) % rule.window:
            return False
        mean = self._group.record[epoch + 1 - rule.window : epoch + 1].mean(dim=0)
        small = mean <= rule.residual_variance * self._targets
        flat = mean >= (1.0 - rule.improvement) * self._previous
        ended = (small | flat | ~torch.isfinite(mean)) & ~self._done
        self._previous = mean
        self._weights = torch.where(ended[:, None], self._group.weights.export(), self._weights)
        self._epochs[ended] = epoch + 1
        self._done |= ended
        return bool(self._done.all())

    def results(self, epochs: int) -> GroupResult:
        """Return weights (k, d), losses (epochs, k) and numbers of epochs (k,) of the members."""
        weights = self._group.weights.export()
        weights = torch.where(self._done[:, None], self._weights, weights)
        ran = torch.where(self._done, self._epochs, epochs).cpu().numpy()
        losses = self._group.record[:epochs].cpu().numpy().copy()
        losses[np.arange(epochs)[:, None] >= ran] = np.nan
        return weights.cpu().numpy(), losses, ran


def train(
    architecture: MLP,
    weights: Floats,
    X: Floats,
    y: Floats,
    settings: TrainingSettings,
    *,
    seeds: NDArray[np.uint32],
    objective: Objective | None = None,
    device: str = "cpu",
    progress: str | None = None,
) -> TrainingResult:
    """Minimise Σ_i (y_i - f(x_i))ᵀ P (y_i - f(x_i)) + penalty(ω - ω0) for each member.

    With minibatches of b points the data term is multiplied by N/b (except with `batch_sums` in the
    settings). So the weight of the prior does not depend on b. The objective is divided by N.
    Adam's steps do not depend on such a factor, apart from the influence of epsilon.

    Args:
        architecture: The networks.
        weights: Initial weights, (K, d).
        X: Inputs, (N, n_in) for all members, or (K, N, n_in).
        y: Targets, (K, N, n_out).
        settings: Settings of Adam and of the loop.
        seeds: Seed of the shuffles of each member, (K,) uint32.
        objective: P = Σ_noise⁻¹, penalty and anchors; None is least squares.
        device: "cpu" or "cuda".
        progress: Title of a progress bar; None for no bar.

    Returns:
        The weights and losses, and the indices of members that diverged.

    Raises:
        ValueError: If an argument is invalid, or shapes do not match.

    Source: Algorithms 1 to 3 of the paper; Kingma & Ba (2015) for Adam.
    """
    check_kind("architecture", architecture, MLP)
    check_kind("settings", settings, TrainingSettings)
    check_kind("objective", objective, Objective, type(None))
    check_kind("progress", progress, str, type(None))
    check_device(device)
    weights = as_finite("weights", weights)
    X = as_finite("X", X)
    y = as_finite("y", y)
    _check_shapes(architecture, weights, X, y, seeds)
    place = torch.device(device)
    objective = objective or Objective()
    workers = torch.get_num_threads() if place.type == "cpu" else 1
    plans = _plans(len(weights), architecture.n_weights, settings, place, workers)
    with progress_bar(settings.epochs * len(plans), progress, "epoch") as bar:

        def run(plan: Plan, stop: threading.Event) -> GroupResult:
            """Train a group of members with the settings of its plan."""
            members, settings_of_group = plan
            group = MemberGroup(
                architecture,
                weights[members],
                X if np.ndim(X) == 2 else X[members],
                y[members],
                settings_of_group,
                seeds[members],
                objective.of(members),
                place,
            )
            return _train_group(group, y[members], settings_of_group, bar, stop)

        results = run_groups(run, plans, workers)
    if settings.corrected_members:
        results = _by_member(plans, results)
    return _joined(results, settings.epochs, len(seeds))


def _plans(
    n_members: int, n_weights: int, settings: TrainingSettings, place: torch.device, workers: int
) -> list[Plan]:
    """Return the members and the settings of each run."""
    if max(settings.corrected_members, default=0) >= n_members:
        members = f"{n_members} members"
        raise ValueError(f"bias_correction = {settings.bias_correction}: there are {members}")
    # On a CPU train as many members together as fit the cache, on a GPU all.
    fitting = max(CACHE_LINE, _GROUP_WEIGHTS // n_weights)
    size = settings.members_at_once or (fitting if place.type == "cpu" else n_members)
    groups = member_groups(n_members, size, workers)
    few = np.array(settings.corrected_members, dtype=int)
    if not len(few):
        return [(group, settings) for group in groups]
    corrected = replace(settings, bias_correction=True)
    plain = replace(settings, bias_correction=False)
    # These members also run with the correction. That run has at least two, since a product of
    # single matrices rounds differently.
    least_two = np.repeat(few, 2) if len(few) == 1 else few
    return [(least_two, corrected), *((group, plain) for group in groups)]


def _by_member(plans: list[Plan], results: list[GroupResult]) -> list[GroupResult]:
    """Return one result per member: with bias correction, if the member has run with it."""
    by_member: dict[int, GroupResult] = {}
    for (members, _), (weights, losses, epochs) in zip(plans, results, strict=True):
        for i, member in enumerate(members.tolist()):
            one = (weights[i : i + 1], losses[:, i : i + 1], epochs[i : i + 1])
            by_member.setdefault(member, one)
    return [by_member[member] for member in sorted(by_member)]


def _check_shapes(
    architecture: MLP, weights: Array, X: Array, y: Array, seeds: NDArray[np.uint32]
) -> None:
    if weights.ndim != 2:
        raise ValueError(f"weights has shape {weights.shape}: must be (K, d)")
    if X.ndim < 2:
        raise ValueError(f"X has shape {X.shape}: must be (N, n_in) or (K, N, n_in)")
    check_kind("seeds", seeds, np.ndarray)
    K = len(weights)
    n = X.shape[-2]
    for name, values, shapes in (
        ("weights", weights, [(K, architecture.n_weights)]),
        ("X", X, [(n, architecture.n_inputs), (K, n, architecture.n_inputs)]),
        ("y", y, [(K, n, architecture.n_outputs)]),
        ("seeds", seeds, [(K,)]),
    ):
        if values.shape not in shapes:
            allowed = " or ".join(map(str, shapes))
            raise ValueError(f"{name} has shape {values.shape}: must be {allowed}")
    if seeds.dtype.kind not in "ui":
        raise ValueError(f"seeds are {seeds.dtype}: must be integers")


@torch.no_grad()
def _train_group(
    group: MemberGroup, y: Floats, settings: TrainingSettings, bar: tqdm, stop: threading.Event
) -> GroupResult:
    variances = y.var(axis=1).sum(axis=1)
    monitor = ConvergenceMonitor(settings.convergence, variances, group)
    epoch = 0
    for epoch in range(settings.epochs):
        group.run_epoch(epoch)
        bar.update()
        if stop.is_set() or monitor.all_done(epoch):
            break
    bar.update(settings.epochs - epoch - 1)
    return monitor.results(epoch + 1)


def _joined(results: list[GroupResult], budget: int, n_members: int) -> TrainingResult:
    """Join the results of groups that ended after different numbers of epochs."""
    all_weights, all_losses, all_epochs = zip(*results, strict=True)
    weights = np.concatenate(all_weights)[:n_members]
    epochs = np.concatenate(all_epochs)[:n_members]
    padded = []
    for losses in all_losses:
        missing = budget - len(losses)
        padded.append(np.pad(losses, ((0, missing), (0, 0)), constant_values=np.nan))
    losses = np.concatenate(padded, axis=1)[: epochs.max(), :n_members]
    last = losses[epochs - 1, np.arange(n_members)]
    finite = np.isfinite(weights).all(axis=1) & np.isfinite(last)
    return TrainingResult(weights, losses, epochs, tuple(np.flatnonzero(~finite).tolist()))
