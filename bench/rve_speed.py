"""Speed of fe_data: python -m bench.rve_speed prints a table.

It measures the time of an RVE and of its stages, how much longer the general solver of `--material`
takes, an RVE that breaks, the speed-up by a second worker, and memory. `bench.ufl_solver` compares
the solver with a formulation in UFL.
"""

import argparse

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()

# Imported after the options are parsed, so that --help is fast.
import resource
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from fe_data import Inputs, Loading, Settings, generate, named_design, named_phases, solve_rve
from fe_data.composite.properties import solve_material
from fe_data.composite.strengths import sample_strength
from fe_data.sparse.solver import chosen_solver
from studies.mesh.paper import SEED, VOLUME_FRACTIONS, solve

REPEATS = 3
RVES = 150  # RVEs per worker; with 40 RVEs the start-up of workers would take 10 % of the time


def time_rves() -> dict[str, float]:
    """Return median wall seconds of an RVE and of its stages, over volume fractions and repeats."""
    stages = [
        solve_rve(Inputs(vf, 400.0, 400.0, 0.4), Settings(), seed=seed).seconds
        for vf in VOLUME_FRACTIONS
        for seed in range(SEED, SEED + REPEATS)
    ]
    total = statistics.median(sum(seconds.values()) for seconds in stages)
    medians = {name: statistics.median(seconds[name] for seconds in stages) for name in stages[0]}
    parts = {f"  of it {name} [s]": seconds for name, seconds in medians.items()}
    return {f"one RVE with the solver {chosen_solver()} [s]": total, **parts}


def processor_seconds(simulate: Callable[[], object]) -> float:
    """Return the median processor time of a simulation over repeats."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        simulate()
        times.append(time.process_time() - start)
    return statistics.median(times)


def time_paths() -> dict[str, float]:
    """Return processor seconds of the paper's ramp, of a random path, and of the general solver."""
    inputs, settings = Inputs(0.23, 400.0, 400.0, 0.4), Settings()
    ends = np.random.default_rng(SEED).uniform(-0.02, 0.02, (10, 3)).tolist()
    loading = Loading(ends, increments=10)
    phases = named_phases("paper")  # the phases of the inputs
    ramp = processor_seconds(lambda: solve_rve(inputs, settings, seed=SEED))
    path = processor_seconds(lambda: solve_rve(inputs, settings, loading, seed=SEED))
    general = processor_seconds(lambda: solve_material(phases, inputs, SEED, settings, silent=True))
    return {
        "ramp of the paper [s]": ramp,
        "random path [s]": path,
        "random path over the ramp": path / ramp,
        "ramp with --material [s]": general,
        "ramp with --material over the ramp": general / ramp,
    }


def time_strength() -> dict[str, float]:
    """Return processor seconds and memory of an RVE of 30 fibres that breaks in tension."""
    phases = named_phases("glass_epoxy_debonding")
    start = time.process_time()
    broken = sample_strength(phases, "transverse_tension", 0.5, 1, Settings())
    assert broken.is_reached
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"transverse tension until it breaks [s]": seconds, "  peak memory [MB]": peak}


def time_workers() -> dict[str, float]:
    """Return the seconds of `generate` with one and two workers, start-up included."""
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for jobs in (2, 1):  # with one job the second worker ends, so its peak memory is counted
            design = named_design("train_uniform", count=jobs * RVES)
            out = Path(folder, str(jobs))
            work = partial(generate, design, Settings(), out, jobs=jobs, silent=True)
            seconds[jobs] = timeit.timeit(work, number=1)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        f"generate, one worker, {RVES} RVEs [s]": seconds[1],
        f"generate, two workers, {2 * RVES} RVEs [s]": seconds[2],
        "speed-up of two workers": 2 * seconds[1] / seconds[2],
        "peak memory of a worker [MB]": peak,
    }


def main() -> None:
    """Print the table."""
    solve(0.1, 0.5)  # compiles, or loads compiled code, before times are measured
    for measure in (time_rves, time_paths, time_strength, time_workers):
        for name, value in measure().items():
            print(f"{name:50s} {value:10.4f}", flush=True)


if __name__ == "__main__":
    main()
