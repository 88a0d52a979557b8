"""The equations of the general solver along a path of mean strains, mean stresses, temperatures.

The unknowns are the displacements and the free mean strains, in Kelvin's notation.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints, short
from fe_data.composite.cell import Cell
from fe_data.composite.elasticity import TO_KELVIN, plane_rotation
from fe_data.composite.interface import CohesiveLaw
from fe_data.loading import AXES, IN_PLANE, Segment
from fe_data.path_following import Averages, IncrementalProblem, Newton, Residual

if TYPE_CHECKING:
    from fe_data.composite.laws import Response

Responses = dict[str, "Response"]
_ITERATIONS = 20  # of Newton's method, before the tangent is damped
_DAMPED_ITERATIONS = 50
# Viscosity of the interfaces, as a mean strain. While the mean strain grows by this length, a point
# that opens by δ_f has an overstress of the normal strength.
_VISCOSITY = 3e-6
# Least length of a part of a path as a mean strain: a part that only takes time has none.
_LEAST_LENGTH = 1e-4


@short
class Debonding(NamedTuple):
    """The state of p points of interfaces. Openings are relative to the side of the RVE."""

    opening: Floats  # (p, c)
    traction: Floats  # (p, c) without viscous tractions [MPa]
    damage: Floats  # (p,)
    dissipated: Floats  # (p,) work that was not stored [MPa]
    viscous: float  # work of viscous tractions, per area of the RVE [MPa]
    force: Floats  # (n + k,) internal forces of the phases
    bulk: float  # work on the phases, per area of the RVE [MPa]
    external: float  # work of the mean stress [MPa]


@short
class Peak(NamedTuple):
    """The equilibrium with the largest norm of the mean stress, in the axes of the loading."""

    norm: float  # of the mean stress [MPa]
    stress: Floats  # (6,) mean stress in Kelvin's notation [MPa]
    strain: Floats  # (6,) mean strain in Kelvin's notation


@short
class State(NamedTuple):
    """The data of an equilibrium apart from its unknowns."""

    temperature: float  # change [K]
    time: float  # s
    variables: dict[str, dict[str, Floats]]  # of each inelastic phase, (points,) or (points, 6)
    stresses: dict[str, Floats]  # (points, 6) of each inelastic phase, in Kelvin's notation [MPa]
    mean_stress: Floats  # (6,) in Kelvin's notation [MPa]
    debonding: Debonding | None = None  # of interfaces, if the mesh is cut
    peak: Peak | None = None  # so far in the last part of the path, with `drop`


class IncrementalCell(IncrementalProblem):
    """The equations of an RVE along a loading path, in the undeformed state at first.

    Attributes:
        cell: Equations.
        points: Laws of the inelastic phases by name.
        law: Law of the interfaces.
        viscosity: Viscosity of the interfaces, as a mean strain [-].
        drop: Share of its peak by which the mean stress falls in the last part of the path until
            the path ends; None follows the whole path.
        parts: Number of parts of the path.
        x: (n + k,) unknowns at the last equilibrium.
        state: Other data of the last equilibrium.
    """

    def __init__(
        self,
        cell: Cell,
        law: CohesiveLaw | None = None,
        viscosity: float = _VISCOSITY,
        *,
        drop: float | None = None,
        parts: int = 1,
    ):
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
        self.law = law
        self.viscosity = viscosity
        self.drop = drop
        self.parts = parts
        self._begun = 0
        debonding = None
        if cell.interface is not None:
            zero, none = np.zeros((len(cell.interface.weights), cell.block)), np.zeros_like(self.x)
            damage = zero[:, 0]
            debonding = Debonding(zero, zero, damage, damage, 0.0, none, 0.0, 0.0)
        self.state: State = State(0.0, 0.0, variables, stresses, np.zeros(6), debonding)
        self._responses: Responses = {}
        self._before = self.state
        if cell.inelastic and cell.interface is None:
            self.newton = Newton(iterations=_ITERATIONS, damped=_DAMPED_ITERATIONS)

    @property
    def mean_strain(self) -> Floats:
        """Mean strain (6,) in Kelvin's notation."""
        strain = np.zeros(6)
        strain[: self.cell.size] = self.x[self.cell.n :]
        return strain

    def begin(self, segment: Segment, *, is_first: bool) -> None:  # noqa: ARG002 (all are alike)
        """Begin a segment of the path; earlier equilibria are not used for the prediction."""
        size = self.cell.size
        place = np.array(IN_PLANE) if len(segment.end) == len(AXES) else np.arange(6)
        # R from x, y, z to the axes of the loading, E' = R E
        turn = plane_rotation(-segment.angle)
        free = place[segment.free]
        # Mean strains E' or, of free components, mean stresses, at the start and at the end
        start = turn @ self.mean_strain
        start[free] = (turn @ self.state.mean_stress)[free]
        end = np.zeros(6)
        end[place] = segment.end
        end *= TO_KELVIN
        self._segment = segment
        self._length = max(_LEAST_LENGTH, self._length_of(end - start, free, segment))
        self._t = 0.0
        self._begun += 1
        self._origin = self.state
        self._start = start
        self._way = end - start
        self._free = free[free < size]
        self._given = np.setdiff1d(np.arange(size), self._free)
        self._turn = turn[:size, :size]
        self._directions = self._turn[self._free].T  # orthonormal, of the free mean strains

    def _length_of(self, way: Floats, free: Ints, segment: Segment) -> float:
        """Length of a segment as a mean strain: strains, stresses over E_m, and thermal strains."""
        materials = {part.name: part.material for part in self.cell.parts}
        elasticities = [material.elasticity for material in materials.values()]
        moduli = [1e3 * each.modulus_across for each in elasticities]
        expansion = max(float(np.abs(each.expansion).max()) for each in elasticities)
        strain = way.copy()
        strain[free] /= min(moduli)
        heated = abs(segment.temperature - self.state.temperature) * expansion
        return float(np.linalg.norm(strain)) + heated

    def _load(self, t: float) -> tuple[Floats, float, float]:
        """Prescribed strains or stresses (6,), temperature [K] and time [s] at fraction t."""
        temperature = self._origin.temperature
        temperature += t * (self._segment.temperature - temperature)
        return (
            self._start + t * self._way,
            temperature,
            self._origin.time + t * self._segment.duration,
        )

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
        debonding = None
        if self.law is not None:
            debonding = self._debond(x, t, force)
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
            debonding,
            self.state.peak,
        )
        local = np.linalg.norm(-force[:n]) / (cell.area * cell.force_scale)
        imbalance = float(max(local, np.linalg.norm(mean_force) / cell.area))
        held = abs(temperature) * cell.thermal_stress
        vector = np.append(-force[:n], mean_force)
        return Residual(vector, imbalance, float(np.linalg.norm(stress)), held)

    def _debond(self, x: Floats, t: float, force: Floats) -> Debonding:
        """Open the interfaces to unknowns x, and add their forces to those of the phases."""
        cell, law, old = self.cell, self.law, self.state.debonding
        assert cell.interface is not None
        assert law is not None
        assert old is not None
        opening = cell.opening(x)
        step = opening - old.opening
        # Viscous tractions ζ N / δ_f Δδ / Δs, with the length Δs of the step as a mean strain
        drag = self.viscosity * law.softening / (self._length * (t - self._t))
        now = law.evaluate(opening, old.damage)
        self._interface_tangent = now.tangent + drag * np.eye(cell.block)
        change = x - self.x
        # Work of the phases 1/2 (f_old + f) · Δx, and of the mean stress 1/2 (f_old + f)_E · ΔE
        work = 0.5 * (old.force + force) * change / cell.area
        weights = cell.interface.weights / cell.area
        found = Debonding(
            opening,
            now.traction,
            now.damage,
            old.dissipated + now.dissipated,
            old.viscous + drag * float(weights @ (step**2).sum(axis=1)),
            force.copy(),
            old.bulk + float(work.sum()),
            old.external + float(work[cell.n :].sum()),
        )
        cell.add_interface_forces(force, now.traction + drag * step)
        return found

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
        if self.law is not None:
            self.cell.add_interface_tangent(self._interface_tangent)

    def damp(self, damping: float) -> None:
        """Add a multiple of the elastic stiffness of inelastic phases to the tangent."""
        self.cell.add_elastic(damping)

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
            f"The law has lost ellipticity in {where}: it hardens too little there, so that strain "
            "concentrates in bands as narrow as an element, and an equilibrium is not unique or "
            "does not exist"
        )

    def solve(self, residual: Floats, accuracy: float) -> Floats:
        """Solve for a Newton step (n + k,)."""
        n = self.cell.n
        dx = self.cell.system.solve(residual, self._directions, accuracy)
        return np.append(dx[:n], self._directions @ dx[n:])

    def commit(self, x: Floats, t: float) -> None:
        """Accept the last trial as equilibrium."""
        self._t = t
        self._before = self.state
        super().commit(x, t)
        if self.drop is None or not self._loads():
            return
        norm, peak = float(np.linalg.norm(self.state.mean_stress)), self.state.peak
        if peak is None or norm > peak.norm:
            turn = plane_rotation(-self._segment.angle)
            peak = Peak(norm, turn @ self.state.mean_stress, turn @ self.mean_strain)
            self.state = self.state._replace(peak=peak)

    def _loads(self) -> bool:
        """Whether this is the last part of the path, and its prescribed strains do work."""
        stress = self._turn @ self.state.mean_stress[: self.cell.size]
        work = stress[self._given] @ self._way[self._given]
        return self._begun == self.parts and bool(work > 0)

    def is_over(self) -> bool:
        """Return whether the mean stress has fallen by the share `drop` below its peak."""
        peak = self.state.peak
        if self.drop is None or peak is None or not self._loads():
            return False
        return bool(np.linalg.norm(self.state.mean_stress) < (1 - self.drop) * peak.norm)

    def restart(self, x: Floats, state: State) -> None:
        """Go back to an equilibrium."""
        self.cell.system.drop_factor()
        super().restart(x, state)
        self._before = state

    def averages(self) -> Averages:
        """Volume averages at the last equilibrium.

        Returns:
            Tensors (6,) with components xx, yy, zz, xy, xz, yz: `strain`, `stress` [MPa],
            `plastic_strain`. Numbers: `yielded_fraction`, `temperature` [K], `time` [s]. If the
            mesh is cut, also the length fractions of interfaces that are damaged and debonded, and
            energies per area of the RVE [MPa]: the work of the mean stress, and its parts, which
            are the work on the phases, and the stored, dissipated and viscous work of interfaces.
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
            **self._of_interfaces(),
        }

    def _of_interfaces(self) -> Averages:
        """Fractions and energies of the interfaces."""
        at, points = self.state.debonding, self.cell.interface
        if at is None or points is None:
            return {}
        share = points.weights / points.weights.sum()
        weights = points.weights / self.cell.area
        # Stored energy 1/2 t · δ
        stored = weights @ (0.5 * at.opening * at.traction).sum(axis=1)
        numbers = {
            "damaged_fraction": share @ (at.damage > 0),
            "debonded_fraction": share @ (at.damage >= 1),
            "external_work": at.external,
            "work_on_phases": at.bulk,
            "interface_energy": stored,
            "debonding_energy": weights @ at.dissipated,
            "viscous_energy": at.viscous,
        }
        return {name: np.asarray(float(value)) for name, value in numbers.items()}

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of factorisations and iterations of the linear solver."""
        return dict(self.cell.system.counts)
