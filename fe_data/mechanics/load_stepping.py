"""Load a periodic cell step by step: extrapolating predictor, Newton's method, cutback."""

from dataclasses import dataclass, field

import numpy as np

from fe_data.errors import ConvergenceError
from fe_data.mechanics.problem import PeriodicCell, State

_NEWTON_ITERATIONS = 12
_SMALLEST_STEP = 1 / 1024  # of an increment
_PREDICTOR_POINTS = 3  # parabola through the last three states


@dataclass(frozen=True)
class Loading:
    """Straight path from rest to a mean strain or a mean stress in each of xx, yy, xy."""

    strain: tuple[float | None, float | None, float | None]  # final; xy as engineering shear [-]
    stress: tuple[float, float, float] = (0.0, 0.0, 0.0)  # final, where the strain is None [MPa]

    def __post_init__(self):
        if len(self.strain) != 3 or len(self.stress) != 3:
            raise ValueError(
                f"loading needs three components xx, yy, xy: {self.strain}, {self.stress}"
            )
        values = [v for v in (*self.strain, *self.stress) if v is not None]
        if not np.all(np.isfinite(values)):
            raise ValueError(f"loading must be finite: {self.strain}, {self.stress}")
        given = [
            s for s, e in zip(self.stress, self.strain, strict=True) if e is not None and s != 0
        ]
        if given:
            raise ValueError(
                f"stress {given[0]!r} is given for a component whose strain is prescribed"
            )
        if not any(values):
            raise ValueError("loading is zero in every component")

    @property
    def free(self) -> np.ndarray:
        """Components whose strain is free."""
        return np.array([i for i in range(3) if self.strain[i] is None], dtype=int)


@dataclass
class Solution:
    """Averages at every increment, and the state at the end."""

    x: np.ndarray  # unknowns of the cell at the end
    state: State
    history: dict[str, np.ndarray]
    counts: dict[str, int] = field(default_factory=dict)


def solve(cell: PeriodicCell, loading: Loading, increments: int, tolerance: float) -> Solution:
    """Trace a loading path in equal increments.

    Args:
        cell: The cell, at rest.
        loading: Final macro strains and stresses.
        increments: Number of increments.
        tolerance: Relative residual at which a step counts as converged [-].

    Raises:
        ConvergenceError: If a step fails even when it is cut back.
    """
    state = State(*cell.matrix.weights.shape)
    path = [(0.0, np.zeros(cell.n + 3))]
    rows = [cell.averages(path[0][1], np.zeros(8), np.zeros(3))]
    counts = {"newton_iterations": 0, "cutbacks": 0}
    for increment in range(1, increments + 1):
        x, parts = _advance(cell, loading, state, path, increment / increments, tolerance, counts)
        rows.append(cell.averages(x, *parts))
    history = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    counts |= cell.counts
    return Solution(x, state, history, counts)


def _advance(cell, loading, state, path, end: float, tolerance, counts):
    """Reach load fraction `end`, in smaller steps where Newton's method needs them."""
    step = whole = end - path[-1][0]
    while True:
        target = end if end - path[-1][0] <= step * (1 + 1e-9) else path[-1][0] + step
        result = _newton(cell, loading, state, path, target, tolerance, counts)
        if result is None:
            counts["cutbacks"] += 1
            step /= 4
            if step < whole * _SMALLEST_STEP:
                raise ConvergenceError(
                    f"Newton's method does not converge at load fraction {target:.5f}, even in "
                    f"steps of {whole * _SMALLEST_STEP:.1e}"
                )
            continue
        state.accept()
        path.append((target, result[0]))
        del path[:-_PREDICTOR_POINTS]
        if target == end:
            return result
        step *= 2


def _extrapolate(path: list[tuple[float, np.ndarray]], t: float) -> np.ndarray:
    """Polynomial through the last states, evaluated at load fraction t."""
    x = np.zeros_like(path[0][1])
    for i, (ti, xi) in enumerate(path):
        x += np.prod([(t - tj) / (ti - tj) for j, (tj, _) in enumerate(path) if j != i]) * xi
    return x


def _newton(cell, loading, state, path, t: float, tolerance: float, counts):
    """Solve at load fraction t; None when it does not converge."""
    n, free = cell.n, loading.free
    x = _extrapolate(path, t)
    for i, strain in enumerate(loading.strain):
        if strain is not None:
            x[n + i] = t * strain
    stress = t * np.array(loading.stress)
    unknown = np.append(np.arange(n), n + free)
    first = None
    for _ in range(_NEWTON_ITERATIONS):
        force, *parts = cell.evaluate(x, state)
        residual = -force[unknown]
        residual[n:] += stress[free]
        scale = np.linalg.norm(force[n:]) + 1e-12
        error = (
            max(np.linalg.norm(residual[:n]) / cell.force_scale, np.linalg.norm(residual[n:]))
            / scale
        )
        if error <= tolerance:
            return x, parts
        first = first or error
        if not np.isfinite(error) or error > 1e3 * first:
            return None
        counts["newton_iterations"] += 1
        cell.linearise(state)
        x[unknown] += cell.solve(residual, free, min(0.1, max(1e-3, 0.3 * tolerance / error)))
    return None
