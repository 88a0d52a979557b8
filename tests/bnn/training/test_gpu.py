"""Training on a GPU gives what the CPU gives; skipped where PyTorch sees no GPU."""

import numpy as np
import pytest
import torch

import bnn
from bnn import MLP, Convergence, TrainingSettings
from bnn.training import members
from bnn.training.loop import train
from tests.bnn.small import small
from tests.bnn.training.problem import ARCHITECTURE, objective_near, problem

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
SMOOTH = MLP(ARCHITECTURE.widths, activation="silu")
WAYS = {
    "batches": {"batch_size": 16},
    "all data at once": {"batch_size": None},
    "sums over batches": {"batch_size": 16, "batch_sums": True},
    "as published": {"batch_size": 32, "bias_correction": "first", "batch_sums": True},
}


@pytest.mark.parametrize("with_prior", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_members_are_those_of_the_cpu(way, with_prior):
    """The same shuffles, batches and steps: after 20 epochs only float32 rounding differs.

    A smooth activation, since rounding can carry a unit across the kink of a leaky ReLU.
    """
    weights, X, y, seeds = problem()
    goal = objective_near(weights) if with_prior else None
    settings = TrainingSettings(epochs=20, **WAYS[way])
    trained = {
        device: train(SMOOTH, weights, X, y, settings, seeds=seeds, objective=goal, device=device)
        for device in ("cpu", "cuda")
    }
    np.testing.assert_allclose(trained["cuda"].weights, trained["cpu"].weights, rtol=0, atol=1e-4)
    np.testing.assert_allclose(trained["cuda"].losses, trained["cpu"].losses, rtol=1e-3)


def test_a_recorded_epoch_equals_one_that_is_not_recorded(monkeypatch):
    """The replay of a CUDA graph takes the same steps, to the last bit."""
    weights, X, y, seeds = problem()
    settings = TrainingSettings(epochs=30, batch_size=16)
    options = {"seeds": seeds, "objective": objective_near(weights), "device": "cuda"}
    recorded = train(ARCHITECTURE, weights, X, y, settings, **options)
    monkeypatch.setattr(members, "capture", lambda function, _: function)
    plain = train(ARCHITECTURE, weights, X, y, settings, **options)
    assert np.array_equal(recorded.weights, plain.weights)
    assert np.array_equal(recorded.losses, plain.losses)


def test_members_end_on_a_gpu_as_on_the_cpu():
    weights, X, y, seeds = problem()
    rule = Convergence(window=10, residual_variance=0.1, improvement=0.05)
    settings = TrainingSettings(epochs=300, convergence=rule)
    on_cpu = train(ARCHITECTURE, weights, X, y, settings, seeds=seeds)
    on_gpu = train(ARCHITECTURE, weights, X, y, settings, seeds=seeds, device="cuda")
    assert len(np.unique(on_cpu.epochs)) > 1
    # Rounding may carry a member over the limit of the rule one window earlier or later.
    assert np.mean(on_cpu.epochs == on_gpu.epochs) > 0.8


PRIOR = bnn.GaussianProcessPrior(lambda X: 2.0 * X[:, 0], bnn.RBF(0.5, 0.8))
ESTIMATORS = {
    "VanillaEnsemble": (bnn.VanillaEnsemble,),
    "AnchoredEnsemble": (bnn.AnchoredEnsemble, PRIOR),
    "FunctionAnchoredEnsemble": (bnn.FunctionAnchoredEnsemble, PRIOR),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_predict_what_they_predict_on_the_cpu(name, line_data):
    """A short training, of pretraining too; the function-space steps are in float64."""
    X, y = line_data
    at = np.linspace(-1.5, 1.5, 31)[:, None]
    kind, *prior = ESTIMATORS[name]
    of_device = []
    for device in ("cpu", "cuda"):
        model = small(kind, *prior, device=device).fit(X, y)
        of_device.append(model.predict(at, return_std=True))
    (mean, std), (gpu_mean, gpu_std) = of_device
    np.testing.assert_allclose(gpu_mean, mean, rtol=0, atol=1e-3)
    np.testing.assert_allclose(gpu_std, std, rtol=0, atol=1e-3)
