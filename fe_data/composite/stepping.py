"""Newton's method along a path of mean strains, mean stresses and temperatures.

The unknowns are the displacements and the free mean strains. The initial guess of each increment is
extrapolated from the last equilibria of the part by a parabola. The linear systems are solved only
as accurately as Newton's method needs for quadratic convergence (Eisenstat & Walker, SIAM J. Sci.
Comput. 17 (1996) 16).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fe_data.arrays import Floats, Short, short
from fe_data.composite.cell import Cell
from fe_data.composite.elasticity import TO_KELVIN, plane_rotation
from fe_data.errors import ConvergenceError
from fe_data.loading import AXES, IN_PLANE, Loading, Part, advance, explain, extrapolate, stacked

if TYPE_CHECKING:
    from fe_data.composite.laws import Response

_NEWTON_ITERATIONS = 20
_PREDICTOR_POINTS = 3
_DIVERGED = 1e3  # growth of the residual at which the iteration stops
# A residual is relative to the mean stress. The smallest reference is this fraction of the largest
# mean stress so far, or of the mean stress that the temperature would cause at zero strain.
_LEAST_SCALE = 0.1

Responses = dict[str, "Response"]


class Step(Short):
    """Target of a part of the path, in Kelvin's notation and in the axes of the loading.

    Attributes:
        turn: (6, 6) rotation R from x, y, z to the axes of the loading, E' = R E.
        free: Indices of the components whose mean strain is free.
        end: (6,) mean strain [-] at the end, or mean stress [MPa] of a free component.
        temperature: Temperature change at the end [K].
        duration: Duration of the part [s].
        increments: Number of increments of the part.
    """

    def __init__(self, part: Part):
        plane = len(part.end) == len(AXES)
        place = np.array(IN_PLANE) if plane else np.arange(6)
        self.turn = plane_rotation(-part.angle)
        self.free = place[part.free]
        self.end = np.zeros(6)
        self.end[place] = part.end
        self.end *= TO_KELVIN
        self.temperature = part.temperature
        self.duration = part.duration
        self.increments = part.increments


@short
class Equilibrium(NamedTuple):
    """An equilibrium of a path, with all data to continue the path from it."""

    x: Floats
    temperature: float
    time: float
    states: dict[str, dict[str, Floats]]
    stresses: dict[str, Floats]
    stress: Floats
    number: int
    largest_stress: float


class Stepper(Short):
    """The last equilibria of an RVE, and Newton's method for the next one.

    Attributes:
        x: (n + k,) unknowns at the last equilibrium.
        temperature: Temperature change at the last equilibrium [K].
        time: Time at the last equilibrium [s].
        states: State variables of each inelastic phase by name, (points,) or (points, 6).
        stresses: Stress (points, 6) of each inelastic phase in Kelvin's notation [MPa].
        stress: (6,) mean stress at the last equilibrium, in Kelvin's notation [MPa].
        residuals: Relative residual of each iteration of the last step.
        counts: Numbers of Newton iterations, updates and cutbacks.
    """

    def __init__(self, cell: Cell, tolerance: float):
        from fe_data.composite.laws import MaterialPoints

        self.cell = cell
        self.tolerance = tolerance
        self.points = {
            part.name: MaterialPoints(part.material, cell.size) for part in cell.inelastic
        }
        self.states = {
            part.name: self.points[part.name].rest(part.weights.size) for part in cell.inelastic
        }
        self.stresses = {part.name: np.zeros((part.weights.size, 6)) for part in cell.inelastic}
        cell.system.drop_factor()
        self.x = np.zeros(cell.n + cell.size)
        self.temperature = 0.0
        self.time = 0.0
        self.stress = np.zeros(6)
        self.residuals: list[float] = []
        self.counts = {"newton_iterations": 0, "updates": 0, "cutbacks": 0}
        self._largest_stress = 0.0
        self._path: list[tuple[float, Floats]] = []
        self._number = 0
        self._responses: Responses = {}

    @property
    def equilibrium(self) -> Equilibrium:
        """The last equilibrium."""
        at = self.x, self.temperature, self.time, self.states, self.stresses, self.stress
        return Equilibrium(*at, self._number, self._largest_stress)

    def restart(self, at: Equilibrium) -> None:
        """Go back to an equilibrium, so that further steps depend only on it."""
        self.cell.system.drop_factor()
        self.x, self.temperature, self.time, self.states, self.stresses, self.stress = at[:6]
        self._number, self._largest_stress = at[6:]

    @property
    def mean_strain(self) -> Floats:
        """Mean strain (6,) in Kelvin's notation."""
        strain = np.zeros(6)
        strain[: self.cell.size] = self.x[self.cell.n :]
        return strain

    def turn(self, step: Step) -> None:
        """Begin a part of the path."""
        self._step = step
        self._start = step.turn @ self.mean_strain
        self._start[step.free] = (step.turn @ self.stress)[step.free]
        self._from = self.temperature
        self._began = self.time
        self._path = [(0.0, self.x)]
        self._number += 1

    def advance(self, end: float) -> None:
        """Go on to fraction `end` of the part, in smaller steps if Newton's method fails."""
        start = self._path[-1][0]
        self.counts["cutbacks"] += advance(start, end, self._attempt, self._number)

    def _attempt(self, t: float) -> bool:
        """Try to reach the equilibrium at fraction t; on failure return False, change nothing."""
        step = self._step
        temperature = self._from + t * (step.temperature - self._from)
        time = self._began + t * step.duration
        target = self._start + t * (step.end - self._start)
        x = extrapolate(self._path, t)
        found = self._newton(x, target, temperature, time - self.time)
        if found is None:
            return False
        self.x, responses, self.stress = found
        self._responses = responses
        self.states = {name: response.state for name, response in responses.items()}
        self.stresses = {name: response.stress for name, response in responses.items()}
        self.temperature = temperature
        self.time = time
        self._path.append((t, self.x))
        del self._path[:-_PREDICTOR_POINTS]
        return True

    def evaluate(self, x: Floats, temperature: float, dt: float) -> Responses:
        """Responses of all inelastic phases at unknowns x, starting from the last states."""
        self.counts["updates"] += 1
        responses = {}
        for part in self.cell.inelastic:
            strain = self.cell.strain(part, x, temperature).reshape(-1, 6)
            responses[part.name] = self.points[part.name].evaluate(
                strain, self.states[part.name], dt
            )
        return responses

    def _newton(
        self, x: Floats, target: Floats, temperature: float, dt: float
    ) -> tuple[Floats, Responses, Floats] | None:
        """Return unknowns, responses and mean stress at a target; None without convergence."""
        cell = self.cell
        n, size = cell.n, cell.size
        free = self._step.free[self._step.free < size]
        given = np.setdiff1d(np.arange(size), free)
        turn = self._step.turn[:size, :size]
        directions = turn[free].T
        # E = Rᵀ E' with the prescribed components of E'
        mean = turn @ x[n:]
        mean[given] = target[given]
        x[n:] = turn.T @ mean
        self.residuals = []
        for _ in range(_NEWTON_ITERATIONS):
            responses = self.evaluate(x, temperature, dt)
            force = cell.force(x, temperature, responses)
            # r = f_ext - f_int(x)
            mean_force = cell.area * target[free] - directions.T @ force[n:]
            residual = np.append(-force[:n], mean_force)
            stress = force[n:] / cell.area
            error = self._relative_error(residual, stress, temperature)
            self.residuals.append(error)
            if error <= self.tolerance:
                self._largest_stress = max(self._largest_stress, float(np.linalg.norm(stress)))
                return x, responses, np.append(stress, np.zeros(6 - size))
            if not np.isfinite(error) or error > _DIVERGED * self.residuals[0]:
                return None
            self.counts["newton_iterations"] += 1
            cell.assemble(responses)
            accuracy = min(0.1, max(error, 0.3 * self.tolerance / error))
            # x ← x + K⁻¹ r
            dx = cell.system.solve(residual, directions, accuracy)
            x[:n] += dx[:n]
            x[n:] += directions @ dx[n:]
        return None

    def _relative_error(self, residual: Floats, stress: Floats, temperature: float) -> float:
        """Larger residual of nodal forces and of mean stresses, relative to the mean stress."""
        cell = self.cell
        local = np.linalg.norm(residual[: cell.n]) / (cell.area * cell.force_scale)
        mean = np.linalg.norm(residual[cell.n :]) / cell.area
        held = abs(temperature) * cell.thermal_stress
        least = _LEAST_SCALE * max(self._largest_stress, held)
        return float(max(local, mean) / (max(float(np.linalg.norm(stress)), least) + 1e-12))


def follow(
    stepper: Stepper,
    loading: Loading,
    increments: int,
    reached: Callable[[dict[str, Floats]], object] = bool,
) -> dict[str, Floats]:
    """Follow a loading path from the undeformed state.

    Args:
        stepper: Stepper in the undeformed state.
        loading: Path.
        increments: Number of increments of each part, if the loading gives none.
        reached: Function of the volume averages, called at the start and after each increment.

    Returns:
        Volume averages at the start and after each increment. `strain`, `stress` [MPa] and
        `plastic_strain` are (increments + 1, 6) with tensor components xx, yy, zz, xy, xz, yz.
        `yielded_fraction`, `temperature` [K] and `time` [s] are (increments + 1,).

    Raises:
        ConvergenceError: If Newton's method does not converge even in the smallest steps.
    """
    rows = [averages(stepper)]
    reached(rows[-1])
    parts = loading.parts(increments)
    part = parts[0]
    try:
        for part in parts:
            stepper.turn(Step(part))
            for increment in range(1, part.increments + 1):
                stepper.advance(increment / part.increments)
                rows.append(averages(stepper))
                reached(rows[-1])
    except ConvergenceError as error:
        explain(error, stacked(rows), averages(stepper), part)
        raise
    return stacked(rows)


def averages(stepper: Stepper) -> dict[str, Floats]:
    """Volume averages at the last equilibrium, see `follow`."""
    cell = stepper.cell
    plastic = np.zeros(6)
    yielded = np.zeros(())
    for part in cell.inelastic:
        state = stepper.states[part.name]
        weights = part.weights.ravel() / cell.area
        if "plastic_strain" in state:
            plastic += weights @ state["plastic_strain"]
        if "p" in state:
            yielded = yielded + weights @ (state["p"] > 0)
        elif "plastic_strain" in state:
            yielded = yielded + weights @ (state["plastic_strain"] != 0).any(axis=1)
    return {
        "strain": stepper.mean_strain / TO_KELVIN,
        "stress": stepper.stress / TO_KELVIN,
        "plastic_strain": plastic / TO_KELVIN,
        "yielded_fraction": yielded,
        "temperature": np.asarray(stepper.temperature),
        "time": np.asarray(stepper.time),
    }
