"""Random points in the periodic unit square that keep a least distance from each other."""

import math

import numpy as np

from fe_data.arrays import Booleans, Floats
from fe_data.errors import MicrostructureError

_RSA_CANDIDATES = 4096
_RSA_BATCHES = 16
_RELAXATION_STARTS = 8
_RELAXATION_STEPS = 4000
_SWEEPS = 400
# If the discs of exclusion (diameter = least distance) cover a larger fraction of the square, Monte
# Carlo sweeps hardly mix the fibres, and chains of collisions are used.
_DENSE = 0.655
_EVENTS = 400  # collisions per fibre in chains
_CHAIN = 200  # largest number of collisions of one chain
# Batches for fibres of different sizes, with as many candidates in total as for equal fibres.
_SIZES_CANDIDATES = 512
_SIZES_BATCHES = 128
# Least distance of the centres of any two fibres, or an array (n, n) for each pair.
Distance = float | Floats


def _apart(a: Floats, b: Floats, distance: Distance) -> Booleans:
    """Mask (len(a), len(b)) of pairs at least `distance` apart, without computing distances."""
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
        f"no microstructure of {n} fibres with centres {np.max(distance):.4f} apart was found in "
        f"{_RELAXATION_STARTS} relaxations"
    )


def equilibrated(rng: np.random.Generator, centres: Floats, distance: Distance) -> Floats:
    """Run Monte Carlo sweeps of hard discs, so that valid microstructures are equally probable."""
    # A sweep proposes a step for every fibre. Two fibres conflict if they are too close after one
    # or both of them have moved. Fibres without a conflict move. The reverse steps have the same
    # conflicts and the same probability, so detailed balance holds.
    n = len(centres)
    # The step is half the mean gap between fibres, computed with the mean least distance.
    mean = float(np.mean(distance))
    reach = 0.5 * (math.sqrt(2 / (math.sqrt(3) * n)) - mean)
    of_both = np.tile(distance, (2, 2)) if isinstance(distance, np.ndarray) else distance
    for _ in range(_SWEEPS):
        steps = rng.uniform(-reach, reach, (n, 2))
        both = np.concatenate([centres, centres + steps])
        conflicts = ~_apart(both, both, of_both).reshape(2, n, 2, n).all(axis=(0, 2))
        np.fill_diagonal(conflicts, False)
        stays = conflicts.any(axis=1)
        centres = centres + np.where(stays[:, None], 0.0, steps)
    # Sweeps hardly mix dense microstructures. Chains use only the nearest image of each fibre,
    # which is sufficient for distances below 0.5.
    if n * math.pi * mean**2 / 4 > _DENSE and np.max(distance) < 0.5:
        centres = _collided(rng, np.mod(centres, 1.0), distance, 6.0 * reach)
    return np.mod(centres, 1.0)


def _collided(
    rng: np.random.Generator, centres: Floats, distance: Distance, reach: float
) -> Floats:
    """Move fibres by chains of collisions (E. P. Bernard et al., Phys. Rev. E 80 (2009) 056704)."""
    # A fibre moves along an axis until it meets another fibre, which then moves on, until the steps
    # add up to the length of the chain. The reverse chain has the same number of collisions.
    # Detailed balance therefore also holds if chains with too many collisions are rejected, such as
    # through fibres that nearly touch.
    n = len(centres)
    squares = np.broadcast_to((distance * (1 + 1e-10)) ** 2, (n, n))
    centres = centres.copy()
    events = 0
    while events < _EVENTS * n:
        moving, axis = int(rng.integers(n)), int(rng.integers(2))
        forward = 1.0 if rng.integers(2) else -1.0
        left = float(rng.uniform(0.0, reach))
        along = forward * centres[:, axis]
        across = centres[:, 1 - axis]
        for _ in range(_CHAIN):
            events += 1
            beside = across - across[moving]
            beside -= np.round(beside)
            # It meets a fibre that is d ahead after the step d - √(distance² - beside²).
            square = squares[moving] - beside**2
            free = (along - along[moving]) % 1.0 - np.sqrt(np.maximum(square, 0.0))
            free[square <= 0.0] = np.inf
            free[moving] = np.inf
            met = int(free.argmin())
            step = max(float(free[met]), 0.0)
            along[moving] += min(step, left)
            if step >= left:
                centres[:, axis] = (forward * along) % 1.0
                break
            left -= step
            moving = met
    return centres
