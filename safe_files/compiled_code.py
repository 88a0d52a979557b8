"""Whether numba can keep compiled functions in files."""

import functools

import numba


@functools.cache
def can_keep_compiled() -> bool:
    """Return whether numba can write a cache, such as NUMBA_CACHE_DIR or the user's cache."""
    try:
        numba.njit(cache=True)(can_keep_compiled.__wrapped__)
    except RuntimeError:
        return False
    return True
