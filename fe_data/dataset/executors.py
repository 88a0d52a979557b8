"""Run many tasks on local processes or on a Dask cluster, both with `concurrent.futures`.

The Dask backend of joblib is not used: it waits forever if a task kills its worker, or if the
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
IDLE_SECONDS = 60  # after which an idle worker ends
# One thread per worker: samples keep the cores busy, and threaded sums differ in their last bits.
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")
THREAD_VARIABLES = ["VECLIB_MAXIMUM_THREADS", *(f"{name}_NUM_THREADS" for name in LIBRARIES)]

# Function run(function, tasks) that yields function(task) of all tasks in order of completion.
Runner = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


class WorkerDied(RuntimeError):
    """A worker process died during a task.

    Attributes:
        tasks: The tasks that it may have been running.
        how: Description of the death, if it is known.
    """

    def __init__(self, tasks: list[Any], cause: object = ""):
        # loky's message ends with the exit codes of its workers. Linux kills with SIGKILL to free
        # memory.
        killed = "SIGKILL" in str(cause)
        self.how = " of SIGKILL: usually the memory is full; use fewer jobs" if killed else ""
        super().__init__(f"a worker process died{self.how}")
        self.tasks = tasks


class ClusterError(RuntimeError):
    """The Dask cluster cannot be reached, is lost, or cannot run a task."""


@contextlib.contextmanager
def local_workers(jobs: int) -> Iterator[Runner]:
    """Provide a function that runs tasks in `jobs` processes, so that a crash ends only a worker.

    If processes cannot share semaphores, such as in a container with a small /dev/shm, tasks run in
    this process.

    Yields:
        The function, see `Runner`.
    """
    if not semaphores_work():
        print(
            "no space in /dev/shm: simulating one sample at a time, in this process",
            file=sys.stderr,
        )
        yield map
        return

    def run(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Yield results as they are ready; an error or an interrupt kills the workers."""
        # Python's resource tracker unblocks signals when it starts, so start it before they are
        # blocked.
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
    """Start worker processes of one thread each, which end soon after this process ends."""
    return get_memmapping_executor(
        workers,
        env=dict.fromkeys(THREAD_VARIABLES, "1"),
        initializer=_end_with_parent,
        initargs=(os.getpid(),),
        timeout=IDLE_SECONDS,
    )


@contextlib.contextmanager
def dask_workers(address: str) -> Iterator[Runner]:
    """Provide a function that runs tasks on the workers of a Dask scheduler.

    Yields:
        The function, see `Runner`.

    Raises:
        ClusterError: If the package `distributed` is missing, or no workers can be reached.
    """
    try:
        from distributed import Client, comm
    except ImportError:
        raise ClusterError(
            "--dask needs the package `distributed`: pip install distributed"
        ) from None
    log = logging.getLogger("distributed")
    with contextlib.ExitStack() as stack:
        stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL + 1)
        try:
            comm.get_address_host(address)  # rejects addresses that break the client's constructor
            client = stack.enter_context(
                Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
            )
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            cores = sum(client.nthreads().values())
        except (OSError, TimeoutError, ValueError) as error:
            raise ClusterError(f"no Dask workers at {address}: {_short(error)}") from None

        def run(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
            """Yield results as they are ready; after an error, do not wait for running tasks."""
            executor = client.get_executor(pure=False)
            running: dict[Future[Any], Any] = {}
            try:
                # Twice as many tasks as cores are sent, so that no worker waits for its next task.
                yield from _results(executor, function, tasks, 2 * cores, running)
            finally:
                # Do not cancel after a normal end: the scheduler would answer a closed client, and
                # write a traceback to its log.
                executor.shutdown(wait=not running)

        yield run


def semaphores_work() -> bool:
    """Return whether processes can share semaphores, which pools of workers need."""
    try:
        multiprocessing.Lock()
    except OSError:
        return False
    return True


def _end_with_parent(parent: int) -> None:
    """Let a worker process end within about a second after its parent process ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _wait_for_start(futures: Iterable[Future[Any]]) -> None:
    """Wait up to a second until tasks have started; before, loky cannot kill workers cleanly."""
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
    """Yield results in order of completion, with at most `width` tasks in `running`."""
    # `concurrent.futures.wait` is not used, because an interrupt could leave the lock of a future
    # acquired, and the thread that manages the workers would wait for it forever. Here interrupts
    # are blocked while locks are acquired.
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
    except BrokenProcessPool as error:
        raise WorkerDied(list(running.values()), error) from None


def _result(future: Future[Any], running: dict[Future[Any], Any]) -> Any:
    """Return the result of a finished future; failures of a cluster raise a ClusterError."""
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
    """Delay Ctrl-C and SIGTERM to the end of the block. Workers started inside block them."""
    signals = (signal.SIGINT, signal.SIGTERM)
    came: list[int] = []
    handlers: dict[int, Any] = {}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        # A thread of a library (BLAS, Dask) may receive the signal. Python runs the handler in this
        # thread.
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
    """Suppress warnings of resource trackers, of joblib or Python, that start in the block."""
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
