"""C files of estimators, compiled and called."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from bnn.export import to_c

FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]


def built(source, library):
    """The library of a C file, which includes math.h alone."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, cc")
    includes = [line for line in source.read_text().splitlines() if "#include" in line]
    assert includes == ["#include <math.h>"]
    subprocess.run(["cc", *FLAGS, source, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))


@pytest.fixture
def compiled(tmp_path):
    """Gives the library of an estimator."""

    def build(model, **options):
        source = tmp_path / "model.c"
        to_c(model, source, **options)
        return built(source, tmp_path / f"{options.get('name', 'surrogate')}.so")

    return build


def agrees_with_python(compiled_results, model, points, total=False, tolerance=1e-12):
    """Moments and gradients, relative to the largest of each output and input."""
    wanted = [
        *model.predict(points, return_std=True, include_noise=total),
        *model.predict_gradient(points, include_noise=total),
    ]
    for ours, theirs in zip(compiled_results, wanted, strict=True):
        agree(ours, theirs.reshape(ours.shape), tolerance)


def agree(computed, wanted, tolerance=1e-12):
    """Of the largest value of each output, where differences cancel."""
    scale = np.abs(wanted).max(axis=0, keepdims=True)
    np.testing.assert_array_less(
        np.abs(computed - wanted), tolerance * (scale + np.abs(wanted)) + 1e-300
    )


def call(library, X, n_out, name="surrogate"):
    """Return mean, std, dmean and dstd at X (n, n_in)."""
    n, n_in = X.shape
    results = [np.full(shape, np.nan) for shape in [(n, n_out)] * 2 + [(n, n_out, n_in)] * 2]
    arrays = [a.ctypes.data_as(ctypes.c_void_p) for a in (np.ascontiguousarray(X), *results)]
    function = getattr(library, name)
    assert function(n, *arrays) == 1  # before init
    assert getattr(library, f"{name}_init")() == 0
    assert function(n, *arrays) == 0
    alone = np.empty((n, n_out))
    assert function(n, arrays[0], None, alone.ctypes.data_as(ctypes.c_void_p), None, None) == 0
    np.testing.assert_array_equal(alone, results[1])
    far = np.empty((1, n_in))
    written = [np.empty((1, *a.shape[1:])) for a in results]
    outputs = [a.ctypes.data_as(ctypes.c_void_p) for a in written]
    for value in (np.nan, np.inf, -np.inf, 1e308):
        far[:] = value
        far[0, ::2] *= -1.0
        code = function(1, far.ctypes.data_as(ctypes.c_void_p), *outputs)
        finite = all(np.isfinite(a).all() for a in written)
        assert code == (0 if finite else 2), value
    return results
