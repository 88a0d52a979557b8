"""Actions and reporting behind dodo.py: programs that are run, and one sentence on a failure."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from doit.dependency import SqliteDB
from doit.exceptions import TaskFailed
from doit.reporter import ConsoleReporter

from figures.pipeline.paths import ROOT
from figures.pipeline.provenance import config_digest, file_digest

STATE = ROOT / ".doit"  # what doit remembers of its tasks, and the lock of a run


def make_state(folder: Path = STATE) -> None:
    """Make the folder of doit's state; ValueError where nothing can be written."""
    try:
        folder.mkdir(exist_ok=True)
        for name in ("lock", "state.db"):
            (folder / name).open("ab").close()
    except OSError as error:
        cause = f"{error.filename} cannot be written ({error.strerror})"
        raise ValueError(f"{cause}: a checkout that may be written to is needed") from None


def wait_for_turn(folder: Path) -> TextIO:
    """Let one run at a time work in a checkout; its turn ends when the returned file is closed."""
    file = (folder / "lock").open("w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            print("waiting for another make in this checkout to end", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        except KeyboardInterrupt:
            sys.exit("make: interrupted while it waited")
    except OSError:
        pass  # a file system without locks
    return file


class Reporter(ConsoleReporter):
    """One line per task: what is being done, or that nothing has to be."""

    def initialize(self, tasks, selected_tasks):
        """Wait for another run in this checkout, before anything is looked at."""
        super().initialize(tasks, selected_tasks)
        self.lock = wait_for_turn(STATE)

    def execute_task(self, task):
        """Announce a task that runs."""
        if task.actions:
            self.write(f"== {task.doc}\n")

    def skip_uptodate(self, task):
        """Say that a task is up to date."""
        if task.actions:
            self.write(f"-- {task.doc}: up to date\n")

    def _write_failure(self, result, write_exception=True):  # noqa: ARG002, doit's signature
        self.write(f"!! {result['task'].doc}: {result['exception'].get_msg()}\n")


class DurableState(SqliteDB):
    """What doit remembers of its tasks, stored after each: a killed run loses no finished task."""

    def set(self, task_id, dependency, value):
        """Remember one entry; "deps:" is the last one of a task that has succeeded."""
        super().set(task_id, dependency, value)
        if dependency == "deps:":
            row = (task_id, self.codec.encode(self._cache[task_id]))
            self._conn.execute("insert or replace into doit values (?, ?)", row)
            self._conn.commit()


def run_program(arguments: list[str]) -> TaskFailed | None:
    """Run `python` on this terminal, where it receives Ctrl-C itself; a failure in one sentence."""
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        code = 130
        try:
            process.wait(timeout=20)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()
    if code in (130, -signal.SIGINT):
        return TaskFailed("interrupted; the same command continues where it stopped")
    if code:
        return TaskFailed(f"python {' '.join(arguments[:4])} ended with exit code {code}")
    return None


def simulate(
    arguments: list[str], folder: Path, sources: Iterable[Path], jobs: int
) -> TaskFailed | None:
    """Generate a dataset; samples of the same arguments and source files are kept."""
    key, mark = config_digest([arguments, *map(file_digest, sources)]), folder.with_suffix(".key")
    if folder.exists() and not (mark.is_file() and mark.read_text(encoding="utf-8") == key):
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(key, encoding="utf-8")
    command = ["-m", "fe_data", "generate", *arguments, "--out", str(folder)]
    return run_program([*command, "--jobs", str(jobs)])


def integer_parameter(name: str, default: int, low: int) -> int:
    """An integer of at least `low` from the environment."""
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < low:
        raise ValueError(f"{name} = {text!r} is not allowed: an integer of at least {low} is")
    return int(text)
