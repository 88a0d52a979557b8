"""The ONNX graph of a Gaussian process, evaluated by ONNX Runtime."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn.export import to_onnx
from tests.bnn.two_inputs import (
    BENT,
    BY_INPUT,
    CORRELATED,
    ENDING,
    GAPS,
    NEW,
    NOISES,
    PRIORS,
    SMOOTH,
    STATIONARY,
    VARYING,
    WARPED,
    WIDE,
    X,
    Y,
    prior,
)

pytest.importorskip("onnx", reason="needs the extra onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

SQUARES = bnn.HeteroscedasticNoise(
    [[-2.0, 2.0], [0.0, 0.0], [0.0, 0.0], [0.3, 0.2]], None, [0], ([-0.5, 0.0], [0.5, 9.0])
)


def agrees(tmp_path, prior, noise, tolerance=1e-10, y=Y, include_noise=False):
    model = bnn.GPRegressor(prior, noise=noise).fit(X, y)
    to_onnx(model, tmp_path / "model.onnx", include_noise=include_noise)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    mean, std = session.run(["mean", "std"], {"x": NEW})
    wanted = model.predict(NEW, return_std=True, include_noise=include_noise)
    np.testing.assert_allclose(mean, wanted[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(std, wanted[1], rtol=tolerance)


@pytest.mark.parametrize(
    "kernel",
    [
        *STATIONARY,
        WIDE,
        ENDING,
        BENT,
        WARPED,
        SMOOTH * ENDING,
        sk.ConstantKernel(2.0) * SMOOTH + sk.ConstantKernel(0.5),
    ],
    ids=lambda k: type(k).__name__,
)
def test_every_kernel_is_that_of_python(tmp_path, kernel):
    agrees(tmp_path, prior(kernel, 1e4 * SMOOTH), [0.3, 20.0], 1e-8 if kernel is WIDE else 1e-10)


@pytest.mark.parametrize(
    "noise", [[0.3, 20.0], CORRELATED, VARYING, SQUARES], ids=["apart", "one", "varies", "squares"]
)
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_every_noise_is_that_of_python(tmp_path, prior, noise):
    agrees(tmp_path, prior, noise, include_noise=True)


@pytest.mark.parametrize("noise", [[0.3, 20.0], CORRELATED], ids=["apart", "coupled"])
def test_missing_outputs_are_left_out(tmp_path, noise):
    agrees(tmp_path, prior(WARPED, 1e4 * SMOOTH), noise, y=GAPS)


class Rounded(bnn.Stationary):
    """Of a function that has no operator."""

    def _correlation(self, q, derivative):
        return np.exp(-np.cbrt(q)), 0.0 * q if derivative else None


@pytest.mark.parametrize(
    ("kernel", "mean", "options", "words"),
    [
        (Rounded(), 0.0, {}, "kernel Rounded.*cannot be exported to ONNX: np.cbrt has no"),
        (bnn.Periodic(), 0.0, {}, "kernel Periodic.*cannot be exported to ONNX"),
        (sk.RBF(), 0.0, {}, "kernel RBF.*cannot be exported to ONNX"),
        (SMOOTH, lambda X: X[:, 0], {}, "mean of the prior is a function"),
        (SMOOTH, 0.0, {"members": 3}, "members = 3: must be None"),
    ],
)
def test_what_no_graph_of_a_process_holds(tmp_path, kernel, mean, options, words):
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(mean, kernel), noise=0.1).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match=words):
        to_onnx(model, tmp_path / "model.onnx", **options)
    assert not list(tmp_path.iterdir())


def test_noise_by_input_ends_at_1e100(tmp_path):
    model = bnn.GPRegressor(prior(SMOOTH, 1e3 * SMOOTH), noise=BY_INPUT).fit(X, Y)
    model.noise_ = NOISES["steep"]
    to_onnx(model, tmp_path / "model.onnx", include_noise=True)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (std,) = session.run(["std"], {"x": NEW})
    wanted = model.predict(NEW, return_std=True, include_noise=True)[1]
    np.testing.assert_allclose(std, wanted, rtol=1e-10)
    assert std.max() == pytest.approx(1e100)
