"""Random points in the periodic unit square that keep a least distance from each other."""

import math

import numpy as np

from fe_data.arrays import Booleans, Floats
from fe_data.errors import MicrostructureError

_RSA_CANDIDATES = 4096
_RSA_BATCHES = 16
_RELAXATION_STARTS = 8
_RELAXATION_STEPS = 4000
_SWEEPS = 250
_STEP = 0.2  # in mean gaps between fibres
# Batches for fibres of different sizes, with as many candidates in total as for equal fibres.
_SIZES_CANDIDATES = 512
_SIZES_BATCHES = 128
# Least distance of the centres of any two fibres, or an array (n, n) for each pair.
Distance = float | Floats


def _apart(a: Floats, b: Floats, distance: Distance) -> Booleans:
    """Return which pairs (len(a), len(b)) are at least `distance` apart, by squares."""
    d = a.T[:, :, None] - b.T[:, None, :]
    d -= np.round(d)
    d *= d
    return np.asarray(d[0] + d[1] >= distance**2)


def sequential_addition(rng: np.random.Generator, n: int, distance: Distance) -> Floats | None:
    """Add random points one by one, at least `distance` apart; None if no room is left."""
    if not isinstance(distance, float):
        return _addition_of_sizes(rng, distance)
    placed = np.empty((0, 2))
    for _ in range(_RSA_BATCHES):
        candidates = rng.random((_RSA_CANDIDATES, 2))
        if len(placed):
            candidates = candidates[_apart(candidates, placed, distance).all(axis=1)]
        while len(candidates) and len(placed) < n:
            new = candidates[:1]
            placed = np.concatenate([placed, new])
            others = candidates[1:]
            candidates = others[_apart(others, new, distance)[:, 0]]
        if len(placed) == n:
            return placed
    return None


def _addition_of_sizes(rng: np.random.Generator, distances: Floats) -> Floats | None:
    """Add points with different least distances (n, n), each uniform over the free room for it."""
    n = len(distances)
    placed = np.empty((n, 2))
    for k in range(n):
        for _ in range(_SIZES_BATCHES):
            # Draw new candidates for each fibre. The remaining candidates of a larger fibre are not
            # uniform, because they had to be farther from the other fibres.
            candidates = rng.random((_SIZES_CANDIDATES, 2))
            fits = _apart(candidates, placed[:k], distances[k, :k]).all(axis=1)
            if fits.any():
                placed[k] = candidates[fits.argmax()]
                break
        else:
            return None
    return placed


def relaxed_microstructure(rng: np.random.Generator, n: int, distance: Distance) -> Floats:
    """Push random points apart, pair by pair, until all pairs keep their distance."""
    target = distance * (1 + 1e-6)
    for _ in range(_RELAXATION_STARTS):
        x: Floats = rng.random((n, 2))
        for _ in range(_RELAXATION_STEPS):
            d = x[:, None, :] - x[None, :, :]
            d -= np.round(d)
            r = np.hypot(d[..., 0], d[..., 1])
            np.fill_diagonal(r, np.inf)
            if (r >= distance).all():
                return np.mod(x, 1.0)
            # x_i ← x_i + Σ_j (distance - r_ij) / 2 · d_ij / r_ij over pairs that are too close
            overlap = np.maximum(target - r, 0.0)
            push = 0.5 * overlap / np.maximum(r, 1e-12)
            x = x + (push[..., None] * d).sum(axis=1)
    raise MicrostructureError(
        f"no microstructure of {n} inclusions with centres {np.max(distance):.4f} apart was found "
        f"in {_RELAXATION_STARTS} relaxations: give a smaller min_spacing (option --min-spacing)"
    )


def equilibrated(rng: np.random.Generator, centres: Floats, distance: Distance) -> Floats:
    """Run short Monte Carlo sweeps of hard discs, so that fibres no longer touch."""
    # A sweep proposes a step for every fibre. Two fibres conflict if they are too close after one
    # or both of them have moved. Fibres without a conflict move. The reverse steps have the same
    # conflicts and the same probability, so detailed balance holds. Few sweeps separate neighbours
    # only: in long runs a square RVE gives directions to all fibres.
    n = len(centres)
    # The step is a fifth of the mean gap between fibres, computed with the mean least distance.
    mean = float(np.mean(distance))
    reach = _STEP * (math.sqrt(2 / (math.sqrt(3) * n)) - mean)
    of_both = np.tile(distance, (2, 2)) if isinstance(distance, np.ndarray) else distance
    for _ in range(_SWEEPS):
        length = reach * np.sqrt(rng.random(n))  # uniform in a disc, so that no axis is preferred
        angle = 2 * math.pi * rng.random(n)
        steps = length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        both = np.concatenate([centres, centres + steps])
        conflicts = ~_apart(both, both, of_both).reshape(2, n, 2, n).all(axis=(0, 2))
        np.fill_diagonal(conflicts, False)
        stays = conflicts.any(axis=1)
        centres = centres + np.where(stays[:, None], 0.0, steps)
    return np.mod(centres, 1.0)
