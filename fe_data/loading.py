"""How a volume element is loaded: a path of mean strains and mean stresses, straight in parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.settings import require_integer

AXES = ("xx", "yy", "xy")  # in the order of a loading
LARGEST_STRAIN = 0.5  # kinematics are those of small strain
MAX_INCREMENTS = 10_000  # of a part
Vertex = tuple[float | None, float | None, float | None]


class Part(NamedTuple):
    """Straight part of a path, which ends at a vertex."""

    free: Ints  # components whose strain is free
    end: Floats  # (3,) mean strain tensor xx, yy, xy [-], or mean stress [MPa] where it is free
    increments: int

    def start(self, averages: Mapping[str, Floats]) -> Floats:
        """Where the same strains and stresses (3,) are at the start, from its volume averages."""
        start, stress = (averages[name][[0, 1, 3]] for name in ("strain", "stress"))
        start[self.free] = stress[self.free]
        return start


@dataclass(frozen=True)
class Loading:
    """Path from rest, straight from vertex to vertex, of a mean strain or stress in xx, yy, xy.

    A component may have a prescribed strain at one vertex and a prescribed stress at the next: the
    stress then goes straight to its value from the one that it has at the first of them.

    Attributes:
        strain: Mean strain tensor xx, yy, xy [-] at the only vertex, or a sequence of vertices; xy
            is half the engineering shear strain; None where the strain is free.
        stress: Mean stress xx, yy, xy where the strain is free [MPa], at all vertices or at each.
        increments: Number of equal increments to each vertex, or one number for all; None takes
            that of the settings for each.

    Raises:
        ValueError: If there is no vertex; if one has not three finite components, prescribes a
            stress and a strain of the same component or a strain that is not small, or is where
            the path is already; or if a number of increments is out of range.
    """

    strain: Vertex | Sequence[Vertex]
    stress: Vertex | Sequence[Vertex] = (0.0, 0.0, 0.0)
    increments: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        strain = _vertices("strain", self.strain, (Real, NoneType))
        stress = _vertices("stress", self.stress, (Real,))
        n = max(len(strain), len(stress))
        strain, stress = _for_each("strain", strain, n), _for_each("stress", stress, n)
        before: tuple[Any, Any] | None = None
        for number, vertex in enumerate(zip(strain, stress, strict=True), start=1):
            place = f"vertex {number} of the path: " if n > 1 else ""
            _check_vertex(place, *vertex)
            if before is None and not any(map(any, vertex)):
                raise ValueError(f"{place}loading is zero in every component, as at rest")
            if vertex == before:
                raise ValueError(f"{place}loading is there already, at {vertex[0]}, {vertex[1]}")
            before = vertex
        counts = self.increments
        if counts is not None:
            counts = _for_each("increments", _sequence(counts) or (counts,), n)
            counts = tuple(require_integer("increments", i, 1, MAX_INCREMENTS) for i in counts)
        for name, values in (("strain", strain), ("stress", stress), ("increments", counts)):
            object.__setattr__(self, name, values)

    @property
    def vertices(self) -> tuple[Floats, Floats]:
        """Strain (n, 3), NaN where it is free, and stress (n, 3) [MPa] at n vertices."""
        return np.array(self.strain, dtype=float), np.array(self.stress, dtype=float)

    @property
    def is_uniaxial(self) -> bool:
        """Whether a strain xx alone grows, or falls, all along: there are effective properties."""
        strain, stress = self.vertices
        steps = np.sign(np.diff(strain[:, 0], prepend=0.0))
        alone = np.isnan(strain[:, 1:]).all() and not stress.any()
        return bool(alone and abs(steps.sum()) == len(steps))

    def parts(self, increments: int) -> list[Part]:
        """Straight parts of the path, in order.

        Args:
            increments: Number of increments of each where the loading has none.

        Returns:
            The parts.
        """
        strain, stress = self.vertices
        free = np.isnan(strain)
        end = np.where(free, stress, strain)
        counts: Any = self.increments or (increments,) * len(end)
        return [Part(np.flatnonzero(f), *rest) for f, *rest in zip(free, end, counts, strict=True)]


def _sequence(given: Any) -> tuple[Any, ...] | None:
    """Items of a sequence or array; None of anything else."""
    array = isinstance(given, np.ndarray) and given.ndim > 0
    known = array or (isinstance(given, Sequence) and not isinstance(given, str))
    return tuple(given) if known else None


def _vertices(name: str, given: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """Vertices as tuples of three floats or None, from one vertex or a sequence of them."""
    items = _sequence(given) or ()
    nested = any(_sequence(item) is not None for item in items)
    vertices = [_sequence(vertex) or (given,) for vertex in (items if nested else (given,))]
    said = f"{given!r:.60}"
    if not all(isinstance(value, kinds) for vertex in vertices for value in vertex):
        raise ValueError(
            f"{name} of the loading must be numbers, xx, yy, xy of a vertex or more: {said}"
        )
    if not all(len(vertex) == 3 for vertex in vertices):
        raise ValueError(f"loading needs three components xx, yy, xy: {name} = {said}")
    return tuple(tuple(v if v is None else float(v) for v in vertex) for vertex in vertices)


def _for_each(name: str, given: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """One item for all n vertices, or one for each."""
    if len(given) not in (1, n):
        raise ValueError(f"{name} of the loading: {len(given)} values for {n} vertices")
    return given * (n // len(given))


def _check_vertex(place: str, strain: Vertex, stress: tuple[float, float, float]) -> None:
    """Refuse strains and stresses that no vertex can have."""
    if not np.isfinite([v for v in (*strain, *stress) if v is not None]).all():
        raise ValueError(f"{place}loading must be finite: {strain}, {stress}")
    for axes, value, force in zip(AXES, strain, stress, strict=True):
        if value is not None and abs(value) > LARGEST_STRAIN:
            allowed = f"allowed are [-{LARGEST_STRAIN}, {LARGEST_STRAIN}]"
            raise ValueError(f"{place}strain {axes} = {value} is out of range: {allowed}")
        if value is not None and force:
            what = f"stress {force!r} is given for a component of prescribed strain"
            raise ValueError(f"{place}{what}, {axes}")
