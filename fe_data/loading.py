"""The loading of an RVE: a piecewise linear path of mean strains and stresses."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints, number, objects
from fe_data.schema import LARGEST_STRAIN
from fe_data.settings import in_percent, require_between, require_integer
from safe_files.text import Short

AXES = ("xx", "yy", "xy")  # components of a loading in plane strain, in this order
# Components of a general loading and of all tensors, in this order; in plane strain the first four.
ALL_AXES = ("xx", "yy", "zz", "xy", "xz", "yz")
IN_PLANE = [0, 1, 3]  # indices of AXES among ALL_AXES
# Attributes that only the general solver supports
_ONLY_SOME = ("temperature", "time", "angle", "shear_angle")
MAX_INCREMENTS = 10_000  # per segment of a path
MAX_PATH = 1_000_000  # increments per path: a record of 100 MB, and hours of simulation
MAX_TEMPERATURE = 5_000.0  # change [K]
MAX_TIME = 1e12  # s
_LARGEST_ANGLE = 180.0  # deg
Vertex = tuple[float | None, ...]


class Segment(NamedTuple):
    """Straight segment of a path, which ends at a vertex."""

    free: Ints  # indices of the components whose strain is free
    # Mean strain [-] at the end, or mean stress [MPa] of a free component: (3,) for xx, yy, xy,
    # or (6,) for all components.
    end: Floats
    increments: int
    temperature: float = 0.0  # change at the end, from the stress-free state [K]
    duration: float = 1.0  # s
    angle: float = 0.0  # from x to the first axis of the components [deg]
    shear_angle: float = 0.0  # from stress xx to stress xz [deg]


@dataclass(frozen=True, repr=False)
class Loading(Short):
    """A path that begins at zero strain and goes along straight lines from vertex to vertex.

    At each vertex a component has either a prescribed mean strain or a prescribed mean stress.
    If a prescribed stress follows a prescribed strain, the stress changes linearly from its value
    at the earlier vertex.

    A loading in plane strain has the three components xx, yy, xy. The general solver also accepts
    the six components xx, yy, zz, xy, xz, yz, with z along the fibres, and a temperature.

    Attributes:
        strain: Mean strain tensor [-] with three or six components, or a sequence of one tensor
            per vertex. Component xy is half the engineering shear strain. A component is None if
            the strain is free.
        stress: Mean stress [MPa] of the components whose strain is free, and 0 for the others.
            Give one tensor for all vertices, or a sequence of one per vertex.
        increments: Number of equal increments to each vertex, or one number for all vertices. None
            uses the number of the settings for each vertex.
        temperature: Temperature change from the stress-free state [K]. Give one number for all
            vertices, or one per vertex; it changes linearly between vertices. None is 0.
        time: Time at each vertex [s], for laws that depend on it. None is one second per segment.
        angle: Angle from x to the axis of component xx, in the plane [deg]: 45 turns tension xx to
            45 degrees. Volume averages keep the axes x and y. None is 0.
        shear_angle: Angle from stress xx to stress xz [deg], for six components. If all other
            strains are free, the mean stresses keep the ratio xz / xx = tan(shear_angle) while
            "xx", now the strain along this direction of stress, grows: from 0 for tension through
            90 for shear along the fibres to 180 for compression. None is 0.

    Raises:
        ValueError: If there is no vertex, times do not grow, or a number of increments, a
            temperature or a time is out of range. If a vertex does not have three or six finite
            components, or prescribes both strain and stress of a component, or a strain above 0.5.
            If a vertex equals the vertex before, or the first vertex is zero.

    Examples:
        >>> from fe_data import Loading
        >>> Loading(strain=(0.05, None, None)).is_uniaxial
        True
        >>> tension = (0.02, None, None)
        >>> unloaded = (None, None, None)
        >>> cycle = Loading(strain=[tension, unloaded], increments=10)
        >>> cycle.stress  # at each vertex, in MPa
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        >>> [segment.increments for segment in cycle.segments(50)]
        [10, 10]
        >>> cooling = Loading(strain=(None,) * 6, temperature=-100.0)  # free, as after curing
        >>> cooling.is_general
        True
    """

    strain: Vertex | Sequence[Vertex]
    stress: Vertex | Sequence[Vertex] = (0.0, 0.0, 0.0)
    increments: int | Sequence[int] | None = None
    temperature: float | Sequence[float] | None = None
    time: float | Sequence[float] | None = None
    angle: float | None = None
    shear_angle: float | None = None

    def __post_init__(self) -> None:
        if self.shear_angle is not None:
            mixed = require_between("shear_angle", self.shear_angle, 0.0, _LARGEST_ANGLE)
            object.__setattr__(self, "shear_angle", mixed)
        if self.angle is not None:
            angle = require_between("angle", self.angle, -_LARGEST_ANGLE, _LARGEST_ANGLE)
            object.__setattr__(self, "angle", angle)
        strain = _vertices("strain", self.strain, (Real, NoneType))
        stress = _vertices("stress", self.stress, (Real,))
        if len(stress[0]) < len(strain[0]) and not np.any(stress):  # such as the default
            stress = ((0.0,) * len(strain[0]),) * len(stress)
        if len(stress[0]) != len(strain[0]):
            what = f"{len(strain[0])} components of strain and {len(stress[0])} of stress"
            raise ValueError(f"loading has {what}: give three or six of both")
        if self.shear_angle is not None and len(strain[0]) < len(ALL_AXES):
            raise ValueError("shear_angle of the loading needs six components of strain")
        counts = self.increments
        temperature = _numbers("temperature", self.temperature, -MAX_TEMPERATURE, MAX_TEMPERATURE)
        time = _numbers("time", self.time, 0.0, MAX_TIME)
        n = max(len(strain), len(stress), len(temperature or ()), len(time or ()))
        if counts is not None:
            numbers = np.atleast_1d(objects("increments", counts)).tolist()
            counts = tuple(require_integer("increments", i, 1, MAX_INCREMENTS) for i in numbers)
        if time is not None and (len(time) != n or any(np.diff((0.0, *time)) <= 0)):
            raise ValueError(f"time of the loading must grow from vertex to vertex: {time}")
        several = {"strain": strain, "stress": stress, "increments": counts}
        several |= {"temperature": temperature, "time": time}
        for name, items in several.items():
            if items is not None and len(items) not in (1, n):
                raise ValueError(f"{name} of the loading: {len(items)} values for {n} vertices")
            if items is not None and len(items) == 1:  # the same at all vertices
                items *= n
            object.__setattr__(self, name, items)
        before: Any = None
        zeros: Any = (0.0,) * n
        columns: Any = (self.temperature or zeros, self.time or zeros)
        others = zip(*columns, strict=True)
        vertices = zip(self.strain, self.stress, others, strict=True)
        for count, vertex in enumerate(vertices, start=1):
            wrong = _what_is_wrong(*vertex, before)
            if wrong:
                place = f"vertex {count} of the path: " if n > 1 else ""
                raise ValueError(place + wrong)
            before = vertex

    @property
    def vertices(self) -> tuple[Floats, Floats]:
        """Strain (n, 3) or (n, 6) at n vertices, NaN if free, and stress [MPa] of equal shape."""
        return np.array(self.strain, dtype=float), np.array(self.stress, dtype=float)

    @property
    def is_general(self) -> bool:
        """Whether the path needs the general solver."""
        others = any(getattr(self, name) is not None for name in _ONLY_SOME)
        return others or len(self.vertices[0][0]) == len(ALL_AXES)

    def require_plane(self) -> None:
        """Reject a path that needs the general solver.

        Raises:
            ValueError: If the path has six components, a temperature, times or an angle.
        """
        if self.is_general:
            raise ValueError(
                "a loading of six components, with temperature, time or angles, needs a material: "
                f"use --material or solve_composite; loading: {self!s:.200}"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return attributes by name, for a file; without temperature, time and angles if None."""
        values = dataclasses.asdict(self)
        return {k: v for k, v in values.items() if k not in _ONLY_SOME or v is not None}

    @property
    def largest_strain(self) -> float:
        """Largest absolute value of a prescribed strain, 0 if all are free."""
        return float(np.nan_to_num(np.abs(self.vertices[0])).max())

    @property
    def is_uniaxial(self) -> bool:
        """Whether strain xx is the only prescribed component, and changes monotonically.

        Effective properties are defined only for such a loading.
        """
        strain, stress = self.vertices
        if self.is_general:
            return False
        steps = np.sign(np.diff(strain[:, 0], prepend=0.0))
        alone = np.isnan(strain[:, 1:]).all() and not stress.any()
        return bool(alone and abs(steps.sum()) == len(steps))

    def total(self, increments: int) -> int:
        """Return the number of increments of the whole path.

        Args:
            increments: Number of increments of each segment, if the loading gives none.

        Returns:
            Their sum.

        Raises:
            ValueError: If there are more than 1,000,000.
        """
        counts: Any = self.increments or (increments,) * len(self.strain)
        if sum(counts) > MAX_PATH:
            what = f"the path has {len(counts)} vertices and {sum(counts)} increments in all"
            raise ValueError(f"loading: {what}, allowed are {MAX_PATH}: give fewer increments")
        return sum(counts)

    def segments(self, increments: int) -> list[Segment]:
        """Return the straight segments of the path, in order.

        Args:
            increments: Number of increments of each segment, if the loading gives none.

        Returns:
            The segments.

        Raises:
            ValueError: If there are more than 1,000,000 increments in all.
        """
        self.total(increments)
        strain, stress = self.vertices
        free = np.isnan(strain)
        end = np.where(free, stress, strain)
        counts: Any = self.increments or (increments,) * len(end)
        n = len(end)
        degrees: Any = self.temperature or (0.0,) * n
        times: Any = self.time or range(1, n + 1)
        durations = np.diff((0.0, *times)).tolist()
        angles = (self.angle or 0.0,) * n
        mixed = (self.shear_angle or 0.0,) * n
        rows = zip(free, end, counts, degrees, durations, angles, mixed, strict=True)
        return [Segment(np.flatnonzero(f), *rest) for f, *rest in rows]


def with_increments(loading: Loading, increments: int) -> Loading:
    """Return the same path, which gives `increments` for each segment if it gave no numbers."""
    counts = tuple(segment.increments for segment in loading.segments(increments))
    return dataclasses.replace(loading, increments=counts)


def _vertices(name: str, vertices: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    """Convert one vertex or a sequence of vertices to tuples of three or six floats or None."""
    path = objects(name, vertices)
    path = path[None] if path.ndim == 1 else path
    widths = (len(AXES), len(ALL_AXES))
    right = path.ndim == 2 and path.shape[1] in widths and path.size > 0
    if not right or not all(isinstance(value, kinds) for value in path.flat):
        what = f"{name} of the loading must be three numbers xx, yy, xy at each vertex"
        what += f" or six, {', '.join(ALL_AXES)}"
        example = "(0.02, None, None)" if NoneType in kinds else "(0.0, 100.0, 0.0)"
        raise ValueError(f"{what}, such as {example}: {vertices!r:.60}")
    return tuple(tuple(v if v is None else number(name, v) for v in vertex) for vertex in path)


def _numbers(name: str, value: Any, low: float, high: float) -> tuple[float, ...] | None:
    """Convert one number, or one per vertex, to a tuple of floats between low and high."""
    if value is None:
        return None
    values = np.atleast_1d(objects(name, value)).tolist()
    return tuple(require_between(f"{name} of the loading", number, low, high) for number in values)


def _what_is_wrong(strain: Any, stress: Any, others: Any, before: Any) -> str:
    """Say why a path cannot go to a vertex from the one before, or from rest; empty if it can."""
    if not np.isfinite([v for v in (*strain, *stress) if v is not None]).all():
        return f"loading must be finite: {strain}, {stress}"
    axes_of = AXES if len(strain) == len(AXES) else ALL_AXES
    for axes, value, force in zip(axes_of, strain, stress, strict=True):
        if value is not None and abs(value) > LARGEST_STRAIN:
            allowed = f"allowed are [-{LARGEST_STRAIN}, {LARGEST_STRAIN}]"
            allowed += in_percent(value, LARGEST_STRAIN)
            return f"strain {axes} = {value} is out of range: {allowed}"
        if value is not None and force:
            return f"stress {force!r} is given for a component of prescribed strain, {axes}"
    if before is None and not any((*strain, *stress, *others)):
        return "loading is zero in every component: give a strain or a stress"
    if (strain, stress, others) == before:
        return f"loading repeats the vertex before, strain {strain}, stress {stress}"
    return ""
