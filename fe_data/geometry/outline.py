"""Fibre outlines and the edges of the square, cut into segments of one element side each.

Opposite edges carry the same points by construction, and so do the pieces of a fibre that an edge
cuts.
"""

import itertools
import math

import numpy as np

from fe_data.arrays import Floats
from fe_data.geometry.microstructure import Microstructure, periodic_distances

MATRIX = -1  # as a material; fibres have their index
_DIGITS = 9  # coordinates that agree to this many digits are one point
_SMALLEST_OUTLINE = 8  # least number of segments around a fibre
_DEFAULT_SIZE = 0.127  # element size at the fibres, in mean fibre distances 1 / sqrt(n)
_COARSEST = 0.35  # largest element size, in mean fibre distances
GROWTH = 0.6  # growth of the element size per unit distance from the nearest fibre
_LIGAMENT = 1.1  # largest element size at a ligament, in widths of the ligament


def default_size(n_fibres: int) -> float:
    """Element size at the fibres when no resolution is given, in sides of the square."""
    return _DEFAULT_SIZE / math.sqrt(max(n_fibres, 1))


class Outline:
    """Fibre outlines and edges of the square as directed segments between shared points.

    `resolution` is the number of elements per fibre diameter; None takes `default_size` at the
    largest fibres.
    """

    def __init__(self, micro: Microstructure, resolution: float | None):
        self.micro = micro
        n_fibres = len(micro.centres)
        diameter = 2 * float(micro.radii.max()) if n_fibres else 1.0
        self.size = diameter / resolution if resolution else default_size(n_fibres)
        self.coarsest = self.size * max(1.0, _COARSEST / _DEFAULT_SIZE)
        # In proportion to the radii, so that every fibre has as many elements.
        self.sizes = self.size * (micro.radii / micro.radii.max(initial=0.0))
        self.points: list[tuple[float, float]] = []
        self._index: dict[tuple[float, float], int] = {}
        self.arcs: list[tuple[int, int, int]] = []  # start, end, fibre, which is on the left
        crossings: tuple[list[float], list[float]] = ([], [])
        for fibre in range(n_fibres):
            self._cut_fibre(fibre, crossings)
        self.edges = self._cut_edges(crossings)  # start, end; the square is on the left

    def _cut_fibre(self, fibre: int, crossings: tuple[list[float], list[float]]) -> None:
        """Cut one outline where it leaves the square, then into segments of the local size."""
        (x, y), r = self.micro.centres[fibre], self.micro.radii[fibre]
        splits = _axis_crossings(x, y, r)
        for angle, axis in splits:
            crossings[axis].append(
                (y + r * math.sin(angle) if axis == 0 else x + r * math.cos(angle)) % 1
            )
        angles = sorted(a for a, _ in splits) or [0.0]
        for start, end in zip(angles, [*angles[1:], angles[0] + 2 * math.pi], strict=True):
            for a, b in self._segments(fibre, start, end):
                mid = (a + b) / 2
                shift = math.floor(x + r * math.cos(mid)), math.floor(y + r * math.sin(mid))
                start_point, end_point = (
                    self._point(x + r * math.cos(t) - shift[0], y + r * math.sin(t) - shift[1])
                    for t in (a, b)
                )
                self.arcs.append((start_point, end_point, fibre))

    def size_at(self, xy: Floats) -> Floats:
        """Element size (k,) at points (k, 2): it grows with the distance from the nearest fibre."""
        if not len(self.micro.centres):
            return np.full(len(xy), self.size)
        distance = periodic_distances(xy, self.micro.centres) - self.micro.radii
        sizes = (self.sizes + GROWTH * np.maximum(distance, 0.0)).min(axis=1)
        return np.asarray(np.minimum(sizes, self.coarsest))

    def _segments(self, fibre: int, start: float, end: float) -> list[tuple[float, float]]:
        """Cut an arc into segments, small where the gap to the nearest other fibre is thin."""
        centres, r = self.micro.centres, self.micro.radii[fibre]
        angles = np.linspace(start, end, 2 * math.ceil((end - start) * 16) + 1)
        x = centres[fibre] + r * np.column_stack([np.cos(angles), np.sin(angles)])
        distance = periodic_distances(x, centres)
        distance[:, fibre] = 1.0 if len(centres) > 1 else np.inf
        gap = np.maximum((distance - self.micro.radii).min(axis=1), 1e-3 * r)
        size = self.sizes[fibre]
        sizes = np.minimum(size, np.maximum(gap * _LIGAMENT, size / 8))
        sizes = np.minimum(sizes, 2 * math.pi * r / _SMALLEST_OUTLINE)
        return list(itertools.pairwise(_equidistribute(angles, sizes / r)))

    def _cut_edges(self, crossings: tuple[list[float], list[float]]) -> list[tuple[int, int]]:
        """Cut the four edges, counter-clockwise; opposite edges get the same cuts."""
        sides = []
        for axis in range(2):
            marks = [0.0, *sorted(crossings[axis]), 1.0]
            cuts = [0.0]
            for a, b in itertools.pairwise(marks):
                along = np.linspace(a, b, 2 * math.ceil((b - a) / self.size) + 1)
                xy = np.column_stack([0 * along, along] if axis == 0 else [along, 0 * along])
                cuts += _equidistribute(along, self.size_at(xy)).tolist()[1:]
            sides.append(cuts)
        along_y, along_x = sides
        loop = [(t, 0.0) for t in along_x] + [(1.0, t) for t in along_y[1:]]
        loop += [(t, 1.0) for t in along_x[-2::-1]] + [(0.0, t) for t in along_y[-2::-1]]
        return list(itertools.pairwise(self._point(*p) for p in loop))

    def _point(self, x: float, y: float) -> int:
        """Index of a point, shared by all segments that meet there."""
        x, y = (0.0 if abs(v) < 1e-12 else 1.0 if abs(v - 1) < 1e-12 else v for v in (x, y))
        key = round(x, _DIGITS) + 0.0, round(y, _DIGITS) + 0.0  # without a negative zero
        if key not in self._index:
            self._index[key] = len(self.points)
            self.points.append((x, y))
        return self._index[key]

    def edge_material(self) -> list[int]:
        """Material on the inner side of each edge segment."""
        if not len(self.micro.centres):
            return [MATRIX] * len(self.edges)
        xy = np.array(self.points)[np.array(self.edges)].mean(axis=1)
        distance = periodic_distances(xy, self.micro.centres) - self.micro.radii
        inside = distance.min(axis=1) < 0
        return [int(m) for m in np.where(inside, distance.argmin(axis=1), MATRIX)]


def _equidistribute(samples: Floats, sizes: Floats) -> Floats:
    """Cut an interval into whole elements; `sizes` are the wanted sizes at its `samples`."""
    density = 1 / sizes
    steps = (density[1:] + density[:-1]) / 2 * np.diff(samples)
    cumulative = np.concatenate([[0.0], np.cumsum(steps)])
    n = max(1, math.ceil(cumulative[-1] - 1e-9))
    cuts = np.interp(np.linspace(0, cumulative[-1], n + 1), cumulative, samples)
    cuts[0], cuts[-1] = samples[0], samples[-1]
    return cuts


def _axis_crossings(x: float, y: float, r: float) -> list[tuple[float, int]]:
    """Angles at which a circle crosses a line x = integer (axis 0) or y = integer (axis 1)."""
    found = []
    for line in range(math.ceil(x - r), math.floor(x + r) + 1):
        a = math.acos(max(-1.0, min(1.0, (line - x) / r)))
        found += [(a, 0), (2 * math.pi - a, 0)]
    for line in range(math.ceil(y - r), math.floor(y + r) + 1):
        a = math.asin(max(-1.0, min(1.0, (line - y) / r)))
        found += [(a % (2 * math.pi), 1), ((math.pi - a) % (2 * math.pi), 1)]
    return found
