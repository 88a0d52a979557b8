"""Speed of fe_data: python -m bench.fe_data [--full] [--json FILE] prints the table.

All is measured in one run: the seconds of a cell and where they go, standard P2 elements on the
meshes that they need, one worker against two, and the memory of a worker. With --full the standard
elements are run on a mesh that is as accurate as the default one; otherwise that is extrapolated.
"""

import argparse
import json
import math
import os
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from bench.fe_convergence import SEED, default_resolution, solve
from fe_data.dataset.design import named_design
from fe_data.dataset.generate import generate
from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import random_microstructure
from fe_data.mechanics.bordered_system import BorderedSystem
from fe_data.mechanics.elements import discretise
from fe_data.mechanics.load_stepping import solve_load_steps
from fe_data.mechanics.problem import RVEProblem
from fe_data.mechanics.properties import effective_properties
from fe_data.mechanics.rve import solve_rve, uniaxial
from fe_data.settings import Inputs, Settings
from fe_data.sparse.petsc import PetscCholesky

VOLUME_FRACTIONS = (0.07, 0.23, 0.39)
REPEATS = 3
STANDARD_VF = 0.23
REFERENCE, STANDARD, FULL = 2.2, (1.0, 2.0), 5.0  # fineness of meshes, see fe_convergence
CELLS = 40  # per run of the generator; with a dozen its start-up counts for a fifth


def time_cells() -> dict[str, float]:
    """Median wall seconds of a cell over volume fractions and repeats, and of its stages."""
    totals, stages = [], []
    for vf in VOLUME_FRACTIONS:
        for seed in range(SEED, SEED + REPEATS):
            start = time.perf_counter()
            rve = solve_rve(Inputs(vf, 400.0, 400.0, 0.4), seed, Settings())
            totals.append(time.perf_counter() - start)
            stages.append(rve.seconds)
    medians = {
        f"  of it {name} [s]": statistics.median(s[name] for s in stages) for name in stages[0]
    }
    return {
        f"one cell with {rve.problem.system.solver.name} [s]": statistics.median(totals),
        **medians,
    }


class StandardProblem(RVEProblem):
    """Full Newton as usual: PETSc's MUMPS factorises the tangent at every iteration."""

    def __init__(self, *args):
        super().__init__(*args)
        system = self.system
        system.solver = PetscCholesky(system.indptr, system.indices, "petsc")
        system.tangent = system.tangent._replace(values=system.solver.values)
        system.solve = self._solve_directly

    def _solve_directly(self, rhs: np.ndarray, free: np.ndarray, accuracy: float) -> np.ndarray:
        self.system.factorise(free)
        return BorderedSystem.solve(self.system, rhs, free, accuracy)


def standard_p2(fineness: float, kind: type[RVEProblem]) -> tuple[float, int, float]:
    """b_eff, dofs and processor seconds of one volume element of plain P2 triangles."""
    settings = Settings(resolution=fineness * default_resolution(STANDARD_VF))
    inputs = Inputs(STANDARD_VF, 400.0, 400.0, 0.4)
    start = time.process_time()
    d = discretise(
        generate_mesh(random_microstructure(STANDARD_VF, SEED), settings.resolution), "P2"
    )
    with threadpool_limits(limits=1):
        problem = kind(d, inputs, settings)
        loading = uniaxial(settings.strain)
        path = solve_load_steps(problem, loading, settings.increments, settings.tolerance)
    b = effective_properties(path.history, settings.a_MPa).b_eff_MPa
    return b, 2 * d.n_nodes, time.process_time() - start


def time_standard(full: bool) -> dict[str, float]:
    """Plain P2 triangles against the default, at equal accuracy of b_eff.

    Once by the standard route, and once with all of this package's speed but the element.
    """
    exact = solve(STANDARD_VF, REFERENCE, "P2/P0")[0].effective.b_eff_MPa
    ours, seconds = solve(STANDARD_VF, 1.0, "P2/P0")
    wanted = abs(ours.effective.b_eff_MPa / exact - 1)
    rows = {"default mesh, error of b [%]": 100 * wanted, "default mesh [s]": seconds}
    for name, kind in (("standard P2", StandardProblem), ("P2, our solver", RVEProblem)):
        runs = []
        for fineness in (FULL,) if full else STANDARD:
            b, dofs, duration = standard_p2(fineness, kind)
            runs.append((abs(b / exact - 1), duration))
            rows[f"{name}, {dofs} dofs, error of b [%]"] = 100 * runs[-1][0]
            rows[f"{name}, {dofs} dofs [s]"] = duration
        if full:
            rows[f"{name}, ratio"] = runs[0][1] / seconds
        else:
            equal = _at_error(runs, wanted)
            rows[f"{name}, equal accuracy, extrapolated [s]"] = equal
            rows[f"{name}, ratio, extrapolated"] = equal / seconds
    return rows


def _at_error(runs: list[tuple[float, float]], error: float) -> float:
    """Seconds at an error, by the power law through two runs (error, seconds)."""
    (coarse, t_coarse), (fine, t_fine) = runs
    order = math.log(t_fine / t_coarse) / math.log(coarse / fine)
    return t_fine * (fine / error) ** order


def time_workers() -> dict[str, float]:
    """Seconds a cell of `generate` with one and two workers, after a warm start."""
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for jobs in (1, 2, 1, 2):
            design = named_design("train_uniform", seed=jobs, count=CELLS)
            start = time.perf_counter()
            out = Path(folder, f"{len(seconds)}_{jobs}_{time.monotonic_ns()}")
            generate(design, Settings(), out, jobs=jobs, silent=True)
            seconds[jobs] = (time.perf_counter() - start) / CELLS  # the second run has warm workers
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "generate, one worker [s/cell]": seconds[1],
        "generate, two workers [s/cell]": seconds[2],
        "speed-up of two workers": seconds[1] / seconds[2],
        "peak memory of a worker [MB]": peak,
    }


def main() -> None:
    """Print the table and, on request, write it as JSON."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--full", action="store_true", help="P2 at equal accuracy, minutes")
    arguments.add_argument("--json", type=Path, help="also write the rows there")
    options = arguments.parse_args()
    solve(0.1, 0.5, "P2/P0")  # compiles
    rows = {"cores": os.cpu_count() or 1}
    for measure in (time_cells, lambda: time_standard(options.full), time_workers):
        part = measure()
        rows |= part
        for name, value in part.items():
            print(f"{name:45s} {value:10.3f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
