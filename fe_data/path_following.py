"""Follow a path of equilibria: predictor, Newton's method, and control of the steps.

Each solver states its equations as an `IncrementalProblem`, r(x, t) = 0 at the fraction t of a
straight segment of a loading path. From the last equilibrium the next one is found in four steps:

1. A polynomial through the last equilibria predicts the unknowns x.
2. Newton's method corrects them, x ← x + K⁻¹ r. The linear systems are solved only as accurately as
   Newton's method needs (Eisenstat & Walker, SIAM J. Sci. Comput. 17 (1996) 16).
3. If it fails, a problem may have its tangent damped by the elastic stiffness. The iterations then
   follow a path in pseudo-time, ẋ = M⁻¹ r, to a stable equilibrium (Kelley & Keyes, SIAM J. Numer.
   Anal. 35 (1998) 508). Points that switch between yielding and unloading no longer cause cycles.
4. If it fails too, or if the estimated error of the step is too large, a smaller step is tried.

The meaning of x and t is up to the problem. A problem whose path turns back in strain can therefore
have its load among the unknowns, and the dissipated energy as t.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fe_data.arrays import Floats
from fe_data.errors import ConvergenceError
from fe_data.incremental_problem import (
    PREDICTOR_POINTS,
    SMALLEST_STEP,
    Averages,
    IncrementalProblem,
    Residual,
)
from fe_data.loading import ALL_AXES, Loading, Segment
from safe_files.text import Short

_DIVERGED = 1e3  # growth of the residual at which the iteration stops
# If the problem may have its tangent damped, the iteration also stops at this growth to a residual
# of this many mean stresses. Linear systems of such trials are the slowest to solve.
_GROWN = 10.0
_LARGE = 2.0
_LARGEST_ACCURACY = 0.1  # relative residual of a linear solve
# Damping of the tangent at first, its bounds, and its factors after a step. It falls with the
# residual, but grows faster, so that cycles of the iteration raise it. It also falls if the
# residual stays the same: too large a damping would otherwise never end.
_DAMPING = 0.3
_DAMPING_BOUNDS = (1e-3, 10.0)
_DAMPING_FACTORS = (0.5, 8.0)
_DAMPING_OF_EQUAL_RESIDUALS = 0.8
# A residual is relative to the mean stress. The smallest reference is this fraction of the largest
# mean stress so far, because the stress may be zero after unloading.
_LEAST_SCALE = 0.1
# The error of a step is proportional to its square, so the next step is 0.9 / √error times as long
# (Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, 1993, section II.4).
_SAFETY = 0.9
_LEAST_FACTOR = 0.25
_LARGEST_FACTOR = 2.0
_SHOWN_AS_ZERO = 1e-4  # relative size of a component that a message shows as zero


class _PathEnd(Exception):
    """The problem ends the path at an equilibrium within an increment."""


class Equilibrium(NamedTuple):
    """An equilibrium of a path, with all data to continue the path from it."""

    x: Floats  # unknowns
    state: Any  # of the problem
    segments: int  # number of segments of the path so far
    largest_stress: float  # largest norm of the mean stress so far [MPa]


@dataclass(frozen=True, repr=False)
class EquilibriumPath(Short):
    """Volume averages at the start and after each increment, and the state at the end.

    `history` has `strain`, `stress` [MPa] and `plastic_strain`, (increments + 1, k), and
    `yielded_fraction`, (increments + 1,). The fast solver and the reference have k = 4 tensor
    components xx, yy, zz, xy. The general solver has k = 6 components, also xz and yz, and
    `temperature` [K] and `time` [s]. `stop` is what ended the path early, so that history and state
    end at the last increment that was reached.
    """

    x: Floats  # unknowns at the end
    state: Any  # of the problem
    history: Averages
    counts: dict[str, int]
    stop: ConvergenceError | KeyboardInterrupt | None = None


class Follower(Short):
    """The last equilibria of a path, and Newton's method for the next one.

    Attributes:
        problem: Equations, at the last equilibrium.
        tolerance: Relative residual at which Newton's method has converged [-].
        segment: Present segment of the path.
        segments: Number of segments of the path so far.
        largest_stress: Largest norm of the mean stress so far [MPa].
        residuals: Relative residual of each iteration of the last step.
        counts: Numbers of Newton iterations, updates of the state and cutbacks.
    """

    def __init__(self, problem: IncrementalProblem, tolerance: float):
        self.problem = problem
        self.tolerance = tolerance
        self.segment: Segment
        self.segments = 0
        self.largest_stress = 0.0
        self.residuals: list[float] = []
        self.counts = {"newton_iterations": 0, "updates": 0, "cutbacks": 0}
        self._path = [(0.0, problem.x)]  # fraction of the segment, and unknowns
        self._longest = math.inf  # step that the last error estimate allows

    @property
    def equilibrium(self) -> Equilibrium:
        """The last equilibrium. Its state may change if the path goes on without `restart`."""
        problem = self.problem
        return Equilibrium(problem.x, problem.state, self.segments, self.largest_stress)

    def restart(self, at: Equilibrium) -> None:
        """Go back to an equilibrium, so that further steps depend only on it."""
        self.problem.restart(at.x, at.state)
        self.segments = at.segments
        self.largest_stress = at.largest_stress
        self._path = [(1.0, at.x)]  # at the end of a segment

    def begin(self, segment: Segment) -> None:
        """Begin the next segment of the path."""
        ratio = self.problem.begin(segment, is_first=self.segments == 0)
        if ratio is None:
            self._path = [(0.0, self.problem.x)]
        else:
            # A fraction t of the last segment is the fraction (t - 1) / ratio of this segment.
            self._path = [((t - 1.0) / ratio, x) for t, x in self._path]
        self._longest = math.inf
        self.segment = segment
        self.segments += 1

    def advance(self, end: float) -> None:
        """Go on to fraction `end` of the segment, in smaller steps if needed."""
        start = self._path[-1][0]
        smallest = self.problem.newton.smallest_step
        failures, self._longest = advance(
            start, end, self._attempt, self.segments, self._longest, smallest
        )
        self.counts["cutbacks"] += failures

    def _attempt(self, t: float) -> float:
        """Try to reach fraction t; return the error of the step, above 1 if it is rejected."""
        converged = self._newton(t)
        if converged is None:
            return math.inf
        x, stress = converged
        error = self.problem.step_error(x, t, len(self.residuals) - 1)
        if error <= 1.0:
            self.problem.commit(x, t)
            self.largest_stress = max(self.largest_stress, stress)
            self._path.append((t, x))
            del self._path[:-PREDICTOR_POINTS]
            if self.problem.is_over():
                raise _PathEnd
        return error

    def _newton(self, t: float) -> tuple[Floats, float] | None:
        """Return unknowns and norm of the mean stress at fraction t; None without convergence."""
        problem = self.problem
        newton = problem.newton
        x = extrapolate(self._path[-newton.points :] if self.segments > 1 else self._path, t)
        problem.prescribe(x, t)
        start = x.copy()
        converged = self._iterate(x, t, newton.iterations)
        if converged is None and newton.damped:
            self.counts["damped_solves"] = self.counts.get("damped_solves", 0) + 1
            converged = self._iterate(start, t, newton.damped, _DAMPING)
        return converged

    def _iterate(
        self, x: Floats, t: float, iterations: int, damping: float = 0.0
    ) -> tuple[Floats, float] | None:
        """Iterate from trial unknowns x, which are changed; return like `_newton`."""
        problem = self.problem
        newton = problem.newton
        self.residuals = []
        for _ in range(iterations):
            residual = problem.residual(x, t)
            self.counts["updates"] += 1
            error = self._relative(residual)
            self.residuals.append(error)
            if error <= self.tolerance:
                return x, residual.stress
            if self._diverges():
                return None
            self.counts["newton_iterations"] += 1
            problem.assemble_tangent()
            if damping:
                damping = self._next_damping(damping)
                problem.damp(damping)
            least = error if newton.least_accuracy is None else newton.least_accuracy
            accuracy = min(_LARGEST_ACCURACY, max(least, 0.3 * self.tolerance / error))
            # x ← x + K⁻¹ r
            x += problem.solve(residual.vector, accuracy)
        return None

    def _next_damping(self, damping: float) -> float:
        """Return the damping of the next step, from the change of the residual by the last one."""
        if len(self.residuals) > 1:
            low, high = _DAMPING_FACTORS
            ratio = self.residuals[-1] / self.residuals[-2]
            damping *= min(high, max(low, _DAMPING_OF_EQUAL_RESIDUALS * ratio))
        return min(_DAMPING_BOUNDS[1], max(_DAMPING_BOUNDS[0], damping))

    def _relative(self, residual: Residual) -> float:
        """Return the residual relative to the mean stress."""
        least = _LEAST_SCALE * max(self.largest_stress, residual.held)
        return float(residual.imbalance / (max(residual.stress, least) + 1e-12))

    def _diverges(self) -> bool:
        """Return whether the residuals of the last step do not lead to an equilibrium."""
        first, last = self.residuals[0], self.residuals[-1]
        if not np.isfinite(last) or last > _DIVERGED * first:
            return True
        newton = self.problem.newton
        if newton.damped and last > max(_LARGE, _GROWN * first):
            return True
        patience = newton.patience
        is_late = patience is not None and len(self.residuals) > patience
        return self.segments > 1 and is_late and last > first


def follow(
    problem: IncrementalProblem,
    loading: Loading,
    increments: int,
    tolerance: float,
    reached: Callable[[], object] = bool,
    *,
    partial: bool = False,
    ends: Callable[[Averages], bool] = lambda _: False,
) -> EquilibriumPath:
    """Follow a loading path from the undeformed state, in equal increments of each segment.

    Args:
        problem: Equations in the undeformed state.
        loading: Path of the mean strain and stress.
        increments: Number of increments of each segment, if the loading gives none.
        tolerance: Relative residual at which Newton's method has converged [-].
        reached: Function without arguments, called at the start and after each increment. The
            default `bool` does nothing.
        partial: Whether to return the increments before an error or an interruption.
        ends: Function of the volume averages after an increment, which returns whether the path
            ends there.

    Returns:
        Volume averages at the start and after each increment, and the state at the end.

    Raises:
        ConvergenceError: If Newton's method does not converge even in the smallest steps. It has
            the history up to the last increment that was reached.
        KeyboardInterrupt: After Ctrl-C, unless `partial` is given.
    """
    follower = Follower(problem, tolerance)
    rows: list[Averages] = []
    last: tuple[Floats, Any] = problem.x, problem.state
    stop: ConvergenceError | KeyboardInterrupt | None = None

    def record() -> None:
        nonlocal last
        reached()
        rows.append(problem.averages())
        last = problem.x, problem.copied_state() if partial else problem.state

    record()
    try:
        for _ in _equilibria(follower, loading.segments(increments)):
            record()
            if ends(rows[-1]):
                break
    except _PathEnd:
        record()
    except (ConvergenceError, KeyboardInterrupt) as error:
        if isinstance(error, ConvergenceError):
            error.history = _stacked(rows)
            limit = problem.limit()
            error.args = (f"{error}. {_explanation(problem.averages(), follower.segment, limit)}",)
        if not partial:
            raise
        stop = error
    return EquilibriumPath(*last, _stacked(rows), follower.counts | problem.counts, stop)


def _equilibria(follower: Follower, segments: Sequence[Segment]) -> Iterator[None]:
    """Go along the segments of a path, and yield after each increment."""
    for segment in segments:
        follower.begin(segment)
        for increment in range(1, segment.increments + 1):
            follower.advance(increment / segment.increments)
            yield


def advance(
    start: float,
    end: float,
    attempt: Callable[[float], float],
    segment: int,
    longest: float = math.inf,
    smallest: float = SMALLEST_STEP,
) -> tuple[int, float]:
    """Follow a segment of a path for an increment, in smaller steps after a rejected attempt.

    Args:
        start: Fraction of the segment that has been reached.
        end: Fraction to be reached.
        attempt: Function of the next fraction. It returns the error of the step relative to the
            allowed error. Above 1 the step is rejected; infinity means that there is no
            equilibrium, and 0 that the error is not estimated.
        segment: Number of the segment, for the error message.
        longest: Longest first step, as returned for the increment before.
        smallest: Smallest step as a fraction of the increment.

    Returns:
        Number of attempts that were rejected, and the longest next step; infinity if the error is
        not estimated, so that the next increment begins with a whole step.

    Raises:
        ConvergenceError: If attempts are rejected down to the smallest step.

    >>> reached = []
    >>> def attempt(t):
    ...     reached.append(t)
    ...     return 0.0 if len(reached) > 1 else math.inf
    >>> advance(0.0, 1.0, attempt, segment=1), reached
    ((1, inf), [1.0, 0.25, 0.75, 1.0])
    """
    whole = end - start
    step = min(whole, longest)
    error = 0.0
    failures = 0
    while start != end:
        is_last = end - start <= step * (1 + 1e-9)
        target = end if is_last else start + step
        error = attempt(target)
        factor = _factor(error)
        if error <= 1.0:
            # The end of the increment cuts the last step short, but not the next one.
            step = max(step, factor * (end - start)) if is_last else factor * step
            start = target
            continue
        step *= factor
        failures += 1
        if step < whole * smallest:
            what = "Newton's method does not converge"
            if error < math.inf:
                what = f"the error of a step is {error:.2g} times the allowed one"
            raise ConvergenceError(
                f"{what} at load fraction {target:.5f} of segment {segment} of the path, "
                f"even in steps of {whole * smallest:.1e}"
            )
    return failures, step if error else math.inf


def _factor(error: float) -> float:
    """Return the length of the next step relative to the last one, which had this error."""
    wanted = _SAFETY / math.sqrt(error) if error else math.inf
    return min(_LARGEST_FACTOR, max(_LEAST_FACTOR, wanted))


def _stacked(rows: Sequence[Averages]) -> Averages:
    """Join volume averages at several times to a history of arrays."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _explanation(averages: Averages, segment: Segment, limit: str) -> str:
    """Say what the last equilibrium is, which may be within an increment, and why a path ends."""
    strain, stress = (_named(averages[name]) for name in ("strain", "stress"))
    if np.any(segment.end[segment.free]):
        above = "The prescribed stress may be above the limit load: prescribe a strain instead"
        cause = f"{above}. {limit}" if limit else above
    else:
        cause = limit or (
            "Usual causes are too few increments, and a material that softens until no "
            "equilibrium is stable"
        )
    return (
        f"The last equilibrium has the mean stress {stress} MPa at the mean strain {strain}. "
        f"{cause}"
    )


def _named(tensor: Floats) -> str:
    """Name the components of a tensor; those that are small compared with the largest are zero."""
    least = _SHOWN_AS_ZERO * np.abs(tensor).max()
    values = np.where(np.abs(tensor) < least, 0.0, tensor).tolist()
    return ", ".join(f"{axes} {value:.4g}" for axes, value in zip(ALL_AXES, values, strict=False))


def extrapolate(path: Sequence[tuple[float, Floats]], t: float) -> Floats:
    """Extrapolate unknowns to fraction t by a polynomial through pairs of fraction and unknowns."""
    # x(t) = Σ_i x_i Π_{j≠i} (t - t_j) / (t_i - t_j)   (Lagrange)
    x = np.zeros_like(path[0][1])
    for i, (ti, xi) in enumerate(path):
        others = [tj for j, (tj, _) in enumerate(path) if j != i]
        x += np.prod([(t - tj) / (ti - tj) for tj in others]) * xi
    return x
