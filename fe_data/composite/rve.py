"""The simulation of an RVE of any phases: from a microstructure to averages and fields."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fe_data.arrays import Floats, Short
from fe_data.composite.cell import Cell
from fe_data.composite.materials import Phases
from fe_data.composite.stepping import Stepper, follow
from fe_data.geometry.domain import Domain, create_domain
from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import Microstructure, clear_of_edges
from fe_data.geometry.outline import MATRIX, Outline
from fe_data.loading import ALL_AXES, Loading
from fe_data.progress import progress_bar
from fe_data.schema import BOUNDS, COUNTS
from fe_data.settings import require_between, require_integer, require_kind


@dataclass(frozen=True, repr=False)
class CompositeSolution(Short):
    """A solved RVE.

    Attributes:
        microstructure: The fibres.
        phases: Materials.
        loading: Path of mean strain, mean stress and temperature.
        history: Volume averages at every increment, see `stepping.follow`.
        cell: Discrete equations.
        stepper: Unknowns, states and responses at the end.
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
    stepper: Stepper
    info: dict[str, float | int | str]


def solve_composite(
    phases: Phases,
    microstructure: Microstructure,
    loading: Loading,
    *,
    increments: int = 50,
    resolution: float | None = None,
    tolerance: float = 1e-5,
    silent: bool = False,
) -> CompositeSolution:
    """Simulate an RVE of any phases in generalised plane strain.

    Args:
        phases: Materials of matrix and fibres.
        microstructure: Fibres, which are translated together where an outline grazes an edge.
        loading: Path of three components, in plane strain, or of all six, with a temperature.
        increments: Number of increments of each part of the path that has no number of its own.
        resolution: Elements per fibre diameter [-]; None takes the default, see `Settings`.
        tolerance: Relative residual at which Newton's method has converged [-].
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
            cell = composite_cell(phases, domain, out_of_plane=_shears_along(loading))
        bar.update()
        with timed(seconds, "solution"):
            stepper = Stepper(cell, tolerance)
            history = follow(stepper, loading, increments, bar.update)
    info: dict[str, float | int | str] = {"n_dofs": cell.n, "n_elements": len(domain.triangles)}
    info |= stepper.counts | cell.system.counts
    info |= {f"seconds_{name}": value for name, value in seconds.items()}
    return CompositeSolution(microstructure, phases, loading, history, cell, stepper, info)


def composite_domain(microstructure: Microstructure, resolution: float | None) -> Domain:
    """The mesh of a microstructure."""
    if resolution is not None:
        require_between("resolution", resolution, *BOUNDS["resolution"])
    return create_domain(generate_mesh(Outline(microstructure, resolution)), "P2/P0")


def composite_cell(
    phases: Phases, domain: Domain, *, out_of_plane: bool, elastic: bool = False
) -> Cell:
    """The discrete equations of a mesh with some phases, all of them elastic on request."""
    in_matrix = domain.material == MATRIX
    materials = [("matrix", phases.matrix, in_matrix), ("fibres", phases.fibres, ~in_matrix)]
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
