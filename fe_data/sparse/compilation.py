"""Compile functions by numba, cache them on disk if possible, and time stages without compilation.

Compiled functions use loops instead of assignments to slices or `np.repeat`, because numba would
also compile the error messages of these, which takes seconds.
"""

import contextlib
import functools
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import numba
from numba.core import event
from tqdm import tqdm

from safe_files.compiled_code import can_keep_compiled

_Function = TypeVar("_Function", bound=Callable[..., Any])


_CACHE = can_keep_compiled()


def compiled(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that compiles a function with options of `numba.njit`."""
    decorator: Callable[[_Function], _Function] = numba.njit(cache=_CACHE, **options)
    return decorator


@functools.cache
def compiled_callback(signature: str, function: Callable[..., Any]) -> Any:
    """Compile a plain function, so that it can be an argument of other compiled functions.

    Those are then compiled only once for all functions with the same signature.

    Args:
        signature: Types of result and arguments, in the syntax of numba.
        function: Function at module or class level.

    Returns:
        The compiled function.
    """
    return numba.cfunc(signature, cache=_CACHE, error_model="numpy")(function)


class Compilation(event.Listener):
    """Measures the wall time of numba's compiler, without functions read from its cache."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._running = 0  # nesting, because compiling a function compiles the functions it calls
        self._started = 0.0

    def on_start(self, _: event.Event) -> None:
        """Note that the compiler begins with a function."""
        if not self._running:
            _announce()
            self._started = time.perf_counter()
        self._running += 1

    def on_end(self, _: event.Event) -> None:
        """Note that the compiler has finished a function."""
        self._running -= 1
        if not self._running:
            self.seconds += time.perf_counter() - self._started


@contextlib.contextmanager
def timed(
    seconds: dict[str, float], stage: str, bar: "tqdm[NoReturn] | None" = None
) -> Iterator[None]:
    """Store the wall time of a stage in `seconds`; compilation counts as "compilation"."""
    start = time.perf_counter()
    with event.install_listener("numba:compile", Compilation()) as compiler:
        yield
    seconds[stage] = time.perf_counter() - start - compiler.seconds
    seconds["compilation"] += compiler.seconds
    if bar is not None:
        bar.update()


@functools.cache
def _announce() -> None:
    """Print once that functions are being compiled, except in worker processes."""
    if multiprocessing.parent_process() is None:
        often = (
            "once on this machine" if _CACHE else "in each process, for want of a folder to keep it"
        )
        print(f"fe_data: compiling, {often}", file=sys.stderr)


# For functions that are called in loops over elements: calls would take a quarter of the time.
inlined = compiled(error_model="numpy", inline="always")
