"""Groups of members on the cores of a machine: a thread for each group, no barriers between them.

Splitting every operation over the cores costs a barrier per operation, where each core waits for
the slowest one. PyTorch leaves the interpreter's lock during its operations, so
that whole groups run side by side instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


def run_groups(
    function: Callable[[Part, threading.Event], Result], groups: Sequence[Part], workers: int
) -> list[Result]:
    """Map a function over groups.

    Args:
        function: (group, stop) → result; it should return soon once the event `stop` is set.
        groups: Its arguments.
        workers: Threads, each with single-threaded operations; 1 stays in this thread.

    Returns:
        The results, in the order of the groups.
    """
    stop = threading.Event()
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
