"""Load stepping: polynomial predictor, Newton's method, and smaller steps where it fails."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints, Short, short
from fe_data.loading import Loading, Part, advance
from fe_data.mechanics.problem import RVEProblem, State

_NEWTON_ITERATIONS = 12
_DIVERGED = 1e3  # growth of the residual beyond which an iteration is given up
_PREDICTOR_POINTS = 3  # parabola through the last three states
# In later parts of a path points yield and unload in turns, and these choices are faster:
_POINTS_AFTER_A_TURN = 2  # a straight line through the last two states, since the path bends
_PATIENCE = 4  # iterations before a residual above the first ends the solve
_LARGEST_CHANGE = 0.012  # of the tangent: after a larger one it is factorised again
_UNKNOWNS_OF_STRAIN = np.array([1.0, 1.0, 2.0])  # the unknown of xy is engineering shear strain
_NEARLY_STRAIGHT = 0.5  # relative change of direction up to which earlier states predict the next
# A residual is relative to the mean stress, but at least to this share of the largest mean stress
# so far, because unloading ends without a stress.
_LEAST_SCALE = 0.1


@dataclass(frozen=True, repr=False)
class EquilibriumPath(Short):
    """Volume averages at every increment, the first of them at rest, and the state at the end.

    `history` holds strain, stress [MPa] and plastic_strain, (increments + 1, 4) as xx, yy, zz, xy,
    and yielded_fraction, (increments + 1,).
    """

    x: Floats  # (n + 3,) unknowns at the end
    state: State
    history: dict[str, Floats]
    counts: dict[str, int]


@short
class Equilibrium(NamedTuple):
    """A converged state of a path, with everything that decides how the path goes on from it."""

    x: Floats  # (n + 3,) unknowns
    state: State
    parts: int  # of the path, up to here
    largest_stress: float  # norm of the mean stress, up to here [MPa]


def solve_load_steps(
    problem: RVEProblem,
    loading: Loading,
    increments: int,
    tolerance: float,
    converged: Callable[[Floats, State], None] | None = None,
) -> EquilibriumPath:
    """Follow a loading from rest, in equal increments of each part, to a relative residual.

    Args:
        problem: Equations.
        loading: Path of the mean strain and stress.
        increments: Number of increments of each part that has no number of its own.
        tolerance: Relative residual at which Newton's method has converged [-].
        converged: Called with unknowns and history at rest and after every increment.

    Returns:
        Volume averages at every increment, and the state at the end.
    """
    stepper = Stepper(problem, tolerance)
    rows = [problem.volume_averages(stepper.x, stepper.integrals)]
    if converged is not None:
        converged(stepper.x, stepper.state)
    for part in loading.parts(increments):
        stepper.turn(part, part.start(rows[-1]))
        for increment in range(1, part.increments + 1):
            integrals = stepper.advance(increment / part.increments)
            rows.append(problem.volume_averages(stepper.x, integrals))
            if converged is not None:
                converged(stepper.x, stepper.state)
    history = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return EquilibriumPath(stepper.x, stepper.state, history, stepper.counts | problem.counts)


class Stepper:
    """The last converged states (fraction of a part, unknowns), and the steps from there."""

    def __init__(self, problem: RVEProblem, tolerance: float):
        problem.system.drop_factor()  # of an earlier path
        self.problem = problem
        self.tolerance = tolerance
        self.state = State(*problem.matrix.weights.shape)
        self.path = [(0.0, np.zeros(problem.n + 3))]
        self.integrals = np.zeros(11)  # at the last of them
        self.counts = {"newton_iterations": 0, "cutbacks": 0}
        self.number = 0  # of the part that is followed
        self.largest_stress = 0.0
        self.part: Part
        # The part leads from `start` along `way`: strains, or stresses where the strain is free.
        self.start = np.zeros(3)
        self.way = np.zeros(3)

    @property
    def has_turned(self) -> bool:
        """Whether a part of the path has ended."""
        return self.number > 1

    @property
    def x(self) -> Floats:
        """Unknowns at the last converged state (n + 3,)."""
        return self.path[-1][1]

    @property
    def equilibrium(self) -> Equilibrium:
        """The last converged state; it changes when the stepper goes on without `restart`."""
        return Equilibrium(self.x, self.state, self.number, self.largest_stress)

    def restart(self, equilibrium: Equilibrium) -> None:
        """Go back to a converged state. What was tried from there since decides nothing."""
        self.path = [(1.0, equilibrium.x)]  # the end of a part
        self.state = equilibrium.state.copy()
        self.number = equilibrium.parts
        self.largest_stress = equilibrium.largest_stress
        self.problem.system.drop_factor()

    def turn(self, part: Part, start: Floats) -> None:
        """Begin the next part of the path.

        States of the part before predict on where the path nearly goes on straight; elsewhere they
        are dropped.
        """
        way = part.end - start
        path = [(0.0, self.x)]
        if self.number > 0 and np.array_equal(part.free, self.part.free):
            ratio = self._speed_ratio(part, way)
            if ratio is not None:
                # Fractions t of the part before become (t - 1) / ratio of this one.
                path = [((t - 1.0) / ratio, x) for t, x in self.path]
        self.part = part
        self.start = start
        self.way = way
        self.path = path
        self.number += 1

    def _speed_ratio(self, part: Part, way: Floats) -> float | None:
        """Length of the next way over the present one; None where the path turns too much."""
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
        """Reach fraction `end` of a part, in smaller steps where needed; integrals (11,) there."""
        start = self.path[-1][0]
        self.counts["cutbacks"] += advance(start, end, self._attempt, self.number)
        return self.integrals

    def _attempt(self, t: float) -> bool:
        """Go on to the equilibrium at fraction t; where none is found nothing changes."""
        converged = self._newton(t)
        if converged is None:
            return False
        x, self.integrals = converged
        self.state.accept()
        self.path.append((t, x))
        del self.path[:-_PREDICTOR_POINTS]
        return True

    def _extrapolate(self, t: float) -> Floats:
        """Polynomial through the last states, evaluated at fraction t of a part."""
        # x(t) = Σ_i x_i Π_{j≠i} (t - t_j) / (t_i - t_j)   (Lagrange)
        x = np.zeros_like(self.x)
        path = self.path[-_POINTS_AFTER_A_TURN:] if self.has_turned else self.path
        for i, (ti, xi) in enumerate(path):
            others = [tj for j, (tj, _) in enumerate(path) if j != i]
            x += np.prod([(t - tj) / (ti - tj) for tj in others]) * xi
        return x

    def _newton(self, t: float) -> tuple[Floats, Floats] | None:
        """Unknowns and integrals at fraction t; None when the iteration does not converge."""
        problem = self.problem
        free = self.part.free
        n = problem.n
        load = self.start + t * self.way
        x = self._extrapolate(t)
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
        """Largest of the residuals of nodal forces and of mean stresses, over the mean stress."""
        n = self.problem.n
        local = np.linalg.norm(residual[:n]) / self.problem.force_scale
        scale = max(mean_stress, _LEAST_SCALE * self.largest_stress) + 1e-12
        return float(max(local, np.linalg.norm(residual[n:])) / scale)

    def _linear_accuracy(self, error: float) -> float:
        """Relative residual to which the linear system is solved: no more than Newton needs."""
        # Less accuracy would save a sixth of the iterations, but move shipped tables by 1e-5.
        return min(0.1, max(1e-3, 0.3 * self.tolerance / error))


def _prescribe(macro_unknowns: Floats, load: Floats, free: Ints) -> None:
    """Write the prescribed mean strains (xx, yy, xy) of a load to the macro unknowns (3,)."""
    given = np.delete(range(3), free)
    macro_unknowns[given] = (_UNKNOWNS_OF_STRAIN * load)[given]
