"""Check a design against settings and phases, before anything is simulated."""

import contextlib
import dataclasses
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from fe_data.composite.interface import strength_loading
from fe_data.composite.phases import (
    INTERFACE,
    INTERPHASE,
    Phases,
    inclusions_of,
    require_interphase,
    require_no_phases,
)
from fe_data.dataset import worker
from fe_data.dataset.design import Design, Sample
from fe_data.geometry.spacing import require_packable
from fe_data.schema import INPUT_NAMES
from fe_data.settings import Settings, require_parameters


def _require_strengths(design: Design, simulator: worker.MaterialSimulator) -> None:
    """Raise a ValueError if a strength is unknown, or nothing can break."""
    phases, strengths = simulator.phases, simulator.strengths
    for name in strengths:
        strength_loading(name)
    if strengths:
        least_vf = float(design.inputs[:, INPUT_NAMES.index("vf")].min())
        for fibres in design.microstructures or [least_vf]:
            phases.require_breakable(fibres, simulator.interphase)
        if design.loadings:
            raise ValueError("strengths cannot be combined with paths, without outputs")
    elif not design.loadings:
        for name in design.fields:
            if name.startswith(f"{INTERFACE}.") or ".damage." in name:
                raise ValueError(
                    f"design has {name}, one of the fields of the interface or of damage: give "
                    "strengths, because nothing breaks without them"
                )


def all_inclusions(design: Design, interphase: float) -> set[str]:
    """Return the names of the phases in the matrices of all RVEs of a design."""
    largest_vf = float(design.inputs[:, INPUT_NAMES.index("vf")].max())
    rves = design.microstructures or [largest_vf]
    return {name for fibres in rves for name in inclusions_of(fibres, interphase)}


def _require_phases_of_fields(design: Design, simulator: worker.MaterialSimulator) -> None:
    """Raise a ValueError if a field of the design belongs to a phase that no RVE has."""
    present = {"matrix", INTERFACE} | all_inclusions(design, simulator.interphase)
    for name in design.fields:
        if (phase := name.partition(".")[0]) not in present:
            ring = ": give interphase (option --interphase)" if phase == INTERPHASE else ""
            raise ValueError(f"design has {name}, but no RVE has the phase {phase}{ring}")
        kinds = {kind for fibres in design.microstructures for kind in fibres.kinds}
        moduli = [E_GPa for inclusion, E_GPa in kinds if inclusion == phase]
        if name == f"{phase}.elasticity.E_GPa" and moduli and None not in moduli:
            raise ValueError(f"design has {name}, but each of its fibres has a separate E_GPa")


def require_outputs(design: Design, simulator: worker.Simulator | None) -> None:
    """Raise a ValueError if outputs of the anisotropy cannot be added."""
    if simulator is not None or design.loadings:
        what = "paths, whose table has no outputs" if design.loadings else "another simulator"
        raise ValueError(f"anisotropy = True cannot be combined with {what}")


def require_no_material(
    design: Design, interphase: float, constants: bool, strengths: Sequence[str]
) -> None:
    """Raise a ValueError if an argument or a field of the design needs the phases of a material."""
    if constants or len(strengths):
        what = "constants = True" if constants else f"strengths = {strengths!r:.60}"
        raise ValueError(f"{what} needs the phases of a material")
    if design.fields:
        raise ValueError(
            f"design has fields {', '.join(design.fields)}: give the phases of their material"
        )
    if interphase:
        raise ValueError(
            f"interphase = {interphase:g} needs the phases of a material with an interphase"
        )


def _require_material(
    design: Design, settings: Settings, phases: Phases, interphase: float
) -> None:
    """Raise a ValueError if a phase of the design is missing, or settings say what phases say."""
    require_no_phases(settings)
    fractions = design.inputs[:, INPUT_NAMES.index("vf")]
    vf = None if design.microstructures else float(fractions.max())
    require_interphase(phases, settings, interphase, vf=vf)


def _require_constants(design: Design, phases: Phases, interphase: float) -> None:
    """Raise a ValueError for paths; warn the caller of `generate` of phases without expansion."""
    if design.loadings:
        raise ValueError("constants = True cannot be combined with paths, without outputs")
    if rigid := phases.without_expansion(all_inclusions(design, interphase)):
        what = f"alpha_per_K of {' and '.join(rigid)} is zero, while other phases expand"
        warnings.warn(f"{what}: add it to the material if it is missing", stacklevel=4)


def of_material(design: Design, settings: Settings, simulator: worker.MaterialSimulator) -> Design:
    """Return the design with the inputs that the material fixes, after all checks."""
    phases = simulator.phases
    interphase = simulator.interphase
    _require_material(design, settings, phases, interphase)
    _require_strengths(design, simulator)
    _require_phases_of_fields(design, simulator)
    if simulator.constants:
        _require_constants(design, phases, interphase)
    inputs = design.inputs.copy()
    fixed = phases.fixed_inputs
    for row in range(len(design)):
        if design.fields:
            with _naming(row):
                fixed = phases.with_fields(design.sample(row).fields).fixed_inputs
        for name, value in fixed.items():
            inputs[row, INPUT_NAMES.index(name)] = value
    for place, micro in enumerate(design.microstructures):
        try:
            phases.require_materials_of(micro.coated(interphase))
        except ValueError as error:
            raise ValueError(f"microstructure {place}: {error}") from None
    return dataclasses.replace(design, inputs=inputs)


def require_possible(design: Design, settings: Settings, *, general: bool) -> None:
    """Raise a ValueError if a path is too long, fibres cannot be packed, or b_m or c_m is wrong."""
    for micro in () if general else design.microstructures:
        micro.require_one_phase()
    for place, path in enumerate(design.loadings):
        try:
            if not general:
                path.require_plane()
            path.total(settings.increments)
        except ValueError as error:
            raise ValueError(f"path {place}: {error}") from None
    fractions = design.inputs[:, INPUT_NAMES.index("vf")].tolist()
    b = design.inputs[:, INPUT_NAMES.index("b_m_MPa")].tolist()
    c = design.inputs[:, INPUT_NAMES.index("c_m")].tolist()
    row = fractions.index(max(fractions))
    try:
        if not design.microstructures:
            require_packable(fractions[row], settings.n_fibres, settings.min_spacing)
        for row in () if general else (b.index(max(b)), c.index(min(c)), c.index(max(c))):
            require_parameters(b[row], c[row], settings.hardening)
    except ValueError as error:
        raise ValueError(f"sample {row} of the design: {error}") from None


def require_elements_for_damage(
    design: Design, settings: Settings, simulator: worker.MaterialSimulator
) -> None:
    """Raise a ValueError if the elements of a sample are too large for a fracture energy."""
    from fe_data.composite.properties import require_fine_elements

    interphase = simulator.interphase
    worst: dict[str, tuple[float, Sample, Phases]] = {}  # of each phase
    for row in _least_fractions(design):
        sample, phases = design.sample(row), simulator.phases
        with _naming(row):
            phases = phases.with_fields(sample.fields) if sample.fields else phases
            materials = phases.damageable(sample.microstructure or sample.inputs.vf, interphase)
            for name, material in materials.items():
                # The size of elements is proportional to that of the RVE, so to d / √vf.
                assert phases.fibre_diameter_um is not None
                width = material.largest_width_mm / phases.fibre_diameter_um
                margin = width * sample.inputs.vf**0.5
                if name not in worst or margin < worst[name][0]:
                    worst[name] = margin, sample, phases
    for sample, phases in {s.index: (s, phases) for _, s, phases in worst.values()}.values():
        fibres = sample.seed if sample.microstructure is None else sample.microstructure
        arguments = phases, sample.inputs, fibres, settings
        with _naming(sample.index):
            require_fine_elements(*arguments, interphase=interphase)


def _least_fractions(design: Design) -> list[int]:
    """Return the sample with the least volume fraction for each set of numbers of the material."""
    fractions = design.inputs[:, INPUT_NAMES.index("vf")]
    order = fractions.argsort(kind="stable")
    fields = np.column_stack([np.zeros(len(design)), *design.fields.values()])
    _, first = np.unique(fields[order], axis=0, return_index=True)
    return sorted(order[first].tolist())


@contextlib.contextmanager
def _naming(row: int) -> Iterator[None]:
    """Add the index of a sample to the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"sample {row} of the design: {error}") from None
