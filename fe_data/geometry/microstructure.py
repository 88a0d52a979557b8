"""Random periodic arrangements of equal circular fibres in the unit square."""

import math
from dataclasses import dataclass

import numpy as np

from fe_data.errors import MicrostructureError
from fe_data.settings import require_between

# Densest packing of the discs of exclusion (diameter = least centre distance) that the relaxation
# reached from every random start tried, for up to that many fibres; the hexagonal limit is 0.907.
# A single fibre and a pair only face their own periodic images.
_DENSEST_PACKING = ((2, 0.78), (3, 0.62), (15, 0.70), (math.inf, 0.80))
_RSA_CANDIDATES = 4096
_RSA_BATCHES = 16
_RELAXATION_STARTS = 8
_RELAXATION_STEPS = 4000


@dataclass(frozen=True)
class Microstructure:
    """Equal circular fibres, periodic in x and y."""

    centres: np.ndarray  # (n, 2) in [0, 1)
    radius: float  # side of the cell = 1

    @property
    def volume_fraction(self) -> float:
        """Area fraction of the fibres [-]."""
        return len(self.centres) * math.pi * self.radius**2


def largest_volume_fraction(n_fibres: int, min_spacing: float) -> float:
    """Largest fibre volume fraction that a random arrangement of this kind is built for [-]."""
    packing = next(packing for largest, packing in _DENSEST_PACKING if n_fibres <= largest)
    return packing / min_spacing**2


def require_packable(vf: float, n_fibres: int, min_spacing: float) -> None:
    """Raise a ValueError that names vf and its limit where no arrangement is built for it."""
    limit = largest_volume_fraction(n_fibres, min_spacing)
    if vf > limit:
        raise ValueError(
            f"vf = {vf!r} is out of range: {n_fibres} fibres at least {min_spacing:g} diameters "
            f"apart are limited to vf <= {limit:.4f}"
        )


def periodic_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distances (len(a), len(b)) between points (n, 2) in the metric of the unit torus."""
    d = a[:, None, :] - b[None, :, :]
    d -= np.round(d)
    return np.hypot(d[..., 0], d[..., 1])


def random_microstructure(
    vf: float, seed: int, n_fibres: int = 30, min_spacing: float = 1.14
) -> Microstructure:
    """Place fibres at random, without overlap and periodically, with an exact volume fraction.

    Random sequential addition, as long as it finds room; when it jams, all centres are drawn anew
    and pushed apart until every pair keeps its distance. The pattern is then translated so that no
    fibre merely grazes an edge or a corner of the cell, where elements would be slivers.

    Args:
        vf: Volume fraction of the fibres [-], 0 for none.
        seed: Seed of the random generator.
        n_fibres: Number of fibres.
        min_spacing: Least centre distance in fibre diameters [-].

    Returns:
        The arrangement; `volume_fraction` equals vf to rounding.

    Raises:
        ValueError: If vf exceeds what can be packed; the limit is named.
        MicrostructureError: If no arrangement is found in bounded time.
    """
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


def _sequential_addition(rng, n: int, distance: float) -> np.ndarray | None:
    """Add random points, each at least `distance` from all before; None when jammed."""
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


def _relaxed_arrangement(rng, n: int, distance: float) -> np.ndarray:
    """Push random points apart, pair by pair, until all keep their distance."""
    target = distance * (1 + 1e-6)
    for _ in range(_RELAXATION_STARTS):
        x = rng.random((n, 2))
        for _ in range(_RELAXATION_STEPS):
            d = x[:, None, :] - x[None, :, :]
            d -= np.round(d)
            r = np.hypot(d[..., 0], d[..., 1])
            np.fill_diagonal(r, np.inf)
            if r.min() >= distance:
                return x % 1.0
            overlap = np.maximum(target - r, 0.0)
            push = 0.5 * overlap / np.maximum(r, 1e-12)
            x = x + (push[..., None] * d).sum(axis=1)
    raise MicrostructureError(
        f"no arrangement of {n} fibres with centres {distance:.4f} apart was found in "
        f"{_RELAXATION_STARTS} relaxations"
    )


def _clear_of_edges(centres: np.ndarray, radius: float) -> np.ndarray:
    """Translate the pattern so that fibre outlines keep off the cell's edges and corners.

    Tangency of an outline to an edge happens at the 2n offsets x_i ± r: the middles of the widest
    gaps between them are the candidates, and the corner decides among the pairs.
    """
    candidates = []
    for axis in range(2):
        tangents = np.sort(
            np.concatenate([centres[:, axis] - radius, centres[:, axis] + radius]) % 1.0
        )
        gaps = np.diff(np.append(tangents, tangents[0] + 1.0))
        best = np.argsort(-gaps, kind="stable")[:8]
        candidates.append([(tangents[i] + gaps[i] / 2, gaps[i] / 2) for i in best])
    scored = [
        (min(gx, gy, np.abs(periodic_distances(np.array([[x, y]]), centres) - radius).min()), x, y)
        for x, gx in candidates[0]
        for y, gy in candidates[1]
    ]
    _, x, y = max(scored)
    return (centres - np.array([x, y])) % 1.0
