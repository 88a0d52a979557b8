"""The batched loop: Adam, independence of the members, end and failure."""

import functools
from itertools import product

import numpy as np
import pytest
import torch

from bnn import MLP, Convergence, TrainingSettings
from bnn.ensembles.weight_priors import LowRankGaussian
from bnn.training.execution import run_groups
from bnn.training.loop import member_groups, train
from bnn.training.members import Objective, Shuffler
from tests.bnn.training.problem import ARCHITECTURE, K, objective_near, problem


def run(weights, X, y, seeds, objective=None, **settings):
    return train(
        ARCHITECTURE, weights, X, y, TrainingSettings(**settings), seeds=seeds, objective=objective
    )


@pytest.mark.slow
def test_groups_and_threads_change_nothing():
    """Group size and thread count leave no trace beyond 1e-6 after 400 steps."""
    weights, X, y, seeds = problem()
    goal = objective_near(weights)
    expected = run(weights, X, y, seeds, goal, epochs=200).weights
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        for members_at_once in (1, 16):
            actual = run(weights, X, y, seeds, goal, epochs=200, members_at_once=members_at_once)
            np.testing.assert_allclose(actual.weights, expected, rtol=0, atol=1e-6)
        assert torch.get_num_threads() == 1  # training changes the count for nobody
    finally:
        torch.set_num_threads(threads)


def test_an_error_in_a_group_is_that_of_the_call():
    def fail(group, _):
        raise RuntimeError(f"group {group}")

    with pytest.raises(RuntimeError, match="group 0"):
        run_groups(fail, [0, 1], 2)


def test_groups_cover_every_member_once():
    """Groups are a partition, start at multiples of 16 and have at least two members."""
    for n_members, size, workers in product((2, 15, 16, 17, 200), (1, 48, 300), (1, 7)):
        groups = member_groups(n_members, size, workers)
        members = np.concatenate([np.unique(group) for group in groups])
        assert np.array_equal(members, np.arange(n_members))
        assert all(group[0] % 16 == 0 and len(group) >= 2 for group in groups)


def adam(gradients, start, corrected):
    """Weights (K, d) after the published steps, whose bias is corrected for some members."""
    w = start.astype(float)
    m = np.zeros_like(w)
    v = np.zeros_like(w)
    for t, gradient in enumerate(gradients, start=1):
        g = gradient(w)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g**2
        rows = np.isin(np.arange(len(w)), corrected)[:, None]
        m_hat = np.where(rows, m / (1 - 0.9**t), m)
        v_hat = np.where(rows, v / (1 - 0.999**t), v)
        w = w - 0.01 * m_hat / (np.sqrt(v_hat) + 1e-7)
    return w


@pytest.mark.parametrize(
    ("bias_correction", "corrected"),
    [(True, [0, 1]), (False, []), ("first", [0]), ((1,), [1]), ((1, 0), [0, 1])],
)
def test_adam_is_adam(bias_correction, corrected):
    """Full-batch steps equal the published recurrence, written out in float64."""
    architecture = MLP((2, 1), "identity")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 2))
    y = rng.standard_normal((2, 10, 1))
    start = rng.standard_normal((2, 3)).astype(np.float32)
    settings = TrainingSettings(
        epochs=30, batch_size=None, learning_rate=0.01, bias_correction=bias_correction
    )
    seeds = np.zeros(2, dtype=np.uint32)
    result = train(architecture, start, X, y, settings, seeds=seeds)

    design = np.column_stack([X, np.ones(10)])

    def gradient(w):
        return 2.0 / 10 * (w @ design.T - y[:, :, 0]) @ design

    expected = adam([gradient] * 30, start, corrected)
    np.testing.assert_allclose(result.weights, expected, atol=2e-5)


def test_objective_does_not_depend_on_batch_size():
    """Data and prior balance alike with batches of 8 and with all points at once."""
    architecture = MLP((1, 1), "identity")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (64, 1))
    y = np.repeat((3.0 * X)[None], 2, axis=0)
    prior = LowRankGaussian(np.zeros(2), np.array([0.2, 0.2]), np.eye(2), 2)
    objective = Objective(np.array([[0.5]]), prior.regulariser(), np.zeros((2, 2), np.float32))
    ends = []
    for batch_size in (8, None):
        settings = TrainingSettings(epochs=1500, batch_size=batch_size, learning_rate=3e-3)
        start = np.zeros((2, 2), np.float32)
        seeds = np.array([1, 2], dtype=np.uint32)
        ends.append(train(architecture, start, X, y, settings, seeds=seeds, objective=objective))
    design = np.column_stack([X, np.ones(64)])
    precision = 0.5 * design.T @ design + np.eye(2) / 0.04
    exact = np.linalg.solve(precision, 0.5 * design.T @ y[0, :, 0])
    np.testing.assert_allclose(ends[1].weights, [exact, exact], atol=1e-3)
    np.testing.assert_allclose(ends[0].weights, [exact, exact], atol=0.03)


def test_shuffles_are_permutations_and_uniform():
    """Every row is a permutation; every point visits every place equally often (chi-square)."""
    shuffler = Shuffler(np.arange(40, dtype=np.uint32), 12, torch.device("cpu"))
    rows = np.concatenate([shuffler.permutations(epoch).numpy() for epoch in range(100)])
    assert np.array_equal(np.sort(rows, axis=1), np.broadcast_to(np.arange(12), rows.shape))
    counts = np.stack([np.bincount(rows[:, i], minlength=12) for i in range(12)])
    chi_square = ((counts - len(rows) / 12) ** 2 / (len(rows) / 12)).sum()
    # 121 degrees of freedom, standard deviation sqrt(2 · 121).
    assert abs(chi_square - 121) < 5 * np.sqrt(242)
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_convergence_ends_each_member_by_itself():
    """A member's end and weights are those of the full run cut at its epoch, in any grouping."""
    weights, X, y, seeds = problem()
    y[::2] = 0.0 * y[::2] + 0.1 * X[:, :1]
    rule = Convergence(residual_variance=0.05, improvement=0.0, window=10)
    result = run(weights, X, y, seeds, epochs=400, convergence=rule, learning_rate=5e-3)
    grouped = run(
        weights, X, y, seeds, epochs=400, convergence=rule, learning_rate=5e-3, members_at_once=16
    )
    assert len(np.unique(result.epochs)) > 1
    assert result.epochs.min() < 400
    np.testing.assert_array_equal(grouped.epochs, result.epochs)
    np.testing.assert_allclose(grouped.weights, result.weights, atol=1e-6)
    for k in (0, 1):
        cut = run(weights, X, y, seeds, epochs=int(result.epochs[k]), learning_rate=5e-3)
        np.testing.assert_allclose(cut.weights[k], result.weights[k], atol=1e-6)
        assert np.isnan(result.losses[result.epochs[k] :, k]).all()
        assert result.losses[: result.epochs[k], k].argmin() > 0


def test_diverging_member_is_named_and_alone():
    """A member with infinite targets diverges; its neighbours are what they are without it."""
    weights, X, y, seeds = problem()
    expected = run(weights, X, y, seeds, epochs=5).weights
    y[3, 0, 0] = 1e30
    result = run(weights, X, y, seeds, epochs=5)
    assert result.diverged == (3,)
    others = np.arange(K) != 3
    np.testing.assert_array_equal(result.weights[others], expected[others])


def test_batch_sums_are_those_of_the_published_run():
    """A step of b points takes the gradient of their sum plus the whole penalty, in float64."""
    architecture = MLP((1, 1), "identity")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((10, 1))
    y = rng.standard_normal((2, 10, 1))
    start = rng.standard_normal((2, 2)).astype(np.float32)
    prior = LowRankGaussian(np.zeros(2), np.array([0.7, 0.3]), np.eye(2), 2)
    objective = Objective(np.array([[2.0]]), prior.regulariser(), np.zeros((2, 2), np.float32))
    seeds = np.array([3, 4], dtype=np.uint32)
    settings = TrainingSettings(epochs=4, batch_size=4, learning_rate=0.01, batch_sums=True)
    result = train(architecture, start, X, y, settings, seeds=seeds, objective=objective)

    design = np.column_stack([X, np.ones(10)])
    shuffler = Shuffler(seeds, 10, torch.device("cpu"))

    def gradient(w, order, batch):
        of_members = np.empty_like(w)
        for k in range(2):
            rows = order[k, batch]
            residual = design[rows] @ w[k] - y[k, rows, 0]
            of_members[k] = 2.0 * 2.0 * residual @ design[rows] + 2.0 * w[k] / [0.49, 0.09]
        return of_members

    orders = [shuffler.permutations(epoch).numpy() for epoch in range(4)]
    gradients = [
        functools.partial(gradient, order=order, batch=batch)
        for order in orders
        for batch in (slice(0, 4), slice(4, 8), slice(8, 10))
    ]
    np.testing.assert_allclose(result.weights, adam(gradients, start, [0, 1]), atol=2e-5)
