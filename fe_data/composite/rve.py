"""The simulation of an RVE of any phases: from a microstructure to averages and fields."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fe_data.arrays import Floats, Ints, Short
from fe_data.composite.cell import Cell
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.composite.materials import INTERPHASE, Phases
from fe_data.composite.stepping import Stepper, follow
from fe_data.geometry.domain import Domain, create_domain
from fe_data.geometry.mesh import generate_mesh, with_holes
from fe_data.geometry.microstructure import Microstructure, clear_of_edges
from fe_data.geometry.outline import MATRIX, Outline
from fe_data.loading import ALL_AXES, Loading
from fe_data.progress import progress_bar
from fe_data.schema import BOUNDS, COUNTS
from fe_data.settings import require_between, require_integer, require_kind


@dataclass(frozen=True, repr=False)
class CompositeStep(Short):
    """An RVE at rest or after an increment.

    Attributes:
        x: (n + k,) displacements and mean strain, in Kelvin's notation.
        temperature: Temperature change [K].
        states: State of each phase that is not elastic.
        stresses: Stress of each of these phases [MPa].

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


@dataclass(frozen=True, repr=False)
class PhaseFields(Short):
    """Fields at the q integration points of the m elements of a phase.

    Attributes:
        elements: (m,) numbers of the elements in the mesh.
        weights: (m, q) integration weights.
        strain: (m, q, 6) tensor xx, yy, zz, xy, xz, yz [-].
        stress: (m, q, 6) tensor [MPa].
        state: Variables of the law, (m, q), or tensors (m, q, 6).

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
        history: Volume averages at every increment, see `stepping.follow`.
        cell: Discrete equations, with the mesh as `cell.domain`.
        steps: Unknowns and fields at rest and after every increment, if they were kept, else at
            the end.
        info: Sizes, counts and seconds.

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
    cell: Cell
    steps: tuple[CompositeStep, ...]
    info: dict[str, float | int | str]

    def fields(self, step: int = -1) -> dict[str, PhaseFields]:
        """Fields of all phases at a step.

        Args:
            step: Which of `steps`.

        Returns:
            The fields of each phase by its name.
        """
        at = self.steps[step]
        found = {}
        for part in self.cell.parts:
            shape = part.weights.shape
            strain = self.cell.strain(part, at.x, 0.0)
            elastic = self.cell.strain(part, at.x, at.temperature)
            stress = elastic @ part.material.elasticity.stiffness
            if part.name in at.stresses:
                stress = at.stresses[part.name].reshape(*shape, 6)
            state = {}
            for name, values in at.states.get(part.name, {}).items():
                tensor = values / TO_KELVIN if values.ndim == 2 else values
                state[name] = tensor.reshape(*shape, *values.shape[1:])
            found[part.name] = PhaseFields(
                part.elements, part.weights, strain / TO_KELVIN, stress / TO_KELVIN, state
            )
        return found

    def displacement(self, step: int = -1) -> Floats:
        """Displacement of the nodes of the mesh in the plane z = 0.

        Args:
            step: Which of `steps`.

        Returns:
            The displacement (nodes, 3), relative to the side of the RVE.
        """
        cell = self.cell
        x = self.steps[step].x
        u = np.zeros((cell.domain.n_nodes, 3))
        u[:-1, : cell.block] = x[: cell.n].reshape(-1, cell.block)
        xx, yy, _, xy, xz, yz = np.append(x[cell.n :], [0.0] * (6 - cell.size)) / TO_KELVIN
        # v = E x + u, where u_z takes twice the mean strains xz and yz
        affine = np.array([[xx, xy, 2 * xz], [xy, yy, 2 * yz]])
        return np.asarray(u[cell.domain.merged] + cell.domain.points @ affine)


def solve_composite(
    phases: Phases,
    microstructure: Microstructure,
    loading: Loading,
    *,
    increments: int = 50,
    resolution: float | None = None,
    tolerance: float = 1e-5,
    keep_steps: bool = False,
    silent: bool = False,
) -> CompositeSolution:
    """Simulate an RVE of any phases in generalised plane strain.

    Args:
        phases: Materials of matrix and fibres.
        microstructure: Fibres, which are translated together where an outline grazes an edge.
            Voids are holes, and averages are over the whole square.
        loading: Path of three components, in plane strain, or of all six, with a temperature.
        increments: Number of increments of each part of the path that has no number of its own.
        resolution: Elements per fibre diameter [-]; None takes the default, see `Settings`.
        tolerance: Relative residual at which Newton's method has converged [-].
        keep_steps: Whether to keep the fields of every increment.
        silent: Show no progress; else a terminal has a bar after two seconds.

    Returns:
        The solved RVE.

    Raises:
        ValueError: If an argument is out of range.

    A `SimulationError` says that the RVE cannot be meshed or solved.

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
    require_kind("silent", silent, bool)
    require_between("tolerance", tolerance, *BOUNDS["tolerance"])
    seconds: dict[str, float] = {}
    total = loading.total(increments) + 3
    with progress_bar(total, "RVE", "step", silent=silent) as bar, one_thread():
        with timed(seconds, "mesh"):
            microstructure = clear_of_edges(microstructure)
            domain = composite_domain(microstructure, resolution)
        bar.update()
        with timed(seconds, "assembly"):
            shears = _shears_along(loading)
            cell = composite_cell(phases, microstructure, domain, out_of_plane=shears)
        bar.update()
        with timed(seconds, "solution"):
            stepper = Stepper(cell, tolerance)
            steps: list[CompositeStep] = []

            def reached() -> None:
                bar.update()
                if not keep_steps:
                    steps.clear()
                steps.append(
                    CompositeStep(stepper.x, stepper.temperature, stepper.states, stepper.stresses)
                )

            history = follow(stepper, loading, increments, reached)
    info: dict[str, float | int | str] = {"n_dofs": cell.n, "n_elements": len(domain.triangles)}
    info |= stepper.counts | cell.system.counts
    info |= {f"seconds_{name}": value for name, value in seconds.items()}
    return CompositeSolution(microstructure, phases, loading, history, cell, tuple(steps), info)


def composite_domain(microstructure: Microstructure, resolution: float | None) -> Domain:
    """The mesh of a microstructure, whose voids are holes."""
    if resolution is not None:
        require_between("resolution", resolution, *BOUNDS["resolution"])
    mesh = generate_mesh(Outline(microstructure, resolution))
    voids = np.flatnonzero(microstructure.is_void)
    if voids.size:
        mesh = with_holes(mesh, voids)
    return create_domain(mesh, "P2/P0")


def composite_cell(
    phases: Phases,
    microstructure: Microstructure,
    domain: Domain,
    *,
    out_of_plane: bool,
    elastic: bool = False,
) -> Cell:
    """The discrete equations of a mesh with some phases, all of them elastic on request."""
    materials = [("matrix", phases.matrix, domain.material == MATRIX)]
    rings = [INTERPHASE] * len(microstructure.phases)
    kinds: list[tuple[str, float | None]] = [(name, None) for name in microstructure.phases]
    if microstructure.E_GPa is not None:
        moduli = [None if np.isnan(E) else E for E in microstructure.E_GPa.tolist()]
        kinds = list(zip(microstructure.phases, moduli, strict=True))
    labels = [name if E is None else f"{name} of {E!r} GPa" for name, E in kinds]
    names = np.array([*labels, *rings, "matrix"])[domain.material]
    known = dict(zip(labels, kinds, strict=True)) | {INTERPHASE: (INTERPHASE, None)}
    for label in sorted({*names.tolist()} - {"matrix"}):
        name, E = known[label]
        material = phases.of(name) if E is None else phases.of(name).with_modulus(E)
        materials.append((label, material, names == label))
    return Cell(domain, materials, out_of_plane=out_of_plane, elastic=elastic)


def _shears_along(loading: Loading) -> bool:
    """Whether a loading has a strain or a stress xz or yz: without, symmetry makes u_z zero."""
    strain, stress = loading.vertices
    if strain.shape[1] < len(ALL_AXES):
        return False
    return bool(np.nan_to_num(strain[:, 4:]).any() or stress[:, 4:].any())


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread: the last bits of a threaded sum depend on the threads."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Store the wall time of a stage."""
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start
