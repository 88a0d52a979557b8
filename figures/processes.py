"""Independent trainings side by side, one core each.

The networks are small, so that threads of one process would wait for each other's interpreter
lock: on two cores twenty trainings take two thirds of the time in two processes.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from joblib.executor import get_memmapping_executor

from fe_data.scheduling import (
    IDLE_SECONDS,
    THREAD_VARIABLES,
    available_cores,
    end_with_parent,
    semaphores_work,
)


def side_by_side(function: Callable, calls: Iterable[tuple]) -> list[Any]:
    """Call an importable function with each tuple of arguments.

    Args:
        function: its result must not depend on the process that it runs in.
        calls: arguments of each call; a single one runs here, on all cores.

    Returns:
        The results in the order of the calls. Workers end soon after this process, even where
        it was killed.
    """
    calls = list(calls)
    workers = min(available_cores(), len(calls))
    if workers <= 1 or not semaphores_work():
        return [function(*call) for call in calls]
    # joblib.Parallel's own pool; Parallel hands no initializer to it before joblib 1.5.
    executor = get_memmapping_executor(
        workers,
        env=dict.fromkeys(THREAD_VARIABLES, "1"),
        initializer=end_with_parent,
        initargs=(os.getpid(),),
        timeout=IDLE_SECONDS,
    )
    try:
        return list(executor.map(function, *zip(*calls, strict=True)))
    except BaseException:
        executor.shutdown(wait=False, kill_workers=True)
        raise
