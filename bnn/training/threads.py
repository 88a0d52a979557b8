"""Chunks of members on the cores of a machine: one thread a chunk, no barriers between threads.

Splitting every operation over the cores costs a barrier an operation, and whoever shares the
machine then delays all of them. PyTorch leaves the interpreter's lock during its operations, so
that whole chunks run side by side instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Part = TypeVar("Part")
Result = TypeVar("Result")


def run_chunks(
    function: Callable[[Part, threading.Event], Result], chunks: Sequence[Part], workers: int
) -> list[Result]:
    """Map a function over chunks.

    Args:
        function: (chunk, stop) → result; it should return soon once the event `stop` is set.
        chunks: Its arguments.
        workers: Threads, each with single-threaded operations; 1 stays in this thread.

    Returns:
        The results, in the order of the chunks.
    """
    stop = threading.Event()
    if workers == 1:
        return [function(chunk, stop) for chunk in chunks]
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))
    try:
        futures = [pool.submit(function, chunk, stop) for chunk in chunks]
        return [future.result() for future in futures]
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        # The setting of a thread is also the default of threads to come: put it back.
        torch.set_num_threads(threads)
