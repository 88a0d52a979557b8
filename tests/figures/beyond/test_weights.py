"""The ablation in weight space: the same networks as the ensembles, and its diagnostics."""

import numpy as np
import pytest

from bnn import (
    RBF,
    AnchoredEnsemble,
    Anchoring,
    GaussianProcessPrior,
    Pretraining,
    TrainingSettings,
    VanillaEnsemble,
    pretrain,
)
from figures.beyond.weights import (
    METHODS,
    Data,
    block,
    diagnostics,
    part_in_span,
    train_weights,
)
from figures.pipeline.training import UNSCALED

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (9, 2))
Y = RNG.standard_normal((9, 3))
NOISE = np.array([0.1, 0.2, 0.3])
PRIOR = GaussianProcessPrior(0.0, RBF(), n_outputs=3)
SIZES = {"n_members": 3, "epochs": 4}
PRETRAINING = Pretraining(5, 20, 2.0, training=TrainingSettings(epochs=3))


@pytest.fixture(scope="module")
def networks():
    return pretrain(PRIOR, n_features=2, settings=PRETRAINING, random_state=7, scaling=UNSCALED)


def anchored(anchoring):
    return AnchoredEnsemble(
        PRIOR,
        noise=NOISE,
        n_members=3,
        pretraining=PRETRAINING,
        training=TrainingSettings(epochs=4),
        anchoring=anchoring,
        scaling=UNSCALED,
        random_state=7,
    )


@pytest.mark.parametrize("name", ["low_rank", "none", "factorised"])
def test_warm_methods_are_the_anchored_ensembles(name, networks):
    ensemble = anchored(Anchoring(regulariser=name)).fit(X, Y)
    members = train_weights(METHODS[name], networks, Data(X, Y, NOISE), seed=7, **SIZES)
    np.testing.assert_allclose(members.weights, ensemble.members_.weights, atol=1e-6)


def test_the_proper_prior_is_the_anchored_ensemble_at_its_optimum(networks):
    anchoring = Anchoring(regulariser="probabilistic_pca", optimiser="gauss_newton")
    ensemble = anchored(anchoring).fit(X, Y)
    members = train_weights(METHODS["proper"], networks, Data(X, Y, NOISE), seed=7, **SIZES)
    np.testing.assert_allclose(members.weights, ensemble.members_.weights, atol=1e-5)


def test_vanilla_is_the_vanilla_ensemble(networks):
    ensemble = VanillaEnsemble(
        noise=NOISE,
        n_members=3,
        resampling="bootstrap",
        training=TrainingSettings(epochs=4),
        scaling=UNSCALED,
        random_state=7,
    ).fit(X, Y)
    members = train_weights(METHODS["vanilla"], networks, Data(X, Y, NOISE), seed=7, **SIZES)
    np.testing.assert_allclose(members.weights, ensemble.members_.weights, atol=1e-6)
    np.testing.assert_allclose(members.sample(X), ensemble.sample(X), atol=1e-6)


def test_a_random_start_is_pulled_towards_the_pretrained_weights(networks):
    """Anchors are the pre-trained weights wherever training starts."""
    data = Data(X, Y, NOISE)
    free, pulled = (
        train_weights(METHODS[name], networks, data, n_members=3, epochs=40, seed=7)
        for name in ("vanilla", "random_low_rank")
    )
    np.testing.assert_array_equal(free.start, pulled.start)
    assert not np.allclose(pulled.start, pulled.anchors)
    penalty = [diagnostics(each, networks)["penalty"] for each in (pulled, free)]
    assert penalty[0] < penalty[1]


def test_part_in_the_span():
    directions = np.eye(4)[:, :2]
    assert part_in_span(directions, np.array([[3.0, 0, 4.0, 0]])) == pytest.approx(9 / 25)
    assert part_in_span(directions, np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])) == pytest.approx(0.5)


def test_blocks_of_a_pool_go_round(networks):
    chosen = block(networks, 4, 3)
    np.testing.assert_array_equal(chosen.weights, networks.weights[[4, 0, 1]])
