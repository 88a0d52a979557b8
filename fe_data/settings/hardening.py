"""The hardening laws of the matrix, one class per law.

A law gives the hardening h(p) at the accumulated plastic strain p. The matrix yields at a + h(p),
with the initial yield stress a. The function h has to be concave and to grow with p, so that the
return mapping has one solution and Newton's method finds it. A table of the yield stress may
replace a named law. A table needs neither b nor c, need not be concave, and its return mapping
needs no iteration.

Settings, the command line and all solvers use these classes. To add a law, write a subclass of
`HardeningLaw` in this file.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fe_data.arrays import Floats, number, numbers, objects
from fe_data.schema import BOUNDS, INPUTS
from fe_data.settings.checks import in_percent, require_between
from safe_files.text import Short

# Largest plastic strain of every row except the last; a larger one is probably in percent. The
# last row may lie far beyond the strains in an RVE.
_LARGEST_MEASURED = 1.0
SMALLEST_STEP = 1e-12  # between plastic strains of adjacent rows, so that slopes stay finite
MAX_ROWS = 1000  # per table, because the configuration of a dataset contains the table
# Values of the inputs b_m and c_m if a table replaces them.
UNUSED_B_AND_C = (0.0, 1.0)

# The compiled solver processes integration points in blocks of this size.
BLOCK = 32
TOLERANCE = 1e-13  # of the yield function, relative to the trial stress
SURFACE = 1.0 + 1e-12  # margin against yielding by rounding when the load reverses
_MAX_ITERATIONS = 60
_SMALLEST_INCREMENT = 1e-290  # smaller increments of p are stored as zero
_STEPS = 6  # of Halley's method for a block
_ROOT = math.sqrt(1.5)


class HardeningLaw:
    """A hardening law h(p, a, b, c): formula, slope, bounds and the plastic increment.

    Settings, command line and solvers find a subclass by its name. A subclass defines `formula`,
    `hardening`, `slope` and `increment`, and the ranges of b and c.

    Attributes:
        name: Name in `Settings.hardening`.
        formula: Yield stress of the matrix, for messages and the help of the command line.
        b_bounds: Smallest and largest allowed b [MPa].
        c_bounds: Smallest and largest allowed c, an exponent or a strain.

    Examples:
        >>> from fe_data.settings.hardening import HARDENING_LAWS
        >>> HARDENING_LAWS["power"].hardening(0.01, 400.0, 400.0, 0.5)
        40.0
    """

    name = ""
    formula = ""
    b_bounds: tuple[float, float] = next(x.allowed for x in INPUTS if x.name == "b_m_MPa")
    c_bounds: tuple[float, float] = next(x.allowed for x in INPUTS if x.name == "c_m")

    def __init_subclass__(cls, *, name: str = "") -> None:
        for needed in ("hardening", "slope", "increment"):
            if getattr(cls, needed) is getattr(HardeningLaw, needed):
                raise TypeError(f"the hardening law {cls.__name__} has no {needed}")
        cls.name = name
        if name:
            HARDENING_LAWS[name] = cls()

    def hardening(self, p: Floats, a: float, b: float, c: float, numeric: Any = np) -> Floats:
        """Return h [MPa] at the accumulated plastic strain p [-] (...); a and b in MPa.

        `numeric` is the module of functions such as `expm1`: NumPy, or PyTorch if p is a tensor.
        """
        raise NotImplementedError

    def slope(self, p: Floats, a: float, b: float, c: float) -> Floats:
        """Return dh/dp [MPa] at p (...)."""
        raise NotImplementedError

    @staticmethod
    def increment(
        q_trial: float,
        p_old: float,
        hardening_old: float,
        mu: float,
        a: float,
        parameters: Floats,
    ) -> tuple[float, float]:
        """Solve q_tr - 3μ Δp = a + h(p_n + Δp) at one yielding point; numba compiles this.

        Args:
            q_trial: Von Mises stress q_tr of the trial stress [MPa].
            p_old: Accumulated plastic strain p_n at the start of the step [-].
            hardening_old: h(p_n) [MPa], see `fe_data.mechanics.plasticity.HistoryVariables`.
            mu: Shear modulus μ [MPa].
            a: Initial yield stress [MPa].
            parameters: Array that the method `parameters` returns.

        Returns:
            The increment Δp ≥ 0, and the slope h' at p_n + Δp [MPa].
        """
        raise NotImplementedError

    @staticmethod
    def block_increments(points: Floats, mu: float, a: float, parameters: Floats) -> None:
        """Solve for a block of points at once, if the law supports it; numba compiles this.

        This default leaves all points to `increment`.

        Args:
            points: (7, BLOCK). Rows 0 to 2 are given: p, h and the norm of the trial deviator.
                Row 3 receives the increments Δp, and row 4 the slopes h' at their ends. A negative
                slope means that `increment` has to solve this point. Rows 5 and 6 are scratch.
            mu: Shear modulus μ [MPa].
            a: Initial yield stress [MPa].
            parameters: Array that the method `parameters` returns.
        """
        for e in range(BLOCK):
            points[4, e] = -1.0

    def parameters(self, b: float, c: float) -> Floats:
        """Return the array of numbers for the argument `parameters` of `increment`."""
        return np.array([b, c])

    def require(self, b: float, c: float) -> None:
        """Raise a ValueError if b_m_MPa or c_m is NaN or out of bounds."""
        self.require_between("b_m_MPa", b, self.b_bounds)
        self.require_between("c_m", c, self.c_bounds)

    def require_between(self, name: str, value: float, bounds: tuple[float, float]) -> None:
        """Raise a ValueError if a parameter is NaN or out of bounds."""
        low, high = bounds
        if not low <= value <= high:
            allowed = f"[{low:g}, {high:g}] under {self.name!r} hardening"
            raise ValueError(f"{name} = {value!r} is out of range: allowed is {allowed}")


HARDENING_LAWS: dict[str, HardeningLaw] = {}


class PowerLaw(HardeningLaw, name="power"):
    """The law of the paper, section 3.2."""

    formula = "a + b p^c, linear for c = 1 and perfectly plastic for b = 0"
    c_bounds = (0.01, 1.0)

    def hardening(self, p: Floats, a: float, b: float, c: float, numeric: Any = np) -> Floats:
        """Return b p^c."""
        hardening: Floats = b * p**c
        return hardening

    def slope(self, p: Floats, a: float, b: float, c: float) -> Floats:
        """Return b c p^(c - 1), infinite at p = 0."""
        slope: Floats = b * c * p ** (c - 1)
        return slope

    @staticmethod
    def increment(
        q_trial: float,
        p_old: float,
        hardening_old: float,
        mu: float,
        a: float,
        parameters: Floats,
    ) -> tuple[float, float]:
        """Solve by Newton's method."""
        # As h is concave, the left side minus the right is convex and decreasing in Δp. Newton's
        # method from the left of the root therefore converges without overshooting.
        b = parameters[0]
        c = parameters[1]
        f = q_trial - a - hardening_old
        if b == 0.0:
            return f / (3.0 * mu), 0.0
        # Start from the larger of two lower bounds of the root. The first is an increment for
        # which 3μ Δp and the hardening are each at most f / 2. The second, for p > 0, is a Newton
        # step from zero. At p = 0 hardening_old may be positive, see `HistoryVariables`.
        dp = min(f / (6.0 * mu), ((hardening_old + 0.5 * f) / b) ** (1.0 / c) - p_old)
        if p_old > 0.0:
            dp = max(dp, f / (3.0 * mu + c * hardening_old / p_old))
        slope = np.inf
        for _ in range(_MAX_ITERATIONS):
            if dp < _SMALLEST_INCREMENT:
                return 0.0, np.inf
            # h = b p^c,   h' = c h / p
            hardening = b * (p_old + dp) ** c
            slope = c * hardening / (p_old + dp)
            # Δp ← Δp + (q_tr - 3μ Δp - a - h) / (3μ + h')
            excess = q_trial - 3.0 * mu * dp - a - hardening
            step = excess / (3.0 * mu + slope)
            dp += step
            if abs(excess) <= TOLERANCE * q_trial or abs(step) <= 1e-15 * dp:
                break
        return dp, slope

    @staticmethod
    def block_increments(points: Floats, mu: float, a: float, parameters: Floats) -> None:
        """Solve by Halley's method (third order) from zero, until the estimated error is small.

        Points that yield for the first time are left to `increment`, because the method divides by
        p. With F(Δp) = q_tr - 3μ Δp - a - h(p_n + Δp), `stiff` = -F' = 3μ + h' and
        `bend` = -F'' / F',

            Δp ← Δp - F/F' / (1 - F F'' / (2 F'²)),        h'' = (c - 1) h' / p
        """
        b = parameters[0]
        c = parameters[1]
        p = points[0]
        hardening = points[1]
        norm = points[2]
        dp = points[3]
        slope = points[4]
        start = points[5]
        h = points[6]
        for e in range(BLOCK):
            start[e] = 0.0
            h[e] = hardening[e]
            slope[e] = -1.0
        for _ in range(_STEPS):
            unfinished = 0
            for e in range(BLOCK):
                q_trial = _ROOT * norm[e]
                end = p[e] + start[e]
                slope_here = c * h[e] / end
                stiff = 3.0 * mu + slope_here
                bend = (1.0 - c) * slope_here / (end * stiff)
                step = (q_trial - 3.0 * mu * start[e] - a - h[e]) / stiff
                step /= max(0.5, 1.0 - 0.5 * bend * step)
                x = step / end
                third = bend * (0.25 * bend + (2.0 - c) / 6.0 / end)
                left = third * abs(step * step * step) * stiff  # estimated residual
                done = (left <= 0.1 * TOLERANCE * q_trial) & (abs(x) < 1e-3)
                yields = (p[e] > 0.0) & (q_trial > (a + hardening[e]) * SURFACE)
                unfinished += 1 if (not done) & yields else 0
                dp[e] = start[e] + step
                # h'(p + Δp) to second order in x
                change = 1.0 + (c - 1.0) * x * (1.0 + 0.5 * (c - 2.0) * x)
                slope[e] = slope_here * change if done else -1.0
            if unfinished == 0:
                break
            for e in range(BLOCK):
                start[e] = max(dp[e], -0.5 * p[e])
                h[e] = b * (p[e] + start[e]) ** c


class VoceLaw(HardeningLaw, name="voce"):
    """Voce's law (J. Inst. Met. 74 (1948) 537); c is the characteristic plastic strain."""

    formula = "a + b (1 - exp(-p / c))"
    c_bounds = (1e-4, 1.0)

    def hardening(self, p: Floats, a: float, b: float, c: float, numeric: Any = np) -> Floats:
        """Return b (1 - exp(-p / c))."""
        hardening: Floats = -b * numeric.expm1(-p / c)
        return hardening

    def slope(self, p: Floats, a: float, b: float, c: float) -> Floats:
        """Return b / c exp(-p / c)."""
        slope: Floats = b / c * np.exp(-p / c)
        return slope

    @staticmethod
    def increment(
        q_trial: float,
        p_old: float,
        hardening_old: float,
        mu: float,
        a: float,
        parameters: Floats,
    ) -> tuple[float, float]:
        """Solve f - 3μ Δp = rest (1 - exp(-Δp / c)) by Newton's method from the left."""
        b = parameters[0]
        c = parameters[1]
        f = q_trial - a - hardening_old
        if b == 0.0:
            return f / (3.0 * mu), 0.0
        rest = b * math.exp(-p_old / c)  # remaining hardening up to saturation [MPa]
        dp = 0.0
        slope = 0.0
        for _ in range(_MAX_ITERATIONS):
            slope = rest / c * math.exp(-dp / c)
            step = (f - 3.0 * mu * dp + rest * math.expm1(-dp / c)) / (3.0 * mu + slope)
            dp += step
            if abs(step) <= TOLERANCE * dp:
                break
        return dp, slope


class TableLaw(HardeningLaw):
    """The law of a table, which needs neither b nor c.

    Args:
        table: The table.
    """

    formula = "linear between the rows"
    b_bounds = (UNUSED_B_AND_C[0],) * 2
    c_bounds = (UNUSED_B_AND_C[1],) * 2

    def __init__(self, table: "HardeningTable") -> None:
        self.segments = table.segments

    def hardening(self, p: Floats, a: float, b: float, c: float, numeric: Any = np) -> Floats:
        """Interpolate h between the rows."""
        if numeric is np:
            strain, stress, _ = self.segments.T
            return np.interp(p, strain, stress)
        strain, _, slope = (numeric.from_numpy(column.copy()) for column in self.segments.T)
        # Each row k adds its change of slope beyond p_k: h = Σ (h'_k - h'_k-1) max(p - p_k, 0)
        bends = numeric.diff(slope, prepend=numeric.zeros_like(slope[:1]))
        beyond = numeric.relu(p[..., None] - strain)
        hardening: Floats = (bends * beyond).sum(-1)
        return hardening

    def slope(self, p: Floats, a: float, b: float, c: float) -> Floats:
        """Return h' of the segment that contains p; at a row, of the segment beyond it."""
        strain, _, slope = self.segments.T
        slopes: Floats = slope[np.searchsorted(strain, p, side="right") - 1]
        return slopes

    @staticmethod
    def increment(
        q_trial: float,
        p_old: float,
        hardening_old: float,
        mu: float,
        a: float,
        parameters: Floats,
    ) -> tuple[float, float]:
        """Solve f - 3μ Δp = h(p_n + Δp) - h(p_n) with h linear between the rows of a table."""
        # The left side minus the right decreases with Δp, whether or not h is concave. Bisection
        # finds the last row at which it is not negative. The solution lies on the segment that
        # begins there.
        f = q_trial - a - hardening_old
        row = 0  # each row has three numbers: p, h and slope
        end = len(parameters) // 3
        while end - row > 1:
            middle = (row + end) // 2
            gap = parameters[3 * middle] - p_old
            if f - 3.0 * mu * gap >= parameters[3 * middle + 1] - hardening_old:
                row = middle
            else:
                end = middle
        gap = 0.0
        rise = 0.0
        if parameters[3 * row] > p_old:
            gap = parameters[3 * row] - p_old
            rise = parameters[3 * row + 1] - hardening_old
        slope = parameters[3 * row + 2]
        # Δp = gap + (f - 3μ gap - rise) / (3μ + h')
        return gap + (f - 3.0 * mu * gap - rise) / (3.0 * mu + slope), slope

    def parameters(self, b: float, c: float) -> Floats:
        """Return the array (3 * rows,): p, h and slope of each row in turn."""
        return self.segments.ravel()

    def require(self, b: float, c: float) -> None:
        """Reject b_m_MPa and c_m, which the table replaces."""
        if (b, c) != UNUSED_B_AND_C:
            raise ValueError(
                f"b_m_MPa = {b!r} and c_m = {c!r} have no effect under a hardening table: "
                "give 0 and 1"
            )


@dataclass(frozen=True, repr=False)
class HardeningTable(Short):
    """Yield stress of the matrix by rows, linear between rows and constant beyond the last row.

    Attributes:
        plastic_strain: Accumulated plastic strain p of each row [-], a fraction, not percent. The
            first is 0, and each is larger than the one before. All are at most 1, except the last,
            which is at most 10.
        stress: Yield stress of each row [MPa], from 0.001 to 10⁶, never decreasing. The first is
            the initial yield stress.

    Raises:
        ValueError: If there are fewer than two rows or more than 1000, or the numbers are not as
            described above.

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
        """Return the yield stress at plastic strains.

        Args:
            p: Accumulated plastic strain (...) [-].

        Returns:
            Yield stress (...) [MPa].
        """
        return np.interp(numbers("p", p), self.plastic_strain, self.stress)

    @property
    def segments(self) -> Floats:
        """Array (rows, 3): p [-], hardening h [MPa] and slope h' beyond the row [MPa]."""
        p = np.array(self.plastic_strain)
        h = np.array(self.stress) - self.stress[0]
        slope = np.append(np.diff(h) / np.diff(p), 0.0)  # constant beyond the last row
        return np.column_stack([p, h, slope])

    @property
    def law(self) -> HardeningLaw:
        """The table as a law."""
        return TableLaw(self)


Hardening = str | HardeningTable


def law_of(hardening: Hardening) -> HardeningLaw:
    """Return the law that a name or a table selects."""
    return hardening.law if isinstance(hardening, HardeningTable) else HARDENING_LAWS[hardening]


def _plain_row(name: str, values: object) -> tuple[float, ...]:
    """Return numbers as a tuple of floats; a ValueError if one is NaN or out of bounds."""
    listed = objects(name, values)
    if listed.ndim != 1 or not all(isinstance(value, Real) for value in listed):
        raise ValueError(f"{name} = {values!r:.60} must be a sequence of numbers")
    if not 2 <= len(listed) <= MAX_ROWS:
        raise ValueError(f"{name} has {len(listed)} values: allowed are 2 to {MAX_ROWS}")
    low, high = BOUNDS[name]
    row = [number(name, value) for value in listed]
    for value in row:
        hint = in_percent(value, high) if name == "plastic_strain" else ""
        require_between(name, value, low, high, unit=hint)
    return tuple(row)


def _require_growing(name: str, row: tuple[float, ...], step: float) -> None:
    """Raise a ValueError unless numbers grow by at least a step; with step 0 they may be equal."""
    for line, (before, after) in enumerate(itertools.pairwise(row), start=2):
        if not after - before >= step:
            must = f"must grow by at least {step:g}" if step else "must not fall"
            raise ValueError(f"{name} {must}: it is {after!r} in row {line} after {before!r}")
