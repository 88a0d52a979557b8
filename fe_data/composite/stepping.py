"""The equations of the general solver along a path of mean strains, mean stresses, temperatures.

The unknowns are the displacements and the free mean strains, in Kelvin's notation.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fe_data.arrays import Floats, short
from fe_data.composite.cell import Cell
from fe_data.composite.elasticity import TO_KELVIN, plane_rotation
from fe_data.loading import AXES, IN_PLANE, Part
from fe_data.path_following import Averages, IncrementalProblem, Newton, Residual

if TYPE_CHECKING:
    from fe_data.composite.laws import Response

Responses = dict[str, "Response"]
_ITERATIONS = 10  # of Newton's method, before the tangent is damped
_DAMPED_ITERATIONS = 50


@short
class State(NamedTuple):
    """The data of an equilibrium apart from its unknowns."""

    temperature: float  # change [K]
    time: float  # s
    variables: dict[str, dict[str, Floats]]  # of each inelastic phase, (points,) or (points, 6)
    stresses: dict[str, Floats]  # (points, 6) of each inelastic phase, in Kelvin's notation [MPa]
    mean_stress: Floats  # (6,) in Kelvin's notation [MPa]


class IncrementalCell(IncrementalProblem):
    """The equations of an RVE along a loading path, in the undeformed state at first.

    Attributes:
        cell: Equations.
        points: Laws of the inelastic phases by name.
        x: (n + k,) unknowns at the last equilibrium.
        state: Other data of the last equilibrium.
    """

    def __init__(self, cell: Cell):
        from fe_data.composite.laws import MaterialPoints

        self.cell = cell
        self.points = {
            part.name: MaterialPoints(part.material, cell.size) for part in cell.inelastic
        }
        variables = {
            part.name: self.points[part.name].rest(part.weights.size) for part in cell.inelastic
        }
        stresses = {part.name: np.zeros((part.weights.size, 6)) for part in cell.inelastic}
        cell.system.drop_factor()
        self.x = np.zeros(cell.n + cell.size)
        self.state: State = State(0.0, 0.0, variables, stresses, np.zeros(6))
        self._responses: Responses = {}
        self._before = self.state
        if cell.inelastic:
            self.newton = Newton(iterations=_ITERATIONS, damped=_DAMPED_ITERATIONS)

    @property
    def mean_strain(self) -> Floats:
        """Mean strain (6,) in Kelvin's notation."""
        strain = np.zeros(6)
        strain[: self.cell.size] = self.x[self.cell.n :]
        return strain

    def begin(self, part: Part, *, is_first: bool) -> None:  # noqa: ARG002 (all parts are alike)
        """Begin a part of the path; earlier equilibria are not used for the prediction."""
        size = self.cell.size
        place = np.array(IN_PLANE) if len(part.end) == len(AXES) else np.arange(6)
        # R from x, y, z to the axes of the loading, E' = R E
        turn = plane_rotation(-part.angle)
        free = place[part.free]
        # Mean strains E' or, of free components, mean stresses, at the start and at the end
        start = turn @ self.mean_strain
        start[free] = (turn @ self.state.mean_stress)[free]
        end = np.zeros(6)
        end[place] = part.end
        end *= TO_KELVIN
        self._part = part
        self._origin = self.state
        self._start = start
        self._way = end - start
        self._free = free[free < size]
        self._given = np.setdiff1d(np.arange(size), self._free)
        self._turn = turn[:size, :size]
        self._directions = self._turn[self._free].T  # orthonormal, of the free mean strains

    def _load(self, t: float) -> tuple[Floats, float, float]:
        """Prescribed strains or stresses (6,), temperature [K] and time [s] at fraction t."""
        temperature = self._origin.temperature
        temperature += t * (self._part.temperature - temperature)
        return self._start + t * self._way, temperature, self._origin.time + t * self._part.duration

    def prescribe(self, x: Floats, t: float) -> None:
        """Write the prescribed mean strains at fraction t to unknowns x."""
        n = self.cell.n
        # E = Rᵀ E' with the prescribed components of E'
        mean = self._turn @ x[n:]
        mean[self._given] = self._load(t)[0][self._given]
        x[n:] = self._turn.T @ mean

    def residual(self, x: Floats, t: float) -> Residual:
        """Evaluate the residual of nodal forces and of the free components of the mean stress."""
        cell = self.cell
        n = cell.n
        target, temperature, time = self._load(t)
        responses = self._evaluate(x, temperature, time - self.state.time)
        force = cell.force(x, temperature, responses)
        # r = f_ext - f_int(x)
        mean_force = cell.area * target[self._free] - self._directions.T @ force[n:]
        stress = force[n:] / cell.area
        self._responses = responses
        self.trial = State(
            temperature,
            time,
            {name: response.state for name, response in responses.items()},
            {name: response.stress for name, response in responses.items()},
            np.append(stress, np.zeros(6 - cell.size)),
        )
        local = np.linalg.norm(-force[:n]) / (cell.area * cell.force_scale)
        imbalance = float(max(local, np.linalg.norm(mean_force) / cell.area))
        held = abs(temperature) * cell.thermal_stress
        vector = np.append(-force[:n], mean_force)
        return Residual(vector, imbalance, float(np.linalg.norm(stress)), held)

    def _evaluate(
        self, x: Floats, temperature: float, dt: float, start: State | None = None
    ) -> Responses:
        """Responses of all inelastic phases at unknowns x, from a state or the last equilibrium."""
        responses = {}
        for part in self.cell.inelastic:
            strain = self.cell.strain(part, x, temperature).reshape(-1, 6)
            variables = (start or self.state).variables[part.name]
            responses[part.name] = self.points[part.name].evaluate(strain, variables, dt)
        return responses

    def assemble_tangent(self) -> None:
        """Assemble the tangent at the last trial."""
        self.cell.assemble(self._responses)

    def damp(self, damping: float) -> None:
        """Add a multiple of the elastic stiffness of inelastic phases to the tangent."""
        self.cell.add_elastic(damping)

    def commit(self, x: Floats, t: float) -> None:
        """Accept the last trial as equilibrium."""
        self._before = self.state
        super().commit(x, t)

    def limit(self) -> str:
        """Return a sentence if a phase has lost ellipticity at the last equilibrium, else ""."""
        from fe_data.composite.ellipticity import is_elliptic

        at = self.state
        # The tangent of the last step
        dt = at.time - self._before.time
        responses = self._evaluate(self.x, at.temperature, dt or 1.0, self._before)
        lost = {}
        for part in self.cell.inelastic:
            weights = part.weights.ravel()
            tangent = responses[part.name].tangent()
            share = float(weights @ ~is_elliptic(tangent) / weights.sum())
            if share > 0:
                lost[part.name] = share
        if not lost:
            return ""
        where = " and ".join(f"{100 * share:.2g} % of the {name}" for name, share in lost.items())
        return (
            f"The law has lost ellipticity in {where}: it hardens too little there for its flow, "
            "which does not follow from the yield surface. Strain concentrates in bands as narrow "
            "as an element, and an equilibrium is not unique or does not exist"
        )

    def solve(self, residual: Floats, accuracy: float) -> Floats:
        """Solve for a Newton step (n + k,)."""
        n = self.cell.n
        dx = self.cell.system.solve(residual, self._directions, accuracy)
        return np.append(dx[:n], self._directions @ dx[n:])

    def restart(self, x: Floats, state: State) -> None:
        """Go back to an equilibrium."""
        self.cell.system.drop_factor()
        super().restart(x, state)
        self._before = state

    def averages(self) -> Averages:
        """Volume averages at the last equilibrium.

        Returns:
            Tensors (6,) with components xx, yy, zz, xy, xz, yz: `strain`, `stress` [MPa],
            `plastic_strain`. Numbers: `yielded_fraction`, `temperature` [K], `time` [s].
        """
        cell = self.cell
        plastic = np.zeros(6)
        yielded = np.zeros(())
        for part in cell.inelastic:
            variables = self.state.variables[part.name]
            weights = part.weights.ravel() / cell.area
            if "plastic_strain" in variables:
                plastic += weights @ variables["plastic_strain"]
            if "p" in variables:
                yielded = yielded + weights @ (variables["p"] > 0)
            elif "plastic_strain" in variables:
                yielded = yielded + weights @ (variables["plastic_strain"] != 0).any(axis=1)
        return {
            "strain": self.mean_strain / TO_KELVIN,
            "stress": self.state.mean_stress / TO_KELVIN,
            "plastic_strain": plastic / TO_KELVIN,
            "yielded_fraction": yielded,
            "temperature": np.asarray(self.state.temperature),
            "time": np.asarray(self.state.time),
        }

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of factorisations and iterations of the linear solver."""
        return dict(self.cell.system.counts)
