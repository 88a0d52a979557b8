"""Independent trainings side by side, one core each.

The networks are small, so that threads of one process would wait for each other's interpreter
lock: on two cores twenty trainings take two thirds of the time in two processes.
"""

from collections.abc import Callable, Iterable
from typing import Any

from fe_data.dataset.executors import available_cores, process_pool, semaphores_work


def side_by_side(function: Callable, calls: Iterable[tuple]) -> list[Any]:
    """Results of an importable function for each tuple of arguments; a single one runs here.

    Workers end soon after this process, even where it was killed.
    """
    calls = list(calls)
    workers = min(available_cores(), len(calls))
    if workers <= 1 or not semaphores_work():
        return [function(*call) for call in calls]
    executor = process_pool(workers)
    try:
        return list(executor.map(function, *zip(*calls, strict=True)))
    except BaseException:
        executor.shutdown(wait=False, kill_workers=True)
        raise
