"""Actions and reporting behind dodo.py: programs that are run, and one sentence on a failure."""

import fcntl
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from doit.dependency import FileChangedChecker, SqliteDB
from doit.exceptions import TaskFailed
from doit.reporter import ConsoleReporter
from doit.task import Task
from joblib import cpu_count

from figures.pipeline.arithmetic import environment
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


def is_shown(task: Task) -> bool:
    """Whether the beginning and the end of a task are worth a line."""
    return bool(task.actions) and not (task.meta or {}).get("silent")


def planned(tasks: Mapping[str, Task], selected: Iterable[str]) -> dict[str, float]:
    """Seconds on an idle core of those tasks with an estimate that the selected ones need."""
    found: dict[str, float] = {}
    seen: set[str] = set()
    ahead = [*selected]
    while ahead:
        name = ahead.pop(0)
        if name in seen or name not in tasks:
            continue
        seen.add(name)
        seconds = (tasks[name].meta or {}).get("seconds")
        if seconds:
            found[name] = seconds
        ahead += [*tasks[name].task_dep, *tasks[name].setup_tasks]
    return found


def cores() -> int:
    """Cores that a run keeps busy, as its estimates were measured with two."""
    return min(cpu_count(), 2)


def minutes(seconds: float) -> str:
    """A time in minutes, rounded up."""
    return f"about {math.ceil(seconds / 60)} min"


class Reporter(ConsoleReporter):
    """What a run will do; then its beginning, duration and what is left, for each task.

    `meta` of a task may have `seconds`, what it takes on an idle core, and `silent` for no lines.
    """

    def initialize(self, tasks, selected_tasks):
        """Wait for another run in this checkout before anything is looked at; show the plan."""
        super().initialize(tasks, selected_tasks)
        self.lock = wait_for_turn(STATE)
        self.begun: dict[str, float] = {}
        self.started = time.monotonic()
        self.plan = planned(tasks, selected_tasks)  # seconds of each task with an estimate
        self.done: dict[str, float] = {}
        self.skipped: set[str] = set()
        signal.signal(signal.SIGINT, INTERRUPTION.receive)
        if self.plan:
            self.write("plan, of which parts that are up to date are skipped:\n")
            for name, seconds in self.plan.items():
                self.write(f"   {tasks[name].doc}: {minutes(seconds)} of one core\n")
            total = minutes(sum(self.plan.values()) / cores())
            self.write(f"   together {total} with {cores()} idle cores\n")

    def execute_task(self, task):
        """Announce a task that runs."""
        if is_shown(task):
            self.begun[task.name] = time.monotonic()
            self.write(f"== {task.doc}\n")

    def add_success(self, task):
        """Say how long a task took, and what is left."""
        if task.name in self.begun:
            self.done[task.name] = self.plan.get(task.name, 0.0)
            took = time.monotonic() - self.begun[task.name]
            self.write(f"   {task.doc}: {took:.0f} s{self.progress()}\n")

    def skip_uptodate(self, task):
        """Say that a task is up to date."""
        self.skipped.add(task.name)
        if is_shown(task):
            self.write(f"-- {task.doc}: up to date\n")

    def progress(self) -> str:
        """How many parts of the plan are done, and the time left at the speed until now."""
        parts = self.plan.keys() - self.skipped
        done = sum(self.done.get(name, 0.0) for name in parts)
        left = sum(self.plan[name] for name in parts - self.done.keys())
        if not done:
            return ""
        text = f"; {len(parts & self.done.keys())} of {len(parts)} parts done"
        if left:
            text += f", {minutes((time.monotonic() - self.started) / done * left)} left"
        return text

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

    Its arithmetic is pinned. It has one thread, as workers have: programs side by side would wait
    for each other's threads.
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
    """An integer of at least `low` from the environment."""
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < low:
        raise ValueError(f"{name} = {text!r} is not allowed: an integer of at least {low} is")
    return int(text)
