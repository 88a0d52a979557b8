"""Possible runs of a campaign: any inputs within bounds, multiples of steps, or given inputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from bnn._validation import Array, as_finite, as_points, is_row
from bnn.scaling import BoundsScaler
from safe_files.text import short

# Result and waiting run belong together up to this difference of each input, relative to its range.
NEAR = 0.01
MOST_LISTED = 10**5  # grids with more points are sampled
ROUNDED = 1e-9  # share of an input's range by which rounding may exceed the bounds


class PossibleRuns:
    """Runs that a campaign may ask for.

    Attributes:
        box: Bounds of the inputs.
        steps: Step of each input, counted from its lower bound; 0 for a continuous input, (n_in,).
        candidates: The only possible inputs, (n, n_in), or None.
        all: All possible inputs, (m, n_in); None if they are not listed, because an input is
            continuous or the steps give more than 10⁵ points.
    """

    def __init__(self, box: BoundsScaler, steps: Any, candidates: Any) -> None:
        self.box = box
        self.steps = _steps(steps, box)
        self.candidates = None if candidates is None else _candidates(candidates, box)
        if self.candidates is not None and self.steps.any():
            raise ValueError(f"steps = {short(steps)}: must be None if candidates are inputs")
        self.all = self._listed() if self.candidates is None else self.candidates
        self._tree = None if self.candidates is None else cKDTree(box.transform(self.candidates))

    @property
    def discrete(self) -> Any:
        """Whether each input has only single values, (n_in,)."""
        return (self.steps > 0.0) | (self.candidates is not None)

    def _listed(self) -> Array | None:
        """Return all points of the grid of steps, (m, n_in), or None if they are too many."""
        if not self.steps.all():
            return None
        counts = np.floor((self.box.high - self.box.low) / self.steps + ROUNDED) + 1.0
        if math.prod(counts.tolist()) > MOST_LISTED:
            return None
        numbers = np.indices([int(n) for n in counts]).reshape(len(counts), -1).T
        return self.nearest(self.box.low + numbers * self.steps)

    def nearest(self, points: Array) -> Array:
        """Return the possible runs to which inputs (n, n_in) belong, (n, n_in).

        Inputs are rounded to their steps. They belong to the nearest given inputs, if each input
        differs by at most 1 % of its range; otherwise they are returned unchanged.
        """
        low, high = self.box.low, self.box.high
        if self.candidates is not None and self._tree is not None:
            nearest = self.candidates[self._tree.query(self.box.transform(points), p=np.inf)[1]]
            near = np.abs(points - nearest) <= NEAR * (high - low)
            return np.where(near.all(axis=1)[:, None], nearest, points)
        steps = np.where(self.steps > 0.0, self.steps, 1.0)
        most = np.floor((high - low) / steps + ROUNDED)
        numbers = np.clip(np.round((points - low) / steps), 0.0, most)
        return np.where(self.steps > 0.0, np.minimum(low + numbers * steps, high), points)

    def without(self, points: Array, made: Array) -> Array:
        """Return different possible runs among points, without those that were made, in order."""
        seen = {(*row,) for row in self.nearest(made).tolist()}
        rows = []
        for row in self.nearest(points).tolist():
            if (*row,) not in seen:
                seen.add((*row,))
                rows.append(row)
        return np.array(rows).reshape(-1, len(self.box.low))

    def near(self, wanted: Array, made: Array) -> Array:
        """Return a different possible run near each of the wanted inputs, as far as there are any.

        Args:
            wanted: Inputs within the bounds, (n, n_in).
            made: Inputs of runs that must not be returned, (m, n_in).
        """
        if self.all is None:
            return self.without(wanted, made)
        free = self.without(self.all, made)
        scaled = self.box.transform(free)
        taken = np.zeros(len(free), dtype=bool)
        order: list[int] = []
        for point in self.box.transform(wanted)[: len(free)]:
            away = np.where(taken, np.inf, np.sum((scaled - point) ** 2, axis=1))
            order.append(int(away.argmin()))
            taken[order[-1]] = True
        return free[order]

    def check(self, name: str, points: Array) -> Array:
        """Return points (n, n_in) as possible runs; ValueError if one of them is not possible."""
        nearest = self.nearest(points)
        if self.candidates is not None:
            listed = {(*row,) for row in self.candidates.tolist()}
            for i, row in enumerate(nearest.tolist()):
                if (*row,) not in listed:
                    raise ValueError(f"{name}[{i}] = {row}: must be one of the candidates")
            return nearest
        away = np.abs(points - nearest) > ROUNDED * (self.box.high - self.box.low)
        if away.any():
            i, j = np.argwhere(away)[0]
            needed = f"must be {self.box.low[j]:g} plus a multiple of the step {self.steps[j]:g}"
            raise ValueError(f"{name}[{i}, {j}] = {points[i, j]:g}: {needed}")
        return nearest


def outside(points: Array, box: BoundsScaler) -> str | None:
    """Return an error text for the first entry of points (n, n_in) outside the bounds, or None."""
    room = ROUNDED * (box.high - box.low)
    wrong = np.argwhere((points < box.low - room) | (points > box.high + room))
    if not len(wrong):
        return None
    i, j = wrong[0]
    return f"[{i}, {j}] = {points[i, j]:g}: must be from {box.low[j]:g} to {box.high[j]:g}"


def _steps(steps: Any, box: BoundsScaler) -> Array:
    """Check steps and return one per input, 0 for a continuous input, (n_in,)."""
    if steps is None:
        return np.zeros(len(box.low))
    if not is_row(steps) and not isinstance(steps, np.ndarray):
        raise ValueError(f"steps = {short(steps)}: must have a step, or None, for each input")
    entries = [0.0 if step is None else step for step in steps]
    sizes = as_finite("steps", entries)
    if sizes.shape != box.low.shape:
        raise ValueError(f"steps has shape {sizes.shape}: must be ({len(box.low)},)")
    ranges = box.high - box.low
    for j, (step, most) in enumerate(zip(sizes, ranges, strict=True)):
        if not 0.0 <= step <= most * (1.0 + ROUNDED):
            needed = f"must be None for a continuous input, or > 0 and at most the range {most:g}"
            raise ValueError(f"steps[{j}] = {step:g}: {needed}")
    return sizes


def _candidates(candidates: Any, box: BoundsScaler) -> Array:
    """Check candidates and return them, (n, n_in)."""
    points = as_points("candidates", candidates)
    if not len(points) or points.shape[1] != len(box.low):
        needed = f"must be a number, or inputs (n, {len(box.low)}) with n > 0"
        raise ValueError(f"candidates has shape {points.shape}: {needed}")
    if complaint := outside(points, box):
        raise ValueError(f"candidates{complaint}")
    first: dict[tuple[float, ...], int] = {}
    for i, row in enumerate(points.tolist()):
        if (*row,) in first:
            message = f"candidates[{i}] = {row}: equals candidates[{first[(*row,)]}]"
            raise ValueError(f"{message}, and must differ")
        first[(*row,)] = i
    return points
