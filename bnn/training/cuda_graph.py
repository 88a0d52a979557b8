"""CUDA graphs: a fixed sequence of kernels, recorded once and launched as a whole."""

from __future__ import annotations

from collections.abc import Callable

import torch

# Libraries choose their kernels and workspaces in the first calls, which must not be recorded.
WARM_UP_CALLS = 2


def capture(function: Callable[[], None], restore: Callable[[], None]) -> Callable[[], object]:
    """Record a function of fixed buffers as a CUDA graph.

    Args:
        function: Launches the kernels; must not allocate what outlives it, nor read results.
        restore: Undoes what running the function changed.

    Returns:
        The replay of the graph, equivalent to the function.
    """
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
