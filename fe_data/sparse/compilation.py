"""Functions compiled by numba, kept on disk where a folder for them can be written, and how long.

Compiled functions have loops where others would assign an array to a part of another one or call
`np.repeat`: numba would compile the error messages of these too, which takes seconds.
"""

import contextlib
import functools
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numba
from numba.core import event

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _can_keep() -> bool:
    """Whether the checkout, NUMBA_CACHE_DIR or the user's cache can be written."""
    try:
        numba.njit(cache=True)(_can_keep)
    except RuntimeError:
        return False
    return True


_CACHE = _can_keep()


def compiled(**options: Any) -> Callable[[_Function], _Function]:
    """Decorator that compiles a function with the given options of `numba.njit`."""
    decorator: Callable[[_Function], _Function] = numba.njit(cache=_CACHE, **options)
    return decorator


@functools.cache
def compiled_callback(signature: str, function: Callable[..., Any]) -> Any:
    """A plain function, compiled, that other compiled functions take as an argument.

    They are compiled once for all functions of one signature.

    Args:
        signature: What it returns and takes, in numba's words.
        function: A function of a module.

    Returns:
        The argument.
    """
    return numba.cfunc(signature, cache=_CACHE, error_model="numpy")(function)


class Compilation(event.Listener):
    """Wall time of numba's compiler; functions that are read from its cache do not count."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._running = 0  # a function compiles those that it calls
        self._started = 0.0

    def on_start(self, _: event.Event) -> None:
        """The compiler begins with a function."""
        if not self._running:
            _announce()
            self._started = time.perf_counter()
        self._running += 1

    def on_end(self, _: event.Event) -> None:
        """The compiler has ended with a function."""
        self._running -= 1
        if not self._running:
            self.seconds += time.perf_counter() - self._started


@contextlib.contextmanager
def compilation() -> Iterator[Compilation]:
    """Measure what numba compiles inside; the user is told once, when that begins."""
    with event.install_listener("numba:compile", Compilation()) as watched:
        yield watched


@functools.cache
def _announce() -> None:
    """Say once that there is something to wait for; many workers would say the same."""
    if multiprocessing.parent_process() is None:
        often = (
            "once on this machine" if _CACHE else "in each process, for want of a folder to keep it"
        )
        print(f"fe_data: compiling, {often}", file=sys.stderr)


# For functions of arrays that loops over elements call: calls would take a quarter of the time.
inlined = compiled(error_model="numpy", inline="always")
