"""Speed of fe_data: python -m bench.fe_data prints the table.

All is measured in one run: the seconds of a cell and where they go, standard P2 elements on the
meshes that they need, by extrapolation, one worker against two, and the memory of a worker.
"""

import math
import resource
import statistics
import tempfile
import timeit
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from bench.fe_convergence import SEED, VOLUME_FRACTIONS, solve
from fe_data import Inputs, Settings, generate, named_design, solve_rve
from fe_data.mechanics import rve
from fe_data.mechanics.bordered_system import BorderedSystem
from fe_data.mechanics.problem import RVEProblem
from fe_data.sparse.petsc import PetscCholesky
from fe_data.sparse.solver import chosen_solver

REPEATS = 3
STANDARD_VF = 0.23
REFERENCE, STANDARD = 2.2, (1.0, 2.0)  # fineness of meshes, see fe_convergence
CELLS = 40  # per run of the generator; with a dozen its start-up counts for a fifth


def time_cells() -> dict[str, float]:
    """Median wall seconds of a cell over volume fractions and repeats, and of its stages."""
    stages = [
        solve_rve(Inputs(vf, 400.0, 400.0, 0.4), seed, Settings()).seconds
        for vf in VOLUME_FRACTIONS
        for seed in range(SEED, SEED + REPEATS)
    ]
    total = statistics.median(sum(seconds.values()) for seconds in stages)
    medians = {name: statistics.median(each[name] for each in stages) for name in stages[0]}
    parts = {f"  of it {name} [s]": seconds for name, seconds in medians.items()}
    return {f"one cell with the solver {chosen_solver()} [s]": total, **parts}


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


def time_standard() -> dict[str, float]:
    """Plain P2 triangles against the default, at equal accuracy of b_eff.

    Once by the standard route, and once with all of this package's speed but the element.
    """
    exact = solve(STANDARD_VF, REFERENCE)[0].effective.b_eff_MPa
    ours, seconds = solve(STANDARD_VF, 1.0)
    wanted = abs(ours.effective.b_eff_MPa / exact - 1)
    rows = {"default mesh, error of b [%]": 100 * wanted, "default mesh [s]": seconds}
    for name, kind in (("standard P2", StandardProblem), ("P2, our solver", RVEProblem)):
        runs = []
        for fineness in STANDARD:
            with patch.object(rve, "RVEProblem", kind):
                cell, duration = solve(STANDARD_VF, fineness, "P2")
            error, dofs = abs(cell.effective.b_eff_MPa / exact - 1), 2 * cell.discretisation.n_nodes
            runs.append((error, duration))
            rows[f"{name}, {dofs} dofs, error of b [%]"] = 100 * error
            rows[f"{name}, {dofs} dofs [s]"] = duration
        # By the power law through the two runs.
        (coarse, t_coarse), (fine, t_fine) = runs
        order = math.log(t_fine / t_coarse) / math.log(coarse / fine)
        equal = t_fine * (fine / wanted) ** order
        rows[f"{name}, equal accuracy, extrapolated [s]"] = equal
        rows[f"{name}, ratio, extrapolated"] = equal / seconds
    return rows


def time_workers() -> dict[str, float]:
    """Seconds a cell of `generate` with one and two workers, after a warm start."""
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for run, jobs in enumerate((1, 2, 1, 2)):  # the second time workers are warm
            design, out = named_design("train_uniform", jobs, count=CELLS), Path(folder, str(run))
            work = partial(generate, design, Settings(), out, jobs=jobs, silent=True)
            seconds[jobs] = timeit.timeit(work, number=1) / CELLS
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "generate, one worker [s/cell]": seconds[1],
        "generate, two workers [s/cell]": seconds[2],
        "speed-up of two workers": seconds[1] / seconds[2],
        "peak memory of a worker [MB]": peak,
    }


def main() -> None:
    """Print the table."""
    solve(0.1, 0.5)  # compiles
    for measure in (time_cells, time_standard, time_workers):
        for name, value in measure().items():
            print(f"{name:45s} {value:10.3f}", flush=True)


if __name__ == "__main__":
    main()
