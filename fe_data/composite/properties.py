"""Simulate an RVE of given phases by the general solver, with the results of the fast solver.

Inputs and outputs are as in `schema`, so that tables, records, figures and files of fields have the
form of those of the fast solver. Of the inputs only the volume fraction is used; the phases
determine the others.
"""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Floats
from fe_data.composite.phases import Phases, require_interphase, require_no_phases
from fe_data.composite.rve import (
    DROP,
    CompositeSolution,
    composite_domain,
    composite_model,
    one_thread,
    side_of_rve,
    solve_composite,
)
from fe_data.composite.stepping import IncrementalModel, softening_phases
from fe_data.errors import MeshError, MicrostructureError, SimulationError
from fe_data.geometry.microstructure import FIBRES, Microstructure
from fe_data.loading import Loading
from fe_data.mechanics.properties import (
    EffectiveProperties,
    effective_properties,
    elastic_increments,
    overstressed_fraction,
)
from fe_data.mechanics.results import Cracks, Fields, SolvedRVE
from fe_data.mechanics.rve import arrange_fibres, uniaxial
from fe_data.path_following import follow
from fe_data.schema import fitted_outputs, output
from fe_data.settings import Inputs, Settings, VolumeFraction

_PLANE = 4  # number of components in plane strain: xx, yy, zz, xy
_ELASTIC_STRAIN = 1e-6  # mean strain at which nothing yields
_OF_PATHS = ("temperature", "time")  # only in the history of a general loading


@dataclass(frozen=True, repr=False, kw_only=True)
class MaterialRVE(SolvedRVE):
    """A solved RVE of given phases, with all data for figures and records.

    The history has the components xx, yy, zz, xy of tensors in plane strain. Under a general
    loading it has all six, and temperature [K] and time [s].
    """

    solution: CompositeSolution


def solve_material(
    phases: Phases,
    inputs: Inputs | VolumeFraction,
    microstructure: int | Microstructure,
    settings: Settings,
    loading: Loading | None = None,
    *,
    interphase: float = 0.0,
    keep_steps: bool = False,
    partial: bool = False,
    silent: bool = False,
    drop: float = DROP,
) -> MaterialRVE:
    """Simulate an RVE of given phases.

    Args:
        phases: Materials of matrix and fibres.
        inputs: Inputs, of which only the volume fraction is used.
        microstructure: Seed of random fibres, or a given microstructure.
        settings: Mesh and solver options. Settings of phases must have their defaults.
        loading: Path; None is the uniaxial loading of the settings.
        interphase: Thickness of a ring around each fibre, in mean radii of the fibres [-].
        keep_steps: Whether to keep the fields of every increment.
        partial: Whether to return the increments before an error or an interruption.
        silent: Show no progress.
        drop: See `solve_composite`.

    Returns:
        The solved RVE. It has effective properties if the loading is uniaxial in plane strain, and
        nothing can break.

    Raises:
        ValueError: If a setting of phases is not the default, or an argument is out of range.
        MicrostructureError: If rings overlap.
        KeyboardInterrupt: After Ctrl-C, unless `partial` is given.
    """
    require_no_phases(settings)
    vf = inputs.vf if isinstance(microstructure, int) else None
    require_interphase(phases, settings, interphase, vf=vf)
    loading = loading or uniaxial(settings.strain)
    fibres = _coated_fibres(inputs, microstructure, settings, interphase)
    solution = solve_composite(
        phases,
        fibres,
        loading,
        increments=settings.increments,
        resolution=settings.resolution,
        tolerance=settings.tolerance,
        keep_steps=keep_steps,
        partial=partial,
        silent=silent,
        drop=drop,
    )
    rve = _material_rve(solution, settings)
    if solution.stop is not None or not loading.is_uniaxial or phases.can_break(fibres):
        return rve
    try:
        return _fitted(rve, settings)
    except KeyboardInterrupt as interrupt:
        if not partial:
            raise
        return dataclasses.replace(rve, stop=interrupt)


def _material_rve(solution: CompositeSolution, settings: Settings) -> MaterialRVE:
    """Return a solved RVE without effective properties."""
    p_sigma = _p_sigma(solution, settings.p_sigma_threshold_MPa)
    info = solution.info.items()
    return MaterialRVE(
        solution=solution,
        microstructure=solution.microstructure,
        discretisation=solution.model.domain,
        loading=solution.loading,
        history=_recorded(solution),
        fields=_fields(solution),
        p_sigma=p_sigma if solution.stop is None else math.nan,
        counts={k: v for k, v in info if isinstance(v, int)},
        n_dofs=solution.model.block * solution.model.domain.n_nodes,
        seconds={k.removeprefix("seconds_"): float(v) for k, v in info if k.startswith("seconds_")},
        stop=solution.stop,
        cracks=_cracks(solution),
        further_info={"mesh_warning": solution.warning} if solution.warning else {},
    )


def _cracks(solution: CompositeSolution) -> Cracks | None:
    """Return what has broken at the end; None if nothing can break."""
    model, at = solution.model, solution.steps[-1].debonding
    if at is None and not model.damageable:
        return None
    sides = model.domain.interfaces
    damage, largest = np.zeros((0, 3)), 0.0
    if at is not None and model.interface is not None:
        damage = at.damage[model.interface.sides]
        largest = float(np.abs(at.opening).max())
    of_elements = solution.damage()
    moved = solution.displacement()[:, :2]
    points, strength = model.domain.points, solution.strength
    peak = None
    if strength is not None and strength.is_reached:
        peak = strength.strength_MPa, strength.strain_at_strength
    return Cracks(points, moved, sides, damage, largest, of_elements, peak)


def _coated_fibres(
    inputs: Inputs | VolumeFraction,
    microstructure: int | Microstructure,
    settings: Settings,
    interphase: float,
) -> Microstructure:
    """Draw random fibres, or check given ones, and add their interphase."""
    fibres = arrange_fibres(microstructure, inputs, settings, any_phase=True)
    try:
        return fibres.coated(interphase)
    except ValueError as error:
        raise MicrostructureError(str(error)) from None


def require_fine_elements(
    phases: Phases,
    inputs: Inputs | VolumeFraction,
    microstructure: int | Microstructure,
    settings: Settings,
    *,
    interphase: float = 0.0,
) -> None:
    """Reject elements that are too large for the fracture energy of their phase.

    It takes the time of a mesh. A microstructure that cannot be meshed is not rejected here.

    Args:
        phases: As for `solve_material`, like the other arguments.
        inputs: Inputs.
        microstructure: Seed or given microstructure.
        settings: Settings.
        interphase: Thickness of a ring around each fibre.

    Raises:
        ValueError: If an element is too large, or there is no fibre to compare it with.
    """
    random = isinstance(microstructure, int)
    if not phases.damageable(inputs.vf if random else microstructure, interphase):
        return
    try:
        fibres = _coated_fibres(inputs, microstructure, settings, interphase)
        side = side_of_rve(phases, fibres)
        domain = composite_domain(phases, fibres, settings.resolution)
    except SimulationError:
        return
    assert side is not None
    model = composite_model(phases, fibres, domain, out_of_plane=False)
    try:
        softening_phases(model, side)
    except MeshError as error:
        raise ValueError(str(error)) from None


def _fitted(rve: MaterialRVE, settings: Settings) -> MaterialRVE:
    """Find the effective properties of the averaged curves."""
    solution = rve.solution
    tension = float(rve.history["strain"][-1, 0]) > 0
    first_yield = solution.phases.matrix.first_yield(tension=tension)
    yield_stress = math.inf if first_yield is None else first_yield
    elastic = rve.history
    # A law without a plastic strain does not show when it yields, so simulate a small strain.
    states = [phase.material.entry.state for phase in solution.model.inelastic]
    hidden = any(not {"p", "plastic_strain"} & set(state) for state in states)
    if hidden or not elastic_increments(rve.history).any():
        with one_thread():
            small = uniaxial(_ELASTIC_STRAIN)
            path = follow(IncrementalModel(solution.model), small, 1, settings.tolerance)
            elastic = _first(path.history, _PLANE)
    axial = _mixed_modulus(solution)
    effective = effective_properties(rve.history, yield_stress, elastic, axial)
    effective = _fitted_within_bounds(effective)
    reasons = "; ".join(filter(None, (effective.warning, solution.warning)))
    return dataclasses.replace(
        rve,
        effective=dataclasses.replace(effective, warning=reasons),
        yield_stress=yield_stress,
        further_outputs={"E_T_GPa": effective.transverse_modulus_GPa},
    )


def _fitted_within_bounds(effective: EffectiveProperties) -> EffectiveProperties:
    """Drop a power law without meaning, which is only extrapolated from a short curve."""
    beyond = []
    for name in fitted_outputs() if effective.is_fitted else ():
        value, allowed = getattr(effective, name), output(name).allowed
        if allowed is not None and not allowed[0] <= value <= allowed[1]:
            beyond.append(f"{name} = {value:.3g} is outside [{allowed[0]:g}, {allowed[1]:g}]")
    if not beyond:
        return effective
    warning = f"the power law does not describe the curve: {' and '.join(beyond)}"
    nothing = dict.fromkeys((*fitted_outputs(), "hardening_residual"), math.nan)
    return dataclasses.replace(effective, **nothing, warning=f"{warning}; use the curve")


def _recorded(solution: CompositeSolution) -> dict[str, Floats]:
    """Return the history in the form of records: four components in plane strain."""
    if solution.loading.is_general:
        return solution.history
    plane = _first(solution.history, _PLANE)
    return {name: values for name, values in plane.items() if name not in _OF_PATHS}


def _first(history: dict[str, Floats], width: int) -> dict[str, Floats]:
    """Return a history with only the first `width` components of its tensors."""
    return {
        name: values[..., :width] if values.ndim > 1 else values for name, values in history.items()
    }


def _fields(solution: CompositeSolution) -> Fields:
    """Return final stress and plastic strain in the matrix, each fibre and each interphase."""
    domain = solution.model.domain
    phases = solution.fields()
    matrix = phases.pop("matrix")
    of_matrix = matrix.state.get("p", np.zeros(matrix.weights.shape))
    stress = np.zeros((len(domain.material), *matrix.stress.shape[1:]))
    plastic = np.zeros(stress.shape[:2])
    for phase in phases.values():
        stress[phase.elements] = phase.stress
        plastic[phase.elements] = phase.state.get("p", 0.0)
    # The array of a void is empty. The interphases of the fibres come after all fibres.
    count = max(len(solution.microstructure.radii), int(domain.material.max()) + 1)
    of_fibres = [
        tuple(values[domain.material == fibre] for fibre in range(count))
        for values in (stress, plastic)
    ]
    return Fields(matrix.stress, of_fibres[0], of_matrix, of_fibres[1])


def _p_sigma(solution: CompositeSolution, threshold: float) -> float:
    """Return p_sigma: area fraction of the fibres with a von Mises stress above a threshold."""
    fibres = [k for k, phase in enumerate(solution.microstructure.phases) if phase == FIBRES]
    phases = solution.fields().values()
    inside = [np.isin(solution.model.domain.material[phase.elements], fibres) for phase in phases]
    stresses = [phase.stress[chosen] for phase, chosen in zip(phases, inside, strict=True)]
    weights = [phase.weights[chosen] for phase, chosen in zip(phases, inside, strict=True)]
    return overstressed_fraction(stresses, weights, threshold)


def _mixed_modulus(solution: CompositeSolution) -> float:
    """Return Young's modulus along the fibres by the rule of mixtures [MPa]."""
    mixed = 0.0
    for phase in solution.model.phases:
        along = 1 / np.linalg.inv(phase.material.elasticity.stiffness)[2, 2]
        mixed += float(along * phase.weights.sum()) / solution.model.area
    return mixed
