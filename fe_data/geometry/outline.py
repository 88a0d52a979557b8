"""Fibre outlines and the edges of the square, cut into segments of one element side each.

By construction opposite edges have the same points. The parts of a fibre that an edge cuts have the
same points on this edge.
"""

import itertools
import math

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.geometry.microstructure import Microstructure, periodic_distances

MATRIX = -1  # material number of the matrix; a fibre has its index
_DIGITS = 9  # points whose coordinates agree to so many digits are merged
_SMALLEST_OUTLINE = 8  # least number of segments around a fibre
_DEFAULT_SIZE = 0.127  # element size at the fibres, in mean fibre distances 1 / sqrt(n)
_COARSEST = 0.35  # largest element size, in mean fibre distances
GROWTH = 0.6  # growth of the element size per unit distance from the nearest fibre
_THINNEST = 1e-6  # in radii; thinner gaps are meshed as if they had this width
_RING = 2.0  # largest element size at an interphase, in thicknesses
_LIGAMENT = 1.1  # largest element size at a ligament, in widths of the ligament
_NEIGHBOURS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])  # shifts to nearest images, in periods


def default_size(n_fibres: int) -> float:
    """Return the default element size at the fibres, without a given resolution.

    Args:
        n_fibres: Number of fibres.

    Returns:
        The size, relative to the side of the square.

    >>> round(default_size(30), 4)
    0.0232
    """
    return _DEFAULT_SIZE / math.sqrt(max(n_fibres, 1))


class Outline:
    """Fibre outlines and edges of the square as directed segments between shared points.

    Args:
        micro: Microstructure.
        resolution: Elements per diameter of the largest fibres; None uses `default_size` for them.
        fineness: Number by which the default size is divided.

    Attributes:
        points: (n, 2) ends of the segments.
        arcs: (k, 2) start and end of each segment around fibres, as indices of points.
        arc_radii: (k,) radius of each arc.
        left: (k,) material on the left of each arc: the index of a fibre, or n_fibres plus this
            index for its interphase.
        right: (k,) material on the right of each arc: the matrix or an interphase.
        radii: (n_fibres,) radii of the fibres with their interphase.
        edges: (l, 2) start and end of each segment along edges, with the square on its left.
        size: Element size at the largest fibres.
        resolution: Elements per diameter of the largest fibres.
        sizes: (n_fibres,) element size at each fibre.
        coarsest: Largest element size.

    >>> one_fibre = Microstructure([[0.5, 0.5]], 0.2)
    >>> outline = Outline(one_fibre, resolution=4.0)
    >>> len(outline.arcs)  # the circumference π · 0.4 in elements of 0.4 / 4
    13
    """

    def __init__(
        self, micro: Microstructure, resolution: float | None = None, *, fineness: float = 1.0
    ):
        self.micro = micro
        n_fibres = len(micro.centres)
        diameter = 2 * float(micro.radii.max()) if n_fibres else 1.0
        # Relative to the mean fibre distance √(height / n), also in a rectangle.
        default = default_size(n_fibres) * math.sqrt(micro.height) / fineness
        self.size = diameter / resolution if resolution else default
        self.resolution = resolution or diameter / self.size
        self.coarsest = self.size * max(1.0, _COARSEST / _DEFAULT_SIZE)
        # Proportional to the radii, so that all fibres have the same number of elements.
        self.sizes = self.size * (micro.radii / micro.radii.max(initial=0.0))
        self.radii = micro.outer_radii
        # Shifts from a fibre to its nearest images.
        self._neighbours = _NEIGHBOURS * [1.0, micro.height]
        # Coordinates at which fibres cross the edges normal to x, and to y.
        crossings: tuple[list[float], list[float]] = ([], [])
        fibres = np.arange(n_fibres)
        cut = [self._cut_fibre(fibre, self.radii[fibre], crossings) for fibre in range(n_fibres)]
        left, right, radii = fibres, np.full(n_fibres, MATRIX), self.radii
        if micro.interphase:
            coated = np.flatnonzero(~micro.is_void)
            cut += [self._cut_fibre(fibre, micro.radii[fibre], crossings) for fibre in coated]
            left = np.concatenate([np.where(micro.is_void, fibres, n_fibres + fibres), coated])
            right = np.concatenate([right, n_fibres + coated])
            radii = np.concatenate([radii, micro.radii[coated]])
        lengths = [len(segments) for segments in cut]
        self.left: Ints = np.repeat(left, lengths)
        self.right: Ints = np.repeat(right, lengths)
        self.arc_radii: Floats = np.repeat(radii, lengths)
        ends = np.concatenate([*cut, self._cut_edges(crossings)])
        self.points, index = _shared_points(ends.reshape(-1, 2), micro.height)
        self.arcs, self.edges = np.split(index.reshape(-1, 2), [len(self.left)])

    def _cut_fibre(
        self, fibre: int, r: float, crossings: tuple[list[float], list[float]]
    ) -> Floats:
        """Return segments (k, 2, 2) of an outline of the local size, cut at edges of the RVE."""
        micro = self.micro
        x, y = micro.centres[fibre]
        splits = _axis_crossings(x, y, r, micro.height)
        for angle, axis in splits:
            along = y + r * math.sin(angle) if axis == 0 else x + r * math.cos(angle)
            crossings[axis].append(along % (micro.height if axis == 0 else 1.0))
        angles = sorted(angle for angle, _ in splits) or [0.0]
        arcs = itertools.pairwise([*angles, angles[0] + 2 * math.pi])
        cuts = np.concatenate([self._segments(fibre, r, *arc) for arc in arcs])
        turns = np.column_stack([cuts, cuts.mean(axis=1)]).ravel().tolist()
        # Use sines of `math`, because sines of NumPy depend on the processor.
        circle = np.array([(x + r * math.cos(t), y + r * math.sin(t)) for t in turns])
        ends, middles = np.split(circle.reshape(-1, 3, 2), [2], axis=1)
        period = np.array([1.0, micro.height])
        return np.asarray(ends - np.floor(middles / period) * period)

    def _distances(self, xy: Floats) -> Floats:
        """Return the distances (k, n_fibres) of points (k, 2) from the centres."""
        return periodic_distances(xy, self.micro.centres, self.micro.height)

    def size_at(self, xy: Floats) -> Floats:
        """Return the element size (k,) at points (k, 2); it grows with the distance from fibres."""
        if not len(self.micro.centres):
            return np.full(len(xy), self.size)
        distance = self._distances(xy) - self.radii
        sizes = (self.sizes + GROWTH * np.maximum(distance, 0.0)).min(axis=1)
        return np.asarray(np.minimum(sizes, self.coarsest))

    def _segments(self, fibre: int, r: float, start: float, end: float) -> Floats:
        """Cut an arc into segments (k, 2) of angles, small at thin gaps to other fibres."""
        centres = self.micro.centres
        radii = self.radii
        size = self.sizes[fibre]
        if self.micro.interphase and not self.micro.is_void[fibre]:
            # One element spans a thin ring. With h = √(r ring / 2) its sagitta is ring/16.
            ring = self.micro.interphase
            size = min(size, max(_RING * ring, math.sqrt(r * ring / 2)))
        angles = np.linspace(start, end, 2 * math.ceil((end - start) * 16) + 1)
        angles = self._with_contacts(fibre, angles)
        x = centres[fibre] + r * np.column_stack([np.cos(angles), np.sin(angles)])
        near = self._distances(centres[[fibre]])[0] < r + radii + size
        distance = periodic_distances(x, centres[near], self.micro.height)
        itself = np.count_nonzero(near[:fibre])  # column of this fibre
        images = centres[fibre] + self._neighbours
        distance[:, itself] = np.hypot(*(x[:, None] - images).T).min(axis=0)
        gap = np.maximum((distance - radii[near]).min(axis=1), _THINNEST * r)
        # Elements at a thin gap are smaller, down to an eighth. If fibres nearly touch, they are
        # even smaller: with h = √(r gap / 2) the sagitta of an arc, h²/8r, is gap/16. A sagitta
        # above gap/4 would invert the adjacent element.
        smallest = np.minimum(size / 8, np.sqrt(r * gap / 2))
        sizes = np.minimum(size, np.maximum(gap * _LIGAMENT, smallest))
        # At least _SMALLEST_OUTLINE elements around a fibre.
        sizes = np.minimum(sizes, 2 * math.pi * r / _SMALLEST_OUTLINE)
        cuts = _equidistribute(angles, sizes / r)
        return np.column_stack([cuts[:-1], cuts[1:]])

    def _with_contacts(self, fibre: int, angles: Floats) -> Floats:
        """Add angles near places where another fibre nearly touches this one; return (k,)."""
        r = self.radii[fibre]
        apart = np.delete(self.micro.centres - self.micro.centres[fibre], fibre, axis=0)
        period = np.array([1.0, self.micro.height])
        apart -= np.round(apart / period) * period
        apart = np.concatenate([apart, self._neighbours])
        others = np.append(np.delete(self.radii, fibre), np.full(len(self._neighbours), r))
        gaps = np.hypot(*apart.T) - r - others
        more = []
        for other in np.flatnonzero(r * gaps / 2 < (self.sizes[fibre] / 8) ** 2):
            # At the distance √(r gap) from its narrowest point the gap is twice as wide.
            width = math.sqrt(max(gaps[other], _THINNEST * r) / r)
            middle = math.atan2(apart[other, 1], apart[other, 0])
            steps = width * np.array([0.0, *(0.25 * 1.25 ** np.arange(40))])
            around = middle + np.concatenate([-steps, steps[1:]])
            more.append(angles[0] + (around - angles[0]) % (2 * math.pi))
        inside = [new[(angles[0] < new) & (new < angles[-1])] for new in more]
        return np.asarray(np.unique(np.concatenate([angles, *inside])))

    def _cut_edges(self, crossings: tuple[list[float], list[float]]) -> Floats:
        """Return the segments (k, 2, 2) of the edges, counter-clockwise; opposite edges match."""
        sides = []
        for axis in range(2):
            marks = [0.0, *sorted(crossings[axis]), self.micro.height if axis == 0 else 1.0]
            cuts = [0.0]
            for a, b in itertools.pairwise(marks):
                along = np.linspace(a, b, 2 * math.ceil((b - a) / self.size) + 1)
                zero = 0 * along
                xy = np.column_stack([zero, along] if axis == 0 else [along, zero])
                cuts += _equidistribute(along, self.size_at(xy)).tolist()[1:]
            sides.append(cuts)
        along_y, along_x = sides
        bottom = [(t, 0.0) for t in along_x]
        right = [(1.0, t) for t in along_y[1:]]
        top = [(t, self.micro.height) for t in along_x[-2::-1]]
        left = [(0.0, t) for t in along_y[-2::-1]]
        loop = bottom + right + top + left
        return np.stack([loop[:-1], loop[1:]], axis=1)

    def edge_material(self) -> list[int]:
        """Return the material on the inner side of each edge segment."""
        if not len(self.micro.centres):
            return [MATRIX] * len(self.edges)
        xy = self.points[self.edges].mean(axis=1)
        distance = self._distances(xy) - self.radii
        nearest = distance.argmin(axis=1)
        depth = distance.min(axis=1)
        material = np.where(depth < 0, nearest, MATRIX)
        ring = self.radii - self.micro.radii
        in_ring = (depth < 0) & (depth > -ring[nearest])
        return [int(m) for m in np.where(in_ring, len(ring) + nearest, material)]


def _shared_points(ends: Floats, height: float) -> tuple[Floats, Ints]:
    """Merge equal points of `ends` (m, 2): different points in order, and the index of each end."""
    for edge in ([0.0, 0.0], [1.0, height]):
        ends[:] = np.where(np.abs(ends - edge) < 1e-12, edge, ends)
    numbers: dict[int, int] = {}
    keys = np.rint(ends * 10**_DIGITS).astype(np.int64) @ [1, 2**32]
    index = np.array([numbers.setdefault(key, len(numbers)) for key in keys.tolist()])
    _, first = np.unique(index, return_index=True)
    return ends[first], index


def _equidistribute(samples: Floats, sizes: Floats) -> Floats:
    """Cut an interval into elements; `sizes` are the target sizes at the `samples`."""
    # Number of elements from the start to t: ∫ ds / size(s), by the trapezoidal rule
    density = 1 / sizes
    steps = (density[1:] + density[:-1]) / 2 * np.diff(samples)
    cumulative = np.concatenate([[0.0], np.cumsum(steps)])
    n = max(1, math.ceil(cumulative[-1] - 1e-9))
    cuts = np.interp(np.linspace(0, cumulative[-1], n + 1), cumulative, samples)
    cuts[0] = samples[0]
    cuts[-1] = samples[-1]
    return cuts


def _axis_crossings(x: float, y: float, r: float, height: float) -> list[tuple[float, int]]:
    """Return where a circle crosses an edge, as angles: x = integer (axis 0), y = k height (1)."""
    angles = []
    for line in range(math.ceil(x - r), math.floor(x + r) + 1):
        a = math.acos(max(-1.0, min(1.0, (line - x) / r)))
        angles += [(a, 0), (2 * math.pi - a, 0)]
    for line in range(math.ceil((y - r) / height), math.floor((y + r) / height) + 1):
        a = math.asin(max(-1.0, min(1.0, (line * height - y) / r)))
        angles += [(a % (2 * math.pi), 1), ((math.pi - a) % (2 * math.pi), 1)]
    return angles
