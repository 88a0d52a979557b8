"""Functional anchoring against closed forms and importance weights."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

import bnn
from bnn import RBF, FunctionAnchoredEnsemble, GaussianProcessPrior, GPRegressor
from bnn.ensembles import function_anchoring
from bnn.networks.mlp import MLP
from bnn.training.gauss_newton import jacobian
from bnn.training.gauss_newton.function_space import FunctionFit, Metric
from bnn.training.gauss_newton.jacobian import Linearisation
from tests.bnn.closed_forms import assert_covariance, importance_weighted, linear_gaussian

X_TEST = np.array([[-0.9], [-0.3], [0.2], [0.8]])
GRID = np.linspace(-1.0, 1.0, 41)[:, None]
SMOOTH_PRIOR = GaussianProcessPrior(0.0, RBF(0.5, 0.8))
FAR = 10.0  # tolerance that ten leaky units can reach


def function_ensemble(prior, n, noise=0.3, epochs=200, **anchoring):
    """Smooth networks anchored in function space."""
    return FunctionAnchoredEnsemble(
        prior,
        noise=noise,
        n_members=n,
        network=bnn.Architecture((30, 30), "silu"),
        pretraining=bnn.Pretraining(n, 100, training=bnn.TrainingSettings(epochs=epochs)),
        anchoring=bnn.FunctionAnchoring(**{"n_points": 50} | anchoring),
        random_state=0,
    )


def test_linear_network_draws_from_the_exact_posterior():
    """f = w x, w ~ N(0, 0.5): mean and covariance of 800 members."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (6, 1))
    y = 0.7 * X[:, 0] + 0.3 * rng.standard_normal(6)
    prior = GaussianProcessPrior(0.0, bnn.Linear(0.5))
    ensemble = function_ensemble(prior, 800, n_points=20, nugget=1e-3, tol=1e-4)
    training = bnn.TrainingSettings(epochs=600, batch_size=None, learning_rate=0.02)
    ensemble.set_params(network__hidden=(), pretraining=bnn.Pretraining(800, 16, training=training))
    samples = ensemble.fit(X, y).sample(X_TEST)[:, :, 0]
    mean, covariance = GPRegressor(prior, noise=0.3).fit(X, y).joint_moments(X_TEST)
    # Realisations and perturbed data average to the prior's mean and the data.
    error = 0.1 * np.sqrt(np.diag(covariance) / 800)
    assert np.all(np.abs(samples.mean(axis=0) - mean[:, 0]) < error)
    assert_covariance(samples, covariance, errors=4.0)


@pytest.mark.slow
def test_wide_networks_sample_the_gp_posterior():
    """Two outputs, two inputs, and correlated noise: bands of 40 draws' own scatter."""
    noise = np.array([[0.01, 0.008], [0.008, 0.02]])
    rng = np.random.default_rng(1)
    n = 40
    X = rng.uniform(-1.0, 1.0, (12, 2))
    y = np.column_stack([np.sin(2.0 * X[:, 0]), X[:, 0] * X[:, 1]])
    prior = GaussianProcessPrior(bnn.LinearMean([0.5, 0.0]), [RBF(0.5, 0.8), RBF(0.3, 1.0)], 2)
    ensemble = function_ensemble(prior, n, noise, n_points=60).fit(X, y)
    points = rng.uniform(-1.0, 1.0, (40, 2))
    mean, std = GPRegressor(prior, noise=noise).fit(X, y).predict(points, return_std=True)
    ours, spread = ensemble.predict(points, return_std=True)
    assert np.sqrt(np.mean(((ours - mean) / std) ** 2)) < 1.0 / np.sqrt(n)
    assert np.mean(spread / std) == pytest.approx(1.0, abs=0.1)
    assert np.mean(np.abs(spread / std - 1.0)) < 0.15


CUBIC = bnn.RandomMean(lambda X, rng: 5.0 * rng.uniform(-1.0, 1.0) * X[:, 0] ** 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "kernel", "low", "y", "apart", "off"),
    [
        (CUBIC, RBF(0.1, 0.2), None, [-1.2, 0.2, 0.0, 0.9], 0.25, 0.2),
        (bnn.LinearMean([1.0]), RBF(0.5, 0.6), -0.3, [-0.35, -0.2, 0.4, 0.6], 0.4, 0.4),
    ],
    ids=["random mean", "bounds"],
)
def test_priors_without_closed_form_against_importance_weights(mean, kernel, low, y, apart, off):
    """Prior D of the paper, uniform in its slope, and one with half of its values at the bound.

    60 members, not centred, deviate by 0.1 standard deviations on average. Under bounds moments
    are approximate, and the bound is exact.
    """
    X = np.array([[-0.8], [-0.2], [0.3], [0.7]])
    prior = GaussianProcessPrior(mean, kernel, bounds=(low, None))
    exact, std, size = importance_weighted(prior, X, y, 0.3, GRID, 20_000)
    assert size > 1000
    ensemble = function_ensemble(prior, 60).fit(X, y)
    ours, spread = ensemble.predict(GRID, return_std=True)
    assert np.mean(np.abs(ours - exact[:, 0])) < apart * std.mean()
    assert np.mean(np.abs(spread / std[:, 0] - 1.0)) < off
    assert low is None or ensemble.sample(GRID).min() == low


@pytest.mark.slow
def test_table_prior():
    """300 tabulated functions: near the posterior of the Gaussian with their moments."""
    points = np.linspace(-1.0, 1.0, 60)[:, None]
    values = SMOOTH_PRIOR.sample(points, 300, 0)
    data = [10, 32, 45]
    y = np.array([0.5, -0.2, 0.3])
    prior = bnn.TablePrior(points, values)
    ensemble = function_ensemble(prior, 60, noise=0.1, epochs=1000)
    ours, spread = ensemble.fit(points[data], y).predict(points, return_std=True)
    mean = values.mean(axis=0)[:, 0]
    covariance = np.cov(values[:, :, 0].T)
    exact, left = linear_gaussian(np.eye(60)[data], y, 0.1, mean, covariance)
    std = np.sqrt(np.diag(left))
    assert np.mean(np.abs(ours - exact)) < 0.3 * std.mean()
    assert spread.mean() / std.mean() == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("activation", ["silu", "tanh", "leaky_relu"])
def test_linearisation_against_automatic_differentiation(activation, monkeypatch):
    """J, J Jᵀ of each output, J u and Jᵀ v of two networks with two outputs."""
    architecture = MLP((3, 5, 4, 2), activation)
    weights = torch.as_tensor(architecture.initial_weights(2, 0, "he"), dtype=torch.float64)
    X = torch.as_tensor(np.random.default_rng(0).standard_normal((6, 3)))
    state = Linearisation(architecture, weights, X)
    function = getattr(torch.nn.functional, activation)

    def network(row):
        values = X
        for i, (kernel, bias) in enumerate(architecture.unpack(row[None])):
            values = values @ kernel[0] + bias[0]
            values = function(values) if i < 2 else values
        return values.T.reshape(-1)

    expected = torch.stack([torch.autograd.functional.jacobian(network, row) for row in weights])
    torch.testing.assert_close(state.values.mT.reshape(2, -1)[0], network(weights[0]))
    torch.testing.assert_close(state.jacobian(), expected)
    outputs = expected.view(2, 2, 6, -1)
    kernels = outputs @ outputs.mT
    torch.testing.assert_close(state.tangent_kernels(), kernels)
    monkeypatch.setattr(jacobian, "_ROWS", 4)
    torch.testing.assert_close(state.tangent_kernels().tril(), kernels.tril())
    turn = torch.as_tensor(np.random.default_rng(2).standard_normal(weights.shape))
    torch.testing.assert_close(state.push_forward(turn), (expected @ turn[:, :, None])[:, :, 0])
    direction = torch.as_tensor(np.random.default_rng(1).standard_normal((2, 12)))
    product = (expected.mT @ direction[:, :, None])[:, :, 0]
    torch.testing.assert_close(state.pull_back(direction), product)


def small_fit(blocks, scale):
    """Two networks of two outputs, in a metric with blocks for each output or one for both."""
    rng = np.random.default_rng(0)
    architecture = MLP((3, 4, 2), "silu")
    roots = torch.as_tensor(rng.standard_normal((blocks, 16 // blocks, 16 // blocks)))
    nuggets = torch.tensor([1e-6, 2e-6], dtype=torch.float64)
    metric = Metric(roots @ roots.mT, nuggets)
    X = torch.as_tensor(rng.standard_normal((8, 3)))
    weights = torch.as_tensor(architecture.initial_weights(2, 0), dtype=torch.float64)
    values = architecture.forward(weights, X)
    targets = values + scale * torch.as_tensor(rng.standard_normal((2, 8, 2)))
    state = Linearisation(architecture, weights, X)
    return FunctionFit(architecture, X, targets, metric), metric, state, weights, values - targets


@pytest.mark.parametrize("blocks", [1, 2])
def test_step_against_the_dense_system(blocks):
    """-Jᵀ (J Jᵀ + λ M)⁻¹ e, and e M⁻¹ e, with matrices of both outputs written out."""
    fit, metric, state, weights, residuals = small_fit(blocks, 1.0)
    damping = torch.tensor([0.1, 1.0])
    J = state.jacobian()
    e = residuals.mT.reshape(2, -1)
    steps, _ = fit.step(weights, torch.arange(2), damping)
    full = torch.block_diag(*metric.blocks)
    kernels = J @ J.mT
    scales = kernels.diagonal(dim1=1, dim2=2).mean(dim=1) / full.diagonal().mean()
    systems = kernels + (damping * scales)[:, None, None] * full
    expected = -(J.mT @ torch.linalg.solve(systems, e[:, :, None]))[:, :, 0]
    torch.testing.assert_close(steps, expected, rtol=1e-4, atol=1e-6)
    squares = (e @ torch.linalg.inv(full) * e).sum(dim=1)
    torch.testing.assert_close(metric.squares(e), squares, rtol=1e-6, atol=0.0)


def test_bent_step_follows_the_linear_model():
    """The second order along the step is taken out: the outputs move as the straight step asks."""
    fit, _, state, weights, residuals = small_fit(2, 0.005)
    members = torch.arange(2)
    errors = []
    straight, bend = fit.step(weights, members, torch.full((2,), 1e-3))
    asked = residuals.mT.reshape(2, -1) + state.push_forward(straight)
    for steps in (straight, straight + bend):
        moved = fit._architecture.forward(weights + steps, fit._X)
        errors.append((fit._residuals(moved, members) - asked).norm())
    assert errors[1] < 0.3 * errors[0]


DRAWN = bnn.SamplerPrior(lambda X, a: np.hstack([a + X, X]), {"a": norm(0.0, 1.0)})


@pytest.mark.parametrize(
    ("prior", "settings", "message"),
    [
        (SMOOTH_PRIOR, {"noise": 1e-9}, "noise = 1e-09: too small for the prior"),
        (SMOOTH_PRIOR, {"nugget": 1e-12}, "nugget = 1e-12 .*: too small for double precision"),
        (SMOOTH_PRIOR, {"nugget": 0.6}, "nugget = 0.6: must be below a third .* for output 0"),
        (DRAWN, {}, "the prior does not vary in output 1: give it"),
    ],
)
def test_what_double_precision_cannot_resolve_is_refused(prior, settings, message):
    """No bare error of a factorisation."""
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    y = X[:, 0] if prior is SMOOTH_PRIOR else np.hstack([X, X])
    with pytest.raises(ValueError, match=message):
        function_ensemble(prior, 4, epochs=1, **settings).fit(X, y)


def test_a_network_keeps_its_own_realisation(small_anchored, line_data):
    """Networks chosen from all are anchored to the realisations that they were fitted to."""
    pretrained = small_anchored.pretrained_
    X, y = line_data
    loose = bnn.FunctionAnchoring(n_points=20, tol=FAR)
    wide = np.array([[1e4]])
    task = function_anchoring._Task(X, y.reshape(len(X), -1), wide, wide, loose, "cpu")
    whole, selected = (
        function_anchoring._anchor_to_process(
            pretrained_networks, task, np.random.SeedSequence(0), centred=False
        )
        for pretrained_networks in (pretrained, pretrained.select([0, 1, 5]))
    )
    np.testing.assert_allclose(selected.targets[:2], whole.targets[:2], atol=1e-12)
    np.testing.assert_allclose(selected.weights[:2], whole.weights[:2], atol=1e-6)
    # Data with much noise leave the realisations alone: the third is number 5 among all.
    distance = [np.abs(selected.targets[2] - whole.targets[k]).mean() for k in (2, 5)]
    assert distance[1] < 0.2 * distance[0]
