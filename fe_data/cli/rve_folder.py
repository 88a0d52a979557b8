"""One RVE into a folder: result.json, rve.png and, on request, fields.xdmf for ParaView."""

import contextlib
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from fe_data.dataset import record
from fe_data.dataset.curves import MAX_RESULT, RESULT
from fe_data.fields.paraview import replacing_fields, require_own_fields
from fe_data.files import writing
from fe_data.files.reading import read_file
from fe_data.files.writing import replacing, require_own, write_atomic
from fe_data.geometry.microstructure import Microstructure, require_packable
from fe_data.homogenisation.anisotropy import anisotropy
from fe_data.loading import Loading
from fe_data.mechanics.rve import RVESolution, SolverName, solve_rve
from fe_data.schema import INPUTS
from fe_data.schema import output as output_of
from fe_data.settings import (
    MAX_SEED,
    HardeningTable,
    Inputs,
    Settings,
    require_integer,
    require_parameters,
)
from fe_data.sparse.solver import chosen_solver

PICTURE = "rve.png"
FIELDS = ("fields.xdmf", "fields.bin")


def run_rve(
    inputs: Inputs,
    microstructure: int | Microstructure,
    settings: Settings,
    out: Path,
    loading: Loading | None,
    xdmf: bool,
    solver: SolverName,
) -> tuple[str, bool]:
    """Simulate one RVE into a folder, in place of an earlier run.

    Returns:
        The result in a line, and whether the properties that were asked for are all there.
    """
    seed = _checked_seed(inputs, microstructure, settings)
    _require_own_folder(out)
    rve = solve_rve(inputs, microstructure, settings, loading, solver=solver, keep_steps=xdmf)
    summary = _summary(rve, inputs, seed, settings, solver)
    line = describe(rve)
    if seed is None:
        found = anisotropy(rve)
        summary["anisotropy"] = {
            "stiffness_GPa": found.stiffness_GPa.tolist(),
            "spread": found.spread,
            "stiffest_deg": found.stiffest_deg,
            "misfit": found.misfit,
        }
        largest = f"{found.spread:.1%} above the smallest, at {found.stiffest_deg:g} degrees from x"
        line += f"; largest elastic modulus in the plane {largest}"
    if rve.effective is not None:
        result = rve.result()
        summary |= {"effective": result.effective, "info": result.info}
    _write(rve, summary, _heading(inputs, settings, seed), out, xdmf)
    return line, loading is not None or (rve.effective is not None and rve.effective.is_fitted)


def _write(rve: RVESolution, summary: dict[str, Any], heading: str, out: Path, xdmf: bool) -> None:
    """Write all files before the first of them replaces that of an earlier run.

    The result is the first, by which a later run knows the folder as its own.
    """
    from fe_data.mechanics.plots import plot_rve

    fields = replacing_fields(rve, out / FIELDS[0]) if xdmf else contextlib.nullcontext()
    with fields, replacing(out / PICTURE, writing.PICTURE) as picture:
        plot_rve(rve, heading).savefig(picture, format="png", dpi=150)
        picture.flush()
        write_atomic(out / RESULT, (json.dumps(summary, indent=1) + "\n").encode(), None)
        # The description goes last: numbers without one would not be known as those of `rve`.
        for name in () if xdmf else reversed(FIELDS):
            (out / name).unlink(missing_ok=True)


def _checked_seed(
    inputs: Inputs, microstructure: int | Microstructure, settings: Settings
) -> int | None:
    """The seed of random fibres, None of given ones; a ValueError where no RVE can be made."""
    seed = None
    if not isinstance(microstructure, Microstructure):
        seed = require_integer("seed", microstructure, 0, MAX_SEED)
        require_packable(inputs.vf, settings.n_fibres, settings.min_spacing)
    require_parameters(inputs.b_m_MPa, inputs.c_m, settings.hardening)
    chosen_solver()  # refuses an unknown solver
    return seed


def _require_own_folder(out: Path) -> None:
    """Make the folder, and see that all files to be replaced are of an earlier run."""
    out.mkdir(parents=True, exist_ok=True)
    present = [out / name for name in (RESULT, PICTURE, *FIELDS) if (out / name).exists()]
    if present and not _is_own(out / RESULT):
        raise ValueError(f"{present[0]} was not written by `rve`: give another --out")
    require_own(out / RESULT, None)
    try:
        require_own(out / PICTURE, writing.PICTURE)
        require_own_fields(out / FIELDS[0])
    except FileExistsError as error:
        raise ValueError(f"{error.filename} was not written by `rve`: give another --out") from None


def _summary(
    rve: RVESolution, inputs: Inputs, seed: int | None, settings: Settings, solver: SolverName
) -> dict[str, Any]:
    """What result.json holds of any RVE."""
    m = rve.microstructure
    return {
        "components": "xx, yy, zz, xy of tensors; strain xy is half the engineering shear strain",
        "inputs": dataclasses.asdict(inputs),
        "seed": seed,
        "fibres": np.column_stack([m.centres, m.radii]).tolist(),  # x, y, radius
        "settings": dataclasses.asdict(settings),
        "loading": rve.loading.as_dict(),
        "solver": solver,
        "provenance": record.provenance(),
        "history": {name: values.tolist() for name, values in rve.history.items()},
    }


def _heading(inputs: Inputs, settings: Settings, seed: int | None) -> str:
    """The heading of the picture: inputs, laws that are not those of the paper, and seed."""
    by_table = isinstance(settings.hardening, HardeningTable)
    parts = []
    for quantity in INPUTS:
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
    """Whether a file is the result of an earlier `rve`."""
    try:
        keys = json.loads(read_file(path, MAX_RESULT)).keys()
    except (OSError, ValueError, AttributeError, RecursionError):  # missing, no JSON, no mapping
        return False
    return {"inputs", "seed", "settings", "history"} <= set(keys)


def describe(rve: RVESolution) -> str:
    """The properties of an RVE in a line or, under another loading, its mean stress."""
    e = rve.effective
    if e is None:
        xx, yy, zz, xy = rve.history["stress"][-1]
        return f"mean stress xx {xx:z.1f}, yy {yy:z.1f}, zz {zz:z.1f}, xy {xy:z.1f} MPa"
    values = rve.result().effective
    parts = []
    for output in map(output_of, values):
        value = f"{values[output.name]:.{output.digits}f}"
        parts.append(f"{output.symbol} {value}{output.unit_after_number}")
    return ", ".join(parts) + (f" ({e.warning})" if e.warning else "")
