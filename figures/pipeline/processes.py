"""Independent trainings side by side: small networks, whose threads would wait for one lock."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from joblib import cpu_count

from fe_data.dataset.executors import process_pool, semaphores_work


def seeds_of(seed: int, repeats: int) -> list[int]:
    """Independent seeds of the repeated trainings."""
    return [int(s) for s in np.random.SeedSequence(seed).generate_state(repeats)]


def repeated(function: Callable, *arguments: Any, seed: int, repeats: int) -> list[Any]:
    """Results of `function(*arguments, seed)` for each of some independent seeds."""
    return side_by_side(function, [(*arguments, each) for each in seeds_of(seed, repeats)])


def side_by_side(function: Callable, calls: Iterable[tuple]) -> list[Any]:
    """Results of an importable function for each tuple of arguments; a single one runs here."""
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
