"""Newton's method along a path of mean strains, mean stresses and temperatures.

Unknowns are the displacements and the free mean strains. Each increment begins with a parabola
through the last equilibria of the part. The linear systems are solved as accurately as Newton's
method needs, so that it converges quadratically (Eisenstat & Walker, SIAM J. Sci. Comput. 17 (1996)
16).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fe_data.arrays import Floats, Short, short
from fe_data.composite.cell import Cell
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.errors import ConvergenceError
from fe_data.loading import AXES, Loading, Part, advance

if TYPE_CHECKING:
    from fe_data.composite.laws import Response

_NEWTON_ITERATIONS = 20
_PREDICTOR_POINTS = 3
_DIVERGED = 1e3  # growth of the residual beyond which an iteration is given up
_PLANE = [0, 1, 3]  # components of a loading in plane strain among all six
# A residual is relative to the mean stress, but at least to this share of the largest mean stress
# so far, and of the mean stress that a held thermal strain would have.
_LEAST_SCALE = 0.1

Responses = dict[str, "Response"]


class Step(Short):
    """Everything that the end of a step is to have, in Kelvin's notation.

    Attributes:
        free: Components whose mean strain is free.
        end: (6,) mean strain, or mean stress [MPa] where the strain is free.
        temperature: Temperature change [K].
        duration: s.
    """

    def __init__(self, part: Part):
        plane = len(part.end) == len(AXES)
        place = np.array(_PLANE) if plane else np.arange(6)
        self.free = place[part.free]
        self.end = np.zeros(6)
        self.end[place] = part.end
        self.end *= TO_KELVIN
        self.temperature = part.temperature
        self.duration = part.duration
        self.increments = part.increments


@short
class Equilibrium(NamedTuple):
    """An equilibrium of a path, with everything that decides how the path goes on from it."""

    x: Floats
    temperature: float
    time: float
    states: dict[str, dict[str, Floats]]
    stresses: dict[str, Floats]
    stress: Floats
    number: int
    largest_stress: float


class Stepper(Short):
    """The last equilibria, and Newton's method for the next one.

    Attributes:
        x: (n + k,) unknowns at the last equilibrium.
        temperature: Temperature change there [K].
        states: State of each phase that is not elastic, (points,) or (points, 6).
        stresses: Stress (points, 6) of each of these phases [MPa].
        stress: (6,) mean stress there, in Kelvin's notation [MPa].
        residuals: Relative residual of each iteration of the last increment.
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
        """Go back to an equilibrium, so that what follows depends on it alone."""
        self.cell.system.drop_factor()
        self.x, self.temperature, self.time, self.states, self.stresses, self.stress = at[:6]
        self._number, self._largest_stress = at[6:]

    def tangent(self) -> Floats:
        """Derivative of the mean stress by the mean strain at the last equilibrium.

        It can be computed once. After a step that was cut back it is that of its last part.

        Returns:
            The derivative (k, k) in Kelvin's notation [MPa].

        Raises:
            ConvergenceError: If the linear systems cannot be solved.
        """
        cell = self.cell
        system = cell.system
        cell.assemble(self._responses)
        # C - Bᵀ* K⁻¹ B
        found = (system.macro - system.across @ system.solve_columns(system.border)) / cell.area
        if not np.isfinite(found).all():
            raise ConvergenceError("the tangent of the RVE cannot be computed: it is singular")
        return np.asarray(found)

    @property
    def mean_strain(self) -> Floats:
        """Mean strain (6,) in Kelvin's notation."""
        strain = np.zeros(6)
        strain[: self.cell.size] = self.x[self.cell.n :]
        return strain

    def turn(self, step: Step) -> None:
        """Begin the next part of the path."""
        self._step = step
        self._start = self.mean_strain
        self._start[step.free] = self.stress[step.free]
        self._from = self.temperature
        self._began = self.time
        self._path = [(0.0, self.x)]
        self._number += 1

    def advance(self, end: float) -> None:
        """Reach fraction `end` of the part, in smaller steps where Newton's method fails."""
        start = self._path[-1][0]
        self.counts["cutbacks"] += advance(start, end, self._attempt, self._number)

    def _attempt(self, t: float) -> bool:
        """Go on to the equilibrium at fraction t; where none is found nothing changes."""
        step = self._step
        temperature = self._from + t * (step.temperature - self._from)
        time = self._began + t * step.duration
        target = self._start + t * (step.end - self._start)
        found = self._newton(self._predicted(t), target, temperature, time - self.time)
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

    def _predicted(self, t: float) -> Floats:
        """Polynomial through the last equilibria of the part, at fraction t."""
        # x(t) = Σ_i x_i Π_{j≠i} (t - t_j) / (t_i - t_j)   (Lagrange)
        x = np.zeros_like(self.x)
        for i, (ti, xi) in enumerate(self._path):
            others = [tj for j, (tj, _) in enumerate(self._path) if j != i]
            x += np.prod([(t - tj) / (ti - tj) for tj in others]) * xi
        return x

    def evaluate(self, x: Floats, temperature: float, dt: float) -> Responses:
        """Responses of all phases that are not elastic, from the last states."""
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
        """Unknowns, responses and mean stress at a target; None where it does not converge."""
        cell = self.cell
        n, size = cell.n, cell.size
        free = self._step.free[self._step.free < size]
        given = np.setdiff1d(np.arange(size), free)
        x[n + given] = target[given]
        unknown = np.append(np.arange(n), n + free)
        self.residuals = []
        for _ in range(_NEWTON_ITERATIONS):
            responses = self.evaluate(x, temperature, dt)
            force = cell.force(x, temperature, responses)
            # r = f_ext - f_int(x)
            residual = -force[unknown]
            residual[n:] += cell.area * target[free]
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
            x[unknown] += cell.system.solve(residual, free, accuracy)
        return None

    def _relative_error(self, residual: Floats, stress: Floats, temperature: float) -> float:
        """Largest of the residuals of nodal forces and of mean stresses, over the mean stress."""
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
    reached: Callable[[], object] = bool,
) -> dict[str, Floats]:
    """Follow a loading from rest.

    Args:
        stepper: Cell at rest.
        loading: Path.
        increments: Number of increments of each part that has no number of its own.
        reached: Called at rest and after every increment.

    Returns:
        Volume averages at every increment, the first of them at rest: strain, stress [MPa] and
        plastic_strain, (increments + 1, 6) as xx, yy, zz, xy, xz, yz, and (increments + 1,)
        yielded_fraction, temperature [K] and time [s].
    """
    rows = [averages(stepper)]
    reached()
    for part in loading.parts(increments):
        step = Step(part)
        stepper.turn(step)
        for increment in range(1, part.increments + 1):
            stepper.advance(increment / part.increments)
            rows.append(averages(stepper))
            reached()
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


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
