"""Large problems are solved in single precision where the metric allows it."""

import numpy as np
import pytest
import torch

from bnn import MLP, RBF
from bnn.training.gauss_newton.function_space import FunctionFit, Metric

N = 500
OUTPUTS = 8


def problem(nugget: float) -> tuple[Metric, FunctionFit, torch.Tensor]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (N, 2))
    architecture = MLP((2, 20, OUTPUTS), "silu")
    S = np.broadcast_to(0.02 * RBF(0.5)(X), (OUTPUTS, N, N)).copy()
    metric = Metric(S, np.full(OUTPUTS, nugget))
    weights = torch.as_tensor(0.3 * rng.normal(size=(1, architecture.n_weights)))
    targets = (
        architecture.forward(weights, X) + torch.as_tensor(np.sin(3.0 * X.sum(axis=1)))[:, None]
    )
    return metric, FunctionFit(architecture, torch.as_tensor(X), targets, metric), weights


def test_steps_in_single_precision_are_those_in_double() -> None:
    metric, fit, weights = problem(nugget=0.05)
    assert metric.step_blocks.dtype == torch.float32
    arguments = weights, torch.arange(1), torch.tensor([1e-2], dtype=torch.float64)
    single = sum(fit.step(*arguments))
    metric.step_blocks = metric.blocks
    double = sum(fit.step(*arguments))
    assert single.dtype == double.dtype == torch.float64
    assert (single - double).norm() < 0.05 * double.norm()
    assert fit.loss(weights + single, arguments[1]) == pytest.approx(
        float(fit.loss(weights + double, arguments[1])), rel=0.01
    )


def test_a_small_nugget_keeps_double_precision() -> None:
    metric, *_ = problem(nugget=0.003)
    assert metric.step_blocks.dtype == torch.float64
