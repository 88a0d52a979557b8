"""Independent trainings side by side, one core each.

The networks are small, so that threads of one process would wait for each other's interpreter
lock: on two cores twenty trainings take two thirds of the time in two processes.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from joblib import Parallel, delayed, parallel_config


def available_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def side_by_side(function: Callable, calls: Iterable[tuple]) -> list[Any]:
    """Call an importable function with each tuple of arguments.

    Args:
        function: its result must not depend on the process that it runs in.
        calls: arguments of each call; a single one runs here, on all cores.

    Returns:
        The results in the order of the calls.
    """
    calls = list(calls)
    workers = min(available_cores(), len(calls))
    if workers <= 1:
        return [function(*call) for call in calls]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        return Parallel(n_jobs=workers)(delayed(function)(*call) for call in calls)
