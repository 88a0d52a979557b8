"""Functions compiled by numba, kept on disk where a folder for them can be written."""

import functools

import numba


def _can_keep() -> bool:
    """Whether the checkout, NUMBA_CACHE_DIR or the user's cache can be written."""
    try:
        numba.njit(cache=True)(_can_keep)
    except RuntimeError:
        return False
    return True


compiled = functools.partial(numba.njit, cache=_can_keep())
