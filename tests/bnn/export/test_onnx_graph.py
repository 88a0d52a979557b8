"""The ONNX graph of an ensemble, evaluated by ONNX Runtime."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import bnn
from bnn.export import to_onnx
from bnn.export.onnx_graph import ACTIVATIONS
from tests.bnn.export.test_ensemble import NEW, NOISES, agree, fitted


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_moments_are_those_of_python(tmp_path, activation):
    pytest.importorskip("onnx", reason="needs the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    model = fitted(activation)
    for members in (None, 3):
        to_onnx(model, tmp_path / "model.onnx", members=members)
        session = runtime.InferenceSession(tmp_path / "model.onnx")
        mean, std = session.run(["mean", "std"], {"x": NEW})
        values = model.sample(NEW)[:members]
        agree(mean, values.mean(axis=0))
        agree(std, values.std(axis=0, ddof=1))


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_the_total_deviation_is_that_of_python(tmp_path, noise):
    pytest.importorskip("onnx", reason="needs the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    model = fitted("silu")
    model.members_ = replace(model.members_, noise_covariance=noise)
    to_onnx(model, tmp_path / "model.onnx", include_noise=True)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    found = session.run(["mean", "std"], {"x": NEW})
    for ours, theirs in zip(
        found, model.predict(NEW, return_std=True, include_noise=True), strict=True
    ):
        agree(ours, theirs)


def test_what_no_graph_can_hold_is_refused(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="activation = 'gelu': ONNX Runtime computes leaky_relu"):
        to_onnx(fitted("gelu"), tmp_path / "model.onnx")
    words = "^model is an instance of GPRegressor: must be an ensemble, or be written by to_c$"
    with pytest.raises(TypeError, match=words):
        to_onnx(bnn.GPRegressor().fit(np.eye(2), np.arange(2.0)), tmp_path / "model.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install '.\[onnx\]' in the checkout"):
        to_onnx(fitted("tanh"), tmp_path / "model.onnx")
