"""Runs estimators in environments of their own, and keeps what came of each split."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.scoreboard.problems import Problem, Split, is_composite
from bench.scoreboard.registry import FIELDS, LIBRARIES, Peer
from bench.scoreboard.scores import scores
from bnn.storage.reading import is_number, parse_json, read_text
from fe_data.files.writing import write_atomic
from figures.pipeline.paths import ROOT
from figures.pipeline.provenance import processor

STAGES = (1, 4, 8, 24)  # splits: all estimators have the first before one has the next
PATIENCE = 10  # times the processor time that is allowed, before a worker counts as stuck
GIVEN = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
KEY = ("problem", "peer", "split")
BEGINNING = '{"problem": "'  # of each line of results
MOST_BYTES = 10**8  # of a file of results
MOST_LETTERS = 1000  # of a text in it
HASHES = ROOT / "hashes.txt"
MADE = "# made by the scoreboard, which empties this folder when these packages change\n"


class LateError(ValueError):
    """A fit took more than the processor time that is allowed."""


def environment(library: str, folder: Path) -> Path:
    """The interpreter of a library's environment, which is made from its pinned packages."""
    wanted = LIBRARIES / f"{library}.txt"
    home = folder / library
    made = home / "made.txt"
    python = home / "bin" / "python"
    pins = wanted.read_text(encoding="utf-8")
    if _made_from(made) != pins:
        _empty(home, made)
        checked, unchecked = requirements(pins.split())
        hashed = home / "hashed.txt"
        venv = [sys.executable, "-m", "venv", home]
        pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
        commands = [venv, [*pip, "--require-hashes", "-r", hashed]]
        if unchecked:
            commands.append([*pip, *unchecked])
        write_atomic(hashed, "\n".join(checked).encode(), None)
        for command in commands:
            ended = subprocess.run(
                list(map(str, command)), capture_output=True, encoding="utf-8", errors="replace"
            )
            if ended.returncode:
                raise OSError(f"no environment: {ended.stderr.strip()[-150:]}")
        write_atomic(made, (MADE + pins).encode(), MADE.encode())
    return python


def requirements(pins: Sequence[str]) -> tuple[list[str], list[str]]:
    """Pins with the hashes of their files, which pip checks, and pins that have none: PyTorch."""
    lines = HASHES.read_text(encoding="utf-8").splitlines()
    hashes = {line.partition(" ")[0]: line for line in lines}
    return [hashes[pin] for pin in pins if pin in hashes], [p for p in pins if p not in hashes]


def _made_from(mark: Path) -> str | None:
    """The pins in the mark of an environment, None unless the scoreboard wrote the mark."""
    try:
        text = read_text(mark, MOST_BYTES)
    except (OSError, ValueError):  # missing, or no text
        return None
    return text.removeprefix(MADE) if text.startswith(MADE) else None


def _empty(home: Path, mark: Path) -> None:
    """Remove what an environment holds but its mark, which is made; an OSError without one."""
    home.mkdir(parents=True, exist_ok=True)
    if any(home.iterdir()) and _made_from(mark) is None:
        raise OSError(
            f"{home} was not made by the scoreboard: move it away, or give another --envs"
        )
    write_atomic(mark, MADE.encode(), MADE.encode())  # a making that is killed leaves it
    for path in home.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != mark:
            path.unlink()


class Worker:
    """Fits one estimator to one training set after the other, in a process of its own."""

    def __init__(self, peer: Peer, folder: Path, limit: float) -> None:
        self.peer = peer
        self.folder = folder
        self.limit = limit
        self.python = Path(sys.executable) if peer.ours else environment(peer.library, folder)
        self.process: subprocess.Popen | None = None
        self.exchange = TemporaryDirectory()  # of training sets and predictions

    def start(self) -> subprocess.Popen:
        """A new process."""
        peer = self.peer
        program = [self.python, Path(__file__).with_name("worker.py"), peer.source, peer.kind]
        given = os.environ | GIVEN | ({"PYTHONPATH": str(ROOT)} if peer.ours else {})
        with (self.folder / f"{peer.library}.log").open("a", encoding="utf-8") as errors:
            return subprocess.Popen(
                [*map(str, program), str(self.limit)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=given,
                encoding="utf-8",
            )

    def ask(self, split: Split) -> dict[str, Any]:
        """The scores on a split; an OSError or ValueError says what went wrong."""
        asked = Path(self.exchange.name) / "asked.npz"
        found = Path(self.exchange.name) / "found.npz"
        more = split.fields() if self.peer.knows == FIELDS else {}
        np.savez(asked, **split.given, **more, y_test=split.y_test)
        if self.process is None or self.process.poll() is not None:
            self.process = self.start()
        self.process.stdin.write(f"{asked}\t{found}\n")
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
        with np.load(found) as predicted:
            kernels = str(predicted["blas"])
            return scores(split, dict(predicted)) | ({"blas": kernels} if kernels else {})

    def end(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate()


class Results:
    """One line of JSON for each problem, estimator and split, written at once; the last counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.by_key: dict[tuple, dict[str, Any]] = {}
        for row in read(path):
            self.by_key[_key(row)] = row

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What counts."""
        return list(self.by_key.values())

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the folder of the file alone, and take lines that do not count out of the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                remedy = "name a file in another folder, --results FILE, and join the lines"
                raise OSError(f"another run writes beside {self.path}: {remedy}") from None
            self.by_key = {_key(row): row for row in read(self.path)}
            lines = "".join(json.dumps(row) + "\n" for row in self.rows)
            write_atomic(self.path, lines.encode(), None)  # read has seen that it holds results
            yield
        finally:
            os.close(folder)

    def add(self, row: dict[str, Any]) -> None:
        """Write a row, in place of one with the same key."""
        short = {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in row.items()}
        if self.by_key.get(_key(short)) == short:
            return
        self.by_key[_key(short)] = short
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(short) + "\n")

    def done(self, problem: Problem, peer: Peer, number: int, limit: float) -> bool:
        """Whether the estimator as it is has run on these rows, or would take too long again."""
        for i in (number, *range(problem.splits)):
            row = self.by_key.get((problem.name, peer.name, i), {})
            same = row.get("version") == peer.version and row["data"] == problem.split(i).digest
            if same and (row["limit"] >= limit if "limit" in row else i == number):
                return True
        return False


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of a file of results, none where there is no file, without a last line that is cut off.

    Raises:
        ValueError: The file has other lines.
    """
    if not path.exists():
        return []
    lines = read_text(path, MOST_BYTES).splitlines(keepends=True)
    rows = []
    for number, line in enumerate(lines, start=1):
        place = f"{path}, line {number}"
        try:
            row = parse_json(line, place)
        except ValueError:
            is_cut_off = number == len(lines) and not line.endswith("\n")  # as after a kill
            if is_cut_off and line[: len(BEGINNING)] == BEGINNING[: len(line)]:
                break
            raise
        if wrong := _wrong(row):
            raise ValueError(f"{place} is no result: {wrong}")
        rows.append(row)
    return rows


def _wrong(row: Any) -> str | None:
    """Say what is wrong with a row of results; None if it is right."""
    if not isinstance(row, dict):
        return f"{row!r:.60} must be an object"
    is_published = "published" in row
    missing = (PUBLISHED_KINDS if is_published else RAN_KINDS).keys() - row.keys()
    if missing:
        return f"it lacks {', '.join(sorted(missing))}"
    is_score = _is_pair if is_published else is_number
    for name, value in row.items():
        if not KINDS.get(name, is_score)(value):
            return f"{name} = {value!r:.60} is not allowed"
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_LETTERS


def _is_count(value: object) -> bool:
    return isinstance(value, int) and is_number(value, 0)


def _is_pair(value: object) -> bool:
    """Whether a value is mean and standard deviation, which may be missing, of a score."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    mean, std = value
    return is_number(mean) and (std is None or is_number(std, 0.0))


RAN_KINDS = {
    "problem": _is_text,
    "peer": _is_text,
    "split": _is_count,
    "version": _is_count,
    "data": _is_text,
}
PUBLISHED_KINDS = {
    "problem": _is_text,
    "published": _is_text,
    "source": _is_text,
    "splits": _is_count,
}
# Further entries of a row are scores.
KINDS = RAN_KINDS | PUBLISHED_KINDS | dict.fromkeys(("processor", "blas", "error"), _is_text)
KINDS["limit"] = is_number


def _key(row: dict[str, Any]) -> tuple:
    if "published" in row:
        return row["problem"], "published", row["published"]
    return tuple(row[name] for name in KEY)


def study(
    peers: Sequence[Peer],
    problems: Sequence[Problem],
    results: Results,
    folder: Path,
    last: int,
    limit: float,
) -> None:
    """Run what is not done yet, the first splits of all before the next of one.

    Where a fit takes more than `limit` seconds of processor time, that is its result, and the
    estimator is spared the other splits of the problem.
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
                if not results.done(problem, peer, i, limit)
            ]
            if open_:
                _run_all(open_, peer, results, folder, limit)
        first = stage


def _run_all(
    open_: Sequence[tuple[Problem, int]], peer: Peer, results: Results, folder: Path, limit: float
) -> None:
    """Run an estimator on splits of problems; it is left out where it cannot be started."""
    try:
        worker = Worker(peer, folder, limit)
    except OSError as error:  # the next run tries again
        print(f"{peer.name} is left out, {error}", flush=True)
        return
    with worker.exchange:
        for problem, i in open_:
            if not results.done(problem, peer, i, limit):  # one before it was too slow
                run(worker, problem, i, results)
        worker.end()


def run(worker: Worker, problem: Problem, number: int, results: Results) -> None:
    """Fit and score an estimator on a split, and write what came of it."""
    split = problem.split(number)
    row: dict[str, Any] = dict(zip(KEY, (problem.name, worker.peer.name, number), strict=True))
    row |= {"version": worker.peer.version, "data": split.digest, "processor": processor()}
    try:
        row |= worker.ask(split)
        words = f"log-likelihood {row['loglik']:.3g}, {row['fit']:.1f} s"
    except LateError as error:
        row |= {"error": str(error), "limit": worker.limit}
        words = str(error)
    except (OSError, ValueError) as error:  # what fails is a result, too
        row |= {"error": str(error)}
        words = str(error)
    results.add(row)
    print(f"{problem.name} {number}, {worker.peer.name}: {words}", flush=True)
