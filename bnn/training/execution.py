"""Running groups of members on the cores of a CPU, or epochs on a GPU.

On a CPU each group has a thread of its own. Splitting every operation over the cores would instead
cost a barrier per operation, where all cores wait for the slowest one. PyTorch releases the
interpreter's lock during its operations, so that whole groups run in parallel. On a
GPU a fixed sequence of kernels is recorded once, as a CUDA graph, and launched as a whole.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

# Libraries choose their kernels and workspaces in the first calls, which must not be recorded.
WARM_UP_CALLS = 2
Part = TypeVar("Part")
Result = TypeVar("Result")


def run_groups(
    function: Callable[[Part, threading.Event], Result], groups: Sequence[Part], workers: int
) -> list[Result]:
    """Map function(group, stop) over groups in single-threaded threads; one worker needs none."""
    stop = threading.Event()  # once set, functions should return soon
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
        # The setting of a thread is also the default of threads to come: put it back.
        torch.set_num_threads(threads)


def capture(function: Callable[[], None], restore: Callable[[], None]) -> Callable[[], object]:
    """Record a function of fixed buffers as a CUDA graph, and return its replay."""
    # The function must neither allocate memory that outlives it nor read results. Recording runs
    # it, and restore() undoes its changes.
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


# A process that is forked has none of the threads of its parent, but PyTorch's pool of OpenMP
# threads still counts on them: the first operation of a child that splits its work would never
# end. With one thread no operation splits its work. PyTorch sets one thread in the workers of its
# DataLoader as well.
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
