"""The ablation in weight space: the same networks as the ensembles, and its diagnostics."""

import numpy as np
import pytest

import bnn
from figures.pipeline.training import UNSCALED
from studies.other_methods.weights import (
    METHODS,
    Data,
    block,
    diagnostics,
    part_in_span,
    train_weights,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (9, 2))
Y = RNG.standard_normal((9, 3))
NOISE = np.array([0.1, 0.2, 0.3])
PRIOR = bnn.GaussianProcessPrior(0.0, bnn.RBF(), n_outputs=3)
PRETRAINING = bnn.Pretraining(5, 20, 2.0, training=bnn.TrainingSettings(epochs=3))
COMMON = {
    "noise": NOISE,
    "n_members": 3,
    "training": bnn.TrainingSettings(epochs=4),
    "scaling": UNSCALED,
    "random_state": 7,
}


@pytest.fixture(scope="module")
def networks():
    return bnn.pretrain(PRIOR, n_features=2, settings=PRETRAINING, random_state=7, scaling=UNSCALED)


def anchored(**anchoring):
    settings = bnn.Anchoring(**anchoring)
    return bnn.AnchoredEnsemble(PRIOR, pretraining=PRETRAINING, anchoring=settings, **COMMON)


@pytest.mark.parametrize(
    ("name", "ensemble", "tolerance"),
    [
        ("low_rank", anchored(regulariser="low_rank"), 1e-6),
        ("none", anchored(regulariser="none"), 1e-6),
        ("factorised", anchored(regulariser="factorised"), 1e-6),
        ("proper", anchored(regulariser="probabilistic_pca", optimiser="gauss_newton"), 1e-5),
        ("vanilla", bnn.VanillaEnsemble(resampling="bootstrap", **COMMON), 1e-6),
    ],
)
def test_methods_are_the_ensembles(name, ensemble, tolerance, networks):
    ensemble.fit(X, Y)
    data = Data(X, Y, NOISE)
    members = train_weights(METHODS[name], networks, data, n_members=3, epochs=4, seed=7)
    np.testing.assert_allclose(members.weights, ensemble.members_.weights, atol=tolerance)


def test_a_random_start_is_pulled_towards_the_pretrained_weights(networks):
    """Anchors are the pre-trained weights wherever training starts."""
    data = Data(X, Y, NOISE)
    free, pulled = (
        train_weights(METHODS[name], networks, data, n_members=3, epochs=40, seed=7)
        for name in ("vanilla", "random_low_rank")
    )
    np.testing.assert_array_equal(free.initial_weights, pulled.initial_weights)
    assert not np.allclose(pulled.initial_weights, pulled.anchors)
    assert diagnostics(pulled, networks)["penalty"] < diagnostics(free, networks)["penalty"]


def test_part_in_the_span_and_blocks_of_a_pool(networks):
    directions = np.eye(4)[:, :2]
    assert part_in_span(directions, np.array([[3.0, 0, 4.0, 0]])) == pytest.approx(9 / 25)
    assert part_in_span(directions, np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])) == pytest.approx(0.5)
    np.testing.assert_array_equal(block(networks, 4, 3).weights, networks.weights[[4, 0, 1]])
