"""The two ways in which the ensembles are trained."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import truncnorm

import bnn
from figures.composite.problem import fit_theta, functional_prior, load_samples, noise_std
from figures.materials_surrogate.surrogate import HIDDEN, train
from figures.pipeline.settings import Case, Surrogate
from figures.pipeline.training import PROCEDURES, UNSCALED

PUBLISHED = PROCEDURES["published"]
PROPER = PROCEDURES["proper"]
BRIEF = Surrogate(
    cases={"outd": Case(design="train_beta", count=10)},
    n_pretrained=6,
    n_members=4,
    prior_points=30,
    pretrain_epochs=3,
    epochs=3,
)


@pytest.fixture(scope="module")
def predicted(tables):
    """What each procedure predicts, and the estimators of bnn, which train as the paper prints."""
    train_set, test_set = (load_samples(tables, d) for d in ("train_beta", "test_uniform"))
    theta = fit_theta(train_set)
    settings = {
        c: train({"outd": train_set}, test_set, theta, BRIEF, p, 5) for c, p in PROCEDURES.items()
    }
    common = {
        "noise": noise_std(),
        "n_members": 4,
        "network": bnn.Architecture(HIDDEN),
        "training": bnn.TrainingSettings(epochs=3),
        "scaling": UNSCALED,
        "random_state": 5,
    }
    anchored = bnn.AnchoredEnsemble(
        functional_prior(theta),
        pretraining=bnn.Pretraining(6, 30, 2.0, training=bnn.TrainingSettings(epochs=3)),
        anchoring=bnn.Anchoring(resampling="bootstrap"),
        **common,
    )
    vanilla = bnn.VanillaEnsemble(resampling="bootstrap", **common)
    ensembles = {"outd_anchored": anchored, "outd_vanilla": vanilla}
    data = train_set.X, train_set.y
    printed = {name: e.fit(*data).sample(test_set.X) for name, e in ensembles.items()}
    return settings, printed | {"prior": anchored.sample_prior(test_set.X)[:4]}


@pytest.mark.parametrize(
    ("count", "corrected"),
    [(50, range(0, 16, 2)), (100, range(0, 32, 4)), (200, range(0, 56, 7)), (6, range(6))],
)
def test_each_worker_corrects_the_bias_of_its_first_network(count, corrected):
    """In chunks of `multiprocessing.Pool.map`: with 50 networks of two."""
    assert replace(PUBLISHED, workers=8).corrected(count) == tuple(corrected)
    assert PUBLISHED.corrected(count) == "first"
    assert replace(PROPER, workers=8).corrected(count) is True


@pytest.fixture(scope="module")
def pretrained():
    X = np.random.default_rng(0).normal(size=(20, 2))
    settings = bnn.Pretraining(8)
    settings.set_params(training__epochs=2)
    prior = bnn.GaussianProcessPrior()
    return bnn.pretrain(prior, X, network=bnn.Architecture((5,)), settings=settings, random_state=0)


@pytest.mark.parametrize("method", ["prior", "outd_anchored", "outd_vanilla"])
def test_proper_training_is_that_of_the_printed_algorithms(predicted, method):
    prediction, printed = predicted
    np.testing.assert_array_equal(prediction["proper"][method].samples, printed[method])
    assert np.abs(prediction["published"][method].samples - printed[method]).max() > 1e-4


def test_published_prior_points_are_a_hypercube_of_each_network():
    points = PUBLISHED.points(BRIEF, 4, 1)
    assert points.shape == (6, 30, 4)
    assert len(np.unique(points[:, :, 0])) == 6 * 30
    strata = np.sort(np.floor(30 * truncnorm.cdf(points, -2, 2)), axis=1)
    np.testing.assert_array_equal(strata, np.broadcast_to(np.arange(30)[:, None], (6, 30, 4)))
    assert PROPER.points(BRIEF, 4, 1) is None


def test_published_penalty_is_that_of_the_trained_networks_with_two_degrees_fewer(pretrained):
    weights = np.asarray(pretrained.weights, float)
    differences = np.random.default_rng(1).normal(size=weights.shape)
    for procedure, used, degrees in ((PUBLISHED, weights[:5], 3), (PROPER, weights, 7)):
        centred = used - used.mean(axis=0)
        in_span = np.linalg.pinv(centred.T, rcond=1e-5) @ differences.T
        density = procedure.low_rank(procedure.learnt_from(pretrained, 5))
        penalty = density.penalty(differences, 0 * differences)
        np.testing.assert_allclose(penalty, degrees * np.sum(in_span**2, axis=0))
