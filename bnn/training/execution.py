"""Parallel execution: groups of members on the cores of a CPU, or recorded epochs on a GPU.

On a CPU each group runs in a separate thread. If every operation were split over the cores instead,
all cores would wait for the slowest one after each operation. PyTorch releases the interpreter's
lock during its operations, so that groups run in parallel. On a GPU a fixed sequence of kernels is
recorded once, as a CUDA graph, and launched as a whole.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

# Libraries choose kernels and workspaces during their first calls, which must not be recorded.
WARM_UP_CALLS = 2
Group = TypeVar("Group")
Result = TypeVar("Result")


def run_groups(
    function: Callable[[Group, threading.Event], Result], groups: Sequence[Group], workers: int
) -> list[Result]:
    """Map function(group, stop) over groups, in threads with one core each, if workers > 1."""
    stop = threading.Event()  # functions should return soon after it is set
    if workers == 1:
        return [function(group, stop) for group in groups]
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        futures = [pool.submit(function, group, stop) for group in groups]
        return [future.result() for future in futures]
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        # The setting in a thread is also the default of later threads, so restore it.
        torch.set_num_threads(threads)


def capture(function: Callable[[], None], restore: Callable[[], None]) -> Callable[[], object]:
    """Record a function on fixed buffers as a CUDA graph, and return the graph's replay."""
    # The function must neither allocate memory that outlives it nor read results. It runs during
    # the recording; restore() undoes its changes.
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP_CALLS):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    restore()
    return graph.replay


# A forked process has none of the threads of its parent, but PyTorch's pool of OpenMP threads still
# expects them: the first operation that splits its work would never end. With one thread, no
# operation splits its work. PyTorch does the same in the workers of its DataLoader.
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
