"""Load stepping: polynomial predictor, Newton's method, and smaller steps if it fails."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints, Short, short
from fe_data.errors import ConvergenceError
from fe_data.loading import Loading, Part, advance, explain, extrapolate, stacked
from fe_data.mechanics.problem import RVEProblem, State

_NEWTON_ITERATIONS = 12
_DIVERGED = 1e3  # growth of the residual at which the iteration stops
_PREDICTOR_POINTS = 3  # for a parabola through the last three states
# In later parts of a path some points yield and others unload, and these choices are faster:
_POINTS_AFTER_A_TURN = 2  # for a straight line through the last two states
_PATIENCE = 4  # after so many iterations a residual above the first one ends the solve
_LARGEST_CHANGE = 0.012  # after a larger change of the tangent it is factorised again
_UNKNOWNS_OF_STRAIN = np.array([1.0, 1.0, 2.0])  # the unknown of xy is engineering shear strain
_NEARLY_STRAIGHT = 0.5  # largest relative change of direction at which earlier states are kept
# A residual is relative to the mean stress. The smallest reference is this fraction of the largest
# mean stress so far, because the stress may be zero after unloading.
_LEAST_SCALE = 0.1


@dataclass(frozen=True, repr=False)
class EquilibriumPath(Short):
    """Volume averages at the start and after each increment, and the state at the end.

    `history` has the arrays `strain`, `stress` [MPa] and `plastic_strain`, (increments + 1, 4) with
    tensor components xx, yy, zz, xy, and `yielded_fraction`, (increments + 1,). `stop` is what
    ended the path early, so that history and state end at the last increment that was reached.
    """

    x: Floats  # (n + 3,) unknowns at the end
    state: State
    history: dict[str, Floats]
    counts: dict[str, int]
    stop: ConvergenceError | KeyboardInterrupt | None = None


@short
class Equilibrium(NamedTuple):
    """A converged state of a path, with all data to continue the path from it."""

    x: Floats  # (n + 3,) unknowns
    state: State
    parts: int  # number of parts of the path so far
    largest_stress: float  # largest norm of the mean stress so far [MPa]


def solve_load_steps(
    problem: RVEProblem,
    loading: Loading,
    increments: int,
    tolerance: float,
    converged: Callable[[Floats, State], None] | None = None,
    *,
    partial: bool = False,
) -> EquilibriumPath:
    """Follow a loading path from the undeformed state, in equal increments of each part.

    Args:
        problem: Equations.
        loading: Path of the mean strain and stress.
        increments: Number of increments of each part, if the loading gives none.
        tolerance: Relative residual at which Newton's method has converged [-].
        converged: Function of unknowns and history, called at the start and after each increment.
        partial: Whether to return the increments before an error or an interruption.

    Returns:
        Volume averages at the start and after each increment, and the state at the end.

    Raises:
        ConvergenceError: If Newton's method does not converge even in the smallest steps.
        KeyboardInterrupt: After Ctrl-C, unless `partial` is given.
    """
    stepper = Stepper(problem, tolerance)
    rows = []
    last = stepper.x, stepper.state
    stop = None

    def reached() -> None:
        nonlocal last
        if converged is not None:
            converged(stepper.x, stepper.state)
        rows.append(problem.volume_averages(stepper.x, stepper.integrals))
        last = stepper.x, stepper.state.copy() if partial else stepper.state

    reached()
    parts = loading.parts(increments)
    part = parts[0]
    try:
        for part in parts:
            stepper.turn(part, part.start(rows[-1]))
            for increment in range(1, part.increments + 1):
                stepper.advance(increment / part.increments)
                reached()
    except (ConvergenceError, KeyboardInterrupt) as error:
        averages = problem.volume_averages(stepper.x, stepper.integrals)
        explain(error, stacked(rows), averages, part)
        if not partial:
            raise
        stop = error
    return EquilibriumPath(*last, stacked(rows), stepper.counts | problem.counts, stop)


class Stepper:
    """The last converged states of a path, and Newton's method for the next one."""

    def __init__(self, problem: RVEProblem, tolerance: float):
        problem.system.drop_factor()  # it may be of an earlier path
        self.problem = problem
        self.tolerance = tolerance
        self.state = State(*problem.matrix.weights.shape)
        self.path = [(0.0, np.zeros(problem.n + 3))]  # fraction of the part, and unknowns
        self.integrals = np.zeros(11)  # at the last state
        self.counts = {"newton_iterations": 0, "cutbacks": 0}
        self.number = 0  # of the current part
        self.largest_stress = 0.0
        self.part: Part
        # The part goes from `start` to `start + way`: strains, or stresses of free components.
        self.start = np.zeros(3)
        self.way = np.zeros(3)

    @property
    def has_turned(self) -> bool:
        """Whether a part of the path has ended."""
        return self.number > 1

    @property
    def x(self) -> Floats:
        """Unknowns (n + 3,) at the last converged state."""
        return self.path[-1][1]

    @property
    def equilibrium(self) -> Equilibrium:
        """The last converged state. It changes if the stepper goes on without `restart`."""
        return Equilibrium(self.x, self.state, self.number, self.largest_stress)

    def restart(self, equilibrium: Equilibrium) -> None:
        """Go back to a converged state, so that further steps depend only on this state."""
        self.path = [(1.0, equilibrium.x)]  # at the end of a part
        self.state = equilibrium.state.copy()
        self.number = equilibrium.parts
        self.largest_stress = equilibrium.largest_stress
        self.problem.system.drop_factor()

    def turn(self, part: Part, start: Floats) -> None:
        """Begin the next part of the path.

        Earlier states are kept for the predictor only if the path continues nearly straight.
        """
        way = part.end - start
        path = [(0.0, self.x)]
        if self.number > 0 and np.array_equal(part.free, self.part.free):
            ratio = self._speed_ratio(part, way)
            if ratio is not None:
                # A fraction t of the last part is the fraction (t - 1) / ratio of this part.
                path = [((t - 1.0) / ratio, x) for t, x in self.path]
        self.part = part
        self.start = start
        self.way = way
        self.path = path
        self.number += 1

    def _speed_ratio(self, part: Part, way: Floats) -> float | None:
        """Length of the next part relative to the last one; None if the path turns too much."""
        scale = np.ones(3)
        scale[part.free] /= self.problem.law.shear_modulus  # stresses become strains
        before = scale * self.way
        after = scale * way
        # ratio = (before · after) / |before|²
        ratio = float(before @ after / (before @ before + 1e-300))
        turned = np.linalg.norm(after - ratio * before)
        if ratio > 0.0 and turned <= _NEARLY_STRAIGHT * np.linalg.norm(after):
            return ratio
        return None

    def advance(self, end: float) -> Floats:
        """Go on to fraction `end` of the part, in smaller steps if needed; return integrals."""
        start = self.path[-1][0]
        self.counts["cutbacks"] += advance(start, end, self._attempt, self.number)
        return self.integrals

    def _attempt(self, t: float) -> bool:
        """Try to reach the equilibrium at fraction t; on failure return False, change nothing."""
        converged = self._newton(t)
        if converged is None:
            return False
        x, self.integrals = converged
        self.state.accept()
        self.path.append((t, x))
        del self.path[:-_PREDICTOR_POINTS]
        return True

    def _newton(self, t: float) -> tuple[Floats, Floats] | None:
        """Return unknowns and integrals at fraction t; None without convergence."""
        problem = self.problem
        free = self.part.free
        n = problem.n
        load = self.start + t * self.way
        x = extrapolate(self.path[-_POINTS_AFTER_A_TURN:] if self.has_turned else self.path, t)
        _prescribe(x[n:], load, free)
        unknown = np.append(np.arange(n), n + free)
        first_error = None
        for iteration in range(_NEWTON_ITERATIONS):
            force, integrals = problem.internal_force(x, self.state)
            # r = f_ext - f_int(x)
            residual = -force[unknown]
            residual[n:] += load[free]
            mean_stress = float(np.linalg.norm(force[n:]))
            error = self._relative_error(residual, mean_stress)
            if error <= self.tolerance:
                self.largest_stress = max(self.largest_stress, mean_stress)
                return x, integrals
            if first_error is None:
                first_error = error
            if not np.isfinite(error) or error > _DIVERGED * first_error:
                return None
            if self.has_turned and iteration >= _PATIENCE and error > first_error:
                return None
            self.counts["newton_iterations"] += 1
            problem.assemble_tangent(self.state)
            # x ← x + K⁻¹ r
            accuracy = self._linear_accuracy(error)
            change = _LARGEST_CHANGE if self.has_turned else np.inf
            x[unknown] += problem.system.solve(residual, free, accuracy, change)
        return None

    def _relative_error(self, residual: Floats, mean_stress: float) -> float:
        """Larger residual of nodal forces and of mean stresses, relative to the mean stress."""
        n = self.problem.n
        local = np.linalg.norm(residual[:n]) / self.problem.force_scale
        scale = max(mean_stress, _LEAST_SCALE * self.largest_stress) + 1e-12
        return float(max(local, np.linalg.norm(residual[n:])) / scale)

    def _linear_accuracy(self, error: float) -> float:
        """Relative residual of the linear solve, only as small as Newton's method needs."""
        # Larger values would save a sixth of the iterations, but change the shipped tables by 1e-5.
        return min(0.1, max(1e-3, 0.3 * self.tolerance / error))


def _prescribe(macro_unknowns: Floats, load: Floats, free: Ints) -> None:
    """Write the prescribed mean strains (xx, yy, xy) of a load to the macro unknowns (3,)."""
    given = np.delete(range(3), free)
    macro_unknowns[given] = (_UNKNOWNS_OF_STRAIN * load)[given]
