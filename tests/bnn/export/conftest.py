"""C files of estimators, compiled and called."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from bnn.export import to_c

FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]


@pytest.fixture
def compiled(tmp_path):
    """Gives the library of an estimator."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, cc")

    def build(model, **options):
        source = tmp_path / "model.c"
        library = tmp_path / f"{options.get('name', 'surrogate')}.so"
        to_c(model, source, **options)
        includes = [line for line in source.read_text().splitlines() if "#include" in line]
        assert includes == ["#include <math.h>"]
        subprocess.run(["cc", *FLAGS, source, "-o", library, "-lm"], check=True)
        return ctypes.CDLL(str(library))

    return build


def call(library, X, n_out, name="surrogate"):
    """Return mean, std, dmean and dstd at X (n, n_in)."""
    n, n_in = X.shape
    found = [np.full(shape, np.nan) for shape in [(n, n_out)] * 2 + [(n, n_out, n_in)] * 2]
    arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (np.ascontiguousarray(X), *found)]
    function = getattr(library, name)
    assert function(n, *arrays) == 1  # before init
    assert getattr(library, f"{name}_init")() == 0
    assert function(n, *arrays) == 0
    alone = np.empty((n, n_out))
    assert function(n, arrays[0], None, alone.ctypes.data_as(ctypes.c_void_p), None, None) == 0
    np.testing.assert_array_equal(alone, found[1])
    return found
