"""Runs each estimator in a separate environment, and stores the result of each split."""

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from figures.pipeline.clean import note, note_folder
from figures.pipeline.paths import ROOT
from figures.pipeline.provenance import processor
from safe_files.writing import write_atomic
from studies.results import Results
from studies.scoreboard.problems import Problem, Split, is_composite
from studies.scoreboard.registry import FIELDS, LIBRARIES, Peer
from studies.scoreboard.scores import scores

STAGES = (1, 4, 8, 24)  # numbers of splits: all estimators finish a stage before the next begins
PATIENCE = 10  # a worker is stuck after this multiple of the allowed processor time
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
HASHES = ROOT / "hashes.txt"
MADE = "# made by the scoreboard, which removes the folder when these packages change\n"


class LateError(ValueError):
    """A fit took more than the processor time that is allowed."""


def environment(library: str, folder: Path) -> Path:
    """Return the interpreter of a library's environment; create it from pinned packages if needed.

    Raises:
        OSError: If the environment cannot be created, or the folder has other content.
    """
    pins = (LIBRARIES / f"{library}.txt").read_text(encoding="utf-8")
    home = folder / library
    mark = folder / f"{library}.made.txt"  # packages from which the environment was created
    python = home / "bin" / "python"
    folder.mkdir(parents=True, exist_ok=True)
    made = mark.read_bytes() if mark.is_file() else b""
    if made != (MADE + pins).encode():
        if home.exists() and not made.startswith(MADE.encode()):
            raise OSError(
                f"{home} was not made by the scoreboard: move it away, or give another --envs"
            )
        write_atomic(mark, MADE.encode(), MADE.encode())  # marks an unfinished folder
        if home.exists():
            shutil.rmtree(home)
        note(mark)
        note_folder(home)
        checked, unchecked = requirements(pins.split())
        venv = [sys.executable, "-m", "venv", home]
        pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
        commands = [venv, [*pip, "--require-hashes", "-r", "/dev/stdin"]]
        if unchecked:
            commands.append([*pip, "--only-binary", ":all:", *unchecked])
        for command in commands:
            ended = subprocess.run(
                [*map(str, command)],
                input="\n".join(checked),
                capture_output=True,
                encoding="utf-8",
                errors="replace",
            )
            if ended.returncode:
                raise OSError(f"no environment: {ended.stderr.strip()[-150:]}")
        write_atomic(mark, (MADE + pins).encode(), MADE.encode())
    return python


def requirements(pins: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return pins with hashes, which pip checks, and pins without hashes, which are PyTorch's."""
    lines = HASHES.read_text(encoding="utf-8").splitlines()
    hashes = {line.partition(" ")[0]: line for line in lines}
    return [hashes[pin] for pin in pins if pin in hashes], [p for p in pins if p not in hashes]


class Worker:
    """Fits one estimator to a series of training sets, in a separate process."""

    def __init__(self, peer: Peer, folder: Path, limit: float) -> None:
        self.peer = peer
        self.folder = folder
        self.limit = limit
        self.python = Path(sys.executable) if peer.ours else environment(peer.library, folder)
        self.process: subprocess.Popen | None = None
        self.exchange = TemporaryDirectory()  # of training sets and predictions

    def start(self) -> subprocess.Popen:
        """Start a new process."""
        peer = self.peer
        program = [self.python, Path(__file__).with_name("worker.py"), peer.source, peer.kind]
        environment = os.environ | ONE_THREAD | ({"PYTHONPATH": str(ROOT)} if peer.ours else {})
        with (self.folder / f"{peer.library}.log").open("a", encoding="utf-8") as errors:
            return subprocess.Popen(
                [*map(str, program), str(self.limit)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                encoding="utf-8",
            )

    def ask(self, split: Split) -> dict[str, Any]:
        """Return the scores on a split.

        Raises:
            LateError: If the fit takes more than the allowed processor time.
            OSError: If the process fails.
            ValueError: If the estimator raises an error, or its predictions are invalid.
        """
        asked = Path(self.exchange.name) / "asked.npz"
        predictions = Path(self.exchange.name) / "found.npz"
        more = split.fields() if self.peer.knows == FIELDS else {}
        np.savez(asked, **split.data, **more, y_test=split.y_test)
        if self.process is None or self.process.poll() is not None:
            self.process = self.start()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{asked}\t{predictions}\n")
        self.process.stdin.flush()
        stuck = not select.select([self.process.stdout], [], [], PATIENCE * self.limit)[0]
        if stuck:
            self.process.kill()
        answer = self.process.stdout.readline()
        if not answer:
            code = self.process.wait()
            if stuck or code == -signal.SIGPROF:
                raise LateError(f"more than {self.limit:g} s")
            answer = f"ended with code {code}"
        if answer.strip():
            raise ValueError(answer.strip())
        with np.load(predictions) as predicted:
            kernels = str(predicted["blas"])
            return scores(split, dict(predicted)) | ({"blas": kernels} if kernels else {})

    def end(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate()


RAN = ("problem", "peer", "split")  # names that identify a line of an estimator that ran here
PUBLISHED = ("problem", "published")  # the same for published scores


def load(path: Path) -> Results:
    """Return the results in a file of the scoreboard."""
    return Results(path, RAN, PUBLISHED)


def done(results: Results, problem: Problem, peer: Peer, number: int, limit: float) -> bool:
    """Return whether this version of an estimator has run on a split, or was too slow before."""
    for i in (number, *range(problem.splits)):
        row = results.by_key.get((problem.name, peer.name, i), {})
        same = row.get("version") == peer.version and row["data"] == problem.split(i).digest
        if same and (row["limit"] >= limit if "limit" in row else i == number):
            return True
    return False


def study(
    peers: Sequence[Peer],
    problems: Sequence[Problem],
    results: Results,
    folder: Path,
    last: int,
    limit: float,
) -> None:
    """Run the splits that have no results yet, stage by stage for all estimators.

    A fit that takes more than `limit` seconds of processor time is recorded as too slow, and the
    estimator's other splits of this problem are skipped.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first = 0
    for stage in STAGES:
        for peer in peers:
            open_ = [
                (problem, i)
                for problem in problems
                if peer.public or is_composite(problem.name)
                for i in range(first, min(stage, last, peer.splits, problem.splits))
                if not done(results, problem, peer, i, limit)
            ]
            if open_:
                _run_all(open_, peer, results, folder, limit)
        first = stage


def _run_all(
    open_: Sequence[tuple[Problem, int]], peer: Peer, results: Results, folder: Path, limit: float
) -> None:
    """Run an estimator on splits of problems; skip it if its environment cannot be created."""
    try:
        worker = Worker(peer, folder, limit)
    except OSError as error:  # the next run tries again
        print(f"{peer.name} is left out, {error}", flush=True)
        return
    with worker.exchange:
        for problem, i in open_:
            if not done(results, problem, peer, i, limit):  # an earlier split was too slow
                run(worker, problem, i, results)
        worker.end()


def run(worker: Worker, problem: Problem, number: int, results: Results) -> None:
    """Fit and score an estimator on a split, and store the result."""
    split = problem.split(number)
    row = {"problem": problem.name, "peer": worker.peer.name, "split": number}
    row |= {"version": worker.peer.version, "data": split.digest, "processor": processor()}
    try:
        row |= worker.ask(split)
        words = f"log-likelihood {row['loglik']:.3g}, {row['fit']:.1f} s"
    except LateError as error:
        row |= {"error": str(error), "limit": worker.limit}
        words = str(error)
    except (OSError, ValueError) as error:  # a failure is also a result
        row |= {"error": str(error)}
        words = str(error)
    results.add(row)
    print(f"{problem.name} {number}, {worker.peer.name}: {words}", flush=True)
