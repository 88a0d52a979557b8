"""The posterior of a Gaussian process as nodes of an ONNX graph.

The graph is recorded from the Python formulas: kernels are called with special arrays, which write
each operation as a node. A custom `Stationary` can be exported if its `_correlation`
uses only the functions in OPERATORS, np.square and np.log1p.
"""

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array
from bnn.export.models import log_noise
from bnn.gp.conditioning import ProcessPosterior
from bnn.gp.kernel import Stationary
from bnn.gp.kernels import Linear
from bnn.gp.mixture import mixed
from bnn.gp.regressor import GPRegressor
from bnn.gp.warping import Warped
from bnn.noise.heteroscedastic import LARGEST_LOG
from safe_files.text import short

OPERATORS = {
    np.abs: "Abs",
    np.add: "Add",
    np.cos: "Cos",
    np.divide: "Div",
    np.exp: "Exp",
    np.log: "Log",
    np.matmul: "MatMul",
    np.maximum: "Max",
    np.minimum: "Min",
    np.multiply: "Mul",
    np.negative: "Neg",
    np.power: "Pow",
    np.sin: "Sin",
    np.sqrt: "Sqrt",
    np.subtract: "Sub",
    np.tanh: "Tanh",
}


class Nodes:
    """The nodes and constants of a graph with the input x."""

    def __init__(self, helper: Any) -> None:
        self.helper = helper
        self.nodes: list[Any] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self._names: dict[tuple[tuple[int, ...], bytes, str], str] = {}

    def constant(self, values: Any) -> str:
        """Add an array to the constants and return its name; equal arrays are stored once."""
        array = np.ascontiguousarray(values)
        if array.dtype != np.int64:
            array = array.astype(float)
        key = np.shape(values), array.tobytes(), array.dtype.str
        name = self._names.setdefault(key, f"c_{len(self._names)}")
        self.constants[name] = array.reshape(np.shape(values))
        return name

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> "Noted":
        """Add a node for an operator on results and constants, and return its result."""
        names = [i.name if isinstance(i, Noted) else self.constant(i) for i in inputs]
        noted = Noted(self, f"v_{len(self.nodes)}")
        self.nodes.append(self.helper.make_node(operator, names, [noted.name], **attributes))
        return noted

    def sum_of_squares(self, values: "Noted", axis: int) -> "Noted":
        """Return Σ v² along an axis, which is removed."""
        return self.add("ReduceSumSquare", values, np.array([axis]), keepdims=0)


class Noted(NDArrayOperatorsMixin):
    """A symbolic array of the graph: each NumPy function that is applied to it adds a node."""

    def __init__(self, nodes: Nodes, name: str) -> None:
        self.nodes = nodes
        self.name = name

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> "Noted":
        if ufunc is np.square:
            return self.nodes.add("Mul", *inputs, *inputs)
        if ufunc is np.log1p:
            return np.log(np.add(1.0, inputs[0]))  # type: ignore[no-any-return]
        if method != "__call__" or ufunc not in OPERATORS:
            raise ValueError(f"np.{ufunc.__name__} has no ONNX operator")
        return self.nodes.add(OPERATORS[ufunc], *inputs)

    def clip(self, low: Any, high: Any, **_: Any) -> "Noted":
        """Return the array clipped to two limits; np.clip calls this method."""
        return self.nodes.add("Min", self.nodes.add("Max", self, low), high)


def _noted(result: Any) -> Noted:
    """Unwrap a result from the array into which np.asarray puts it."""
    inner = result.item() if isinstance(result, np.ndarray) else result
    if not isinstance(inner, Noted):
        raise TypeError("the formula of the kernel does not depend on the input")
    return inner


def note_posterior(model: GPRegressor, nodes: Nodes, include_noise: bool) -> tuple[Noted, Noted]:
    """Write mean and standard deviation at the input x, (n, n_out) each, as nodes of a graph."""
    posteriors, weights = mixed(model.posterior_)
    x = Noted(nodes, "x")
    moments = [
        (w, *_moments(posterior, nodes, x))
        for w, posterior in zip(weights, posteriors, strict=True)
        if w.any()
    ]
    # m = Σ_s w_s m_s and v = Σ_s w_s (v_s + (m_s - m)²)
    means = [w * m for w, m, _ in moments]
    mean = sum(means[1:], start=means[0])
    spreads = [w * (v + np.square(m - mean)) for w, m, v in moments]
    variance = sum(spreads[1:], start=spreads[0])
    A, a = posteriors[0].prior.linear_mean(model.X_.shape[1])
    if include_noise:
        coefficients, limits = log_noise(model.noise_, model.X_.shape[1])
        level, slopes, squares = np.split(coefficients, [1, 1 + model.X_.shape[1]])
        z = x.clip(*limits)
        logs = 0.0 * mean + level
        if coefficients[1:].any():
            logs = z @ slopes + np.square(z) @ squares + level
        variance = variance + np.exp(2.0 * np.minimum(logs, LARGEST_LOG))
    return mean + (x @ A.T + a), np.sqrt(variance)


def _moments(posterior: ProcessPosterior, nodes: Nodes, x: Noted) -> tuple[Noted, Noted]:
    """Write the mean minus the prior mean, and the variance, (n, n_out) each."""
    prior = posterior.prior
    N = len(posterior.X)
    axes = posterior.axes
    cross: dict[int, tuple[Noted, Noted]] = {}
    columns, left = [], []
    for c, j in enumerate(prior.alike):
        if j not in cross:
            seen = prior.active_dims_of(j, posterior.X.shape[1])
            points = nodes.add("Gather", x, np.array(seen), axis=1)
            cross[j] = _kernel(prior.kernels[j], nodes, points, posterior.X[:, seen])
        k, k_xx = cross[j]
        columns.append(k @ posterior.solved[:, c : c + 1])
        _, L, missing = posterior.factors[posterior.columns[0 if posterior.coupled else c]]
        inverse = solve_triangular(L, np.eye(len(L)), lower=True)
        inverse[:, missing] = 0.0
        rows = slice(c * N, (c + 1) * N) if posterior.coupled else slice(None)
        # k(x, x) - |L⁻¹ k|², bounded from below: at data without noise only rounding errors remain
        explained = nodes.sum_of_squares(k @ inverse[:, rows].T, 1)
        explained = nodes.add("Unsqueeze", explained, np.array([1]))
        left.append(np.maximum(k_xx - explained, np.finfo(float).eps * k_xx))
    mean = nodes.add("Concat", *columns, axis=1)
    variance = nodes.add("Concat", *left, axis=1)
    if posterior.coupled or np.array_equal(axes, np.eye(len(axes))):
        return mean, variance
    return mean @ axes.T, variance @ (axes**2).T


def _kernel(kernel: sk.Kernel, nodes: Nodes, x: Noted, data: Array) -> tuple[Noted, Noted]:
    """Write k(x, X_train), (n, N), and k(x, x), (n, 1)."""
    if isinstance(kernel, sk.Sum):
        pairs = [_kernel(term, nodes, x, data) for term in (kernel.k1, kernel.k2)]
        return pairs[0][0] + pairs[1][0], pairs[0][1] + pairs[1][1]
    if isinstance(kernel, sk.Product):
        pairs = [_kernel(factor, nodes, x, data) for factor in (kernel.k1, kernel.k2)]
        return pairs[0][0] * pairs[1][0], pairs[0][1] * pairs[1][1]
    if type(kernel) is Warped:
        z = _noted(kernel.turned(kernel.bent(x)[0]))  # type: ignore[arg-type]
        return _kernel(kernel.kernel, nodes, z, kernel.coordinates(data))
    if type(kernel) is Linear:
        away = _noted(kernel.away(x))  # type: ignore[arg-type]
        variance = np.asarray(kernel.variance) * np.ones(data.shape[1])
        others = (variance * kernel.away(data)).T
        k_xx = np.square(away) @ variance[:, None] + kernel.offset
        total = away @ others + kernel.offset
        if np.min(kernel.reach) < np.inf:
            past = x - np.asarray(kernel.origin) - away
            total = total + past @ (variance * kernel.past(data)).T
            k_xx = k_xx + np.square(past) @ variance[:, None]
        if np.any(kernel.bends):
            bends = np.asarray(kernel.bends) * np.ones(data.shape[1])
            of_x = kernel.bent(away)  # type: ignore[arg-type]
            for g, of_data in zip(of_x, kernel.bent(kernel.away(data)), strict=True):
                total = total + g @ (bends * of_data).T
                k_xx = k_xx + np.square(g) @ bends[:, None]
        return total, k_xx
    flat = 0.0 * nodes.add("ReduceSum", x, np.array([1]), keepdims=1)
    if type(kernel) is sk.ConstantKernel:
        k_xx = flat + float(kernel.constant_value)
        return k_xx + np.zeros((1, len(data))), k_xx
    formula = Stationary._evaluate
    if isinstance(kernel, Stationary) and type(kernel)._evaluate is formula:
        scale = np.asarray(kernel.lengthscale)
        apart = nodes.add("Unsqueeze", x / scale, np.array([1])) - (data / scale)[None]
        try:
            correlation = _noted(kernel.correlation(nodes.sum_of_squares(apart, 2)))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{_refused(kernel)}: {error}") from None
        return float(kernel.variance) * correlation, flat + float(kernel.variance)
    kinds = "a kernel of bnn with a correlation of |(x - x') / L|, Linear, Warped or ConstantKernel"
    raise ValueError(f"{_refused(kernel)}: must be {kinds}")


def _refused(kernel: sk.Kernel) -> str:
    return f"the kernel {short(kernel)} of the prior cannot be exported to ONNX"
