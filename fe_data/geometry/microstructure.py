"""Random periodic arrangements of equal circular fibres in the unit square."""

import math
from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Floats
from fe_data.errors import MicrostructureError
from fe_data.settings import require_between

# Densest packing of the discs of exclusion (diameter = least centre distance) that the relaxation
# reached from every random start tried, for up to that many fibres; the hexagonal limit is 0.907.
# Bounds on vf by number of fibres: one or two fibres face only their own periodic images.
_DENSEST_PACKING = ((2, 0.78), (3, 0.62), (15, 0.70), (math.inf, 0.80))
_RSA_CANDIDATES = 4096
_RSA_BATCHES = 16
_RELAXATION_STARTS = 8
_RELAXATION_STEPS = 4000


@dataclass(frozen=True)
class Microstructure:
    """Equal circular fibres in the unit square, periodic in x and y."""

    centres: Floats  # (n, 2) in [0, 1)
    radius: float  # in sides of the square

    @property
    def volume_fraction(self) -> float:
        """Area fraction of the fibres [-]."""
        return len(self.centres) * math.pi * self.radius**2


def largest_volume_fraction(n_fibres: int, min_spacing: float) -> float:
    """Largest fibre volume fraction for which a random arrangement is looked for [-]."""
    packing = next(packing for largest, packing in _DENSEST_PACKING if n_fibres <= largest)
    return packing / min_spacing**2


def require_packable(vf: float, n_fibres: int, min_spacing: float) -> None:
    """Raise a ValueError that names vf and its limit where vf exceeds `largest_volume_fraction`."""
    limit = largest_volume_fraction(n_fibres, min_spacing)
    if vf > limit:
        raise ValueError(
            f"vf = {vf!r} is out of range: {n_fibres} fibres at least {min_spacing:g} diameters "
            f"apart are limited to vf <= {limit:.4f}"
        )


def periodic_distances(a: Floats, b: Floats) -> Floats:
    """Distances (len(a), len(b)) between points (n, 2) in the metric of the unit torus."""
    d = a[:, None, :] - b[None, :, :]
    d -= np.round(d)
    distances: Floats = np.hypot(d[..., 0], d[..., 1])
    return distances


def random_microstructure(
    vf: float, seed: int, n_fibres: int = 30, min_spacing: float = 1.14
) -> Microstructure:
    """Place fibres periodically, at least `min_spacing` diameters apart, with an exact vf."""
    # Random sequential addition, as long as it finds room; when it jams, all centres are drawn anew
    # and pushed apart until every pair keeps its distance. The pattern is then translated so that
    # no fibre merely grazes an edge or a corner of the square, where elements would be slivers.
    require_packable(vf, n_fibres, min_spacing)
    require_between("vf", vf, 0.0, 1.0)
    if vf == 0.0:
        return Microstructure(np.empty((0, 2)), 0.0)
    rng = np.random.default_rng(seed)
    radius = math.sqrt(vf / (n_fibres * math.pi))
    distance = 2 * radius * min_spacing
    centres = _sequential_addition(rng, n_fibres, distance)
    if centres is None:
        centres = _relaxed_arrangement(rng, n_fibres, distance)
    return Microstructure(_clear_of_edges(centres, radius), radius)


def _sequential_addition(rng: np.random.Generator, n: int, distance: float) -> Floats | None:
    """Add random points, each at least `distance` from those before; None where no room is left."""
    placed = np.empty((0, 2))
    for _ in range(_RSA_BATCHES):
        candidates = rng.random((_RSA_CANDIDATES, 2))
        if len(placed):
            free = periodic_distances(candidates, placed).min(axis=1) >= distance
            candidates = candidates[free]
        while len(candidates) and len(placed) < n:
            new, candidates = candidates[:1], candidates[1:]
            placed = np.concatenate([placed, new])
            candidates = candidates[periodic_distances(candidates, new)[:, 0] >= distance]
        if len(placed) == n:
            return placed
    return None


def _relaxed_arrangement(rng: np.random.Generator, n: int, distance: float) -> Floats:
    """Push random points apart, pair by pair, until all keep their distance."""
    target = distance * (1 + 1e-6)
    for _ in range(_RELAXATION_STARTS):
        x: Floats = rng.random((n, 2))
        for _ in range(_RELAXATION_STEPS):
            d = x[:, None, :] - x[None, :, :]
            d -= np.round(d)
            r = np.hypot(d[..., 0], d[..., 1])
            np.fill_diagonal(r, np.inf)
            if r.min() >= distance:
                return np.mod(x, 1.0)
            overlap = np.maximum(target - r, 0.0)
            push = 0.5 * overlap / np.maximum(r, 1e-12)
            x = x + (push[..., None] * d).sum(axis=1)
    raise MicrostructureError(
        f"no arrangement of {n} fibres with centres {distance:.4f} apart was found in "
        f"{_RELAXATION_STARTS} relaxations"
    )


def _clear_of_edges(centres: Floats, radius: float) -> Floats:
    """Translate the pattern so that fibre outlines keep off the edges and corners of the square."""
    # Outlines touch an edge at the 2n offsets x_i ± r: the candidates are the middles of the widest
    # gaps between these offsets, and the pair with the largest clearance, of corners too, is taken.
    candidates = []
    for axis in range(2):
        x = centres[:, axis]
        tangents = np.sort(np.concatenate([x - radius, x + radius]) % 1.0)
        gaps = np.diff(np.append(tangents, tangents[0] + 1.0))
        best = np.argsort(-gaps, kind="stable")[:8]
        candidates.append([(tangents[i] + gaps[i] / 2, gaps[i] / 2) for i in best])
    scored = [
        (min(gx, gy, np.abs(periodic_distances(np.array([[x, y]]), centres) - radius).min()), x, y)
        for x, gx in candidates[0]
        for y, gy in candidates[1]
    ]
    _, x, y = max(scored)
    moved: Floats = (centres - np.array([x, y])) % 1.0
    return moved
