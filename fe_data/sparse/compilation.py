"""Functions compiled by numba, kept on disk where a folder for them can be written.

An assignment of an array to a part of another one, and `np.repeat`, bring numba's texts of errors
with them, which take seconds to compile: loops stand in their place.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

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


# For functions of arrays in loops over elements: calls would cost a quarter of the time.
inlined = compiled(error_model="numpy", inline="always")
