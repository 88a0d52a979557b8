"""Simulate one RVE into a folder: result.json, rve.png, and optionally fields and a mesh."""

import contextlib
import dataclasses
import json
from dataclasses import dataclass
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
from fe_data.composite.rve import DROP, DROPS, CompositeSolution, used_resolution
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
COMPONENTS = "xx, yy, zz, xy of tensors; strain xy is half the engineering shear strain"


@dataclass(frozen=True)
class Simulation:
    """What `rve` simulates.

    Attributes:
        inputs: Inputs of the RVE; with a material only the volume fraction.
        microstructure: Seed of random fibres, or a given microstructure.
        settings: Settings.
        loading: Strain path; None is the loading of the paper.
        solver: Solver of the phases of the paper.
        material: Name and phases of a material, for the general solver; None for the phases of the
            paper.
        interphase: Thickness of a ring around each fibre, see `solve_material`.
        drop: Share of its peak by which the mean stress falls until the path ends, if fibres can
            debond.
    """

    inputs: Inputs | VolumeFraction
    microstructure: int | Microstructure
    settings: Settings
    loading: Loading | None = None
    solver: SolverName = "compiled"
    material: tuple[str, Phases] | None = None
    interphase: float = 0.0
    drop: float = DROP

    @property
    def seed(self) -> int | None:
        """Seed of random fibres; None if the fibres are given."""
        return None if isinstance(self.microstructure, Microstructure) else self.microstructure

    def require_valid(self) -> None:
        """Raise ValueError unless the RVE can be simulated."""
        settings = self.settings
        fibres = self.microstructure
        if self.material is not None:
            phases = self.material[1]
            require_no_phases(settings)
            vf = None if self.seed is None else self.inputs.vf
            require_interphase(phases, settings, self.interphase, vf=vf)
            require_between("drop", self.drop, *DROPS)
            if isinstance(fibres, Microstructure):
                phases.require_materials_of(fibres.coated(self.interphase))
        else:
            if isinstance(fibres, Microstructure):
                fibres.require_one_phase()
            if self.loading is not None:
                self.loading.require_plane()
        if self.seed is not None:
            require_integer("seed", self.seed, 0, MAX_SEED)
            require_packable(self.inputs.vf, settings.n_fibres, settings.min_spacing)
        if isinstance(self.inputs, Inputs):
            require_parameters(self.inputs.b_m_MPa, self.inputs.c_m, settings.hardening)
        chosen_solver()  # raises an error if the solver is unknown
        if self.material is not None:
            require_fine_elements(phases, self.inputs, fibres, settings, interphase=self.interphase)

    def solve(self, *, keep_steps: bool) -> RVESolution | MaterialRVE:
        """Solve the RVE, as far as it goes."""
        choices: Any = {"keep_steps": keep_steps, "partial": True}
        if self.material is None:
            choices |= {"solver": self.solver, **as_arguments(self.microstructure)}
            return solve_rve(cast(Inputs, self.inputs), self.settings, self.loading, **choices)
        choices |= {"interphase": self.interphase, "drop": self.drop}
        fibres = self.microstructure
        phases = self.material[1]
        return solve_material(phases, self.inputs, fibres, self.settings, self.loading, **choices)

    def as_dict(self) -> dict[str, Any]:
        """Return inputs, seed and settings for result.json."""
        settings = dataclasses.asdict(self.settings)
        if isinstance(self.microstructure, Microstructure):
            settings["n_fibres"] = len(self.microstructure.radii)
        inputs = dataclasses.asdict(self.inputs)
        return {"inputs": inputs, "seed": self.seed, "settings": settings}

    def heading(self) -> str:
        """Return the heading of the figure: material or inputs, laws other than default, seed."""
        settings = self.settings
        by_table = isinstance(settings.hardening, HardeningTable)
        # A dollar would begin a formula.
        parts = [] if self.material is None else [self.material[0].replace("$", r"\$")]
        for quantity in INPUTS:
            if self.material is not None and quantity.name != "vf":
                continue
            if not (by_table and quantity.name in ("b_m_MPa", "c_m")):
                value = getattr(self.inputs, quantity.name)
                parts.append(f"{quantity.label} = {value:g}{quantity.unit_after_number}")
        if by_table:
            parts.append("hardening by a table")
        elif settings.hardening != Settings.hardening:
            parts.append(f"{settings.hardening} hardening")
        if settings.radii != Settings.radii:
            parts.append(f"{settings.radii} radii, coefficient of variation {settings.radii_cov:g}")
        parts.append("given fibres" if self.seed is None else f"seed {self.seed}")
        return ", ".join(parts)

    def summary(self, rve: RVESolution | MaterialRVE) -> dict[str, Any]:
        """Return the content of result.json without anisotropy."""
        m = rve.microstructure
        inputs_and_settings = self.as_dict()
        settings = inputs_and_settings.pop("settings")
        of_material = None if self.material is None else self.material[1]
        settings["resolution"] = used_resolution(of_material, m, self.settings.resolution)
        summary: dict[str, Any] = {
            **_state(rve.stop),
            "components": COMPONENTS,
            **inputs_and_settings,
            "fibres": np.column_stack([m.centres, m.radii]).tolist(),  # x, y, radius
            "settings": settings,
            "loading": rve.loading.as_dict(),
            "solver": self.solver,
            "provenance": record.provenance(),
            "history": {name: values.tolist() for name, values in rve.history.items()},
        }
        if isinstance(rve, MaterialRVE) and rve.solution.strength is not None:
            summary["strength"] = dataclasses.asdict(rve.solution.strength)
        if rve.effective is not None:
            result = rve.result()
            summary |= {"effective": result.effective, "info": result.info}
        if self.material is None:
            return summary
        if isinstance(rve, MaterialRVE) and rve.solution.warning:
            summary["warning"] = rve.solution.warning
        name, phases = self.material
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


def run_rve(
    simulation: Simulation, out: Path, *, xdmf: bool, mesh: Path | None = None
) -> tuple[str, str, Strength | None]:
    """Simulate one RVE into a folder; files of an earlier run are removed at the start.

    A run that stops early writes the increments that it reached. The `status` in result.json is
    "running", then "complete", "not converged", "interrupted" or "failed".

    Args:
        simulation: What is simulated.
        out: Folder.
        xdmf: Whether to write the fields of all increments, and the interfaces if fibres can
            debond.
        mesh: File for the mesh, see `save_mesh`; None writes none.

    Returns:
        The result in one line, and why it lacks the power law of the loading of the paper; empty
        if it lacks nothing, with a given loading, and with an elastic matrix. Then the strength;
        None if nothing can break.

    Raises:
        ConvergenceError: If Newton's method fails.
        KeyboardInterrupt: After Ctrl-C or SIGTERM.
    """
    simulation.require_valid()
    if mesh is not None:
        require_mesh_file(mesh)
    _require_own_folder(out)
    if mesh is not None:
        require_writable(mesh.parent)
    begun = simulation.as_dict()
    _begin(begun, out, mesh)
    try:
        rve = simulation.solve(keep_steps=xdmf)
    except BaseException as error:
        with contextlib.suppress(OSError):
            _write_result(_state(error) | begun | {"history": {}}, out)
        raise
    with uninterrupted():
        summary = simulation.summary(rve)
        heading = simulation.heading()
        if rve.stop is not None:
            reached = len(rve.history["strain"]) - 1
            total = rve.loading.total(simulation.settings.increments)
            number = f"{reached or 'none'} of {total} increments"
            _write(rve, summary, f"{heading}; stopped after {number}", out, xdmf, mesh)
            text = str(rve.stop) or "interrupted"
            first = "the first " if reached else ""
            raise type(rve.stop)(f"{text}; {out} has {first}{number}") from rve.stop
        line = describe(rve)
        if simulation.seed is None and isinstance(rve, RVESolution):
            line += _add_anisotropy(rve, summary)
        _write(rve, summary, heading, out, xdmf, mesh)
    strength = rve.solution.strength if isinstance(rve, MaterialRVE) else None
    return line, "" if simulation.loading is not None else _without_fit(rve), strength


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
    if strength.damaged_fraction:
        words.append(f"{strength.debonded_fraction:.1%} of the interfaces debonded")
    if strength.damaged_area:
        words.append(f"{strength.damaged_area:.1%} of the area damaged")
    if not (strength.damaged_fraction or strength.damaged_area):
        words.append("nothing damaged")
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
