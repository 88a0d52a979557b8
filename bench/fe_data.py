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

from bench.fe_convergence import SEED, solve
from fe_data.design import named_design
from fe_data.generate import generate
from fe_data.rve import solve_cell
from fe_data.settings import Inputs, Settings

VOLUME_FRACTIONS = (0.07, 0.23, 0.39)
REPEATS = 3
STANDARD_VF = 0.23
REFERENCE, STANDARD, FULL = 2.2, (1.0, 2.0), 5.0  # fineness of meshes, see fe_convergence
CELLS = 12  # per run of the generator


def time_cells() -> dict[str, float]:
    """Median wall seconds of a cell over volume fractions and repeats, and of its stages."""
    totals, stages = [], []
    for vf in VOLUME_FRACTIONS:
        for seed in range(SEED, SEED + REPEATS):
            start = time.perf_counter()
            cell = solve_cell(Inputs(vf, 400.0, 400.0, 0.4), seed, Settings())
            totals.append(time.perf_counter() - start)
            stages.append(cell.seconds)
    medians = {
        f"  of it {name} [s]": statistics.median(s[name] for s in stages) for name in stages[0]
    }
    return {f"one cell with {cell.cell.solver.name} [s]": statistics.median(totals), **medians}


def time_standard(full: bool) -> dict[str, float]:
    """Standard P2 elements against the default, at equal accuracy of b_eff."""
    exact = solve(STANDARD_VF, REFERENCE, "P2/P0")[0].effective.b_eff_MPa

    def error(cell) -> float:
        return abs(cell.effective.b_eff_MPa / exact - 1)

    ours, seconds = solve(STANDARD_VF, 1.0, "P2/P0")
    runs = [solve(STANDARD_VF, fineness, "P2") for fineness in ((FULL,) if full else STANDARD)]
    rows = {"default mesh, error of b [%]": 100 * error(ours), "default mesh [s]": seconds}
    for cell, duration in runs:
        dofs = 2 * cell.discretisation.n_nodes
        rows[f"P2, {dofs} dofs, error of b [%]"] = 100 * error(cell)
        rows[f"P2, {dofs} dofs [s]"] = duration
    if not full:
        (coarse, t_coarse), (fine, t_fine) = runs
        order = math.log(t_fine / t_coarse) / math.log(error(coarse) / error(fine))
        equal = t_fine * (error(fine) / error(ours)) ** order
        rows["P2 at equal accuracy, extrapolated [s]"] = equal
        rows["ratio, extrapolated"] = equal / seconds
    else:
        rows["ratio"] = runs[0][1] / seconds
    return rows


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
