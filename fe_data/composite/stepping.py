"""The equations of the general solver along a path of mean strains, mean stresses, temperatures.

The unknowns are the displacements and the free mean strains, in Kelvin's notation.
"""

from typing import TYPE_CHECKING

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.composite.damage import DAMAGE, WORK
from fe_data.composite.elasticity import TO_KELVIN, plane_rotation, shear_rotation
from fe_data.composite.interface import CohesiveLaw
from fe_data.composite.model import FEModel
from fe_data.composite.softening import DamagedResponse, Softening, mesh_dependences
from fe_data.composite.state import Debonding, Peak, State, Work, averages, of_breaking
from fe_data.incremental_problem import Averages, IncrementalProblem, Newton, Residual
from fe_data.loading import AXES, IN_PLANE, Segment

if TYPE_CHECKING:
    from fe_data.composite.material_points import Response

Responses = dict[str, "Response | DamagedResponse"]
_ITERATIONS = 20  # of Newton's method, before the tangent is damped
_DAMPED_ITERATIONS = 50
# Viscosity of what softens, as a mean strain: without it a snap has no equilibrium (Gao & Bower,
# Modelling Simul. Mater. Sci. Eng. 12 (2004) 453). While the mean strain grows by this length, a
# point of an interface that opens by δ_f has an overstress of the normal strength.
_VISCOSITY = 3e-7
# While the mean strain grows by this share of it, an element that is strained by 2G / h σ_0 has an
# overstress of σ_0.
_SHARE_OF_PHASES = 1 / 3
# A snap takes steps in which viscous tractions are as large as the others: fraction of an increment
_SMALLEST_STEP_OF_SNAPS = 2.0**-18
# Where interfaces soften, iterations often repeat in cycles if they do not converge soon. A shorter
# step then takes less time than further iterations.
_ITERATIONS_OF_SNAPS = 6
_WANTED_ITERATIONS = 3.0  # of a step with softening
# Least length of a part of a path as a mean strain: a part that only takes time has none.
_LEAST_LENGTH = 1e-4
# Share of a phase that loses ellipticity before the mean stress counts as depending on the mesh:
# with .1 % of an epoxy it differs by .1 to .3 % from a mesh twice as fine, with 1 % by .4 to 1.3 %.
_FEW_POINTS = 1e-3


class IncrementalModel(IncrementalProblem):
    """The equations of an RVE along a loading path, in the undeformed state at first.

    Attributes:
        model: Equations.
        points: Laws of the inelastic phases by name.
        law: Law of the interfaces.
        softening: Damage of each phase that can soften, by name.
        viscosity: Viscosity of interfaces and of softening phases, as a mean strain [-].
        drop: Share of its peak by which the mean stress falls in the last part of the path until
            the path ends; None follows the whole path.
        parts: Number of parts of the path.
        x: (n + k,) unknowns at the last equilibrium.
        state: Other data of the last equilibrium.
    """

    def __init__(
        self,
        model: FEModel,
        law: CohesiveLaw | None = None,
        viscosity: float = _VISCOSITY,
        *,
        drop: float | None = None,
        parts: int = 1,
        side: float | None = None,
    ):
        from fe_data.composite.material_points import MaterialPoints

        self.model = model
        self.points = {
            phase.name: MaterialPoints(phase.material, model.size) for phase in model.inelastic
        }
        variables = {
            phase.name: self.points[phase.name].rest(phase.weights.size)
            for phase in model.inelastic
        }
        stresses = {phase.name: np.zeros((phase.weights.size, 6)) for phase in model.inelastic}
        model.system.drop_factor()
        self.x = np.zeros(model.n + model.size)
        self.law = law
        self.softening = {} if side is None else softening_phases(model, side)
        for name in self.softening:
            variables[name][DAMAGE] = np.zeros_like(variables[name][WORK])
        self.viscosity = viscosity
        self.drop = drop
        self.parts = parts
        self._begun = 0
        debonding = None
        if model.interface is not None:
            zero = np.zeros((len(model.interface.weights), model.block))
            debonding = Debonding(zero, zero, zero[:, 0], zero[:, 0])
        breaks = debonding is not None or bool(self.softening)
        work = Work(np.zeros_like(self.x)) if breaks else None
        self.state: State = State(0.0, 0.0, variables, stresses, np.zeros(6), debonding, work)
        self._responses: Responses = {}
        self._viscosities: dict[str, Floats] = {}
        self._before = self.state
        if breaks:
            self.newton = Newton(_ITERATIONS_OF_SNAPS, smallest_step=_SMALLEST_STEP_OF_SNAPS)
        elif model.inelastic:
            self.newton = Newton(iterations=_ITERATIONS, damped=_DAMPED_ITERATIONS)

    @property
    def mean_strain(self) -> Floats:
        """Mean strain (6,) in Kelvin's notation."""
        strain = np.zeros(6)
        strain[: self.model.size] = self.x[self.model.n :]
        return strain

    def begin(self, segment: Segment, *, is_first: bool) -> None:  # noqa: ARG002 (all are alike)
        """Begin a segment of the path; earlier equilibria are not used for the prediction."""
        size = self.model.size
        place = np.array(IN_PLANE) if len(segment.end) == len(AXES) else np.arange(6)
        # R from x, y, z to the axes of the loading, E' = R E
        turn = _axes_of(segment)
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
        self._prescribed = np.setdiff1d(np.arange(size), self._free)
        self._turn = turn[:size, :size]
        self._directions = self._turn[self._free].T  # orthonormal, of the free mean strains

    def _length_of(self, way: Floats, free: Ints, segment: Segment) -> float:
        """Add up strains, stresses over E_m, and thermal strains of a segment as a mean strain."""
        materials = {phase.name: phase.material for phase in self.model.phases}
        elasticities = [material.elasticity for material in materials.values()]
        moduli = [1e3 * elasticity.modulus_across for elasticity in elasticities]
        expansion = max(float(np.abs(elasticity.expansion).max()) for elasticity in elasticities)
        strain = way.copy()
        strain[free] /= min(moduli)
        heated = abs(segment.temperature - self.state.temperature) * expansion
        return float(np.linalg.norm(strain)) + heated

    def _load(self, t: float) -> tuple[Floats, float, float]:
        """Return the strains or stresses (6,), temperature [K] and time [s] at fraction t."""
        temperature = self._origin.temperature
        temperature += t * (self._segment.temperature - temperature)
        return (
            self._start + t * self._way,
            temperature,
            self._origin.time + t * self._segment.duration,
        )

    def prescribe(self, x: Floats, t: float) -> None:
        """Write the prescribed mean strains at fraction t to unknowns x."""
        n = self.model.n
        # E = Rᵀ E' with the prescribed components of E'
        mean = self._turn @ x[n:]
        mean[self._prescribed] = self._load(t)[0][self._prescribed]
        x[n:] = self._turn.T @ mean

    def residual(self, x: Floats, t: float) -> Residual:
        """Evaluate the residual of nodal forces and of the free components of the mean stress."""
        model = self.model
        n = model.n
        target, temperature, time = self._load(t)
        responses = self._evaluate(x, temperature, time - self.state.time)
        force = model.force(x, temperature, responses)
        debonding, work = None, None
        if self.state.work is not None:
            work = self._work_of_phases(x, force, self.state.work)
            if self.softening:
                work = self._resist(x, t, force, work)
            if self.law is not None:
                debonding, work = self._debond(x, t, force, work)
        # r = f_ext - f_int(x)
        mean_force = model.area * target[self._free] - self._directions.T @ force[n:]
        stress = force[n:] / model.area
        self._responses = responses
        self.trial = State(
            temperature,
            time,
            {name: response.state for name, response in responses.items()},
            {name: response.stress for name, response in responses.items()},
            np.append(stress, np.zeros(6 - model.size)),
            debonding,
            work,
            self.state.peak,
        )
        local = np.linalg.norm(-force[:n]) / (model.area * model.force_scale)
        imbalance = float(max(local, np.linalg.norm(mean_force) / model.area))
        held = abs(temperature) * model.thermal_stress
        vector = np.append(-force[:n], mean_force)
        return Residual(vector, imbalance, float(np.linalg.norm(stress)), held)

    def _work_of_phases(self, x: Floats, force: Floats, old: Work) -> Work:
        """Add the work that the forces (n + k,) of the phases do up to unknowns x."""
        change = x - self.x
        # Work of the phases 1/2 (f_old + f) · Δx, and of the mean stress 1/2 (f_old + f)_E · ΔE
        work = 0.5 * (old.force + force) * change / self.model.area
        return Work(
            force.copy(),
            old.bulk + float(work.sum()),
            old.external + float(work[self.model.n :].sum()),
            old.viscous,
            old.snaps,
        )

    def _resist(self, x: Floats, t: float, force: Floats, work: Work) -> Work:
        """Add viscous stresses of softening phases to the forces (n + k,) of the phases."""
        model = self.model
        change = x - self.x
        for phase in model.damageable:
            softening = self.softening[phase.name]
            # It grows with the plastic strain up to the onset, so that it has no jump.
            reached = softening.mean(self.state.variables[phase.name]["p"])
            share = np.minimum(1.0, reached / softening.onset) if softening.onset else 1.0
            # Viscous stress ζ σ_0² h / 2G Δε / Δs, with the length Δs of the step as a mean strain
            viscosity = _SHARE_OF_PHASES * self.viscosity * softening.slope * share
            viscosity /= self._length * (t - self._t)
            viscous = model.viscous_force(phase, change, viscosity)
            self._viscosities[phase.name] = viscosity
            force += viscous
            done = viscous * change / model.area
            external = work.external + float(done[model.n :].sum())
            work = work._replace(external=external, viscous=work.viscous + float(done.sum()))
        return work

    def _debond(self, x: Floats, t: float, force: Floats, work: Work) -> tuple[Debonding, Work]:
        """Open the interfaces to unknowns x, and add their forces to those of the phases."""
        model, law, old = self.model, self.law, self.state.debonding
        assert model.interface is not None
        assert law is not None
        assert old is not None
        opening = model.opening(x)
        step = opening - old.opening
        # Viscous tractions ζ N / δ_f Δδ / Δs, with the length Δs of the step as a mean strain
        drag = self.viscosity * law.softening / (self._length * (t - self._t))
        now = law.evaluate(opening, old.damage)
        self._interface_tangent = now.tangent + drag * np.eye(model.block)
        weights = model.interface.weights / model.area
        model.add_interface_forces(force, now.traction + drag * step)
        viscous = work.viscous + drag * float(weights @ (step**2).sum(axis=1))
        dissipated = old.dissipated + now.dissipated
        debonding = Debonding(opening, now.traction, now.damage, dissipated)
        return debonding, work._replace(viscous=viscous)

    def _evaluate(
        self, x: Floats, temperature: float, dt: float, start: State | None = None
    ) -> Responses:
        """Return responses of inelastic phases to x, from a state or the last equilibrium."""
        responses: Responses = {}
        for phase in self.model.inelastic:
            strain = self.model.strain(phase, x, temperature).reshape(-1, 6)
            variables = (start or self.state).variables[phase.name]
            response = self.points[phase.name].evaluate(strain, variables, dt)
            responses[phase.name] = response
            if phase.name in self.softening:
                responses[phase.name] = DamagedResponse(response, self.softening[phase.name])
        return responses

    def assemble_tangent(self) -> None:
        """Assemble the tangent at the last trial."""
        self.model.assemble(self._responses)
        for phase in self.model.damageable:
            self.model.add_viscosity(phase, self._viscosities[phase.name])
        if self.law is not None:
            self.model.add_interface_tangent(self._interface_tangent)

    def damp(self, damping: float) -> None:
        """Add a multiple of the elastic stiffness of inelastic phases to the tangent."""
        self.model.add_elastic(damping)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of factorisations and iterations of the linear solver."""
        return dict(self.model.system.counts)

    def not_elliptic(self) -> dict[str, float]:
        """Return shares of phases that have lost ellipticity at the last equilibrium, by name."""
        from fe_data.composite.ellipticity import is_elliptic

        at = self.state
        # The tangent of the last step
        dt = at.time - self._before.time
        responses = self._evaluate(self.x, at.temperature, dt or 1.0, self._before)
        shares = {}
        for phase in self.model.inelastic:
            if phase.name in self.softening:  # its elements are meant to lose ellipticity
                continue
            weights = phase.weights.ravel()
            tangent = responses[phase.name].tangent()
            share = float(weights @ ~is_elliptic(tangent) / weights.sum())
            if share > 0:
                shares[phase.name] = share
        return shares

    def limit(self) -> str:
        """Return what is damaged or has lost ellipticity at the last equilibrium; "" if nothing."""
        causes = []
        fractions = of_breaking(self.model, self.state, self.softening)
        names = {"interfaces": "damaged_fraction", "area": "damaged_area"}
        shares = {what: float(fractions.get(name, 0.0)) for what, name in names.items()}
        if damaged := {what: share for what, share in shares.items() if share > 0}:
            causes.append(
                f"The RVE has damage in {_named_shares(damaged)}: it probably snaps, and even the "
                "smallest steps do not resolve how it releases its elastic energy"
            )
        if shares := self.not_elliptic():
            causes.append(
                f"The law has lost ellipticity in {_named_shares(shares)}: it hardens too little "
                "there, so that strain concentrates in bands as narrow as an element, and an "
                "equilibrium is not unique or does not exist"
            )
        return ". ".join(causes)

    def mesh_dependence(self) -> str:
        """Return why the stress depends on the mesh at the end of a path; "" if it does not."""
        materials = {phase.name: phase.material for phase in self.model.phases}
        reasons = mesh_dependences(materials)
        shares = {name: share for name, share in self.not_elliptic().items() if share > _FEW_POINTS}
        if shares:
            reasons.append(
                f"the law has lost ellipticity in {_named_shares(shares)} at the end, so the "
                "stress depends on the mesh: compare only equal --resolution, or a smaller strain"
            )
        return "; ".join(reasons)

    def solve(self, residual: Floats, accuracy: float) -> Floats:
        """Solve for a Newton step (n + k,)."""
        n = self.model.n
        dx = self.model.system.solve(residual, self._directions, accuracy)
        return np.append(dx[:n], self._directions @ dx[n:])

    def step_error(self, x: Floats, t: float, iterations: int) -> float:
        """Choose the length of the next step by the iterations of this one, if the RVE can break.

        The ratio of the lengths is that of wanted to needed iterations (Crisfield, Non-linear
        Finite Element Analysis of Solids and Structures 1 (1991), chapter 9).

        Returns:
            The error that gives this length; at most 1, so that no step is rejected.
        """
        if self.state.work is None:
            return super().step_error(x, t, iterations)
        # The next step is 0.9 / √error times as long.
        return min(1.0, (0.9 * max(1, iterations) / _WANTED_ITERATIONS) ** 2)

    def commit(self, x: Floats, t: float) -> None:
        """Accept the last trial as equilibrium."""
        if self.state.work is not None:
            self.trial = self.trial._replace(work=self._with_snap(self.state.work, self.trial.work))
        self._t = t
        self._before = self.state
        super().commit(x, t)
        if self.drop is None or not self._loads():
            return
        norm, peak = float(np.linalg.norm(self.state.mean_stress)), self.state.peak
        if peak is None or norm > peak.norm:
            turn = _axes_of(self._segment)
            peak = Peak(norm, turn @ self.state.mean_stress, turn @ self.mean_strain, norm)
        peak = peak._replace(lowest=min(norm, peak.lowest))
        self.state = self.state._replace(peak=peak)

    def _with_snap(self, old: Work, new: Work) -> Work:
        """Return the work of a step, whose viscous work may be that of a snap.

        It is if the mean stress does less work: the RVE then released elastic energy at a nearly
        constant mean strain. This energy hardly depends on the viscosity, and would be kinetic
        energy in an experiment.
        """
        viscous = new.viscous - old.viscous
        is_strained = bool(self._way[self._prescribed].any())
        if not is_strained or viscous <= abs(new.external - old.external):
            return new
        return new._replace(viscous=old.viscous, snaps=old.snaps + viscous)

    def _loads(self) -> bool:
        """Return whether this is the last part of the path, and its prescribed strains do work."""
        stress = self._turn @ self.state.mean_stress[: self.model.size]
        work = stress[self._prescribed] @ self._way[self._prescribed]
        return self._begun == self.parts and bool(work > 0)

    def is_over(self) -> bool:
        """Return whether the mean stress has fallen by the share `drop` below its peak."""
        peak = self.state.peak
        if self.drop is None or peak is None or not self._loads():
            return False
        return bool(np.linalg.norm(self.state.mean_stress) < (1 - self.drop) * peak.norm)

    def restart(self, x: Floats, state: State) -> None:
        """Go back to an equilibrium."""
        self.model.system.drop_factor()
        super().restart(x, state)
        self._before = state

    def averages(self) -> Averages:
        """Return the volume averages at the last equilibrium, see `state.averages`."""
        return averages(self.model, self.state, self.mean_strain, self.softening)


def _axes_of(segment: Segment) -> Floats:
    """Return the rotation (6, 6) of tensors from x, y, z to the axes of a loading."""
    if segment.shear_angle == 0.0:
        return plane_rotation(-segment.angle)
    return shear_rotation(segment.shear_angle) @ plane_rotation(-segment.angle)


def softening_phases(model: FEModel, side: float) -> dict[str, Softening]:
    """Make the damage of the phases of an RVE with a side [mm].

    Returns:
        Damage by the name of the phase.

    Raises:
        MeshError: If an element is too large for a fracture energy.
    """
    softening = {}
    for phase in model.damageable:
        damage, stress = phase.material.damage, phase.material.stress_at_onset
        assert damage is not None
        assert stress is not None
        modulus = 1e3 * phase.material.elasticity.modulus_across
        softening[phase.name] = Softening(phase.name, damage, stress, modulus, phase.weights, side)
    return softening


def _named_shares(shares: dict[str, float]) -> str:
    """Return shares of phases in words."""
    return " and ".join(f"{100 * share:.2g} % of the {name}" for name, share in shares.items())
