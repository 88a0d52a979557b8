"""Simulate designs one after the other, with the same worker processes.

python -m figures.pipeline.simulation OUT train_beta=24 replicates=2x4 --seed 1 --jobs 2
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import fe_data
from fe_data.cli.main import main as run_command
from fe_data.cli.messages import INTERRUPTED
from fe_data.dataset import storage
from fe_data.dataset.executors import local_workers
from figures.pipeline.clean import note, note_folder
from figures.pipeline.dependencies import simulation_sources
from figures.pipeline.provenance import config_digest, file_digest
from safe_files.writing import write_atomic


def keep_own_samples(folder: Path, arguments: list[str], digest: str) -> None:
    """Remove a dataset folder that was made with other arguments or source files.

    A file next to the folder records a key of arguments and source files, and the digest of the
    configuration. The digest is needed because this file may outlive its folder.

    Raises:
        ValueError: If the folder was not made by `make`: it has no such file, or has another
            configuration.
    """
    names = (storage.CONFIG, storage.TABLE, storage.FAILURES, storage.PROVENANCE, ".lock")
    note(*(folder / name for name in names))
    note_folder(folder / storage.RECORDS)
    key = config_digest([arguments, *map(file_digest, simulation_sources())])
    mark = folder.with_suffix(".key")
    if folder.exists():
        if not mark.is_file():
            what = f"{folder} was not created by make, which writes {mark.name} next to its folders"
            raise ValueError(f"{what}: move it away")
        earlier, _, left = mark.read_text(encoding="utf-8").partition(" ")
        if earlier == key:
            return
        if storage.load_config(folder)["digest"] != left:
            raise ValueError(f"{folder} is not the dataset that make wrote here: move it away")
        storage.remove_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(mark, f"{key} {digest}".encode(), b"[0-9a-f]{64}( [0-9a-f]{64})?$")
    note(mark)


def solve_tiny_rve(seed: int) -> None:
    """Solve an RVE of one fibre, so that numba compiles the solver if it has not been compiled."""
    tiny = fe_data.Settings(n_fibres=1, resolution=2.0, increments=4)
    fe_data.solve_rve(fe_data.Inputs(0.1, 400.0, 400.0, 0.4), tiny, seed=seed)


def simulate(out: Path, designs: Mapping[str, Sequence[int]], seed: int, jobs: int) -> int:
    """Simulate designs, each into a folder with its name; existing samples are kept.

    Args:
        out: Folder of the dataset folders.
        designs: Design → number of different inputs and, unless it is that of the paper, number of
            microstructures per input.
        seed: Seed of designs and microstructures.
        jobs: Number of worker processes.

    Returns:
        The exit code of the first command that fails, or 0.
    """
    with local_workers(jobs) as run:
        list(run(solve_tiny_rve, [0]))  # in one worker: all would compile the same code
    for design, (count, *replicates) in designs.items():
        arguments = [design, "--count", str(count), "--seed", str(seed)]
        arguments += [f"--replicates={repeats}" for repeats in replicates]
        sizes = dict(zip(("count", "replicates"), (count, *replicates), strict=False))
        planned = fe_data.named_design(design, seed, **sizes)
        digest = storage.configuration(planned, fe_data.Settings())["digest"]
        keep_own_samples(out / design, arguments, digest)
        command = ["generate", *arguments, "--out", str(out / design), "--jobs", str(jobs)]
        code = run_command(command)
        if code:
            return code
    return 0


def design_and_sizes(text: str) -> tuple[str, list[int]]:
    """Parse DESIGN=COUNT or DESIGN=COUNTxREPLICATES from the command line."""
    design, _, sizes = text.partition("=")
    return design, [int(size) for size in sizes.split("x")]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m figures.pipeline.simulation")
    parser.add_argument("out", type=Path, help="folder of the dataset folders")
    parser.add_argument(
        "designs", type=design_and_sizes, nargs="+", metavar="DESIGN=COUNT[xREPLICATES]"
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--jobs", type=int, required=True, help="worker processes")
    options = parser.parse_args(arguments)
    try:
        return simulate(options.out, dict(options.designs), options.seed, options.jobs)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
