"""Functions compiled by numba, kept on disk where a folder for them can be written.

Compiled functions have loops where others would assign an array to a part of another one or call
`np.repeat`: numba would compile the error messages of these too, which takes seconds.
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


# For functions of arrays that loops over elements call: calls would take a quarter of the time.
inlined = compiled(error_model="numpy", inline="always")
