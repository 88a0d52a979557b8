"""Load stepping: polynomial predictor, Newton's method, and smaller steps where it fails."""

from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Floats
from fe_data.errors import ConvergenceError
from fe_data.loading import Loading, Part
from fe_data.mechanics.problem import RVEProblem, State

_NEWTON_ITERATIONS = 12
_SMALLEST_STEP = 1 / 1024  # of an increment
_PREDICTOR_POINTS = 3  # parabola through the last three states
_UNKNOWNS_OF_STRAIN = np.array([1.0, 1.0, 2.0])  # the unknown of xy is engineering shear strain
_NEARLY_STRAIGHT = 0.5  # change of direction, relative
_LEAST_SCALE = 0.1  # of a residual, in the largest mean stress so far: unloading ends at none


@dataclass(frozen=True)
class EquilibriumPath:
    """Volume averages at every increment, the first of them at rest, and the state at the end.

    `history` holds strain, stress [MPa] and plastic_strain, (increments + 1, 4) as xx, yy, zz, xy,
    and yielded_fraction, (increments + 1,).
    """

    x: Floats  # (n + 3,) unknowns at the end
    state: State
    history: dict[str, Floats]
    counts: dict[str, int]


def solve_load_steps(
    problem: RVEProblem, loading: Loading, increments: int, tolerance: float
) -> EquilibriumPath:
    """Trace a loading path in equal increments of each part, to a relative residual, from rest."""
    stepper = _Stepper(problem, tolerance)
    rows = [problem.volume_averages(stepper.x, np.zeros(11))]
    for part in loading.parts(increments):
        stepper.turn(part, part.start(rows[-1]))
        for increment in range(1, part.increments + 1):
            integrals = stepper.advance(increment / part.increments)
            rows.append(problem.volume_averages(stepper.x, integrals))
    history = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return EquilibriumPath(stepper.x, stepper.state, history, stepper.counts | problem.counts)


class _Stepper:
    """The last converged states (fraction of a part, unknowns), and the steps from there."""

    def __init__(self, problem: RVEProblem, tolerance: float):
        self.problem, self.tolerance = problem, tolerance
        self.state = State(*problem.matrix.weights.shape)
        self.path = [(0.0, np.zeros(problem.n + 3))]
        self.counts = {"newton_iterations": 0, "cutbacks": 0}
        self.number, self.largest_stress = 0, 0.0
        self.part: Part  # the one being followed, from `start` all of the `way`
        self.start = self.way = np.zeros(3)

    def turn(self, part: Part, start: Floats) -> None:
        """Begin the next part of the path; where it nearly goes on straight, states predict on."""
        way, path = part.end - start, [(0.0, self.x)]
        if self.number and np.array_equal(part.free, self.part.free):
            scale = np.ones(3)
            scale[part.free] /= self.problem.law.shear_modulus
            before, now = scale * self.way, scale * way
            ratio = float(before @ now / (before @ before + 1e-300))
            turned = np.linalg.norm(now - ratio * before)
            if ratio > 0.0 and turned <= _NEARLY_STRAIGHT * np.linalg.norm(now):
                path = [((t - 1.0) / ratio, x) for t, x in self.path]
        self.part, self.start, self.way, self.path = part, start, way, path
        self.number += 1

    @property
    def x(self) -> Floats:
        """Unknowns at the last converged state (n + 3,)."""
        return self.path[-1][1]

    def advance(self, end: float) -> Floats:
        """Reach fraction `end` of a part, in smaller steps where needed; integrals (11,) there."""
        step = whole = end - self.path[-1][0]
        while True:
            start = self.path[-1][0]
            target = end if end - start <= step * (1 + 1e-9) else start + step
            result = self._newton(target)
            if result is None:
                self.counts["cutbacks"] += 1
                step /= 4
                if step < whole * _SMALLEST_STEP:
                    raise ConvergenceError(
                        f"Newton's method does not converge at load fraction {target:.5f} of part "
                        f"{self.number} of the path, even in steps of {whole * _SMALLEST_STEP:.1e}"
                    )
                continue
            x, integrals = result
            self.state.accept()
            self.path.append((target, x))
            del self.path[:-_PREDICTOR_POINTS]
            if target == end:
                return integrals
            step *= 2

    def _extrapolate(self, t: float) -> Floats:
        """Polynomial through the last states, evaluated at fraction t of a part."""
        x = np.zeros_like(self.x)
        for i, (ti, xi) in enumerate(self.path):
            others = [tj for j, (tj, _) in enumerate(self.path) if j != i]
            x += np.prod([(t - tj) / (ti - tj) for tj in others]) * xi
        return x

    def _newton(self, t: float) -> tuple[Floats, Floats] | None:
        """Unknowns and integrals at fraction t; None when the iteration does not converge."""
        problem, free, x = self.problem, self.part.free, self._extrapolate(t)
        n, load = problem.n, self.start + t * self.way
        given = np.delete(range(3), free)
        x[n + given] = (_UNKNOWNS_OF_STRAIN * load)[given]
        unknown = np.append(np.arange(n), n + free)
        first = None
        for _ in range(_NEWTON_ITERATIONS):
            force, integrals = problem.internal_force(x, self.state)
            residual = -force[unknown]
            residual[n:] += load[free]
            local = np.linalg.norm(residual[:n]) / problem.force_scale
            size = float(np.linalg.norm(force[n:]))
            scale = max(size, _LEAST_SCALE * self.largest_stress) + 1e-12
            error = float(max(local, np.linalg.norm(residual[n:])) / scale)
            if error <= self.tolerance:
                self.largest_stress = max(self.largest_stress, size)
                return x, integrals
            first = first or error
            if not np.isfinite(error) or error > 1e3 * first:
                return None
            self.counts["newton_iterations"] += 1
            problem.assemble_tangent(self.state)
            # A larger one would save a sixth of the iterations, but move shipped tables by 1e-5.
            accuracy = min(0.1, max(1e-3, 0.3 * self.tolerance / error))
            x[unknown] += problem.system.solve(residual, free, accuracy)
        return None
