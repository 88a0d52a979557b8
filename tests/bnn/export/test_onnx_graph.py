"""The ONNX graph of an ensemble, evaluated by ONNX Runtime."""

from dataclasses import replace

import pytest

from bnn.export import to_onnx
from bnn.export.onnx_graph import ACTIVATIONS
from tests.bnn.export.conftest import agree
from tests.bnn.two_inputs import NEW, NOISES, ensemble


@pytest.fixture
def evaluated(tmp_path):
    """Gives mean and standard deviation of a graph at NEW."""
    pytest.importorskip("onnx", reason="needs the extra onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

    def evaluate(model, **options):
        to_onnx(model, tmp_path / "model.onnx", **options)
        session = runtime.InferenceSession(tmp_path / "model.onnx")
        return session.run(["mean", "std"], {"x": NEW})

    return evaluate


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_moments_are_those_of_python(evaluated, activation):
    model = ensemble(activation)
    for members in (None, 3):
        mean, std = evaluated(model, members=members)
        values = model.sample(NEW)[:members]
        agree(mean, values.mean(axis=0))
        agree(std, values.std(axis=0, ddof=1))


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_the_total_deviation_is_that_of_python(evaluated, noise):
    model = ensemble("silu")
    model.members_ = replace(model.members_, noise_covariance=noise)
    mean, std = evaluated(model, include_noise=True)
    wanted = model.predict(NEW, return_std=True, include_noise=True)
    agree(mean, wanted[0])
    agree(std, wanted[1])
