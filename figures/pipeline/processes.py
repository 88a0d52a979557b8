"""Independent trainings side by side: small networks, whose threads would wait for one lock."""

from collections.abc import Callable, Iterable
from typing import Any

from fe_data.dataset.executors import available_cores, process_pool, semaphores_work


def side_by_side(function: Callable, calls: Iterable[tuple]) -> list[Any]:
    """Results of an importable function for each tuple of arguments; a single one runs here."""
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
