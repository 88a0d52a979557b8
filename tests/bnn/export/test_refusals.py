"""What no file can hold is refused by name, and nothing is written then."""

import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as sk
from sklearn.linear_model import LinearRegression

import bnn
from bnn.export import path_to_c, to_c, to_onnx
from bnn.paths import StrainPathEnsemble
from tests.bnn.export.test_path_file import CELL, SCATTER
from tests.bnn.export.test_path_file import fitted as fitted_to_paths
from tests.bnn.two_inputs import MEAN, SMOOTH, WIDE, X, Y, ensemble

PRIOR = bnn.GaussianProcessPrior(MEAN, SMOOTH, 2)
WARPED = bnn.Warped(bnn.Matern52(), np.zeros(2), np.ones(2), np.ones(2))


class Derived(bnn.Warped):
    """A kernel whose formula may differ from the formula of its base."""


DERIVED = Derived(WARPED.kernel, WARPED.low, WARPED.width, WARPED.warps)


def posterior(kernel=SMOOTH, noise=0.3, **changed):
    return bnn.GPRegressor(replace(PRIOR, kernel=kernel, **changed), noise=noise).fit(X, Y)


def of_double_precision():
    model = ensemble("relu")
    weights = model.members_.weights.astype(float) / 3.0
    model.members_ = replace(model.members_, weights=weights)
    return model


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (LinearRegression, {}, "model is an instance of LinearRegression: must be a GPRegressor"),
        (bnn.GPRegressor, {}, "not fitted"),
        (posterior, {"name": "2d"}, "name = '2d': must be a name in C"),
        (posterior, {"name": "int"}, r"C, C\+\+ or their libraries have 'int'"),
        (posterior, {"members": 3}, "members = 3: must be None"),
        (posterior, {"max_bytes": 900}, "more than max_bytes = 900"),
        (lambda: posterior(sk.RBF()), {}, "kernel RBF.*supported are stationary"),
        (lambda: posterior(WIDE + WIDE), {}, "kernel Linear.*at most one Linear"),
        (lambda: posterior(WIDE + WARPED), {}, "kernel Linear.*Warped with such"),
        (lambda: posterior(DERIVED), {}, "kernel Derived.*supported are stationary"),
        (lambda: posterior(mean=lambda X: X), {}, "mean of the prior is a function"),
        (lambda: posterior(noise=[[0.3, 0.1], [0.1, 0.3]]), {}, "noise is correlated"),
        (lambda: ensemble("relu"), {"members": 6}, "members = 6: the ensemble has 5"),
        (of_double_precision, {}, "must be of single precision"),
    ],
)
def test_what_no_c_file_holds(tmp_path, model, options, words):
    with pytest.raises((ValueError, TypeError, NotFittedError), match=words):
        to_c(model(), tmp_path / "model.c", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (CELL[None], {}, r"X has shape \(1, 4\)"),
        ([0.5, 350.0, 400.0, 0.4], {}, "vf = 0.5: the bounds of the basis are 0 and 0.4"),
        (CELL, {"members": 5}, "members = 5: the ensemble has 4"),
        (CELL, {"name": "LAW"}, "name = 'LAW'"),
        (CELL, {"max_bytes": 5000}, "more than max_bytes = 5000"),
    ],
)
def test_what_no_c_file_of_a_path_holds(tmp_path, X, options, words):
    model = fitted_to_paths()
    with pytest.raises(ValueError, match=words):
        path_to_c(model, tmp_path / "model.c", X, **options)
    with pytest.raises(NotFittedError):
        path_to_c(StrainPathEnsemble(model.basis, SCATTER), tmp_path / "model.c", CELL)
    assert not list(tmp_path.iterdir())
    # 0.4 and 600 are upper bounds
    path_to_c(model, tmp_path / "model.c", np.float32([0.4, 600.0, 400.0, 0.4]))


def test_what_no_graph_holds(tmp_path, monkeypatch):
    neither = "model is an instance of LinearRegression: must be a GPRegressor or an ensemble"
    with pytest.raises(TypeError, match=neither):
        to_onnx(LinearRegression(), tmp_path / "model.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install '.\[onnx\]' in the checkout"):
        to_onnx(ensemble("tanh"), tmp_path / "model.onnx")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


NEEDS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler, cc")


@NEEDS_CC
def test_all_that_the_file_itself_defines_is_refused(tmp_path):
    model = posterior()
    path = tmp_path / "model.c"
    to_c(model, path)
    subprocess.run(["cc", "-c", path, "-o", tmp_path / "model.o"], check=True)
    symbols = output("nm", "--defined-only", tmp_path / "model.o").split("\n")
    names = {line.split()[-1] for line in symbols if line}
    names |= set(re.findall(r"^#define (\w+)", path.read_text(), re.MULTILINE))
    assert {"ready", "point", "N_IN", "OUTPUTS"} <= names
    for name in names - {"surrogate", "surrogate_init", "surrogate_members"}:
        with pytest.raises(ValueError, match=f"name = '{name}': "):
            to_c(model, path, name=name)
