"""Load stepping: polynomial predictor, Newton's method, and smaller steps where it fails."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.errors import ConvergenceError
from fe_data.mechanics.problem import RVEProblem, State

_NEWTON_ITERATIONS = 12
_SMALLEST_STEP = 1 / 1024  # of an increment
_PREDICTOR_POINTS = 3  # parabola through the last three states
_UNKNOWNS_OF_STRAIN = (1.0, 1.0, 2.0)  # the unknown of xy is the engineering shear strain
LARGEST_STRAIN = 0.5  # kinematics are those of small strain


@dataclass(frozen=True)
class Loading:
    """Straight path from rest to a mean strain or a mean stress in each of xx, yy, xy.

    Attributes:
        strain: Final mean strain tensor xx, yy, xy [-], whose xy is half the engineering shear
            strain; None where the strain is free.
        stress: Final mean stress xx, yy, xy where the strain is free [MPa].

    Raises:
        ValueError: If the components are not three finite numbers, are all zero, prescribe a
            stress and a strain of the same component, or a strain that is not small.
    """

    strain: tuple[float | None, float | None, float | None]
    stress: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        given = f"{self.strain}, {self.stress}"
        for name in ("strain", "stress"):
            parts = getattr(self, name)
            known = isinstance(parts, Sequence) or np.ndim(parts) == 1
            if not known or not all(part is None or isinstance(part, Real) for part in parts):
                raise ValueError(f"{name} of the loading must be numbers: {given:.60}")
        if len(self.strain) != 3 or len(self.stress) != 3:
            raise ValueError(f"loading needs three components xx, yy, xy: {given}")
        values = [v for v in (*self.strain, *self.stress) if v is not None]
        if not np.all(np.isfinite(values)):
            raise ValueError(f"loading must be finite: {given}")
        for name, strain in zip(("xx", "yy", "xy"), self.strain, strict=True):
            if strain is not None and abs(strain) > LARGEST_STRAIN:
                allowed = f"[-{LARGEST_STRAIN}, {LARGEST_STRAIN}]"
                raise ValueError(f"strain {name} = {strain} is out of range: allowed are {allowed}")
        for stress, strain in zip(self.stress, self.strain, strict=True):
            if strain is not None and stress != 0:
                raise ValueError(f"stress {stress!r} is given for a component of prescribed strain")
        if not any(values):
            raise ValueError("loading is zero in every component")

    @property
    def free(self) -> Ints:
        """Components whose strain is free."""
        return np.array([i for i in range(3) if self.strain[i] is None], dtype=int)


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
    """Trace a loading path in equal increments, to a relative residual, from rest."""
    stepper = _Stepper(problem, loading, tolerance)
    rows = [problem.volume_averages(stepper.x, np.zeros(11))]
    for increment in range(1, increments + 1):
        integrals = stepper.advance(increment / increments)
        rows.append(problem.volume_averages(stepper.x, integrals))
    history = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return EquilibriumPath(stepper.x, stepper.state, history, stepper.counts | problem.counts)


class _Stepper:
    """The last converged states (load fraction, unknowns), and the steps from there."""

    def __init__(self, problem: RVEProblem, loading: Loading, tolerance: float):
        self.problem, self.loading, self.tolerance = problem, loading, tolerance
        self.state = State(*problem.matrix.weights.shape)
        self.path = [(0.0, np.zeros(problem.n + 3))]
        self.counts = {"newton_iterations": 0, "cutbacks": 0}

    @property
    def x(self) -> Floats:
        """Unknowns at the last converged state (n + 3,)."""
        return self.path[-1][1]

    def advance(self, end: float) -> Floats:
        """Reach load fraction `end`, in smaller steps where needed; the integrals (11,) there."""
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
                        f"Newton's method does not converge at load fraction {target:.5f}, even in "
                        f"steps of {whole * _SMALLEST_STEP:.1e}"
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
        """Polynomial through the last states, evaluated at load fraction t."""
        x = np.zeros_like(self.x)
        for i, (ti, xi) in enumerate(self.path):
            others = [tj for j, (tj, _) in enumerate(self.path) if j != i]
            x += np.prod([(t - tj) / (ti - tj) for tj in others]) * xi
        return x

    def _newton(self, t: float) -> tuple[Floats, Floats] | None:
        """Unknowns and integrals at load fraction t; None when the iteration does not converge."""
        problem, free = self.problem, self.loading.free
        n, x = problem.n, self._extrapolate(t)
        for i, strain in enumerate(self.loading.strain):
            if strain is not None:
                x[n + i] = t * _UNKNOWNS_OF_STRAIN[i] * strain
        stress = t * np.array(self.loading.stress)
        unknown = np.append(np.arange(n), n + free)
        first = None
        for _ in range(_NEWTON_ITERATIONS):
            force, integrals = problem.internal_force(x, self.state)
            residual = -force[unknown]
            residual[n:] += stress[free]
            local = np.linalg.norm(residual[:n]) / problem.force_scale
            scale = np.linalg.norm(force[n:]) + 1e-12
            error = float(max(local, np.linalg.norm(residual[n:])) / scale)
            if error <= self.tolerance:
                return x, integrals
            first = first or error
            if not np.isfinite(error) or error > 1e3 * first:
                return None
            self.counts["newton_iterations"] += 1
            problem.assemble_tangent(self.state)
            # Of what a step leaves of the error, 10 to 30 times its square is the nonlinear part.
            accuracy = min(0.1, max(10 * error, 0.3 * self.tolerance / error))
            x[unknown] += problem.system.solve(residual, free, accuracy)
        return None
