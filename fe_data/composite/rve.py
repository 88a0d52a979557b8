"""Simulate an RVE of any phases: from a microstructure to averages and fields."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fe_data.arrays import Floats, Ints
from fe_data.composite.damage import DAMAGE
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.composite.interface import CohesiveLaw, Strength
from fe_data.composite.model import FEModel
from fe_data.composite.phases import INTERPHASE, Phases
from fe_data.composite.state import Debonding, State
from fe_data.composite.stepping import IncrementalModel
from fe_data.errors import ConvergenceError
from fe_data.geometry.domain import Domain, create_domain
from fe_data.geometry.interfaces import cut_outlines
from fe_data.geometry.layers import with_layer
from fe_data.geometry.mesh import generate_mesh, with_holes
from fe_data.geometry.microstructure import VOID, Microstructure, clear_of_edges
from fe_data.geometry.outline import MATRIX, Outline
from fe_data.loading import ALL_AXES, Loading, with_increments
from fe_data.path_following import EquilibriumPath, follow
from fe_data.schema import BOUNDS, COUNTS
from fe_data.settings import require_between, require_integer, require_kind
from fe_data.sparse.compilation import timed
from safe_files.progress import progress_bar
from safe_files.text import Short

# The default elements are smaller than in the solver of the paper's phases by this factor, so that
# the moduli of porous RVEs err by less than 0.3 %.
_FINENESS = 1.5
_FINENESS_CUT = 1.0  # if fibres can debond
_FINENESS_POROUS = 2.0  # between voids, where all of a ligament begins to yield at once
DROP = 0.2  # default share of its peak by which the mean stress falls until a path ends
DROPS = (0.01, 1.0)  # smallest and largest share
_FALLEN = 0.01  # share by which the mean stress must fall for a peak to be a strength


@dataclass(frozen=True, repr=False)
class CompositeStep(Short):
    """The state of an RVE at the start or after an increment.

    Attributes:
        x: (n + k,) nodal displacements, amplitudes of the bubbles of elements (see `model`), then
            the k components of the mean strain in Kelvin's notation.
        temperature: Temperature change [K].
        states: Variables of the law of each inelastic phase, see `state.State`.
        stresses: Stress (points, 6) of each inelastic phase in Kelvin's notation [MPa].
        debonding: State of the interfaces, see `state.Debonding`; None without interfaces.

    Examples:
        >>> from fe_data import Loading, Microstructure, named_phases, solve_composite
        >>> pull = Loading((0.01, None, None), increments=2)
        >>> given = named_phases("paper"), Microstructure([[0.5, 0.5]], 0.3), pull
        >>> rve = solve_composite(*given, resolution=3, keep_steps=True)
        >>> [round(float(step.x[-4]), 3) for step in rve.steps]
        [0.0, 0.005, 0.01]
    """

    x: Floats
    temperature: float
    states: dict[str, dict[str, Floats]]
    stresses: dict[str, Floats]
    debonding: Debonding | None = None


@dataclass(frozen=True, repr=False)
class PhaseFields(Short):
    """Fields at the q integration points of the m elements of a phase.

    Attributes:
        elements: (m,) indices of the elements in the mesh.
        weights: (m, q) integration weights, which sum to the area of the phase.
        strain: (m, q, 6) strain tensor xx, yy, zz, xy, xz, yz [-].
        stress: (m, q, 6) stress tensor [MPa].
        state: Variables of the law by name: scalars (m, q) or tensors (m, q, 6).

    Examples:
        >>> from fe_data import Loading, Microstructure, named_phases, solve_composite
        >>> pull = Loading((0.01, None, None), increments=2)
        >>> fibre = Microstructure([[0.5, 0.5]], 0.3)
        >>> fields = solve_composite(named_phases("paper"), fibre, pull, resolution=3).fields()
        >>> sorted(fields), bool(fields["matrix"].state["p"].max() > 0)
        (['fibres', 'matrix'], True)
    """

    elements: Ints
    weights: Floats
    strain: Floats
    stress: Floats
    state: dict[str, Floats]


@dataclass(frozen=True, repr=False)
class CompositeSolution(Short):
    """A solved RVE.

    Attributes:
        microstructure: The fibres.
        phases: Materials.
        loading: Path of mean strain, mean stress and temperature.
        history: Volume averages at the start and after each increment, see `EquilibriumPath`.
        model: Discrete equations, with the mesh as `model.domain`.
        steps: State at the start and after each increment with `keep_steps=True`, otherwise only at
            the end.
        info: Sizes, counts and seconds.
        stop: With `partial=True` the error that ended the path early, so that history and steps end
            at the last increment that was reached; None if the path is complete.
        strength: Largest mean stress of the last part of the path; None if nothing can break, or if
            no strain is prescribed.
        warning: Why the stress at the end depends on the mesh; empty if it converges.

    Examples:
        >>> from fe_data import Loading, Microstructure, named_phases, solve_composite
        >>> fibre = Microstructure([[0.5, 0.5]], 0.3)
        >>> cooling = Loading((None,) * 6, temperature=-100.0, increments=1)
        >>> rve = solve_composite(named_phases("carbon_epoxy"), fibre, cooling, resolution=3)
        >>> across, along = rve.history["strain"][-1, [0, 2]].tolist()
        >>> -0.01 < across < along < 0
        True
    """

    microstructure: Microstructure
    phases: Phases
    loading: Loading
    history: dict[str, Floats]
    model: FEModel
    steps: tuple[CompositeStep, ...]
    info: dict[str, float | int | str]
    stop: ConvergenceError | KeyboardInterrupt | None = None
    strength: Strength | None = None
    warning: str = ""

    def fields(self, step: int = -1) -> dict[str, PhaseFields]:
        """Return the fields of all phases at a step.

        Args:
            step: Index in `steps`.

        Returns:
            The fields by name of the phase.
        """
        at = self.steps[step]
        fields = {}
        for phase in self.model.phases:
            shape = phase.weights.shape
            strain = self.model.strain(phase, at.x, 0.0)
            elastic = self.model.strain(phase, at.x, at.temperature)
            stress = elastic @ phase.material.elasticity.stiffness
            if phase.name in at.stresses:
                stress = at.stresses[phase.name].reshape(*shape, 6)
            state = {}
            for name, values in at.states.get(phase.name, {}).items():
                tensor = values / TO_KELVIN if values.ndim == 2 else values
                state[name] = tensor.reshape(*shape, *values.shape[1:])
            fields[phase.name] = PhaseFields(
                phase.elements, phase.weights, strain / TO_KELVIN, stress / TO_KELVIN, state
            )
        return fields

    def damage(self, step: int = -1) -> Floats:
        """Return the damage of the elements, zero in phases that cannot soften.

        Args:
            step: Index in `steps`.

        Returns:
            The damage (elements,), from 0 to 1.
        """
        damage = np.zeros(len(self.model.domain.triangles))
        for phase in self.model.damageable:
            of_points = self.steps[step].states[phase.name][DAMAGE]
            damage[phase.elements] = of_points.reshape(phase.weights.shape)[:, 0]
        return damage

    def displacement(self, step: int = -1) -> Floats:
        """Return the displacement of the nodes of the mesh in the plane z = 0.

        Args:
            step: Index in `steps`.

        Returns:
            The displacement (nodes, 3), relative to the width of the RVE.
        """
        model = self.model
        x = self.steps[step].x
        u = np.zeros((model.domain.n_nodes, 3))
        u[:-1, : model.block] = x[: model.block * model.nodes].reshape(-1, model.block)
        xx, yy, _, xy, xz, yz = np.append(x[model.n :], [0.0] * (6 - model.size)) / TO_KELVIN
        # v = E x + u, with all of the shears along z in u_z: 2 E_xz x + 2 E_yz y
        affine = np.array([[xx, xy, 2 * xz], [xy, yy, 2 * yz]])
        return np.asarray(u[model.domain.merged] + model.domain.points @ affine)

    def interface_fields(self, step: int = -1) -> dict[str, Floats]:
        """Return opening, damage and traction of interfaces at the nodes of the mesh, else zero.

        Args:
            step: Index in `steps`.

        Returns:
            `opening` (nodes, 3) with the normal component, the tangential one, and the one along z,
            relative to the width of the RVE, `interface_damage` (nodes,), and `traction_MPa`
            (nodes, 3) with the components of the opening. The dictionary is empty if fibres cannot
            debond.
        """
        model, at = self.model, self.steps[step].debonding
        if model.interface is None or at is None:
            return {}
        opening = np.zeros((model.n // model.block + 1, 3))
        traction = np.zeros_like(opening)
        damage = np.zeros(len(opening))
        for face in model.interface.nodes.T:
            opening[face, : model.block] = at.opening
            traction[face, : model.block] = at.traction
            damage[face] = at.damage
        place = np.append(np.arange(model.nodes), -1)[model.domain.merged]  # -1 is the fixed node
        at_nodes = {"opening": opening, "interface_damage": damage, "traction_MPa": traction}
        return {name: values[place] for name, values in at_nodes.items()}


def solve_composite(
    phases: Phases,
    microstructure: Microstructure,
    loading: Loading,
    *,
    increments: int = 50,
    resolution: float | None = None,
    tolerance: float = 1e-5,
    keep_steps: bool = False,
    partial: bool = False,
    silent: bool = False,
    drop: float = DROP,
) -> CompositeSolution:
    """Simulate an RVE of any phases in generalised plane strain.

    Args:
        phases: Materials of matrix and fibres.
        microstructure: Fibres. All fibres are translated together if the outline of one nearly
            touches an edge. Voids are holes; averages are over the whole RVE, including voids.
        loading: Path of three components, in plane strain, or of all six, optionally with a
            temperature.
        increments: Number of increments of each part of the path, if the loading gives none.
        resolution: Elements per fibre diameter [-]; None is 1.5 times the default of `Settings`,
            twice this default for inelastic phases with voids, and this default if fibres can
            debond. If nothing can break, inelastic phases also have a layer of thin elements along
            the outlines of the fibres.
        tolerance: Relative residual at which Newton's method has converged [-].
        keep_steps: Whether to keep the fields of every increment.
        partial: If Newton's method fails or Ctrl-C interrupts the path, whether to return the RVE
            at the last increment that was reached, with the error as `stop`, instead of raising it.
        silent: Show no progress; otherwise a terminal has a bar after two seconds.
        drop: If the RVE can break, the path ends when the norm of the mean stress has fallen by
            this share below its peak in the last part, from 0.01 to 1 [-].

    Returns:
        The solved RVE.

    Raises:
        ValueError: If an argument is out of range.
        MeshError: If the RVE cannot be meshed, or an element is too large for the fracture energy
            of its phase.
        ConvergenceError: If Newton's method fails, unless `partial` is given. It has the `history`
            up to the last increment that was reached.
        KeyboardInterrupt: After Ctrl-C, unless `partial` is given.

    Examples:
        >>> from fe_data import Loading, Microstructure, named_phases, solve_composite
        >>> fibre = Microstructure([[0.5, 0.5]], 0.3)
        >>> along = Loading((None, None, 1e-3, None, None, None))  # strain along the fibres
        >>> rve = solve_composite(named_phases("paper"), fibre, along, increments=2, resolution=3)
        >>> rve.history["stress"].shape
        (3, 6)
    """
    require_kind("phases", phases, Phases)
    require_kind("microstructure", microstructure, Microstructure)
    require_kind("loading", loading, Loading)
    require_integer("increments", increments, 1, COUNTS["increments"][1])
    require_kind("keep_steps", keep_steps, bool)
    require_kind("partial", partial, bool)
    require_kind("silent", silent, bool)
    require_between("tolerance", tolerance, *BOUNDS["tolerance"])
    require_between("drop", drop, *DROPS)
    side = side_of_rve(phases, microstructure)
    seconds = {"compilation": 0.0}
    total = loading.total(increments) + 3
    with progress_bar(total, None if silent else "RVE", "step") as bar, one_thread():
        with timed(seconds, "mesh", bar):
            microstructure = clear_of_edges(microstructure)
            domain = composite_domain(phases, microstructure, resolution)
        with timed(seconds, "assembly", bar):
            shears = _shears_along(loading)
            model = composite_model(phases, microstructure, domain, out_of_plane=shears)
        with timed(seconds, "solution"):
            law = cohesive_law(phases, microstructure)
            until = drop if law is not None or model.damageable else None
            parts = len(loading.strain)
            rve = IncrementalModel(model, law, drop=until, parts=parts, side=side)
            steps: list[CompositeStep] = []

            def reached() -> None:
                bar.update()
                if keep_steps:
                    steps.append(_step(rve.x, rve.state))

            path = follow(rve, loading, increments, tolerance, reached, partial=partial)
            warning = "" if path.stop else rve.mesh_dependence()
    if not keep_steps:
        steps = [_step(path.x, path.state)]
    is_whole = len(path.history["strain"]) > loading.total(increments)
    return CompositeSolution(
        microstructure,
        phases,
        loading if is_whole else with_increments(loading, increments),
        path.history,
        model,
        tuple(steps[: len(path.history["strain"])]),
        _info(model, path, seconds),
        path.stop,
        _strength(path, side),
        warning,
    )


def _info(
    model: FEModel, path: EquilibriumPath, seconds: dict[str, float]
) -> dict[str, float | int | str]:
    """Return the sizes, counts and seconds of a simulation."""
    sizes = {"n_dofs": model.n, "n_elements": len(model.domain.triangles)}
    times = {f"seconds_{name}": value for name, value in seconds.items()}
    return {**sizes, **path.counts, **times}


def _strength(path: EquilibriumPath, side: float | None) -> Strength | None:
    """Find the strength of a path; None if its last part has no peak."""
    state: State = path.state
    if state.peak is None or side is None:
        return None
    end = {name: float(values[-1]) for name, values in path.history.items() if values.ndim == 1}
    stress = np.abs(state.peak.stress / TO_KELVIN)
    strain = np.abs(state.peak.strain / TO_KELVIN)
    axis = int(stress.argmax())
    fallen = 1 - state.peak.lowest / state.peak.norm
    stored = end["work_on_phases"] + end.get("interface_energy", 0.0)
    spent = end.get("debonding_energy", 0.0) + end["viscous_energy"] + end["snap_energy"]
    dissipated = end.get("debonding_energy", 0.0) + end.get("softening_energy", 0.0)
    return Strength(
        strength_MPa=float(stress[axis]),
        strain_at_strength=float(strain[axis]),
        is_reached=bool(fallen > _FALLEN),
        debonded_fraction=end.get("debonded_fraction", 0.0),
        damaged_fraction=end.get("damaged_fraction", 0.0),
        dissipated_J_m2=1e3 * dissipated * side,
        viscous_share=end["viscous_energy"] / dissipated if dissipated else 0.0,
        snap_share=end["snap_energy"] / dissipated if dissipated else 0.0,
        energy_error=1 - (stored + spent) / end["external_work"],
        damaged_area=end.get("damaged_area", 0.0),
        broken_area=end.get("broken_area", 0.0),
    )


def _step(x: Floats, state: State) -> CompositeStep:
    """Return the state of an RVE at an equilibrium."""
    return CompositeStep(x, state.temperature, state.variables, state.stresses, state.debonding)


def composite_domain(
    phases: Phases,
    microstructure: Microstructure,
    resolution: float | None,
    *,
    elastic: bool = False,
) -> Domain:
    """Mesh a microstructure as the phases need; with `elastic` all are elastic and bonded."""
    if resolution is not None:
        require_between("resolution", resolution, *BOUNDS["resolution"])
    cut, inelastic, fineness = _needs(phases, microstructure, elastic)
    voids = np.flatnonzero(microstructure.is_void)
    mesh = generate_mesh(Outline(microstructure, resolution, fineness=fineness))
    if voids.size:
        mesh = with_holes(mesh, voids)
    for materials in inelastic:
        mesh = with_layer(mesh, materials)
    if cut:
        mesh = cut_outlines(mesh, len(microstructure.radii))
    return create_domain(mesh, "P2/P0")


def used_resolution(
    phases: Phases | None,
    microstructure: Microstructure,
    resolution: float | None,
    *,
    elastic: bool = False,
) -> float:
    """Return elements per diameter of the largest fibres; phases are None for the fast solver."""
    fineness = 1.0 if phases is None else _needs(phases, microstructure, elastic)[2]
    return Outline(microstructure, resolution, fineness=fineness).resolution


def _needs(
    phases: Phases, microstructure: Microstructure, elastic: bool
) -> tuple[bool, list[Ints], float]:
    """Return whether a mesh has cut outlines, its materials with layers, and its fineness."""
    cut = phases.interface is not None and not elastic and not microstructure.is_void.all()
    # A crack is as wide as the elements, so phases that can break have no thin ones.
    has_layers = not elastic and not phases.can_break(microstructure)
    inelastic = _inelastic(phases, microstructure) if has_layers else []
    fineness = _FINENESS_CUT if cut else _FINENESS
    if inelastic and microstructure.is_void.any():
        fineness = _FINENESS_POROUS
    return cut, inelastic, fineness


def _inelastic(phases: Phases, microstructure: Microstructure) -> list[Ints]:
    """Return the numbers of the inelastic materials of a mesh: fibres, interphases and matrix."""
    n = len(microstructure.phases)
    rings = [INTERPHASE] * n if microstructure.interphase else []
    names = [*microstructure.phases, *rings]
    inelastic = {
        name: name != VOID and not phases.of(name).is_elastic for name in dict.fromkeys(names)
    }
    numbers = np.flatnonzero([inelastic[name] for name in names])
    matrix = np.array([] if phases.matrix.is_elastic else [MATRIX], dtype=np.int64)
    groups = numbers[numbers < n], numbers[numbers >= n], matrix
    return [group for group in groups if group.size]


def composite_model(
    phases: Phases,
    microstructure: Microstructure,
    domain: Domain,
    *,
    out_of_plane: bool,
    elastic: bool = False,
) -> FEModel:
    """Make the discrete equations of a mesh; with `elastic` all phases are elastic."""
    materials = [("matrix", phases.matrix, domain.material == MATRIX)]
    rings = [INTERPHASE] * len(microstructure.phases)
    kinds = microstructure.kinds
    labels = [name if E is None else f"{name} of {E!r} GPa" for name, E in kinds]
    names = np.array([*labels, *rings, "matrix"])[domain.material]
    kind_of = dict(zip(labels, kinds, strict=True)) | {INTERPHASE: (INTERPHASE, None)}
    inclusions = sorted({*names.tolist()} - {"matrix"})
    materials += [(name, phases.of(*kind_of[name]), names == name) for name in inclusions]
    return FEModel(domain, materials, out_of_plane=out_of_plane, elastic=elastic)


def cohesive_law(phases: Phases, microstructure: Microstructure) -> CohesiveLaw | None:
    """Make the law of the interfaces for openings relative to the side of the RVE."""
    side = side_of_rve(phases, microstructure)
    if phases.interface is None or side is None or microstructure.is_void.all():
        return None
    return CohesiveLaw.of(phases.interface, phases.matrix_modulus_GPa, side)


def side_of_rve(phases: Phases, microstructure: Microstructure) -> float | None:
    """Return the side of the RVE [mm] from the mean fibre diameter; None without a diameter.

    Returns:
        The side. In an RVE without fibres the diameter is that of its other phases, or voids.

    Raises:
        ValueError: If a phase can soften, but there is no fibre and no void.
    """
    if phases.damageable(microstructure) and not len(microstructure.radii):
        raise ValueError("damage needs a fibre or a void, whose diameter is fibre_diameter_um")
    if phases.fibre_diameter_um is None or not len(microstructure.radii):
        return None
    return 1e-3 * phases.fibre_diameter_um / (2 * microstructure.fibre_radius)


def _shears_along(loading: Loading) -> bool:
    """Return whether a loading has a strain or stress xz or yz; if not, u_z is zero by symmetry."""
    if loading.shear_angle not in (None, 0.0, 180.0):
        return True
    strain, stress = loading.vertices
    if strain.shape[1] < len(ALL_AXES):
        return False
    return bool(np.nan_to_num(strain[:, 4:]).any() or stress[:, 4:].any())


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread, because the last bits of a threaded sum depend on the number of threads."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(threads)
