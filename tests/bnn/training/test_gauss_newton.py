"""Gauss-Newton: the choice of steps, and both spaces against closed forms."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from bnn import MLP, RBF
from bnn.training.gauss_newton.function_space import FunctionFit, Metric
from bnn.training.gauss_newton.levenberg_marquardt import StoppingRule, minimise
from bnn.training.gauss_newton.weight_space import DiagonalPlusLowRank, fit_weights


def minimised(start, rule, loss, step, lengths=(1.0,)):
    """Weights, losses of all steps, and who arrived, for a loss and steps in closed form."""
    functions = {"loss": lambda w, _: loss(w), "step": lambda w, *_: step(w)}
    problem = SimpleNamespace(lengths=lengths, **functions)
    return minimise(problem, torch.tensor(start, dtype=torch.float64), rule, threading.Event())


@pytest.mark.parametrize(("lengths", "expected"), [((1.0,), 8.0), ((1.0, 0.5, 0.25), 4.0)])
def test_a_step_that_goes_too_far_is_shortened(lengths, expected):
    """Of |ω| the step from 8 to -16 makes it worse, half of it ends at -4."""
    options = lambda w: w.abs().sum(dim=1), lambda w: (-3.0 * w, 0.0 * w), lengths
    weights, record, _ = minimised([[8.0], [-8.0]], StoppingRule(1), *options)
    assert weights.abs().flatten().tolist() == record[1].tolist() == [expected, expected]


@pytest.mark.parametrize(
    ("bend", "expected"), [(1.0, [4.0, 1.0]), (2.0, [2.0, 0.5]), (4.0, [2.0, 0.0])]
)
def test_a_bend_is_followed_as_far_as_it_is_small(bend, expected):
    """Of the step (4, 0): at the whole length 2 |a| / |v| may be 0.75, at half of it 1.5."""
    step = torch.tensor([[[4.0, 0.0]], [[0.0, bend]]], dtype=torch.float64)
    goal = torch.tensor(expected, dtype=torch.float64)
    options = lambda w: (w - goal).square().sum(dim=1), lambda _: step, (1.0, 0.5)
    weights, *_ = minimised([[0.0, 0.0]], StoppingRule(1), *options)
    torch.testing.assert_close(weights[0], goal)


@pytest.mark.parametrize(
    ("pace", "floor", "expected"), [(0.95, 0.0, 90), (0.9, 0.0, 44), (0.7, 0.2, 15)]
)
def test_a_member_ends_when_it_cannot_arrive_any_more(pace, floor, expected):
    """Losses floor + pace^i, from 1 to 0.01: slow ones go on, those above the floor do not."""
    options = lambda w: floor + w.abs().sum(dim=1), lambda w: ((pace - 1.0) * w, 0.0 * w)
    _, record, finished = minimised([[1.0]], StoppingRule(100, loss=0.01), *options)
    iterations = int(record.isfinite().sum()) - 1
    assert finished.item() == (floor == 0.0)
    assert iterations == expected if floor == 0.0 else 30 < iterations < 50


K = 6
N = 6
RULE = StoppingRule(200, decrease=1e-9)


def sine(X):
    return np.sin(3.0 * X)


def fit(network, noise, truth, prior=None):
    """Members with anchors and data of their own."""
    rng = np.random.default_rng(0)
    X = np.linspace(-1.0, 1.0, N)[:, None]
    y = truth(X) + noise * rng.standard_normal((K, N, 1))
    anchors = rng.standard_normal((K, network.n_weights)).astype(np.float32)
    prior = prior or DiagonalPlusLowRank.diagonal_only(np.ones(network.n_weights))
    arguments = network, anchors, X, y, np.eye(1) * noise**2, prior, RULE, anchors
    return X, y, anchors, fit_weights(*arguments)


@pytest.mark.parametrize("noise", [1.0, 1e-2, 1e-6])
def test_a_linear_network_arrives_at_the_closed_form(noise):
    direction = np.array([[0.6], [0.8]])
    prior = DiagonalPlusLowRank.isotropic_plus(1.0, direction, np.array([2.0]))
    X, y, anchors, members = fit(MLP((1, 1)), noise, lambda X: 1.5 * X - 0.5, prior)
    features = np.column_stack([X, np.ones(N)])
    precision = np.linalg.inv(np.eye(2) + 4.0 * direction @ direction.T)
    normal = features.T @ features / noise**2 + precision
    right = y[:, :, 0] @ features / noise**2 + anchors @ precision
    np.testing.assert_allclose(members.weights, np.linalg.solve(normal, right.T).T, rtol=2e-7)


@pytest.mark.parametrize("noise", [1e-5, 1e-6])
def test_nobody_stays_at_the_start_however_small_the_noise(noise):
    """The objective falls from more than 1e10 to some units; who is still on the way is counted.

    SciPy's least_squares ends between 11 and 24 from the same starts, after 300 evaluations.
    """
    with pytest.warns(ConvergenceWarning, match="6 of 6 members did not converge within 200"):
        _, _, _, members = fit(MLP((1, 8, 1), "silu"), noise, sine)
    assert np.all(members.losses[0] > 1e10)
    assert np.all(members.losses[members.epochs, np.arange(K)] < 1e3)


N_POINTS = 500
OUTPUTS = 8


def large_problem(nugget: float) -> tuple[Metric, FunctionFit, torch.Tensor]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (N_POINTS, 2))
    architecture = MLP((2, 20, OUTPUTS), "silu")
    S = np.broadcast_to(0.02 * RBF(0.5)(X), (OUTPUTS, N_POINTS, N_POINTS)).copy()
    metric = Metric(S, np.full(OUTPUTS, nugget))
    weights = torch.as_tensor(0.3 * rng.normal(size=(1, architecture.n_weights)))
    targets = (
        architecture.forward(weights, X) + torch.as_tensor(np.sin(3.0 * X.sum(axis=1)))[:, None]
    )
    return metric, FunctionFit(architecture, torch.as_tensor(X), targets, metric), weights


def test_steps_in_single_precision_are_those_in_double() -> None:
    metric, fit, weights = large_problem(nugget=0.05)
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
    metric, *_ = large_problem(nugget=0.003)
    assert metric.step_blocks.dtype == torch.float64
