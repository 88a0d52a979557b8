"""Run many tasks on local processes or on a Dask cluster, both with `concurrent.futures`.

joblib's own Dask backend is not used: it waits for ever when a task kills its worker, or when the
workers cannot import this package.
"""

import contextlib
import itertools
import logging
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from multiprocessing import resource_tracker
from typing import Any

from joblib.executor import get_memmapping_executor
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 60  # before a worker without work ends
# One thread per worker: samples keep the cores busy, and threaded sums differ in their last bits.
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")
THREAD_VARIABLES = ["VECLIB_MAXIMUM_THREADS", *(f"{name}_NUM_THREADS" for name in LIBRARIES)]

# Gives the results of a function for many tasks, in the order in which they are ready.
Runner = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


class WorkerDied(RuntimeError):
    """A worker process ended in the middle of a task; `tasks` are those it may have worked at."""

    def __init__(self, tasks: list[Any]):
        super().__init__("a worker process died")
        self.tasks = tasks


class ClusterError(RuntimeError):
    """The Dask cluster cannot be reached, is lost, or cannot run a task."""


@contextlib.contextmanager
def local_workers(jobs: int) -> Iterator[Runner]:
    """Give a function that runs tasks in `jobs` processes: a crash ends a worker, not this process.

    If processes cannot share semaphores, such as in a container with a small /dev/shm, tasks run in
    this process.

    Yields:
        The function.
    """
    if not semaphores_work():
        print("no room in /dev/shm: one sample at a time, in this process", file=sys.stderr)
        yield map
        return

    def run(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Give results as they come; an error, or an interrupt, kills the workers."""
        # Python's own helper process unblocks signals when it starts: it must not do so later.
        with _quiet_helper():
            resource_tracker.ensure_running()
        with interrupts_blocked(), _quiet_helper():
            executor = process_pool(jobs)
        running: dict[Future[Any], Any] = {}
        try:
            yield from _results(executor, function, tasks, jobs, running)
        except WorkerDied:
            raise
        except BaseException:
            with interrupts_blocked():
                _wait_for_start(running)
                executor.shutdown(wait=False, kill_workers=True)
            raise

    yield run


def process_pool(workers: int) -> ProcessPoolExecutor:
    """Worker processes of one thread each, which end soon after this process ends."""
    return get_memmapping_executor(
        workers,
        env=dict.fromkeys(THREAD_VARIABLES, "1"),
        initializer=_end_with_parent,
        initargs=(os.getpid(),),
        timeout=IDLE_SECONDS,
    )


@contextlib.contextmanager
def dask_workers(address: str) -> Iterator[Runner]:
    """Give a function that runs tasks on the workers of a Dask scheduler, or raise ClusterError."""
    try:
        from distributed import Client, comm
    except ImportError:
        raise ClusterError("--dask needs the package `distributed`, which is missing") from None
    log = logging.getLogger("distributed")
    with contextlib.ExitStack() as stack:
        stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL + 1)
        try:
            comm.get_address_host(address)  # refuses addresses that break the client's constructor
            client = stack.enter_context(
                Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
            )
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            cores = sum(client.nthreads().values())
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(f"no Dask workers at {address}: {_short(error)}") from None

        def run(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
            """Give results as they come; after an error, tasks in flight are not waited for."""
            executor = client.get_executor(pure=False)
            running: dict[Future[Any], Any] = {}
            try:
                # Twice as many tasks as cores are sent, so that no worker waits for its next one.
                yield from _results(executor, function, tasks, 2 * cores, running)
            finally:
                # Nothing is cancelled at a proper end: the scheduler would answer a client that
                # is gone, and its log would end with the traceback of that.
                executor.shutdown(wait=not running)

        yield run


def semaphores_work() -> bool:
    """Whether processes can share semaphores, which pools of workers need."""
    try:
        multiprocessing.Lock()
    except OSError:
        return False
    return True


def _end_with_parent(parent: int) -> None:
    """Let a worker process end soon after the process that started it was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _wait_for_start(futures: Iterable[Future[Any]]) -> None:
    """Wait until tasks have reached their workers; loky cannot kill workers cleanly before."""
    limit = time.monotonic() + 1.0
    while time.monotonic() < limit and not all(f.running() or f.done() for f in futures):
        time.sleep(0.005)


def _results(
    executor: Executor,
    function: Callable[[Any], Any],
    tasks: Sequence[Any],
    width: int,
    running: dict[Future[Any], Any],
) -> Iterator[Any]:
    """Results in the order in which they are ready, with at most `width` tasks in `running`."""
    # Locks of futures are taken while interrupts are blocked, which `concurrent.futures.wait` does
    # not do: the thread that manages the workers would wait for ever for one that is left taken.
    waiting = iter(tasks)
    ready: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    try:
        while True:
            with interrupts_blocked():
                for task in itertools.islice(waiting, width - len(running)):
                    future = executor.submit(function, task)
                    running[future] = task
                    future.add_done_callback(ready.put)
            if not running:
                return
            future = ready.get()
            with interrupts_blocked():
                result = _result(future, running)
                del running[future]
            yield result
    except BrokenProcessPool:
        raise WorkerDied(list(running.values())) from None


def _result(future: Future[Any], running: dict[Future[Any], Any]) -> Any:
    """Result of a finished future; failures of the cluster become errors with a plain message."""
    try:
        return future.result()
    except CancelledError:
        raise ClusterError("the connection to the Dask scheduler is lost") from None
    except (BrokenProcessPool, OSError, MemoryError, ImportError):
        raise
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise WorkerDied([running[future]]) from None
        reason = _short(error.__cause__ or error)
        raise ClusterError(f"a worker cannot run a sample: {reason}") from error


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM to the end. Workers that start inside never receive them."""
    signals = (signal.SIGINT, signal.SIGTERM)
    came: list[int] = []
    handlers: dict[int, Any] = {}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        # A thread of a library (BLAS, Dask) may take the signal; its handler runs in this thread.
        if threading.current_thread() is threading.main_thread():
            handlers = {s: signal.signal(s, lambda number, _: came.append(number)) for s in signals}
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


@contextlib.contextmanager
def _quiet_helper() -> Iterator[None]:
    """Let a helper process, of joblib or Python, that starts now clean up without comments."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(
        filter(None, [before, "ignore:resource_tracker:UserWarning"])
    )
    try:
        yield
    finally:
        del os.environ["PYTHONWARNINGS"]
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


def _short(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
