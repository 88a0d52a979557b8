"""Independent trainings in parallel processes, because threads would wait for a common lock."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from joblib import cpu_count

from fe_data.dataset.executors import process_pool, semaphores_work


def seeds_of(seed: int, repeats: int) -> list[int]:
    """Return independent seeds for repeated trainings."""
    return [int(s) for s in np.random.SeedSequence(seed).generate_state(repeats)]


def repeated(function: Callable, *arguments: Any, seed: int, repeats: int) -> list[Any]:
    """Return the results of `function(*arguments, seed)` for independent seeds."""
    return side_by_side(
        function, [(*arguments, random_state) for random_state in seeds_of(seed, repeats)]
    )


def side_by_side(function: Callable, calls: Iterable[tuple]) -> list[Any]:
    """Call an importable function for each tuple of arguments, in parallel worker processes.

    A single call runs in this process, as do all calls if processes cannot share semaphores.
    """
    calls = list(calls)
    workers = min(cpu_count(), len(calls))
    if workers <= 1 or not semaphores_work():
        return [function(*call) for call in calls]
    executor = process_pool(workers)
    try:
        return list(executor.map(function, *zip(*calls, strict=True)))
    except BaseException:
        executor.shutdown(wait=False, kill_workers=True)
        raise
