"""What numba compiles is measured and said, once."""

import time

import numba

from fe_data.sparse import compilation


def new_function():
    """A function that is not compiled yet, with one inside that is compiled with it."""
    inner = numba.njit(lambda x: x + 1)
    return numba.njit(lambda x: 2 * inner(x))


def test_the_compiler_is_timed_and_named_once(capsys):
    compilation._announce.cache_clear()
    started = time.perf_counter()
    with compilation.compilation() as first:
        function = new_function()
        assert function(1) == 4
    assert 0.0 < first.seconds < time.perf_counter() - started
    assert capsys.readouterr().err == "fe_data: compiling, once on this machine\n"
    with compilation.compilation() as second:
        function(2)
    assert second.seconds == 0.0
    with compilation.compilation() as third:
        new_function()(1)
    assert third.seconds > 0.0
    assert capsys.readouterr().err == ""
