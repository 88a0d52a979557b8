"""Actions and reports for dodo.py: run programs, and report a failure in one sentence."""

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
from figures.pipeline.clean import note
from figures.pipeline.paths import ROOT
from figures.pipeline.provenance import file_digest
from safe_files.locking import lock

STATE = ROOT / ".doit"  # folder with the state of doit's tasks and the lock of a run


def make_state() -> None:
    """Create the folder of doit's state; ValueError if it cannot be written."""
    try:
        STATE.mkdir(exist_ok=True)
        note(STATE / "lock", STATE / "state.db")
        for name in ("lock", "state.db"):
            (STATE / name).open("ab").close()
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
    """Handler of Ctrl-C and of SIGTERM, after which the programs that were started get time to end.

    They also receive Ctrl-C, but a SIGTERM has to be passed on.
    """

    def __init__(self, patience: float = 20.0) -> None:
        self.patience = patience  # time [s] after the first signal; a second one ends it at once
        self.deadline: float | None = None
        self.to_pass_on = False

    @property
    def came(self) -> bool:
        """Whether the user has pressed Ctrl-C, or the run was asked to end."""
        return self.deadline is not None

    def is_over(self) -> bool:
        """Return whether the time to end is over."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def receive(self, number: int = signal.SIGINT, *_: object) -> None:
        """Handle the signal, in the main thread; other threads wait for the programs."""
        self.to_pass_on |= number != signal.SIGINT
        self.deadline = time.monotonic() + (0.0 if self.came else self.patience)


INTERRUPTION = Interruption()
INTERRUPTED = "interrupted; the same command continues where it stopped"


def is_shown(task: Task) -> bool:
    """Return whether the beginning and the end of a task are reported."""
    return bool(task.actions) and not (task.meta or {}).get("silent")


def planned(tasks: Mapping[str, Task], selected: Iterable[str]) -> dict[str, float]:
    """Return the estimated seconds of the selected tasks and of the tasks that they depend on.

    Estimates are for an idle core. Tasks without an estimate are left out.
    """
    estimates: dict[str, float] = {}
    seen: set[str] = set()
    ahead = [*selected]
    while ahead:
        name = ahead.pop(0)
        if name in seen or name not in tasks:
            continue
        seen.add(name)
        seconds = (tasks[name].meta or {}).get("seconds")
        if seconds:
            estimates[name] = seconds
        ahead += [*tasks[name].task_dep, *tasks[name].setup_tasks]
    return estimates


def cores() -> int:
    """Return the number of cores for estimates of time, at most two, as they were measured."""
    return min(cpu_count(), integer_parameter("JOBS", 2, low=1), 2)


def minutes(seconds: float) -> str:
    """Format a time in minutes, rounded up."""
    return f"about {math.ceil(seconds / 60)} min"


class Reporter(ConsoleReporter):
    """Reports the plan of a run; then the beginning, duration and remaining time of each task.

    `meta` of a task may have `seconds`, its time on an idle core, and `silent`, for no report.
    """

    def initialize(self, tasks, selected_tasks):
        """Wait for other runs in this checkout to end, then show the plan."""
        super().initialize(tasks, selected_tasks)
        self.lock = wait_for_turn(STATE)
        self.begun: dict[str, float] = {}
        self.plan = planned(tasks, selected_tasks)  # seconds of each task with an estimate
        self.took: dict[str, float] = {}  # seconds of each finished task
        self.skipped: set[str] = set()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, INTERRUPTION.receive)
        if self.plan:
            self.write("plan (parts that are up to date are skipped):\n")
            for name, seconds in self.plan.items():
                self.write(f"   {tasks[name].doc}: {minutes(seconds)} of one core\n")
            total = minutes(sum(self.plan.values()) / cores())
            self.write(f"   together {total} with {cores()} idle cores\n")

    def execute_task(self, task):
        """Report that a task begins."""
        if is_shown(task):
            self.begun[task.name] = time.monotonic()
            self.write(f"== {task.doc}\n")

    def add_success(self, task):
        """Report how long a task took, and the remaining time."""
        if task.name in self.begun:
            self.took[task.name] = time.monotonic() - self.begun[task.name]
            self.write(f"   {task.doc}: {self.took[task.name]:.0f} s{self.progress()}\n")

    def skip_uptodate(self, task):
        """Report that a task is up to date."""
        self.skipped.add(task.name)
        if is_shown(task):
            self.write(f"-- {task.doc}: up to date\n")

    def progress(self) -> str:
        """Return how many parts of the plan are done, and the remaining time.

        The remaining time is that of the plan, times the relative error of its estimates in the
        finished parts, less the time that running parts have taken.
        """
        parts = self.plan.keys() - self.skipped
        done = parts & self.took.keys()
        if not done:
            return ""
        text = f"; {len(done)} of {len(parts)} parts done"
        ahead = parts - done
        if ahead:
            error = sum(self.took[name] for name in done) / sum(self.plan[name] for name in done)
            now = time.monotonic()
            ran = {name: now - self.begun.get(name, now) for name in ahead}
            left = sum(max(0.0, error * self.plan[name] - ran[name]) for name in ahead)
            text += f", {minutes(left / cores())} left"
        return text

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
    side would wait for each other. It starts at most JOBS worker processes.

    Returns:
        None, or the failure in one sentence.
    """
    if INTERRUPTION.came:
        return TaskFailed(INTERRUPTED)
    jobs = integer_parameter("JOBS", cpu_count(), low=1)
    variables = environment() | {"LOKY_MAX_CPU_COUNT": str(jobs)}  # the limit of joblib's cpu_count
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=variables)
    is_told = False
    while process.poll() is None:
        if INTERRUPTION.to_pass_on and not is_told:
            process.send_signal(signal.SIGINT)
            is_told = True
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
