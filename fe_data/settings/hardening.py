"""The hardening laws of the matrix: the one place that lists them.

A law is h(p, b, c), by which the yield stress a + h of the matrix exceeds the initial one a at the
accumulated plastic strain p. It has to be concave and to grow with p, so that the return mapping
has one solution and Newton's method finds it. Instead of a law by its name, a table of the yield
stress may be given: it needs neither b nor c, and its return mapping no iteration.

Settings, the command line and the reference solver ask this module. The compiled solver solves for
the increment of p in its own way for each law, in `mechanics/plasticity.py`.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fe_data.arrays import Floats, Short, number, numbers, objects
from fe_data.schema import BOUNDS
from fe_data.settings.checks import in_percent, require_between

LawName = Literal["power", "voce"]
# Numbers by which compiled functions know the laws.
POWER = 0
VOCE = 1
TABLE = 2
# Largest plastic strain of all rows but the last, which may lie far beyond what a cell reaches.
# Other rows with more are probably in percent.
_LARGEST_MEASURED = 1.0
SMALLEST_STEP = 1e-12  # of the plastic strain from row to row: slopes stay finite
MAX_ROWS = 1000  # of a table: a dataset's configuration holds them
# Under a table the inputs b_m and c_m of a cell have these values: nothing hardens beside it.
UNUSED_B_AND_C = (0.0, 1.0)


@dataclass(frozen=True)
class HardeningLaw:
    """A hardening law h(p, b, c).

    Attributes:
        number: Number by which compiled functions know it.
        formula: Yield stress of the matrix, for messages and the help of the command line.
        hardening: h [MPa] of p [-], b [MPa] and c [-].
        slope: dh/dp [MPa] of the same.
        c_bounds: Smallest and largest c that a simulation takes: an exponent or a strain, as the
            law has it.

    Examples:
        >>> from fe_data.settings.hardening import LAWS
        >>> LAWS["power"].hardening(0.01, 400.0, 0.5)
        40.0
    """

    number: int
    formula: str
    hardening: Callable[[Floats, float, float], Floats]
    slope: Callable[[Floats, float, float], Floats]
    c_bounds: tuple[float, float]


def _power(p: Floats, b: float, c: float) -> Floats:
    hardening: Floats = b * p**c
    return hardening


def _power_slope(p: Floats, b: float, c: float) -> Floats:
    slope: Floats = b * c * p ** (c - 1)  # infinite at p = 0
    return slope


def _voce(p: Floats, b: float, c: float) -> Floats:
    hardening: Floats = -b * np.expm1(-p / c)
    return hardening


def _voce_slope(p: Floats, b: float, c: float) -> Floats:
    slope: Floats = b / c * np.exp(-p / c)
    return slope


LAWS: dict[LawName, HardeningLaw] = {
    # The law of the paper, section 3.2.
    "power": HardeningLaw(
        number=POWER,
        formula="a + b p^c, linear for c = 1 and perfectly plastic for b = 0",
        hardening=_power,
        slope=_power_slope,
        c_bounds=(0.01, 1.0),
    ),
    # E. Voce, J. Inst. Met. 74 (1948) 537; c is the characteristic plastic strain.
    "voce": HardeningLaw(
        number=VOCE,
        formula="a + b (1 - exp(-p / c))",
        hardening=_voce,
        slope=_voce_slope,
        c_bounds=(1e-4, 1.0),
    ),
}


@dataclass(frozen=True, repr=False)
class HardeningTable(Short):
    """Yield stress of the matrix by rows, linear between them and constant beyond the last one.

    Attributes:
        plastic_strain: Accumulated plastic strain p of each row [-], a fraction and not percent:
            the first is 0, each is larger than the one before, all are at most 1 but the last,
            which is at most 10.
        stress: Yield stress there [MPa], from 0.001 to 10⁶: no row has less than the one before.
            The first one is the initial yield stress.

    Raises:
        ValueError: If there are fewer than two rows or more than 1000, or the numbers are not as
            said above.

    Examples:
        >>> from fe_data import HardeningTable
        >>> table = HardeningTable(plastic_strain=[0, 0.04, 1], stress=[500, 700, 2620])
        >>> table.yield_stress([0.02, 0.54, 2.0]).round(6).tolist()
        [600.0, 1700.0, 2620.0]
    """

    plastic_strain: Sequence[float]
    stress: Sequence[float]

    def __post_init__(self) -> None:
        strain = _plain_row("plastic_strain", self.plastic_strain)
        stress = _plain_row("stress", self.stress)
        if len(stress) != len(strain):
            raise ValueError(
                f"stress has {len(stress)} values where plastic_strain has {len(strain)}"
            )
        if strain[0] != 0.0:
            raise ValueError(f"plastic_strain begins at {strain[0]!r}: its first value must be 0")
        _require_growing("plastic_strain", strain, SMALLEST_STEP)
        if strain[-2] > _LARGEST_MEASURED:
            what = f"plastic_strain = {strain[-2]!r}: at most {_LARGEST_MEASURED:g} is allowed"
            hint = in_percent(strain[-2], _LARGEST_MEASURED)
            raise ValueError(f"{what} in all rows but the last{hint}")
        _require_growing("stress", stress, 0.0)
        object.__setattr__(self, "plastic_strain", strain)
        object.__setattr__(self, "stress", stress)

    def yield_stress(self, p: ArrayLike) -> Floats:
        """The yield stress at some plastic strains.

        Args:
            p: Accumulated plastic strain (...) [-].

        Returns:
            Yield stress (...) [MPa].
        """
        return np.interp(numbers("p", p), self.plastic_strain, self.stress)

    @property
    def segments(self) -> Floats:
        """Rows p [-], stress above the initial one and slope from there on [MPa], (rows, 3)."""
        p = np.array(self.plastic_strain)
        h = np.array(self.stress) - self.stress[0]
        slope = np.append(np.diff(h) / np.diff(p), 0.0)  # constant beyond the last row
        return np.column_stack([p, h, slope])

    @property
    def law(self) -> HardeningLaw:
        """The table as a law that needs neither b nor c."""
        p, h, slope = self.segments.T

        def hardening(at: Floats, _b: float, _c: float) -> Floats:
            return np.interp(at, p, h)

        def slope_at(at: Floats, _b: float, _c: float) -> Floats:
            found: Floats = slope[np.searchsorted(p, at, side="right") - 1]
            return found

        return HardeningLaw(TABLE, "linear between the rows", hardening, slope_at, (1.0, 1.0))


Hardening = LawName | HardeningTable


def law_of(hardening: Hardening) -> HardeningLaw:
    """The law of a name or of a table."""
    return hardening.law if isinstance(hardening, HardeningTable) else LAWS[hardening]


def _plain_row(name: str, values: object) -> tuple[float, ...]:
    """Numbers as a tuple of floats; what is out of bounds or NaN is refused."""
    given = objects(name, values)
    if given.ndim != 1 or not all(isinstance(value, Real) for value in given):
        raise ValueError(f"{name} = {values!r:.60} must be a sequence of numbers")
    if not 2 <= len(given) <= MAX_ROWS:
        raise ValueError(f"{name} has {len(given)} values: allowed are 2 to {MAX_ROWS}")
    low, high = BOUNDS[name]
    row = [number(name, value) for value in given]
    for value in row:
        hint = in_percent(value, high) if name == "plastic_strain" else ""
        require_between(name, value, low, high, unit=hint)
    return tuple(row)


def _require_growing(name: str, row: tuple[float, ...], step: float) -> None:
    """Refuse numbers that do not grow by a step, or that fall where it is zero."""
    for line, (before, after) in enumerate(itertools.pairwise(row), start=2):
        if not after - before >= step:
            must = f"must grow by at least {step:g}" if step else "must not fall"
            raise ValueError(f"{name} {must}: it is {after!r} in row {line} after {before!r}")
