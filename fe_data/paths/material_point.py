"""An RVE as the material at a point of a larger structure (FE²).

The solver of the structure prescribes a mean strain at the point, and receives the mean stress and
its derivative (Feyel & Chaboche, CMAME 183, 2000). To find equilibrium of the structure it tries
several strains, which all start from the last accepted state.

If Newton's method fails, the follower divides the increment into substeps. At the end t_k of a
substep the nodal forces r(u_k, t_k E, s_k-1) vanish, and the law gives the state s_k of all points.
The derivative by the mean strain E of the whole increment therefore accumulates,

    K du_k/dE = -(B t_k + ∂r/∂s ds_k-1/dE),    ds_k/dE = ∂s/∂ε dε_k/dE + ∂s/∂s ds_k-1/dE.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from fe_data.arrays import Floats, Ints, numbers
from fe_data.composite import state as composite_state
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.composite.phases import Phases, require_no_phases
from fe_data.composite.rve import composite_domain, composite_model, one_thread
from fe_data.composite.stepping import IncrementalModel
from fe_data.geometry.domain import Domain
from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import Microstructure
from fe_data.geometry.outline import Outline
from fe_data.loading import IN_PLANE, MAX_TEMPERATURE, MAX_TIME, Segment
from fe_data.mechanics.elements import discretise, strain_at_points
from fe_data.mechanics.load_stepping import IncrementalRVE
from fe_data.mechanics.plasticity import Changes, HistoryVariables, differentials
from fe_data.mechanics.problem import RVEProblem, State
from fe_data.mechanics.rve import arrange_fibres, seed_or_fibres
from fe_data.path_following import Equilibrium, Follower
from fe_data.schema import LARGEST_STRAIN
from fe_data.settings import (
    Inputs,
    PaperPhases,
    Settings,
    VolumeFraction,
    in_percent,
    require_between,
    require_kind,
)
from safe_files.text import Short

_NONE_FREE: Ints = np.empty(0, int)
_SHORTEST = 1e-12  # duration of a step [s]
_SAME_FIBRES = 1e-9  # largest difference of centres and radii, relative to the side of the RVE
Stored = dict[str, Any]


class _Fast(IncrementalRVE):
    """Equations of the fast solver, with the derivative by the mean strain of the segment."""

    def begin(self, segment: Segment, *, is_first: bool) -> float | None:
        """Begin a segment of the path."""
        self._changes: Changes | None = None
        return super().begin(segment, is_first=is_first)

    def commit(self, x: Floats, t: float) -> None:
        """Accept the last trial at fraction t, and differentiate it."""
        super().commit(x, t)
        problem = self.problem
        d_stress, _ = self._differentiate(np.zeros((problem.n, 3)), np.zeros((3, 3)))
        forces, means = problem.forces_of(d_stress)
        self.assemble_tangent()
        K = problem.system
        # K du = -(B t + ∂r/∂s ds)
        du = -K.solve_columns(t * K.tangent.border + forces)
        self._tangent = t * K.tangent.macro + K.tangent.border.T @ du + means
        if t < 1.0:
            _, self._changes = self._differentiate(du, t * np.eye(3))

    def _differentiate(self, du: Floats, d_mean: Floats) -> tuple[Floats, Changes]:
        """Return changes of stress and history in the last step for columns of changed unknowns."""
        matrix = self.problem.matrix
        end, start = self.state.old, self.state.new  # `State.accept` has exchanged them
        changes = self._changes
        if changes is None:
            changes = Changes(np.zeros((*end.plastic_strain.shape, 3)), np.zeros((*end.p.shape, 3)))
        n = self.problem.n
        columns = zip(du.T, d_mean.T, strict=True)
        d_strain = np.stack([strain_at_points(matrix, *column) for column in columns], axis=-1)
        strain = strain_at_points(matrix, self.x[:n], self.x[n:])
        step = strain, start, end, self.state.tangent, self.problem.law
        return differentials(*step, d_strain, changes)

    def response(self) -> tuple[Floats, Floats]:
        """Return the mean stress and tangent at the last equilibrium."""
        return self.averages()["stress"][IN_PLANE], self._tangent

    def stored(self, state: State) -> Stored:
        """Return a state as arrays by name."""
        return {f"matrix/{name}": values for name, values in state.old._asdict().items()}

    def restored(self, stored: Stored) -> State:
        """Return the state of `stored`."""
        state = State(*self.problem.matrix.weights.shape)
        names = HistoryVariables._fields
        state.old = HistoryVariables(*(stored[f"matrix/{name}"] for name in names))
        return state


class _General(IncrementalModel):
    """Equations of the general solver, with the derivative by the mean strain of the segment."""

    def begin(self, segment: Segment, *, is_first: bool) -> None:
        """Begin a segment of the path."""
        self._changes: dict[str, dict[str, Floats]] = {}
        super().begin(segment, is_first=is_first)

    def commit(self, x: Floats, t: float) -> None:
        """Accept the last trial at fraction t, and differentiate it."""
        before = self.state
        super().commit(x, t)
        model = self.model
        K = model.system
        forces = np.zeros((3, model.n + model.size))
        mean = np.eye(model.size)[:, IN_PLANE]
        if self._changes:
            none = np.zeros((model.n + model.size, 3))
            d_stress = self._differentiate(none, before)[0]
            for j, force in enumerate(forces):
                model.add_forces(
                    force, {name: derivative[..., j] for name, derivative in d_stress.items()}
                )
        self.assemble_tangent()
        # K du = -(B t + ∂r/∂s ds)
        du = -K.solve_columns(t * K.border @ mean + forces[:, : model.n].T)
        total = t * K.macro @ mean + K.across @ du + forces[:, model.n :].T
        self._tangent = total[IN_PLANE] / model.area
        if t < 1.0:
            dx = np.concatenate([du, t * mean])
            _, self._changes = self._differentiate(dx, before)

    def _differentiate(
        self, dx: Floats, before: composite_state.State
    ) -> tuple[dict[str, Floats], dict[str, dict[str, Floats]]]:
        """Return changes of stresses and variables in the last step for changed unknowns."""
        stresses = {}
        variables = {}
        dt = self.state.time - before.time
        for phase in self.model.inelastic:
            name = phase.name
            start = before.variables[name]
            strain = self.model.strain(phase, self.x, self.state.temperature).reshape(-1, 6)
            d_strain = [self.model.strain(phase, column, 0.0).reshape(-1, 6) for column in dx.T]
            changes = self._changes.get(name) or {
                variable: np.zeros((*values.shape, 3)) for variable, values in start.items()
            }
            stresses[name], variables[name] = self.points[name].differentials(
                strain, start, dt, np.stack(d_strain, axis=-1), changes
            )
        return stresses, variables

    def response(self) -> tuple[Floats, Floats]:
        """Return the mean stress and tangent at the last equilibrium."""
        # Convert from Kelvin's notation: engineering shear strain is √2 times the component there.
        kelvin = TO_KELVIN[IN_PLANE]
        return self.state.mean_stress[IN_PLANE] / kelvin, self._tangent / np.outer(kelvin, kelvin)

    def stored(self, state: composite_state.State) -> Stored:
        """Return a state as numbers and arrays by name."""
        return {
            "temperature_K": state.temperature,
            "time_s": state.time,
            **{f"{name}/stress": values for name, values in state.stresses.items()},
            **{
                f"{name}/state/{variable}": values
                for name, variables in state.variables.items()
                for variable, values in variables.items()
            },
            "mean_stress": state.mean_stress,
        }

    def restored(self, stored: Stored) -> composite_state.State:
        """Return the state of `stored`."""
        return composite_state.State(
            temperature=float(stored["temperature_K"]),
            time=float(stored["time_s"]),
            variables={
                name: {variable: stored[f"{name}/state/{variable}"] for variable in variables}
                for name, variables in self.state.variables.items()
            },
            stresses={name: stored[f"{name}/stress"] for name in self.state.stresses},
            mean_stress=stored["mean_stress"],
        )


@dataclass(eq=False, repr=False)
class MaterialPoint(Short):
    """An RVE as a material law: mean stress and tangent for a mean strain.

    Copies, also in other processes, mesh the RVE again and have its accepted state. Several threads
    may use different points at the same time.

    Args:
        inputs: The four inputs. With phases only the volume fraction is used; pass a
            `VolumeFraction`.
        settings: Mesh, material constants and solver options; None uses the defaults.
        phases: Phases for the general solver; None uses the fast solver.
        seed: Seed of random fibres; None is 0.
        microstructure: Fibres in place of random ones, as for `solve_rve`.

    Raises:
        ValueError: If an argument is out of range, the volume fraction cannot be packed, the phases
            can break, or settings of phases are combined with `phases`.
        TypeError: If inputs, settings or phases have the wrong type.

    If the RVE cannot be meshed, a `SimulationError` is raised.

    Examples:
        >>> from fe_data import Inputs, MaterialPoint, Settings
        >>> one_fibre = Settings(n_fibres=1, resolution=3)
        >>> point = MaterialPoint(Inputs(0.2, 400.0, 400.0, 0.4), one_fibre)
        >>> stress, tangent = point.respond([0.001, 0.0, 0.0])
        >>> bool(abs(stress[0] - 0.001 * tangent[0, 0]) < 1e-3 * stress[0])  # still elastic
        True
        >>> point.accept()
    """

    inputs: Inputs | VolumeFraction
    settings: Settings | None = None
    phases: Phases | None = None
    seed: int | None = field(default=None, kw_only=True)
    microstructure: Microstructure | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Mesh the RVE."""
        settings = Settings() if self.settings is None else self.settings
        kinds = (Inputs,) if self.phases is None else (Inputs, VolumeFraction)
        require_kind("inputs", self.inputs, *kinds)
        require_kind("settings", settings, Settings)
        require_kind("phases", self.phases, Phases, NoneType)
        if self.phases is not None:
            require_no_phases(settings)
            if self.phases.can_break(self.microstructure or self.inputs.vf):
                raise ValueError(
                    "phases have an interface or damage: a MaterialPoint does not break, so give "
                    "it phases.unbreakable()"
                )
        general = self.phases is not None
        fibres = seed_or_fibres(self.seed, self.microstructure)
        fibres = arrange_fibres(fibres, self.inputs, settings, any_phase=general)
        with threadpool_limits(limits=1):
            if self.phases is None:
                d = discretise(generate_mesh(Outline(fibres, settings.resolution)))
                assert isinstance(self.inputs, Inputs)
                problem = RVEProblem(d, PaperPhases.of(self.inputs, settings))
                self._rve: _Fast | _General = _Fast(problem)
                domain: Domain = d
            else:
                domain = composite_domain(self.phases, fibres, settings.resolution)
                model = composite_model(self.phases, fibres, domain, out_of_plane=False)
                self._rve = _General(model)
        self._identity = _identity(fibres, domain, self.inputs, settings, self.phases)
        self._follower = Follower(self._rve, settings.tolerance)
        self._accepted = self._follower.equilibrium
        self._answered: Equilibrium | None = self._accepted  # None after an error

    def respond(
        self, strain: ArrayLike, *, duration: float = 1.0, temperature: float | None = None
    ) -> tuple[Floats, Floats]:
        """Return mean stress and tangent for a mean strain, from the last accepted state.

        The result depends only on accepted strains, not on earlier trials.

        Args:
            strain: Mean strain tensor (3,) xx, yy, xy at the end of the step; xy is half the
                engineering shear strain.
            duration: Duration of the step [s], for laws of a material that depend on time.
            temperature: Temperature change at the end of the step, from the stress-free state [K].
                It needs `phases`. None keeps the temperature of the accepted state.

        Returns:
            Mean stress (3,) xx, yy, xy [MPa], and its derivative (3, 3) [MPa] with respect to xx,
            yy and engineering shear xy. If the step needs substeps, it is the derivative of the
            whole step.

        Raises:
            ValueError: If the strain is not finite, or a component exceeds 0.5. If duration or
                temperature are out of range, or are given without `phases`.

        If no equilibrium is found, even in smaller steps, a `ConvergenceError` is raised.
        """
        self._answered = None
        end = numbers("strain", strain)
        if end.shape != (3,) or not (np.abs(end) <= LARGEST_STRAIN).all():
            allowed = f"three numbers xx, yy, xy of at most {LARGEST_STRAIN:g}"
            allowed += in_percent(float(np.abs(end).max(initial=0.0)), LARGEST_STRAIN)
            raise ValueError(f"strain = {strain!r:.60}: must be {allowed}")
        duration = require_between("duration", duration, _SHORTEST, MAX_TIME)
        if temperature is None:
            temperature = getattr(self._accepted.state, "temperature", 0.0)
        temperature = require_between("temperature", temperature, -MAX_TEMPERATURE, MAX_TEMPERATURE)
        if self.phases is None and (temperature or duration != 1.0):
            name, value = ("temperature", temperature) if temperature else ("duration", duration)
            raise ValueError(
                f"{name} = {value:g} needs the phases of a material, otherwise it has no effect"
            )
        follower = self._follower
        follower.restart(self._accepted)
        with threadpool_limits(limits=1) if self.phases is None else one_thread():
            follower.begin(Segment(_NONE_FREE, end, 1, temperature, duration))
            follower.advance(1.0)
        self._answered = follower.equilibrium
        return self._rve.response()

    def accept(self) -> None:
        """Accept the state of the last `respond`; further steps start from it.

        Raises:
            RuntimeError: If the last `respond` ended in an error.
        """
        if self._answered is None:
            raise RuntimeError(
                "the last trial ended in an error, so that there is no state to accept: call "
                "`respond` with a smaller step"
            )
        self._accepted = self._answered

    def state(self) -> dict[str, Any]:
        """Return the last accepted state as a dictionary of numbers and arrays.

        `numpy.savez("state.npz", **point.state())` writes it to a file.

        Returns:
            The state: unknowns, history variables of all integration points, and what identifies
            the RVE.

        Examples:
            >>> from fe_data import Inputs, MaterialPoint, Settings
            >>> point = MaterialPoint(Inputs(0.2, 400.0, 400.0, 0.4), Settings(n_fibres=1))
            >>> _ = point.respond([0.01, 0.0, 0.0])
            >>> point.accept()
            >>> stored = point.state()
            >>> _ = point.respond([0.02, 0.0, 0.0])
            >>> point.accept()
            >>> point.restore(stored)  # back to a strain of 0.01
        """
        return {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in self._stored().items()
        }

    def _stored(self) -> Stored:
        """Return the last accepted state, with arrays that the point itself uses."""
        at = self._accepted
        return {
            **self._identity,
            "unknowns": at.x,
            **self._rve.stored(at.state),
            "steps": at.segments,
            "largest_stress_MPa": at.largest_stress,
        }

    def restore(self, state: Mapping[str, ArrayLike]) -> None:
        """Accept a state that `state` returned, of this or an equal point.

        Args:
            state: The state, or an open .npz file with it.

        Raises:
            TypeError: If the state is not a mapping.
            ValueError: If the state belongs to other fibres, another mesh or other phases, or an
                entry is missing, has another shape or is not finite.
        """
        require_kind("state", state, Mapping)
        expected = self._stored()
        if {*state} != {*expected}:
            names = ", ".join(sorted({*map(str, state)} ^ {*expected}))
            raise ValueError(f"state: belongs to another kind of point, it differs in {names:.80}")
        stored = {name: numbers(f"state: {name}", state[name]) for name in expected}
        for name, value in stored.items():
            shape = np.shape(expected[name])
            if name in _IDENTITY:
                tolerance = _SAME_FIBRES if name == "fibres" else 0.0
                same = value.shape == shape and np.allclose(
                    value, self._identity[name], 0.0, tolerance
                )
                if not same:
                    raise ValueError(f"state: belongs to {_IDENTITY[name]} than this point")
            elif value.shape != shape or not np.isfinite(value).all():
                what = f"{shape} finite numbers" if shape else "a finite number"
                raise ValueError(f"state: {name} of shape {value.shape} must be {what}")
        self._accepted = Equilibrium(
            x=stored["unknowns"],
            state=self._rve.restored(stored),
            segments=int(stored["steps"]),
            largest_stress=float(stored["largest_stress_MPa"]),
        )
        self._answered = self._accepted

    def __reduce__(self) -> Any:
        arguments = {field.name: getattr(self, field.name) for field in fields(self)}
        return _restored, (arguments, self.state())


# What identifies an RVE in a state, and what differs if it is not equal
_IDENTITY = {"fibres": "other fibres", "mesh": "another mesh", "phases": "other phases"}


def _identity(
    fibres: Microstructure,
    domain: Domain,
    inputs: Inputs | VolumeFraction,
    settings: Settings,
    phases: Phases | None,
) -> Stored:
    """Return the arrays that identify an RVE: fibres, and checksums of mesh and phases."""
    if phases is None:
        assert isinstance(inputs, Inputs)
        *constants, hardening = PaperPhases.of(inputs, settings)
        described: Any = [*constants, hardening if isinstance(hardening, str) else vars(hardening)]
    else:
        moduli = None if fibres.E_GPa is None else fibres.E_GPa.tolist()
        described = [phases.sha256, fibres.phases, moduli]
    topology = domain.triangles.astype(np.int64).tobytes()
    return {
        "fibres": np.column_stack([fibres.centres, fibres.radii]),  # x, y, radius
        "mesh": _checksum(topology + domain.material.astype(np.int64).tobytes()),
        "phases": _checksum(json.dumps(described).encode()),
    }


def _checksum(data: bytes) -> Ints:
    """Return the SHA-256 (32,) of bytes, as numbers from 0 to 255."""
    return np.frombuffer(hashlib.sha256(data).digest(), np.uint8)


def _restored(arguments: dict[str, Any], state: Stored) -> MaterialPoint:
    """Build a point again, for `pickle` and `copy`."""
    point = MaterialPoint(**arguments)
    point.restore(state)
    return point
