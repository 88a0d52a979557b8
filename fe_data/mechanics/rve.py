"""One representative volume element, from its inputs to its effective properties."""

import dataclasses
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import Microstructure, random_microstructure
from fe_data.mechanics.elements import Discretisation, discretise
from fe_data.mechanics.fields import Fields, fields, overstressed_fraction
from fe_data.mechanics.load_stepping import Loading, Solution, solve
from fe_data.mechanics.problem import PeriodicCell
from fe_data.mechanics.properties import Effective, extract
from fe_data.settings import OUTPUT_NAMES, Inputs, Settings


@dataclass(frozen=True)
class CellResult:
    """What a record keeps of one cell."""

    effective: dict[str, float]  # by OUTPUT_NAMES
    history: dict[
        str, np.ndarray
    ]  # strain, stress [MPa], plastic_strain (n + 1, 4); yielded_fraction
    fibre_centres: np.ndarray  # (n_fibres, 2)
    info: dict[str, float | int | str]


@dataclass(frozen=True)
class SolvedCell:
    """One cell with its fields, for pictures and further study."""

    microstructure: Microstructure
    discretisation: Discretisation
    cell: PeriodicCell
    solution: Solution
    fields: Fields
    effective: Effective | None  # None when no properties were asked for
    p_sigma: float
    seconds: dict[str, float]

    def result(self) -> CellResult:
        """The averages and properties, without the fields."""
        if self.effective is None:
            raise ValueError("no effective properties were extracted from this cell")
        fit = dataclasses.asdict(self.effective)
        values = fit | {"p_sigma": self.p_sigma}
        return CellResult(
            effective={name: values[name] for name in OUTPUT_NAMES},
            history=self.solution.history,
            fibre_centres=self.microstructure.centres,
            info={
                "radius": self.microstructure.radius,
                "n_dofs": 2 * self.discretisation.n_nodes,
                "n_elements": len(self.discretisation.cells),
                "linear_solver": self.cell.solver.name,
                **self.solution.counts,
                **{k: fit[k] for k in ("hardening_residual", "elastic_spread", "warning")},
                **{f"seconds_{k}": v for k, v in self.seconds.items()},
            },
        )


def uniaxial(strain: float) -> Loading:
    """The paper's loading: mean strain xx prescribed, mean stresses yy and xy zero."""
    return Loading(strain=(strain, None, None))


def simulate(inputs: Inputs, seed: int, settings: Settings) -> CellResult:
    """Simulate one cell with random fibres.

    Args:
        inputs: The four inputs.
        seed: Seed of the fibre arrangement.
        settings: Everything else.

    Raises:
        ValueError: If the volume fraction cannot be packed.
        SimulationError: If the cell cannot be meshed, solved or fitted.
    """
    return solve_cell(inputs, seed, settings).result()


def solve_cell(
    inputs: Inputs,
    seed: int,
    settings: Settings,
    loading: Loading | None = None,
    *,
    fit: bool | None = None,
) -> SolvedCell:
    """Simulate one cell with random fibres and keep its fields.

    Args:
        inputs: The four inputs.
        seed: Seed of the fibre arrangement.
        settings: Everything else.
        loading: Instead of the paper's uniaxial loading.
        fit: Whether to extract effective properties, which are defined for uniaxial loading in x;
            None: where they are.

    Raises:
        ValueError: If `fit` is asked for under another loading; see also `simulate`.
        SimulationError: See `simulate`.
    """
    start = time.perf_counter()
    microstructure = random_microstructure(inputs.vf, seed, settings.n_fibres, settings.min_spacing)
    seconds = {"microstructure": time.perf_counter() - start}
    return solve_microstructure(microstructure, inputs, settings, loading, fit=fit, seconds=seconds)


# The last bits of a threaded sum depend on the number of threads.
@threadpool_limits.wrap(limits=1)
def solve_microstructure(
    microstructure: Microstructure,
    inputs: Inputs,
    settings: Settings,
    loading: Loading | None = None,
    *,
    fit: bool | None = None,
    element: str = "P2/P0",
    seconds: dict[str, float] | None = None,
) -> SolvedCell:
    """Simulate one cell with a given fibre arrangement, which takes the place of `inputs.vf`."""
    loading = loading or uniaxial(settings.strain)
    fit = _to_be_fitted(loading, fit)
    clock = _Clock(seconds or {})
    mesh = clock("mesh", generate_mesh, microstructure, settings.resolution)
    d = clock("discretisation", discretise, mesh, element)
    cell = clock("assembly", PeriodicCell, d, inputs, settings)
    solution = clock("solution", solve, cell, loading, settings.increments, settings.tolerance)
    local = clock("fields", fields, d, cell, solution)
    effective = clock("extraction", extract, solution.history, settings.a_MPa) if fit else None
    p_sigma = overstressed_fraction(d, local.fibre_stress, settings.fibre_stress_MPa)
    return SolvedCell(microstructure, d, cell, solution, local, effective, p_sigma, clock.seconds)


def _to_be_fitted(loading: Loading, fit: bool | None) -> bool:
    """Whether effective properties are extracted; a ValueError where they are not defined."""
    defined = loading.free.tolist() == [1, 2] and not any(loading.stress)
    if fit and not defined:
        raise ValueError(
            f"fit = {fit!r} needs uniaxial loading, a strain xx alone: strain = {loading.strain}, "
            f"stress = {loading.stress} MPa has no effective properties"
        )
    return defined if fit is None else fit


class _Clock:
    """Times each stage of a simulation."""

    def __init__(self, seconds: dict[str, float]):
        self.seconds = dict(seconds)

    def __call__(self, name: str, function, *args):
        start = time.perf_counter()
        value = function(*args)
        self.seconds[name] = time.perf_counter() - start
        return value
