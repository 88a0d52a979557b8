"""Runs estimators in environments of their own, and keeps what came of each training set."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.problems import CASES, draws, scores, write
from bench.peers.registry import LIBRARIES, Peer
from figures.pipeline.paths import ROOT

STAGES = (1, 4, 8, 24)  # draws: all estimators have the first before one has the next
PATIENCE = 10  # times the processor time that is allowed, before a worker counts as stuck
GIVEN = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}


def environment(library: str, folder: Path) -> Path:
    """The interpreter of a library's environment, which is made from its pinned packages."""
    wanted = LIBRARIES / f"{library}.txt"
    home = folder / library
    made = home / "made.txt"
    python = home / "bin" / "python"
    if not made.is_file() or made.read_text(encoding="utf-8") != wanted.read_text(encoding="utf-8"):
        venv = [sys.executable, "-m", "venv", "--clear", home]
        pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps", "-r", wanted]
        for command in (venv, pip):
            ended = subprocess.run(
                list(map(str, command)), capture_output=True, encoding="utf-8", errors="replace"
            )
            if ended.returncode:
                raise OSError(f"no environment: {ended.stderr.strip()[-150:]}")
        shutil.copy(wanted, made)
    return python


class Worker:
    """A process that fits one estimator to one training set after the other."""

    def __init__(self, peer: Peer, folder: Path, limit: float) -> None:
        python = Path(sys.executable) if peer.ours else environment(peer.library, folder)
        program = [python, Path(__file__).with_name("worker.py"), peer.source, peer.kind, limit]
        given = os.environ | GIVEN | ({"PYTHONPATH": str(ROOT)} if peer.ours else {})
        self.limit = limit
        self.found = folder / f"{peer.name}.npz"
        with (folder / f"{peer.library}.log").open("a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                list(map(str, program)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=given,
                encoding="utf-8",
            )

    def ask(self, given: Path) -> dict[str, Any]:
        """The scores on a training set, or what went wrong."""
        self.process.stdin.write(f"{given}\t{self.found}\n")
        self.process.stdin.flush()
        stuck = not select.select([self.process.stdout], [], [], PATIENCE * self.limit)[0]
        if stuck:
            self.process.kill()
        answer = self.process.stdout.readline()
        if not answer:
            code = self.process.wait()
            late = stuck or code == -signal.SIGPROF
            answer = f"more than {self.limit:g} s" if late else f"ended with code {code}"
        if answer.strip():
            raise ValueError(answer.strip())
        with np.load(given) as known, np.load(self.found) as predicted:
            return scores(known["y_test"], dict(predicted))


class Results:
    """One line of JSON for each estimator, training set and draw, written at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = []
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        for line in text.splitlines():
            with contextlib.suppress(ValueError):  # it was cut off
                self.rows.append(json.loads(line))
        if text and not text.endswith("\n"):
            path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")

    def add(self, key: dict[str, Any], row: dict[str, Any]) -> None:
        """Write the scores, or the error, of an estimator on a training set of a draw."""
        short = {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in row.items()}
        self.rows.append(key | short)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.rows[-1]) + "\n")
        words = row.get("error") or f"ELPPD {row['elppd']:.0f}, {row['fit']:.1f} s"
        print(f"{len(self.rows)}:", *key.values(), words, flush=True)


def study(peers: Sequence[Peer], results: Results, folder: Path, last: int, limit: float) -> None:
    """Run what is not done yet, the first draws of all before the next of one."""
    done = {(row["peer"], row["case"], row["draw"]) for row in results.rows}
    every = draws()
    first = 0
    (folder / "sets").mkdir(parents=True, exist_ok=True)
    for stage in STAGES:
        for peer in peers:
            worker = None
            for i, case in product(range(first, min(stage, last, peer.draws)), CASES):
                if (peer.name, case, i) in done:
                    continue
                key = {"peer": peer.name, "case": case, "draw": i}
                given = folder / "sets" / f"{case}_{i:02}.npz"
                if not given.is_file():
                    write(every[i], case, given)
                try:
                    if worker is None or worker.process.poll() is not None:
                        worker = Worker(peer, folder, limit)
                    results.add(key, worker.ask(given))
                except (OSError, ValueError) as error:  # what fails is a result, too
                    results.add(key, {"error": str(error)})
            if worker is not None:
                worker.process.communicate()
        first = stage
