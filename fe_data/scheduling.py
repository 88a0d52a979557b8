"""Many tasks on local processes or a Dask cluster, through joblib; results come in the order they finish."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import BrokenProcessPool

Runner = Callable[[Callable, list], Iterator[Any]]


class WorkerDied(RuntimeError):
    """A worker process ended in the middle of a task (crash of a library, out of memory, killed)."""


class SchedulerLost(RuntimeError):
    """The Dask scheduler cannot be reached, or no longer."""


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def local_workers(jobs: int) -> Iterator[Runner]:
    """Run tasks in `jobs` processes with one BLAS thread each.

    A crash in a task ends a worker, never this process: that holds for one job, too. Tasks start in
    the order given, at most `jobs` at a time.
    """

    def run(function: Callable, tasks: list) -> Iterator[Any]:
        with parallel_config(backend="loky", inner_max_num_threads=1):
            # joblib runs a single job in this process; two workers, fed one task at a time, do not.
            parallel = Parallel(
                n_jobs=max(2, jobs),
                pre_dispatch=jobs,
                batch_size=1,
                max_nbytes=None,
                return_as="generator_unordered",
            )
        try:
            with _interrupts_blocked():
                results = parallel(delayed(function)(task) for task in tasks)
            yield from results
        except BrokenProcessPool as error:
            raise WorkerDied("a worker process died") from error

    yield run


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C while worker processes start; they inherit that and leave the reaction to their parent."""
    signals = {signal.SIGINT, signal.SIGTERM} if hasattr(signal, "pthread_sigmask") else set()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if signals else set()
    try:
        yield
    finally:
        if signals:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
