"""One representative volume element (RVE), from its inputs to its effective properties."""

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import Any, Literal, TypeVar

from threadpoolctl import threadpool_limits

from fe_data.arrays import Floats
from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import Microstructure, clear_of_edges, random_microstructure
from fe_data.geometry.outline import MATRIX
from fe_data.loading import Loading
from fe_data.mechanics.elements import VOLUMETRIC_MODES, Discretisation, discretise
from fe_data.mechanics.fields import Fields, overstressed_fraction, recover_fields
from fe_data.mechanics.load_stepping import EquilibriumPath, solve_load_steps
from fe_data.mechanics.plasticity import HistoryVariables
from fe_data.mechanics.problem import RVEProblem, State
from fe_data.mechanics.properties import (
    EffectiveProperties,
    effective_properties,
    elastic_increments,
)
from fe_data.reference import cell as reference
from fe_data.schema import output_names
from fe_data.settings import MAX_SEED, Inputs, Settings, require_integer, require_kind

_ELASTIC_STRAIN = 0.01  # of the matrix at its yield stress: nothing yields
_Value = TypeVar("_Value")
Solver = Literal["compiled", "dolfinx"]


@dataclass(frozen=True)
class RVEResult:
    """What a record keeps of one volume element.

    Attributes:
        effective: Values of the outputs by name; empty under another loading than the paper's.
        history: Volume averages at every increment, see `load_stepping.EquilibriumPath`.
        fibre_centres: (n_fibres, 2), in sides of the volume element.
        info: Sizes, counts, qualities of the fits and seconds of each stage.
    """

    effective: dict[str, float]
    history: dict[str, Floats]
    fibre_centres: Floats
    info: dict[str, float | int | str]


@dataclass(frozen=True)
class RVESolution:
    """One solved volume element with its fields, for pictures and further study.

    Attributes:
        microstructure: Fibre arrangement.
        discretisation: Mesh and integration data.
        problem: Equations that were solved.
        loading: Path of the mean strain and stress.
        path: Volume averages and final state.
        fields: Stress and plastic strain at the integration points.
        effective: Effective properties; None when they were not asked for.
        p_sigma: Area fraction of the fibres above the threshold of the settings [-].
        seconds: Wall time of each stage [s].
    """

    microstructure: Microstructure
    discretisation: Discretisation
    problem: RVEProblem | reference.Cell
    loading: Loading
    path: EquilibriumPath
    fields: Fields
    effective: EffectiveProperties | None
    p_sigma: float
    seconds: dict[str, float]

    @property
    def history(self) -> dict[str, Floats]:
        """Volume averages at every increment, see `load_stepping.EquilibriumPath`."""
        return self.path.history

    def result(self) -> RVEResult:
        """The averages and properties, without the fields.

        Returns:
            What a record keeps; without effective properties where they were not asked for.
        """
        values: dict[str, Any] = {}
        if self.effective is not None:
            values = dataclasses.asdict(self.effective) | {"p_sigma": self.p_sigma}
        return RVEResult(
            effective={name: values[name] for name in output_names() if name in values},
            history=self.history,
            fibre_centres=self.microstructure.centres,
            info={
                "radius": float(self.microstructure.radii.max(initial=0.0)),
                "n_dofs": 2 * self.discretisation.n_nodes,
                "n_elements": len(self.discretisation.triangles),
                "linear_solver": self.problem.linear_solver,
                **self.path.counts,
                **{name: value for name, value in values.items() if name not in output_names()},
                **{f"seconds_{k}": v for k, v in self.seconds.items()},
            },
        )


def uniaxial(strain: float) -> Loading:
    """The loading of the paper: mean strain xx prescribed [-], mean stresses yy and xy zero."""
    return Loading((strain, None, None))


def simulate(
    inputs: Inputs, seed: int, settings: Settings, loading: Loading | None = None
) -> RVEResult:
    """Simulate one volume element with random fibres for a record.

    A `ValueError` tells that the volume fraction cannot be packed, and a `SimulationError` that
    the volume element cannot be meshed, solved or fitted.

    Args:
        inputs: The four inputs.
        seed: Seed of the fibre arrangement.
        settings: Everything else.
        loading: Instead of the uniaxial loading of the paper, and without effective properties.

    Returns:
        Effective properties and averaged curves.
    """
    seed = require_integer("seed", seed, 0, MAX_SEED)
    return solve_rve(inputs, seed, settings, loading, fit=loading is None).result()


def solve_rve(
    inputs: Inputs,
    arrangement: int | Microstructure,
    settings: Settings,
    loading: Loading | None = None,
    *,
    fit: bool | None = None,
    element: str = "P2/P0",
    solver: Solver = "compiled",
) -> RVESolution:
    """Simulate one volume element and keep its fields.

    Args:
        inputs: The four inputs.
        arrangement: Seed of random fibres; or given ones, which take the place of `inputs.vf` and
            are translated together where an outline grazes an edge of the square.
        settings: Everything else.
        loading: Instead of the uniaxial loading of the paper.
        fit: Whether to find the effective properties, which are defined for uniaxial loading in x;
            None finds them where they are defined.
        element: "P2/P0", whose dilatation in the matrix is averaged over each element, or "P2".
        solver: "compiled" kernels, or "dolfinx", which solves the same equations in UFL, slower.

    Returns:
        The solved volume element.

    Raises:
        ValueError: As `simulate`; also if `fit` does not go with the loading, or element or solver
            are unknown.
    """
    require_kind("inputs", inputs, Inputs)
    require_kind("settings", settings, Settings)
    require_kind("loading", loading, Loading, NoneType)
    require_kind("fit", fit, bool, NoneType)
    loading = loading or uniaxial(settings.strain)
    fit = loading.is_uniaxial if fit is None else fit
    if fit and not loading.is_uniaxial:
        raise ValueError(
            f"fit = {fit!r} needs uniaxial loading, a strain xx alone that only grows or only "
            f"falls: {loading!s:.200} has no effective properties"
        )
    known = ("solver", solver, [*_SOLVERS]), ("element", element, [*VOLUMETRIC_MODES])
    for name, value, allowed in known:
        if value not in allowed:
            raise ValueError(f"{name} = {value!r:.60} must be one of {', '.join(allowed)}")
    equations, solve, recover = _SOLVERS[solver]
    seconds: dict[str, float] = {}
    timed = partial(_timed, seconds)
    a, steps, tolerance = settings.a_MPa, settings.increments, settings.tolerance
    if isinstance(arrangement, Microstructure):
        microstructure = clear_of_edges(arrangement)
    else:
        seed = require_integer("arrangement", arrangement, 0, MAX_SEED)
        random = inputs.vf, seed, settings.n_fibres, settings.min_spacing
        microstructure = timed("microstructure", random_microstructure, *random)
    with threadpool_limits(limits=1):  # the last bits of a threaded sum depend on their number
        mesh = timed("mesh", generate_mesh, microstructure, settings.resolution)
        d = timed("discretisation", discretise, mesh, element)
        problem = timed("assembly", equations, d, inputs, settings)
        path = timed("solution", solve, problem, loading, steps, tolerance)
        fields = timed("fields", recover, d, problem, path)
        elastic = path.history
        if fit and not elastic_increments(elastic).any():  # the first increment is too large
            small = uniaxial(_ELASTIC_STRAIN * a / (1e3 * settings.E_m_GPa))
            elastic = timed("elasticity", solve, problem, small, 1, tolerance).history
        extraction = path.history, a, elastic
        effective = timed("extraction", effective_properties, *extraction) if fit else None
        p_sigma = overstressed_fraction(d, fields.fibre_stress, settings.fibre_stress_MPa)
    solved = problem, loading, path, fields
    return RVESolution(microstructure, d, *solved, effective, p_sigma, seconds)


def solve_in_ufl(
    cell: reference.Cell, loading: Loading, increments: int, tolerance: float
) -> EquilibriumPath:
    """The path of the second solver."""
    x, history, averages, steps = reference.solve_load_steps(cell, loading, increments, tolerance)
    strain, p = (values[cell.in_matrix] for values in history)
    state = State(*p.shape)
    state.old = HistoryVariables(strain[..., [0, 1, 3]], p, cell.law.hardening(p))
    updates = steps + len(averages["stress"]) - 1
    counts = {"newton_iterations": steps, "factorisations": steps, "updates": updates}
    return EquilibriumPath(x, state, averages, {**counts, "cutbacks": 0, "cg_iterations": 0})


def _ufl_fields(d: Discretisation, cell: reference.Cell, path: EquilibriumPath) -> Fields:
    """Stresses as the second solver left them."""
    matrix, *fibres = (cell.point_stress[d.material == i] for i in (MATRIX, *range(len(d.fibres))))
    return Fields(matrix, tuple(fibres), path.state.old.p)


_SOLVERS: dict[str, tuple[Any, Any, Any]] = {
    "compiled": (RVEProblem, solve_load_steps, recover_fields),
    "dolfinx": (reference.Cell, solve_in_ufl, _ufl_fields),
}


def _timed(
    seconds: dict[str, float], stage: str, function: Callable[..., _Value], *arguments: Any
) -> _Value:
    """Value of a function, whose wall time is added to `seconds`."""
    start = time.perf_counter()
    value = function(*arguments)
    seconds[stage] = time.perf_counter() - start
    return value
