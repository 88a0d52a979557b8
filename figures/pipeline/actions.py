"""Actions and reports for dodo.py: run programs, and report a failure in one sentence."""

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
from doit.task import Task

from figures.pipeline.arithmetic import environment
from figures.pipeline.clean import note
from figures.pipeline.paths import ROOT
from figures.pipeline.provenance import file_digest
from safe_files.locking import lock

STATE = ROOT / ".doit"  # folder with the state of doit's tasks and the lock of a run


def make_state(folder: Path = STATE) -> None:
    """Create the folder of doit's state; ValueError if it cannot be written."""
    try:
        folder.mkdir(exist_ok=True)
        note(folder / "lock", folder / "state.db")
        for name in ("lock", "state.db"):
            (folder / name).open("ab").close()
    except OSError as error:
        cause = f"{error.filename} cannot be written ({error.strerror})"
        raise ValueError(f"{cause}: make the checkout writable") from None


def wait_for_turn(folder: Path) -> TextIO:
    """Wait until no other run works in this checkout, and lock it until the file is closed."""
    file = (folder / "lock").open("w", encoding="utf-8")
    try:
        lock(file.fileno(), wait=False)
    except BlockingIOError:
        try:
            print("waiting for another make in this checkout to end", flush=True)
            lock(file.fileno())
        except KeyboardInterrupt:
            sys.exit("make: interrupted while it waited")
    return file


class Interruption:
    """Handler of Ctrl-C. The programs that were started also receive it, and get time to end."""

    def __init__(self, patience: float = 20.0) -> None:
        self.patience = patience  # time [s] after the first Ctrl-C; a second one ends it at once
        self.deadline: float | None = None

    @property
    def came(self) -> bool:
        """Whether the user has pressed Ctrl-C."""
        return self.deadline is not None

    def is_over(self) -> bool:
        """Return whether the time to end is over."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def receive(self, *_: object) -> None:
        """Handle the signal, in the main thread; other threads wait for the programs."""
        self.deadline = time.monotonic() + (0.0 if self.came else self.patience)


INTERRUPTION = Interruption()
INTERRUPTED = "interrupted; the same command continues where it stopped"


def is_shown(task: Task) -> bool:
    """Return whether the beginning and the end of a task are reported."""
    return bool(task.actions) and not (task.meta or {}).get("silent")


class Reporter(ConsoleReporter):
    """Reports the beginning and the duration of each task, unless its `meta` has `silent`."""

    def initialize(self, tasks, selected_tasks):
        """Wait for other runs in this checkout to end."""
        super().initialize(tasks, selected_tasks)
        self.lock = wait_for_turn(STATE)
        self.begun: dict[str, float] = {}
        signal.signal(signal.SIGINT, INTERRUPTION.receive)

    def execute_task(self, task):
        """Report that a task begins."""
        if is_shown(task):
            self.begun[task.name] = time.monotonic()
            self.write(f"== {task.doc}\n")

    def add_success(self, task):
        """Report how long a task took."""
        if task.name in self.begun:
            took = time.monotonic() - self.begun[task.name]
            self.write(f"   {task.doc}: {took:.0f} s\n")

    def skip_uptodate(self, task):
        """Report that a task is up to date."""
        if is_shown(task):
            self.write(f"-- {task.doc}: up to date\n")

    def _write_failure(self, result, write_exception=True):  # noqa: ARG002, doit's signature
        self.write(f"!! {result['task'].doc}: {result['exception'].get_msg()}\n")


class DurableState(SqliteDB):
    """State of doit's tasks, stored after each task: a killed run loses no finished task."""

    def set(self, task_id, dependency, value):
        """Store one entry; "deps:" is the last entry of a task that has succeeded."""
        super().set(task_id, dependency, value)
        if dependency == "deps:":
            row = (task_id, self.codec.encode(self._cache[task_id]))
            self._conn.execute("insert or replace into doit values (?, ?)", row)
            self._conn.commit()


class Contents(FileChangedChecker):
    """Compares the contents of files, not their times.

    doit's own checker treats a file with the same time as unchanged. This is wrong after `cp -p`,
    `rsync -a` and for archives with fixed dates.
    """

    def check_modified(self, file_path, file_stat, state):  # noqa: ARG002, doit's signature
        """Return whether the content of a file has changed."""
        return state != file_digest(Path(file_path))

    def get_state(self, dep, current_state):  # noqa: ARG002, doit's signature
        """Return the stored state of a file, the digest of its content."""
        return file_digest(Path(dep))


def run_program(arguments: list[str]) -> TaskFailed | None:
    """Run `python` with arguments on this terminal, where it also receives Ctrl-C.

    Its arithmetic is pinned. It has a single thread, because threads of programs that run side by
    side would wait for each other.

    Returns:
        None, or the failure in one sentence.
    """
    if INTERRUPTION.came:
        return TaskFailed(INTERRUPTED)
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment())
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
    """Return an environment variable as an integer; ValueError unless it is at least `low`."""
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < low:
        raise ValueError(f"{name} = {text!r}: must be an integer >= {low}")
    return int(text)
