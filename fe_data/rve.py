"""One representative volume element, from its inputs to its effective properties."""

import dataclasses
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from fe_data.cell import PeriodicCell
from fe_data.design import MAX_SEED, require_integer
from fe_data.discretisation import Discretisation, discretise, write_xdmf
from fe_data.effective import Effective, extract, von_mises
from fe_data.fields import Fields, fields, overstressed_fraction
from fe_data.homogenisation import Loading, Solution, solve
from fe_data.mesh import MATRIX, generate_mesh
from fe_data.microstructure import Microstructure, random_microstructure
from fe_data.provenance import provenance
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


def run_rve(
    inputs: Inputs,
    seed: int,
    settings: Settings,
    out_dir: Path,
    *,
    loading: Loading | None = None,
    xdmf: bool = False,
) -> SolvedCell:
    """Simulate one cell into a folder: result.json, rve.png and, on request, fields for ParaView.

    Args:
        inputs: The four inputs.
        seed: Seed of the fibre arrangement.
        settings: Everything else.
        out_dir: Folder, made when missing.
        loading: Instead of the paper's; effective properties are not extracted then.
        xdmf: Also write fields.xdmf.

    Raises:
        ValueError, SimulationError: See `simulate`.
    """
    from fe_data.plots import plot_rve, save

    seed = require_integer("seed", seed, 0, MAX_SEED)
    out_dir.mkdir(parents=True, exist_ok=True)
    cell = solve_cell(inputs, seed, settings, loading, fit=loading is None)
    summary = {
        "inputs": dataclasses.asdict(inputs),
        "seed": seed,
        "settings": settings.to_dict(),
        "loading": dataclasses.asdict(loading or uniaxial(settings.strain)),
        "provenance": provenance(),
        "history": {name: values.tolist() for name, values in cell.solution.history.items()},
    }
    if loading is None:
        result = cell.result()
        summary |= {"effective": result.effective, "info": result.info}
    text = json.dumps(summary, indent=1) + "\n"
    (out_dir / "result.json").write_text(text, encoding="utf-8")
    heading = (
        f"vf = {inputs.vf:g}, $E_f$ = {inputs.E_f_GPa:g} GPa, $b_m$ = {inputs.b_m_MPa:g} MPa, "
        f"$c_m$ = {inputs.c_m:g}, seed {seed}"
    )
    save(plot_rve(cell, heading), out_dir / "rve.png")
    if xdmf:
        write_fields(cell, out_dir / "fields.xdmf")
    return cell


def write_fields(cell: SolvedCell, path: Path) -> None:
    """Write displacement, mean von Mises stress, plastic strain and material of each triangle."""
    d = cell.discretisation
    fluctuation = cell.cell.displacement(cell.solution.x).reshape(-1, 2)[d.merged]
    exx, eyy, gxy = cell.solution.x[-3:]
    displacement = fluctuation + d.points @ np.array([[exx, gxy / 2], [gxy / 2, eyy]])
    mises, plastic = np.empty(len(d.cells)), np.zeros(len(d.cells))
    parts = [(MATRIX, d.matrix, cell.fields.matrix_stress)]
    parts += [
        (i, *part) for i, part in enumerate(zip(d.fibres, cell.fields.fibre_stress, strict=True))
    ]
    for material, elements, stress in parts:
        mises[d.material == material] = np.average(
            von_mises(stress), axis=1, weights=elements.weights
        )
    weights = d.matrix.weights
    plastic[d.material == MATRIX] = np.average(cell.fields.plastic_strain, axis=1, weights=weights)
    values = {
        "von_mises_MPa": mises,
        "plastic_strain": plastic,
        "material": d.material.astype(float),
    }
    write_xdmf(d, path, displacement, values)
