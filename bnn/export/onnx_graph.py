"""Mean and standard deviation of an estimator as an ONNX graph."""

import importlib
import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bnn._validation import Array, check_flags
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.export.ensemble import chosen_weights, clipped_to
from bnn.export.models import check_estimator, check_no_members, log_noise
from bnn.export.onnx_process import Nodes, note_posterior
from bnn.gp.regressor import GPRegressor
from bnn.networks.activations import SLOPE
from bnn.networks.mlp import MLP
from bnn.noise.heteroscedastic import LARGEST_LOG
from bnn.storage.reading import as_path
from safe_files.writing import write_atomic

# a = φ(z) in double precision. The slope is a constant of the graph, because attributes of ONNX
# operators have only single precision.
ACTIVATIONS = {
    "leaky_relu": "s = Mul(z, leak)  a = Max(z, s)",
    "relu": "a = Relu(z)",
    "tanh": "a = Tanh(z)",
    "silu": "s = Sigmoid(z)  a = Mul(z, s)",
    "identity": "a = Identity(z)",
}
LAYER = "p = MatMul(a_{}, W)  z = Add(p, b)  "
BEGINNING = rb"\x08\x08\x12\x03bnn"  # ir_version and producer_name
GRAPH = """<ir_version: 8, opset_import: ["" : 18], producer_name: "bnn">
surrogate (double[n, {n_in}] x) => (double[n, {n_out}] mean, double[n, {n_out}] std) {{
    centred = Sub(x, in_centre)  a_0 = Div(centred, in_half)
    {layers}
    scaled = Mul(z_{last}, out_half)  raw = Add(scaled, out_centre)
    raised = Max(raw, low)  values = Min(raised, high)
    mean = ReduceMean <keepdims = 0> (values, members)
    away = Sub(values, mean)  squares = ReduceSumSquare <keepdims = 0> (away, members)
    variance = Div(squares, freedom)
    {noise}
}}"""
EPISTEMIC = "std = Sqrt(variance)"
# The variance of the noise is exp(2 l(x)). Here l is linear in the inputs and their squares, after
# the inputs are clipped to the bounds of the noise.
TOTAL = """x_raised = Max(x, noise_low)  x_clipped = Min(x_raised, noise_high)
    x_squared = Mul(x_clipped, x_clipped)
    l_1 = MatMul(x_clipped, log_slopes)  l_2 = MatMul(x_squared, log_squares)
    l_3 = Add(l_1, l_2)  l_4 = Add(l_3, log_level)
    l = Min(l_4, log_largest)
    l_twice = Add(l, l)  of_noise = Exp(l_twice)  all = Add(variance, of_noise)  std = Sqrt(all)"""


def to_onnx(
    model: GPRegressor | EnsembleRegressor,
    path: str | os.PathLike[str],
    *,
    members: int | None = None,
    include_noise: bool = False,
) -> None:
    """Write mean and standard deviation of a fitted Gaussian process or ensemble as an ONNX model.

    The input x (n, n_in) and the outputs mean and std (n, n_out) have the units of the data and
    double precision. For a GPRegressor with N data the file contains an N × N matrix per component
    and output. So it is larger than the C file, which computes these matrices. Needs the extra
    `onnx`.

    Args:
        model: A fitted GPRegressor or ensemble. Supported kernels are stationary kernels
            (all of bnn except Periodic), Linear, Warped, ConstantKernel, and sums and products of
            these.
        path: Path of the file.
        members: Number of networks to write, the first ones of the ensemble; None writes all.
        include_noise: Whether the standard deviation includes the noise; otherwise it is epistemic.
            That of a constant output of an ensemble is zero; in Python it is the rounding error.

    Raises:
        TypeError: If the model is neither a GPRegressor nor an ensemble.
        NotFittedError: If the model is not fitted.
        ValueError: If the ensemble has fewer than `members` networks, or a part of the prior or of
            the noise cannot be expressed in ONNX.
        ImportError: If the package onnx is missing.
        FileExistsError: If the file exists and was not written by this function.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> brief = bnn.TrainingSettings(epochs=1)
        >>> model = bnn.VanillaEnsemble(n_members=2, noise=0.05, training=brief).fit(X, y)
        >>> bnn.export.to_onnx(model, "surrogate.onnx")  # doctest: +SKIP
    """
    check_estimator(model)
    check_flags(include_noise=include_noise)
    check_is_fitted(model)
    onnx = _import_onnx()
    if isinstance(model, GPRegressor):
        check_no_members(members)
        graph = _of_process(onnx, model, include_noise)
    else:
        graph = _of_ensemble(onnx, model, members, include_noise)
    onnx.checker.check_model(graph)
    write_atomic(as_path(path), graph.SerializeToString(), BEGINNING)


def _of_process(onnx: Any, model: GPRegressor, include_noise: bool) -> Any:
    """Return the graph of a GPRegressor."""
    nodes = Nodes(onnx.helper)
    moments = note_posterior(model, nodes, include_noise)
    for moment, name in zip(moments, ("mean", "std"), strict=True):
        nodes.nodes.append(onnx.helper.make_node("Identity", [moment.name], [name]))
    double = onnx.TensorProto.DOUBLE
    shapes = {"x": model.X_.shape[1], "mean": model.y_.shape[1], "std": model.y_.shape[1]}
    x, *outputs = (
        onnx.helper.make_tensor_value_info(name, double, ["n", size])
        for name, size in shapes.items()
    )
    constants = [onnx.numpy_helper.from_array(v, name) for name, v in nodes.constants.items()]
    graph = onnx.helper.make_graph(nodes.nodes, "surrogate", [x], outputs, constants)
    opsets = [onnx.helper.make_opsetid("", 18)]
    options = {"ir_version": 8, "producer_name": "bnn", "opset_imports": opsets}
    return onnx.helper.make_model(graph, **options)


def _of_ensemble(
    onnx: Any, model: EnsembleRegressor, members: int | None, include_noise: bool
) -> Any:
    """Return the graph of an ensemble."""
    chosen, weights = chosen_weights(model, members)
    net = chosen.architecture
    low, high = clipped_to(chosen)
    constants: dict[str, NDArray[Any]] = {
        "in_centre": chosen.input_scaler.centre,
        "in_half": chosen.input_scaler.half_range,
        "out_centre": chosen.output_scaler.centre,
        "out_half": chosen.output_scaler.half_range,
        "low": low,
        "high": high,
        "leak": np.array(SLOPE),
        "freedom": np.array(len(weights) - 1.0),
        "members": np.array([0]),
    }
    if include_noise:
        coefficients, limits = log_noise(model.noise_, net.n_inputs)
        level, slopes, squares = np.split(coefficients, [1, 1 + net.n_inputs])
        constants |= {"log_level": level, "log_slopes": slopes, "log_squares": squares}
        constants |= {"noise_low": limits[0], "noise_high": limits[1]}
        constants["log_largest"] = np.array(LARGEST_LOG)
    layers, parameters = _layers(net, weights)
    constants |= parameters
    text = GRAPH.format(
        n_in=net.n_inputs,
        n_out=net.n_outputs,
        layers="\n    ".join(layers),
        last=len(layers),
        noise=TOTAL if include_noise else EPISTEMIC,
    )
    graph = importlib.import_module("onnx.parser").parse_model(text)
    used = set(re.findall(r"\w+", text))
    graph.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        for name, values in constants.items()
        if name in used
    )
    return graph


def _import_onnx() -> Any:
    """Return the optional package onnx; an ImportError explains how to install it."""
    try:
        return importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError(f"{error}: add it by pip install '.[onnx]' in the checkout") from None


def _layers(net: MLP, weights: Array) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """Return the operations of each layer as text, and the kernels and biases by name."""
    steps = []
    parameters: dict[str, NDArray[Any]] = {}
    for number, (kernel, bias) in enumerate(net.unpack(weights), start=1):
        parameters[f"W_{number}"] = kernel
        parameters[f"b_{number}"] = bias[:, None]
        last = number == len(net.layers)
        step = LAYER if last else LAYER + ACTIVATIONS[net.activation]
        # The names of a layer end in its number; its input is `a` of the previous layer.
        numbered = re.sub(r"\b(W|b|p|z|s|a)\b", rf"\1_{number}", step)
        steps.append(numbered.format(number - 1))
    return steps, parameters
