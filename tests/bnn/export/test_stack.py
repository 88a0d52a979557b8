"""The stack that a call of a C file takes, and gradients in parts."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

import bnn
from tests.bnn.export.conftest import agree, call
from tests.bnn.small import small

STACK_C = Path(__file__).with_name("stack.c")


def ensemble(n_inputs, n_outputs, hidden, n_members):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, n_inputs))
    y = rng.normal(size=(9, n_outputs))
    changes = {"n_members": n_members, "network__hidden": hidden, "network__activation": "tanh"}
    return small(bnn.VanillaEnsemble, **changes).fit(X, y)


def posterior(n_inputs, n_data, n_outputs):
    """Five terms of inputs that are warped and mixed."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_data, n_inputs)).round(1)
    # A mean of the size of y: with noise alone its terms would cancel, and leave their rounding.
    y = X.sum(axis=1, keepdims=True) + rng.normal(size=(n_data, n_outputs)).round(1)
    sizes = np.zeros(n_inputs), np.ones(n_inputs), rng.normal(size=n_inputs).round(1)
    mixing = 0.1 * rng.normal(size=(n_inputs, n_inputs)).round(1)
    terms = bnn.RBF() + bnn.Matern12(0.1) + bnn.Matern32(0.2) + bnn.Matern52(0.3, 0.5)
    terms = terms + bnn.RationalQuadratic() + bnn.Linear()
    kernel = bnn.Warped(terms, *sizes, mixing)
    prior = bnn.GaussianProcessPrior(0.0, kernel, n_outputs)
    # Many data say little, so that variances are no small differences of large numbers.
    return bnn.GPRegressor(prior, noise=1.0).fit(X, y)


@pytest.fixture
def stack_of(tmp_path):
    """Gives the bytes of stack that a function takes at one point, over those of a thread."""
    path = tmp_path / "stack.so"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]

    def measure(function, n_inputs, n_outputs):
        subprocess.run(["cc", *flags, STACK_C, "-o", path], check=True)
        used = ctypes.CDLL(str(path)).stack_of
        used.restype = ctypes.c_long
        gradients = (n_outputs, n_inputs)
        shapes = [n_inputs, n_outputs, n_outputs, gradients, gradients]
        arrays = [np.zeros(shape) for shape in shapes]
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
        of_thread = used(None, *pointers)
        assert of_thread > 0
        return used(ctypes.cast(function, ctypes.c_void_p), *pointers) - of_thread

    return measure


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (ensemble, {"n_inputs": 300, "n_outputs": 300, "hidden": (1,), "n_members": 14}),
        (ensemble, {"n_inputs": 1, "n_outputs": 3, "hidden": (1800,), "n_members": 2}),
        (posterior, {"n_inputs": 2, "n_outputs": 1, "n_data": 1200}),
    ],
    ids=["many inputs and outputs", "a wide layer", "warped"],
)
def test_a_call_takes_less_than_64_kb_whatever_the_sizes(compiled, stack_of, make, sizes):
    model = make(**sizes)
    library = compiled(model, max_bytes=1_000_000)
    points = np.random.default_rng(1).normal(size=(2, sizes["n_inputs"]))
    mean, std, *_ = call(library, points, sizes["n_outputs"])
    for moment, wanted in zip((mean, std), model.predict(points, return_std=True), strict=True):
        agree(moment, wanted.reshape(moment.shape))
    assert stack_of(library.surrogate, sizes["n_inputs"], sizes["n_outputs"]) < 64_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "sizes"),
    [(ensemble, (5, 3, (7, 4), 6)), (posterior, (5, 9, 3))],
)
def test_gradients_in_parts_are_those_in_one_to_the_last_bit(compiled, monkeypatch, make, sizes):
    model = make(*sizes)
    points = np.random.default_rng(1).normal(size=(4, 5))
    whole = call(compiled(model), points, 3)
    for inputs, outputs in ((2, 2), (1, 1)):
        for module in ("ensemble", "posterior"):
            name = f"bnn.export.{module}.part_that_fits"
            monkeypatch.setattr(name, lambda *_, batch=(inputs, outputs): batch)
        name = f"parts_of_{inputs}"
        parts = call(compiled(model, name=name), points, 3, name)
        for gradient, wanted in zip(parts, whole, strict=True):
            np.testing.assert_array_equal(gradient, wanted)
