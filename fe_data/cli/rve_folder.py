"""Simulate one RVE into a folder: result.json, rve.png, and optionally fields and a mesh."""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any, cast

import numpy as np

from fe_data.cli.options import require_writable
from fe_data.cli.signals import uninterrupted
from fe_data.composite.interface import Strength
from fe_data.composite.phases import (
    SETTINGS_OF_PHASES,
    Phases,
    require_interphase,
    require_no_phases,
)
from fe_data.composite.properties import MaterialRVE, require_fine_elements, solve_material
from fe_data.composite.rve import DROP, DROPS, CompositeSolution
from fe_data.dataset import record
from fe_data.dataset.curves import COMPLETE, MAX_RESULT, RESULT
from fe_data.errors import ConvergenceError
from fe_data.fields.mesh_file import require_mesh_file, save_mesh
from fe_data.fields.paraview import replacing_fields, require_own_fields, save_interfaces
from fe_data.geometry.microstructure import Microstructure
from fe_data.geometry.spacing import require_packable
from fe_data.homogenisation.anisotropy import anisotropy
from fe_data.loading import ALL_AXES, Loading
from fe_data.mechanics.results import SolvedRVE
from fe_data.mechanics.rve import RVESolution, SolverName, as_arguments, solve_rve
from fe_data.schema import INPUTS
from fe_data.schema import output as output_of
from fe_data.settings import (
    MAX_SEED,
    HardeningTable,
    Inputs,
    Settings,
    VolumeFraction,
    require_between,
    require_integer,
    require_parameters,
)
from fe_data.sparse.solver import chosen_solver
from safe_files import writing
from safe_files.reading import read_file
from safe_files.writing import require_own, save_picture, write_atomic

PICTURE = "rve.png"
FIELDS = ("fields.xdmf", "fields.bin")
INTERFACES = ("interfaces.xdmf", "interfaces.bin")


def run_rve(
    inputs: Inputs | VolumeFraction,
    microstructure: int | Microstructure,
    settings: Settings,
    out: Path,
    loading: Loading | None,
    xdmf: bool,
    solver: SolverName | tuple[str, Phases],
    interphase: float = 0.0,
    mesh: Path | None = None,
    drop: float = DROP,
) -> tuple[str, str, Strength | None]:
    """Simulate one RVE into a folder; files of an earlier run are removed at the start.

    A run that stops early writes the increments that it reached. The `status` in result.json is
    "running", then "complete", "not converged", "interrupted" or "failed".

    Args:
        inputs: Inputs of the RVE; with a material only the volume fraction.
        microstructure: Seed of random fibres, or a given microstructure.
        settings: Settings.
        out: Folder.
        loading: Strain path; None is the loading of the paper.
        xdmf: Whether to write the fields of all increments, and the interfaces if fibres can
            debond.
        solver: Name of the solver, or name and phases of a material for the general solver.
        interphase: Thickness of a ring around each fibre, see `solve_material`.
        mesh: File for the mesh, see `save_mesh`; None writes none.
        drop: Share of its peak by which the mean stress falls until the path ends, if fibres can
            debond.

    Returns:
        The result in one line, and why it lacks the power law of the loading of the paper; empty
        if it lacks nothing, with a given loading, and with an elastic matrix. Then the strength;
        None if nothing can break.

    Raises:
        ConvergenceError: If Newton's method fails.
        KeyboardInterrupt: After Ctrl-C or SIGTERM.
    """
    if isinstance(solver, tuple):
        require_no_phases(settings)
        vf = inputs.vf if isinstance(microstructure, int) else None
        require_interphase(solver[1], settings, interphase, vf=vf)
        require_between("drop", drop, *DROPS)
        if isinstance(microstructure, Microstructure):
            solver[1].require_materials_of(microstructure.coated(interphase))
    seed = _checked_seed(inputs, microstructure, settings)
    if isinstance(solver, tuple):
        require_fine_elements(solver[1], inputs, microstructure, settings, interphase=interphase)
    if mesh is not None:
        require_mesh_file(mesh)
    _require_own_folder(out)
    if mesh is not None:
        require_writable(mesh.parent)
    begun = {
        "inputs": dataclasses.asdict(inputs),
        "seed": seed,
        "settings": _plain(settings, microstructure),
    }
    _begin(begun, out, mesh)
    try:
        rve = _solve(inputs, microstructure, settings, loading, xdmf, solver, interphase, drop)
    except BaseException as error:
        with contextlib.suppress(OSError):
            _write_result(_state(error) | begun | {"history": {}}, out)
        raise
    with uninterrupted():
        summary = _summary(rve, inputs, seed, settings, solver)
        heading = _heading(inputs, settings, seed, solver)
        if rve.stop is not None:
            reached = len(rve.history["strain"]) - 1
            total = rve.loading.total(settings.increments)
            number = f"{reached or 'none'} of {total} increments"
            _write(rve, summary, f"{heading}; stopped after {number}", out, xdmf, mesh)
            text = str(rve.stop) or "interrupted"
            first = "the first " if reached else ""
            raise type(rve.stop)(f"{text}; {out} has {first}{number}") from rve.stop
        line = describe(rve)
        if seed is None and isinstance(rve, RVESolution):
            line += _add_anisotropy(rve, summary)
        _write(rve, summary, heading, out, xdmf, mesh)
    strength = rve.solution.strength if isinstance(rve, MaterialRVE) else None
    return line, "" if loading is not None else _without_fit(rve), strength


def _solve(
    inputs: Inputs | VolumeFraction,
    microstructure: int | Microstructure,
    settings: Settings,
    loading: Loading | None,
    keep_steps: bool,
    solver: SolverName | tuple[str, Phases],
    interphase: float,
    drop: float,
) -> RVESolution | MaterialRVE:
    """Solve an RVE, as far as it goes, by the general solver if there is a material."""
    choices: Any = {"keep_steps": keep_steps, "partial": True}
    if isinstance(solver, tuple):
        volume = cast(VolumeFraction, inputs)
        choices |= {"interphase": interphase, "drop": drop}
        return solve_material(solver[1], volume, microstructure, settings, loading, **choices)
    choices |= as_arguments(microstructure)
    return solve_rve(cast(Inputs, inputs), settings, loading, solver=solver, **choices)


def _without_fit(rve: RVESolution | MaterialRVE) -> str:
    """Return why a curve has no power law; empty if it has one, or if no matrix could yield."""
    elastic = isinstance(rve, MaterialRVE) and rve.solution.phases.matrix.is_elastic
    if rve.effective is None or rve.effective.is_fitted or elastic:
        return ""
    return rve.effective.warning


def _add_anisotropy(rve: RVESolution, summary: dict[str, Any]) -> str:
    """Add the elastic anisotropy of given fibres to the summary, and describe it."""
    moduli = anisotropy(rve)
    summary["anisotropy"] = {
        "stiffness_GPa": moduli.stiffness_GPa.tolist(),
        "spread": moduli.spread,
        "stiffest_deg": moduli.stiffest_deg,
        "misfit": moduli.misfit,
    }
    largest = f"{moduli.spread:.1%} above the smallest, at {moduli.stiffest_deg:g} degrees from x"
    return f"; largest elastic modulus in the plane {largest}"


def _begin(begun: dict[str, Any], out: Path, mesh: Path | None) -> None:
    """Replace the result of an earlier run by one without numbers, and remove its other files."""
    _write_result({"status": "running"} | begun | {"history": {}}, out)
    # Remove fields.xdmf last: fields.bin without it would not be recognised as written here.
    for name in (PICTURE, *reversed(INTERFACES), *reversed(FIELDS)):
        (out / name).unlink(missing_ok=True)
    if mesh is not None:
        mesh.unlink(missing_ok=True)


def _state(stop: BaseException | None) -> dict[str, str]:
    """Return the status of a run that ended, and the reason if it is not complete."""
    if stop is None:
        return {"status": COMPLETE}
    status = "failed"
    if isinstance(stop, KeyboardInterrupt):
        status = "interrupted"
    elif isinstance(stop, ConvergenceError):
        status = "not converged"
    return {"status": status, "reason": str(stop) or type(stop).__name__}


def _write_result(content: dict[str, Any], out: Path) -> None:
    write_atomic(out / RESULT, (json.dumps(content, indent=1) + "\n").encode(), None)


def _write(
    rve: RVESolution | MaterialRVE,
    summary: dict[str, Any],
    heading: str,
    out: Path,
    xdmf: bool,
    mesh: Path | None,
) -> None:
    """Write all files; the result is first, because a later run recognises the folder by it."""
    from fe_data.mechanics.plots import plot_rve

    _write_result(summary, out)
    solved = rve.solution if isinstance(rve, MaterialRVE) else rve
    if mesh is not None:
        save_mesh(solved, mesh)
    if xdmf:
        with replacing_fields(solved, out / FIELDS[0]):
            pass
        if isinstance(solved, CompositeSolution) and len(solved.model.domain.interfaces):
            save_interfaces(solved, out / INTERFACES[0])
    save_picture(plot_rve(rve, heading), out / PICTURE, dpi=150)


def _checked_seed(
    inputs: Inputs | VolumeFraction, microstructure: int | Microstructure, settings: Settings
) -> int | None:
    """Return the seed of random fibres, None for given ones; a ValueError for an impossible RVE."""
    seed = None
    if isinstance(microstructure, Microstructure):
        if isinstance(inputs, Inputs):
            microstructure.require_one_phase()
    else:
        seed = require_integer("seed", microstructure, 0, MAX_SEED)
        require_packable(inputs.vf, settings.n_fibres, settings.min_spacing)
    if isinstance(inputs, Inputs):
        require_parameters(inputs.b_m_MPa, inputs.c_m, settings.hardening)
    chosen_solver()  # raises an error if the solver is unknown
    return seed


def _require_own_folder(out: Path) -> None:
    """Create the folder; a ValueError if `rve` did not write the files to be replaced."""
    out.mkdir(parents=True, exist_ok=True)
    require_writable(out)
    present = [
        out / name for name in (RESULT, PICTURE, *FIELDS, *INTERFACES) if (out / name).exists()
    ]
    if present and not _is_own(out / RESULT):
        raise ValueError(f"{present[0]} was not written by `rve`: give another --out")
    require_own(out / RESULT, None)
    try:
        require_own(out / PICTURE, writing.PICTURE)
        require_own_fields(out / FIELDS[0])
        require_own_fields(out / INTERFACES[0])
    except FileExistsError as error:
        raise ValueError(f"{error.filename} was not written by `rve`: give another --out") from None


def _summary(
    rve: SolvedRVE,
    inputs: Inputs | VolumeFraction,
    seed: int | None,
    settings: Settings,
    solver: SolverName | tuple[str, Phases],
) -> dict[str, Any]:
    """Return the content of result.json without anisotropy."""
    m = rve.microstructure
    summary: dict[str, Any] = {
        **_state(rve.stop),
        "components": "xx, yy, zz, xy of tensors; strain xy is half the engineering shear strain",
        "inputs": dataclasses.asdict(inputs),
        "seed": seed,
        "fibres": np.column_stack([m.centres, m.radii]).tolist(),  # x, y, radius
        "settings": _plain(settings, m if seed is None else seed),
        "loading": rve.loading.as_dict(),
        "solver": solver,
        "provenance": record.provenance(),
        "history": {name: values.tolist() for name, values in rve.history.items()},
    }
    if isinstance(rve, MaterialRVE) and rve.solution.strength is not None:
        summary["strength"] = dataclasses.asdict(rve.solution.strength)
    if rve.effective is not None:
        result = rve.result()
        summary |= {"effective": result.effective, "info": result.info}
    if not isinstance(solver, tuple):
        return summary
    if isinstance(rve, MaterialRVE) and rve.solution.warning:
        summary["warning"] = rve.solution.warning
    name, phases = solver
    if rve.loading.is_general:
        summary["components"] = "xx, yy, zz, xy, xz, yz of tensors; MPa, K and s"
    summary["solver"] = "general"
    summary["material"] = {"name": name, "sha256": phases.sha256, "source": phases.source}
    summary["material"]["phases"] = phases.as_dict()
    # One value per fibre
    summary["phases"] = list(m.phases)
    summary["E_GPa"] = record.plain(m.E_GPa)
    summary |= {"height": m.height, "interphase": m.interphase}
    for setting in SETTINGS_OF_PHASES:
        del summary["settings"][setting]
    return summary


def _plain(settings: Settings, microstructure: int | Microstructure) -> dict[str, Any]:
    """Return the settings as a dictionary, with the number of given fibres."""
    plain = dataclasses.asdict(settings)
    if isinstance(microstructure, Microstructure):
        plain["n_fibres"] = len(microstructure.radii)
    return plain


def _heading(
    inputs: Inputs | VolumeFraction,
    settings: Settings,
    seed: int | None,
    solver: SolverName | tuple[str, Phases],
) -> str:
    """Return the heading of the figure: material or inputs, laws other than default, and seed."""
    by_table = isinstance(settings.hardening, HardeningTable)
    # A dollar would begin a formula.
    parts = [solver[0].replace("$", r"\$")] if isinstance(solver, tuple) else []
    for quantity in INPUTS:
        if isinstance(solver, tuple) and quantity.name != "vf":
            continue
        if not (by_table and quantity.name in ("b_m_MPa", "c_m")):
            value = getattr(inputs, quantity.name)
            parts.append(f"{quantity.label} = {value:g}{quantity.unit_after_number}")
    if by_table:
        parts.append("hardening by a table")
    elif settings.hardening != Settings.hardening:
        parts.append(f"{settings.hardening} hardening")
    if settings.radii != Settings.radii:
        parts.append(f"{settings.radii} radii, coefficient of variation {settings.radii_cov:g}")
    parts.append("given fibres" if seed is None else f"seed {seed}")
    return ", ".join(parts)


def _is_own(path: Path) -> bool:
    """Return whether a file is the result of an earlier run of `rve`."""
    try:
        keys = json.loads(read_file(path, MAX_RESULT)).keys()
    except (OSError, ValueError, AttributeError, RecursionError):  # missing, no JSON, no mapping
        return False
    return {"inputs", "seed", "settings", "history"} <= set(keys)


def _strength(strength: Strength) -> str:
    """Describe a strength in words."""
    what = "strength" if strength.is_reached else "strength not reached, largest stress"
    words = [
        f"{what} {strength.strength_MPa:.2f} MPa at a mean strain of "
        f"{strength.strain_at_strength:.5f}"
    ]
    if strength.damaged_fraction or not strength.damaged_area:
        words.append(f"{strength.debonded_fraction:.1%} of the interfaces debonded")
    if strength.damaged_area:
        words.append(f"{strength.damaged_area:.1%} of the area damaged")
    return ", ".join(words)


def describe(rve: SolvedRVE) -> str:
    """Return the effective properties in one line; the final mean stress if there are none."""
    e = rve.effective
    if e is None:
        named = zip(ALL_AXES, rve.history["stress"][-1].tolist(), strict=False)
        mean = f"mean stress {', '.join(f'{axes} {value:z.1f}' for axes, value in named)} MPa"
        if not isinstance(rve, MaterialRVE):
            return mean
        strength, warning = rve.solution.strength, rve.solution.warning
        mean += f" ({warning})" if warning else ""
        return mean if strength is None else f"{_strength(strength)}; at the end {mean}"
    values = rve.result().effective
    parts = []
    for output in map(output_of, values):
        value = f"{values[output.name]:.{output.digits}f}"
        parts.append(f"{output.symbol} {value}{output.unit_after_number}")
    return ", ".join(parts) + (f" ({e.warning})" if e.warning else "")
