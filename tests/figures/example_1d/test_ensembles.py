"""Data, ensembles and exact posterior of the one-dimensional example."""

import numpy as np
import pytest
from scipy.stats import chi2

import bnn
from figures.example_1d import ensembles as example_1d
from figures.example_1d.metrics import row
from figures.pipeline.settings import Example1D
from figures.pipeline.training import UNSCALED


def test_published_data_lie_around_the_truth_as_the_noise_says():
    X, y = example_1d.load_data()
    assert X.shape == (30, 1)
    # Rounding x to two decimals adds slope² · 0.01² / 12 to the variance, slope up to 9.5.
    squares = np.sum((y - example_1d.true_function(X[:, 0])) ** 2) / (
        0.1**2 + 9.5**2 * 0.01**2 / 12
    )
    assert chi2.ppf(0.001, 30) < squares < chi2.ppf(0.999, 30)


def test_exact_posterior_of_the_constrained_prior_misses_the_data():
    """The residual of a Gaussian process at its data, σ² (K + σ² I)⁻¹ (y − m)."""
    X, y = example_1d.load_data()
    K = np.exp(-0.5 * (X - X.T) ** 2)
    residual = 0.01 * np.linalg.solve(K + 0.01 * np.eye(30), y - 2 * X[:, 0])
    exact = example_1d.exact_posterior(1.0)
    rmse = row("exact 1", {"exact 1": exact}).rmse
    assert rmse == pytest.approx(np.sqrt(np.mean(residual**2)), abs=1e-5)
    distance = row("anchored 1", {"anchored 1": exact, "exact 1": exact}).to_exact
    assert max(distance.values()) == pytest.approx(0, abs=1e-5)


def test_published_anchors_repeat_the_first_kernel_and_leave_the_start_alone():
    architecture = bnn.MLP((1, 5, 5, 5, 1))
    weights = architecture.initial_weights(3, 0)
    before = weights.copy()
    anchors = example_1d.first_layer_anchors(weights, architecture)
    np.testing.assert_array_equal(weights, before)
    unpacked = architecture.unpack(anchors)
    for kernel, _ in unpacked[1:-1]:
        np.testing.assert_array_equal(kernel, np.repeat(unpacked[0][0], 5, axis=1))
    for layer in (0, 3):
        layer_weights = slice(architecture.layers[layer].start, architecture.layers[layer].stop)
        np.testing.assert_array_equal(anchors[:, layer_weights], weights[:, layer_weights])


def test_proper_training_is_that_of_the_printed_algorithms(monkeypatch):
    for name in ("VANILLA_EPOCHS", "FACTORISED_EPOCHS"):
        monkeypatch.setattr(example_1d, name, 5)
    monkeypatch.setattr(example_1d, "LENGTHSCALES", (1.0,))
    monkeypatch.setattr(example_1d, "CORRELATED_EPOCHS", {1.0: 4})
    settings = Example1D(n_pretrained=6, n_members=4, prior_points=40, pretrain_epochs_scale=0.01)
    proper, published = (example_1d.run(settings, choice, 2) for choice in ("proper", "published"))
    common = {
        "noise": example_1d.NOISE,
        "n_members": 4,
        "network": bnn.Architecture(example_1d.HIDDEN),
        "scaling": UNSCALED,
        "random_state": 2,
    }
    anchored = bnn.AnchoredEnsemble(
        example_1d.functional_prior(1.0),
        pretraining=bnn.Pretraining(6, 40, 2.0, training=bnn.TrainingSettings(epochs=3)),
        training=bnn.TrainingSettings(epochs=4),
        anchoring=bnn.Anchoring(resampling="likelihood"),
        **common,
    )
    vanilla = bnn.VanillaEnsemble(
        resampling="likelihood", training=bnn.TrainingSettings(epochs=5), **common
    )
    for name, ensemble in (("vanilla", vanilla), ("anchored 1", anchored)):
        printed = ensemble.fit(*example_1d.load_data()).predict(example_1d.GRID)
        np.testing.assert_array_equal(proper[name].mean, printed)
        assert np.abs(published[name].mean - printed).max() > 1e-5
