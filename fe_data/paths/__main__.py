"""Simulate the shipped sets of strain paths again, and compare: python -m fe_data.paths."""

import argparse
import signal
import sys
from pathlib import Path

import numpy as np

from fe_data.dataset.generate import GenerationError, generate
from fe_data.dataset.storage import FolderLockedError
from fe_data.paths.collection import collect_paths
from fe_data.paths.design import PATH_SETS, SHIPPED_SETTINGS, path_design
from fe_data.paths.tables import Paths, load_paths

TOLERANCE = 2e-3  # largest difference, relative to the standard deviation of the stress


def simulate(name: str, out: Path, jobs: int, count: int | None = None) -> Paths:
    """Simulate a set, or its first inputs, into a folder with its name; existing samples stay."""
    generate(path_design(name, count=count), SHIPPED_SETTINGS, out / name, jobs=jobs)
    return collect_paths(out / name)


def largest_difference(ours: Paths, shipped: Paths) -> float:
    """Return the largest difference between the stresses of two sets, relative to their scatter.

    Args:
        ours: Paths whose inputs are the first inputs of the shipped set.
        shipped: The shipped set.

    Returns:
        The difference divided by the largest standard deviation of a component. Other components
        may be zero up to the tolerance of the solver, as under tension.

    Raises:
        ValueError: If the inputs or the number of microstructures differ.
    """
    stress = shipped.stress[: len(ours)]
    same = stress.shape == ours.stress.shape
    if not same or not np.allclose(ours.inputs, shipped.inputs[: len(ours)], rtol=1e-12):
        raise ValueError("the inputs or microstructures differ from the shipped set")
    spread = shipped.stress.std(axis=(0, 1, 2)).max()
    return float(np.abs(ours.stress - stress).max() / spread)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fe_data.paths", description=__doc__)
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help=f"{', '.join(PATH_SETS)} (default: all)"
    )
    parser.add_argument("--out", type=Path, default=Path("data", "paths"), help="output folder")
    parser.add_argument("--jobs", type=int, help="worker processes (default: all cores)")
    parser.add_argument("--count", type=int, help="simulate only this number of inputs per set")
    options = parser.parse_args(arguments)
    try:
        from joblib import cpu_count

        jobs = cpu_count() if options.jobs is None else options.jobs
        differences = []
        shipped = {name: load_paths(name) for name in options.sets or PATH_SETS}
        for name, paths in shipped.items():
            ours = simulate(name, options.out, jobs, options.count)
            differences.append(largest_difference(ours, paths))
            what = f"{len(ours)} inputs, {ours.stress.shape[1]} microstructures each"
            largest = f"{differences[-1]:.1e} of their standard deviation"
            print(f"{name}, {what}: stresses differ by up to {largest}")
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError, FolderLockedError, GenerationError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if max(differences) > TOLERANCE:
        print(f"error: a difference is above {TOLERANCE:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in `fe_data.__main__`
    sys.exit(code)
