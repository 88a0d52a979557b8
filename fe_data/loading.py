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

    Examples:
        >>> from fe_data import Loading
        >>> Loading(strain=(0.05, None, None)).is_uniaxial
        True
        >>> tension = (0.02, None, None)
        >>> unloaded = (None, None, None)
        >>> cycle = Loading(strain=[tension, unloaded], increments=10)
        >>> cycle.stress  # at each vertex, in MPa
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        >>> [part.increments for part in cycle.parts(50)]
        [10, 10]
    """

    strain: Vertex | Sequence[Vertex]
    stress: Vertex | Sequence[Vertex] = (0.0, 0.0, 0.0)
    increments: int | Sequence[int] | None = None

    def __post_init__(self) -> None:
        given = (("strain", (Real, NoneType)), ("stress", (Real,)))
        strain, stress = (_vertices(name, getattr(self, name), kinds) for name, kinds in given)
        counts = self.increments
        n = max(len(strain), len(stress))
        if counts is not None:
            numbers = np.atleast_1d(np.array(counts, dtype=object)).tolist()
            counts = tuple(require_integer("increments", i, 1, MAX_INCREMENTS) for i in numbers)
        for name, items in (("strain", strain), ("stress", stress), ("increments", counts)):
            if items is not None and len(items) not in (1, n):
                raise ValueError(f"{name} of the loading: {len(items)} values for {n} vertices")
            object.__setattr__(self, name, items and items * (n // len(items)))
        before: Any = None
        for number, vertex in enumerate(zip(self.strain, self.stress, strict=True), start=1):
            if wrong := _what_is_wrong(*vertex, before):
                raise ValueError((f"vertex {number} of the path: " if n > 1 else "") + wrong)
            before = vertex

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


def _vertices(name: str, given: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """Vertices as tuples of three floats or None, from one vertex or a sequence of them."""
    path = np.array(given, dtype=object)
    path = path[None] if path.ndim == 1 else path
    right = path.ndim == 2 and path.shape[1] == 3 and path.size > 0
    if not right or not all(isinstance(value, kinds) for value in path.flat):
        what = f"{name} of the loading must be numbers: {given!r:.60}"
        raise ValueError(f"{what}; a loading needs three components xx, yy, xy at each vertex")
    return tuple(tuple(v if v is None else float(v) for v in vertex) for vertex in path)


def _what_is_wrong(strain: Any, stress: Any, before: Any) -> str:
    """Why a path cannot go to a vertex, from one before or from rest; nothing where it can."""
    if not np.isfinite([v for v in (*strain, *stress) if v is not None]).all():
        return f"loading must be finite: {strain}, {stress}"
    for axes, value, force in zip(AXES, strain, stress, strict=True):
        if value is not None and abs(value) > LARGEST_STRAIN:
            allowed = f"allowed are [-{LARGEST_STRAIN}, {LARGEST_STRAIN}]"
            return f"strain {axes} = {value} is out of range: {allowed}"
        if value is not None and force:
            return f"stress {force!r} is given for a component of prescribed strain, {axes}"
    if before is None and not any((*strain, *stress)):
        return "loading is zero in every component, as at rest"
    return f"loading is there already, at {strain}, {stress}" if (strain, stress) == before else ""
