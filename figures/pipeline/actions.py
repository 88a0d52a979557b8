"""Actions and reporting behind dodo.py: programs that are run, and one sentence on a failure."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

from doit.dependency import FileChangedChecker, SqliteDB
from doit.exceptions import TaskFailed
from doit.reporter import ConsoleReporter

from fe_data.dataset.executors import THREAD_VARIABLES
from figures.pipeline.paths import ROOT
from figures.pipeline.provenance import file_digest

STATE = ROOT / ".doit"  # what doit remembers of its tasks, and the lock of a run


def make_state(folder: Path = STATE) -> None:
    """Make the folder of doit's state; ValueError if nothing can be written."""
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


class Interruption:
    """Ctrl-C, which the programs of this terminal receive as well: they have some time to end."""

    def __init__(self, patience: float = 20.0) -> None:
        self.patience = patience  # [s] after the first Ctrl-C; a second one ends it
        self.deadline: float | None = None

    @property
    def came(self) -> bool:
        """Whether the user has pressed Ctrl-C."""
        return self.deadline is not None

    def is_over(self) -> bool:
        """Whether the time to end is over."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def receive(self, *_: object) -> None:
        """Handle the signal, in the main thread; programs are waited for in others."""
        self.deadline = time.monotonic() + (0.0 if self.came else self.patience)


INTERRUPTION = Interruption()
INTERRUPTED = "interrupted; the same command continues where it stopped"


class Reporter(ConsoleReporter):
    """Two lines per task: its beginning and its duration, or that it is up to date."""

    def initialize(self, tasks, selected_tasks):
        """Wait for another run in this checkout, before anything is looked at."""
        super().initialize(tasks, selected_tasks)
        self.lock = wait_for_turn(STATE)
        self.begun: dict[str, float] = {}
        signal.signal(signal.SIGINT, INTERRUPTION.receive)

    def execute_task(self, task):
        """Announce a task that runs."""
        if task.actions:
            self.begun[task.name] = time.monotonic()
            self.write(f"== {task.doc}\n")

    def add_success(self, task):
        """Say how long a task took."""
        if task.name in self.begun:
            self.write(f"   {task.doc}: {time.monotonic() - self.begun[task.name]:.0f} s\n")

    def skip_uptodate(self, task):
        """Say that a task is up to date."""
        if task.actions:
            self.write(f"-- {task.doc}: up to date\n")

    def _write_failure(self, result, write_exception=True):  # noqa: ARG002, doit's signature
        self.write(f"!! {result['task'].doc}: {result['exception'].get_msg()}\n")


class DurableState(SqliteDB):
    """State of doit's tasks, stored after each task: a killed run loses no finished task."""

    def set(self, task_id, dependency, value):
        """Remember one entry; "deps:" is the last one of a task that has succeeded."""
        super().set(task_id, dependency, value)
        if dependency == "deps:":
            row = (task_id, self.codec.encode(self._cache[task_id]))
            self._conn.execute("insert or replace into doit values (?, ?)", row)
            self._conn.commit()


class Contents(FileChangedChecker):
    """Compares the contents of files, not their times.

    doit's own checker takes a file of the same time as unchanged, which `cp -p`, `rsync -a` and
    archives with fixed dates make wrong.
    """

    def check_modified(self, file_path, file_stat, state):  # noqa: ARG002, doit's signature
        """Whether a file has another content than before."""
        return state != file_digest(Path(file_path))

    def get_state(self, dep, current_state):  # noqa: ARG002, doit's signature
        """What is remembered of a file."""
        return file_digest(Path(dep))


def run_program(arguments: list[str]) -> TaskFailed | None:
    """Run `python` on this terminal, where it receives Ctrl-C itself; a failure in one sentence.

    It has one thread, as workers have: programs side by side would wait for each other's threads,
    and the last bits of a threaded sum depend on their number.
    """
    if INTERRUPTION.came:
        return TaskFailed(INTERRUPTED)
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment)
    while process.poll() is None:
        try:
            process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            if INTERRUPTION.is_over():
                process.kill()
    if process.returncode in (130, -signal.SIGINT) or INTERRUPTION.came:
        return TaskFailed(INTERRUPTED)
    if process.returncode:
        command = " ".join(arguments[:4])
        return TaskFailed(f"python {command} ended with exit code {process.returncode}")
    return None


def integer_parameter(name: str, default: int, low: int) -> int:
    """An integer of at least `low` from the environment."""
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < low:
        raise ValueError(f"{name} = {text!r} is not allowed: an integer of at least {low} is")
    return int(text)
