"""Simulate one representative volume element (RVE), from inputs to effective properties."""

import dataclasses
import math
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, NoReturn

from threadpoolctl import threadpool_limits
from tqdm import tqdm

from fe_data.arrays import Floats
from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import (
    VF_TOLERANCE,
    Microstructure,
    clear_of_edges,
    random_microstructure,
)
from fe_data.geometry.outline import Outline
from fe_data.loading import Loading, with_increments
from fe_data.mechanics.elements import VOLUMETRIC_MODES, Discretisation, discretise
from fe_data.mechanics.problem import RVEProblem
from fe_data.mechanics.properties import (
    EffectiveProperties,
    effective_properties,
    elastic_increments,
    overstressed_fraction,
)
from fe_data.mechanics.results import Fields, SolvedRVE
from fe_data.mechanics.solvers import SOLVERS, Solver
from fe_data.path_following import EquilibriumPath
from fe_data.reference import rve as reference
from fe_data.settings import (
    MAX_SEED,
    Inputs,
    PaperPhases,
    Settings,
    VolumeFraction,
    require_integer,
    require_kind,
    require_parameters,
)
from fe_data.sparse.compilation import timed
from safe_files.progress import progress_bar
from safe_files.text import Short

_ELASTIC_SHARE = 0.01  # strain relative to the yield strain of the matrix, so that nothing yields
_STAGES = 4  # stages before the solution; each is a step of the progress bar
SolverName = Literal["compiled", "dolfinx"]


@dataclass(frozen=True, repr=False)
class LoadStep(Short):
    """The state of an RVE at the start or after an increment.

    Attributes:
        x: (n + 3,) unknowns; the last three are the mean strain xx, yy and engineering shear xy.
        fields: Stress and plastic strain at the integration points.

    Examples:
        >>> from fe_data import Inputs, Settings, solve_rve
        >>> one_fibre = Settings(n_fibres=1, resolution=3, increments=10)
        >>> rve = solve_rve(Inputs(0.2, 400.0, 400.0, 0.4), one_fibre, keep_steps=True)
        >>> len(rve.steps), float(rve.steps[4].x[-3].round(3))  # mean strain after four increments
        (11, 0.02)
    """

    x: Floats
    fields: Fields


@dataclass(frozen=True, repr=False, kw_only=True)
class RVESolution(SolvedRVE):
    """One solved RVE with its fields, for figures and further analysis.

    Attributes:
        microstructure: The fibres.
        discretisation: Mesh and integration data.
        solver: The solver with the equations of this RVE, which can follow further loadings.
        loading: Path of the mean strain and stress.
        history: Volume averages at the start and after each increment, see `EquilibriumPath`.
        path: The history and the final state.
        fields: Stress and plastic strain at the integration points, at the end.
        effective: Effective properties; None if they were not computed.
        p_sigma: Area fraction of the fibres with a von Mises stress above the threshold of the
            settings [-].
        yield_stress: Initial yield stress of the matrix [MPa].
        counts: Numbers of Newton iterations, factorisations, cutbacks and so on.
        n_dofs: Number of degrees of freedom.
        seconds: Wall time of each stage [s]. Compilation, at the first run on a machine, is a
            separate stage.
        stop: What ended the path early; None if the path is complete.
        steps: Unknowns and fields at the start and after each increment, if they were kept.

    With `partial=True` the path may have ended early. Then all results are those of the last
    increment that was reached, `stop` is the error, and there are no effective properties.

    Examples:
        >>> from fe_data import Inputs, Settings, solve_rve
        >>> one_fibre = Settings(n_fibres=1, resolution=3, increments=10)
        >>> rve = solve_rve(Inputs(0.2, 400.0, 400.0, 0.4), one_fibre)
        >>> rve.fields.plastic_strain.shape == rve.discretisation.matrix.weights.shape
        True
        >>> bool(rve.fields.plastic_strain.max() > rve.fields.plastic_strain.mean())
        True
    """

    discretisation: Discretisation
    solver: Solver
    path: EquilibriumPath
    steps: tuple[LoadStep, ...] = ()

    @property
    def problem(self) -> RVEProblem | reference.RVE:
        """The discrete equations that were solved."""
        return self.solver.problem


def uniaxial(strain: float) -> Loading:
    """Make the loading of the paper: prescribed mean strain xx, zero mean stresses yy and xy.

    Args:
        strain: Final mean strain xx [-].

    Returns:
        The loading.

    >>> uniaxial(0.05).is_uniaxial
    True
    """
    return Loading((strain, None, None))


def solve_rve(
    inputs: Inputs,
    settings: Settings,
    loading: Loading | None = None,
    *,
    seed: int | None = None,
    microstructure: Microstructure | None = None,
    fit: bool | None = None,
    element: str = "P2/P0",
    solver: SolverName = "compiled",
    keep_steps: bool = False,
    partial: bool = False,
    silent: bool = False,
) -> RVESolution:
    """Simulate one RVE.

    Args:
        inputs: The four inputs.
        settings: Mesh, material constants and solver options.
        loading: Loading path; None is tension or compression in x to `settings.strain`.
        seed: Seed of random fibres; None is 0.
        microstructure: Fibres in place of random ones, whose volume fraction differs from
            `inputs.vf` by at most 0.001. All fibres are translated together if an outline nearly
            touches an edge of the square.
        fit: Whether to compute the effective properties, which are defined only for uniaxial
            loading in x; None computes them if they are defined.
        element: "P2/P0", which averages the dilatation of the matrix over each element, or "P2".
        solver: "compiled" for the compiled solver, or "dolfinx", which solves the same equations in
            UFL more slowly.
        keep_steps: Whether to keep the fields of every increment for `save_fields`, about 0.7 MB
            per increment at the default resolution.
        partial: If Newton's method fails or Ctrl-C interrupts the path, whether to return the RVE
            at the last increment that was reached, with the error as `stop`, instead of raising it.
        silent: Show no progress; otherwise a terminal has a bar after two seconds.

    Returns:
        The solved RVE with its fields; its method `result` returns averages and properties.

    Raises:
        ValueError: If an argument is out of range or unknown, a seed and fibres are given, the
            volume fraction cannot be packed or does not match the given fibres, or `fit` is not
            possible for the loading.
        KeyboardInterrupt: After Ctrl-C, unless `partial` is given.

    If the RVE cannot be meshed or solved, a `SimulationError` is raised. A `ConvergenceError` has
    the `history` up to the last increment that was reached. If the curve has fewer
    than three increments above the yield stress, b_eff and c_eff are NaN, and the `warning` of the
    effective properties says so.

    Examples:
        >>> from fe_data import Inputs, Settings, solve_rve
        >>> one_fibre = Settings(n_fibres=1, resolution=3, increments=10)
        >>> rve = solve_rve(Inputs(vf=0.2, E_f_GPa=400, b_m_MPa=400, c_m=0.4), one_fibre)
        >>> rve.history["stress"].shape  # at rest and after ten increments; xx, yy, zz, xy
        (11, 4)
        >>> 100 < rve.result().effective["E_eff_GPa"] < 400  # between the phases
        True
    """
    _require_valid(inputs, settings, loading, fit, element, solver)
    fibres = seed_or_fibres(seed, microstructure)
    for name, flag in (("keep_steps", keep_steps), ("partial", partial), ("silent", silent)):
        require_kind(name, flag, bool)
    loading = loading or uniaxial(settings.strain)
    fit = loading.is_uniaxial if fit is None else fit
    phases = PaperPhases.of(inputs, settings)
    seconds = {"compilation": 0.0}
    steps: list[LoadStep] = []
    visit = (lambda x, fields: steps.append(LoadStep(x, fields))) if keep_steps else None
    n = _STAGES + 1 + loading.total(settings.increments)  # including the initial state
    with progress_bar(n, None if silent else "RVE", "step") as bar:
        with timed(seconds, "microstructure", bar):
            microstructure = arrange_fibres(fibres, inputs, settings)
        with threadpool_limits(limits=1):  # last bits of sums depend on the number of threads
            d, equations = _discretised(
                microstructure, settings.resolution, element, solver, phases, seconds, bar
            )
            with timed(seconds, "solution"):
                path = equations.solve(
                    loading,
                    settings.increments,
                    settings.tolerance,
                    visit,
                    bar.update,
                    partial=partial,
                )
            with timed(seconds, "fields"):
                fields = equations.fields(path)
            effective = None
            if fit and path.stop is None:
                path, effective = _with_properties(
                    path, equations, phases, inputs.vf, settings.tolerance, seconds, partial=partial
                )
            p_sigma = math.nan
            if path.stop is None:
                weights = [fibre.weights for fibre in d.fibres]
                threshold = settings.p_sigma_threshold_MPa
                p_sigma = overstressed_fraction(fields.fibre_stress, weights, threshold)
    return RVESolution(
        microstructure=microstructure,
        discretisation=d,
        solver=equations,
        loading=loading if path.stop is None else with_increments(loading, settings.increments),
        history=path.history,
        path=path,
        fields=fields,
        effective=effective,
        p_sigma=p_sigma,
        yield_stress=phases.sigma_y0_MPa,
        counts=path.counts,
        n_dofs=2 * d.n_nodes,
        seconds=seconds,
        stop=path.stop,
        steps=tuple(steps[: len(path.history["strain"])]),
        further_info={"linear_solver": equations.problem.linear_solver},
    )


def _discretised(
    microstructure: Microstructure,
    resolution: float | None,
    element: str,
    solver: SolverName,
    phases: PaperPhases,
    seconds: dict[str, float],
    bar: "tqdm[NoReturn]",
) -> tuple[Discretisation, Solver]:
    """Mesh a microstructure, and set up its equations; the times go to `seconds`."""
    with timed(seconds, "mesh", bar):
        mesh = generate_mesh(Outline(microstructure, resolution))
    with timed(seconds, "discretisation", bar):
        d = discretise(mesh, element)
    with timed(seconds, "assembly", bar):
        return d, SOLVERS[solver](d, phases)


def _require_valid(
    inputs: Inputs,
    settings: Settings,
    loading: Loading | None,
    fit: bool | None,
    element: str,
    solver: str,
) -> None:
    """Check the arguments of `solve_rve`."""
    require_kind("inputs", inputs, Inputs)
    require_kind("settings", settings, Settings)
    require_parameters(inputs.b_m_MPa, inputs.c_m, settings.hardening)
    require_kind("loading", loading, Loading, NoneType)
    if loading is not None:
        loading.require_plane()
    require_kind("fit", fit, bool, NoneType)
    if fit and loading is not None and not loading.is_uniaxial:
        raise ValueError(
            f"fit = {fit!r} needs uniaxial loading, a strain xx alone that only grows or only "
            f"falls: {loading!s:.200} has no effective properties"
        )
    _require_one_of("solver", solver, list(SOLVERS))
    _require_one_of("element", element, list(VOLUMETRIC_MODES))


def _require_one_of(name: str, value: str, allowed: list[str]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} = {value!r:.60} must be one of {', '.join(allowed)}")


def seed_or_fibres(seed: int | None, microstructure: Microstructure | None) -> int | Microstructure:
    """Return the seed, 0 if nothing is given, or the microstructure; a ValueError for both."""
    require_kind("microstructure", microstructure, Microstructure, NoneType)
    if microstructure is None:
        return require_integer("seed", 0 if seed is None else seed, 0, MAX_SEED)
    if seed is not None:
        raise ValueError(f"seed = {seed!r:.60}: must be None if a microstructure is given")
    return microstructure


def as_arguments(microstructure: int | Microstructure) -> dict[str, Any]:
    """Return a seed or a microstructure as an argument of `solve_rve`."""
    name = "microstructure" if isinstance(microstructure, Microstructure) else "seed"
    return {name: microstructure}


def arrange_fibres(
    microstructure: int | Microstructure,
    inputs: Inputs | VolumeFraction,
    settings: Settings,
    *,
    any_phase: bool = False,
) -> Microstructure:
    """Draw random fibres from a seed, or check given ones; `any_phase` also allows voids etc."""
    if isinstance(microstructure, Microstructure):
        if not any_phase:
            microstructure.require_one_phase()
        fraction = microstructure.volume_fraction
        if abs(inputs.vf - fraction) > VF_TOLERANCE:
            raise ValueError(
                f"vf = {inputs.vf:g} of the inputs does not match the given fibres, which have "
                f"{fraction:.6g}"
            )
        return clear_of_edges(microstructure)
    return random_microstructure(
        inputs.vf,
        microstructure,
        settings.n_fibres,
        settings.min_spacing,
        settings.radii,
        settings.radii_cov,
    )


def _with_properties(
    path: EquilibriumPath,
    solver: Solver,
    phases: PaperPhases,
    vf: float,
    tolerance: float,
    seconds: dict[str, float],
    *,
    partial: bool,
) -> tuple[EquilibriumPath, EffectiveProperties | None]:
    """Return the path and its effective properties; with `partial` an interrupt stops the path."""
    # E and nu follow from the elastic increments or, if the first increment yields, from a smaller
    # step.
    elastic_history = path.history
    axial = phases.longitudinal_modulus(vf)
    stress = phases.sigma_y0_MPa
    try:
        if not elastic_increments(path.history).any():
            with timed(seconds, "elasticity"):
                small = uniaxial(phases.elastic_strain(_ELASTIC_SHARE))
                elastic_history = solver.solve(small, 1, tolerance).history
        with timed(seconds, "extraction"):
            return path, effective_properties(path.history, stress, elastic_history, axial)
    except KeyboardInterrupt as interrupt:
        if not partial:
            raise
        return dataclasses.replace(path, stop=interrupt), None
