"""Collecting, verifying and resuming many records: python -m tests.repository.rough.scale [N ...].

The records are those of a closed-form cell; everything but the simulation is as in a real run.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fe_data.dataset import executors, generate, storage
from fe_data.dataset.design import named_design
from fe_data.dataset.verify import verify
from fe_data.settings import Settings
from tests.fe_data.analytic_cell import AnalyticCell

SETTINGS = Settings()


def make(folder: Path, count: int) -> generate.Summary:
    """Make what is missing of a dataset, in this process."""
    design = named_design("train_uniform", 0, count=count)
    return generate.generate(design, SETTINGS, folder, simulator=AnalyticCell(), silent=True)


def measure(folder: Path, task: str, count: int) -> tuple[float, float]:
    """Seconds and peak memory [MB] of one task, in a process of its own."""
    command = [sys.executable, "-m", "tests.repository.rough.scale", str(count)]
    command += ["--task", task, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = map(float, done.stdout.split())
    return seconds, memory


def run_task(task: str, folder: Path, count: int) -> None:
    """Do one task and print its seconds and the peak memory of this process [MB]."""
    executors.semaphores_work = lambda: False  # no pool: one process is measured
    start = time.perf_counter()
    if task == "make":
        os.fsync = lambda _: None  # the disk is not measured
        make(folder, count)
    elif task == "verify":
        assert verify(folder)[0] == []
    else:
        if task == "resume":
            for index in range(0, count, 1000):  # the last of a run were not written
                storage.record_path(folder, index).unlink()
            start = time.perf_counter()
        make(folder, count)
    print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def main(counts: list[int]) -> None:
    """Print a table."""
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "data"
            measure(folder, "make", count)
            size = sum(path.stat().st_size for path in folder.rglob("*.npz")) / count
            print(f"{count} records of {size / 1e3:.1f} kB:", end="", flush=True)
            for task in ("collect", "verify", "resume"):
                seconds, memory = measure(folder, task, count)
                print(f"  {task} {seconds:.1f} s, {memory:.0f} MB", end="", flush=True)
            print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    counts = [25_000, 50_000, 100_000]
    parser.add_argument("counts", nargs="*", type=int, default=counts, help="of records")
    parser.add_argument("--task", nargs=2, metavar=("NAME", "FOLDER"), help="one, in this process")
    given = parser.parse_args()
    if given.task:
        run_task(given.task[0], Path(given.task[1]), given.counts[0])
    else:
        main(given.counts)
