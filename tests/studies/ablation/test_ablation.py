"""Vanilla and anchored ensembles with equal choices, and what the gain rests on."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import bnn
from figures.composite import problem
from figures.composite.reference import load_reference
from figures.composite.scores import LOG_UNITS
from figures.pipeline.settings import Ablation, Case
from studies.ablation import alike, reasons
from studies.ablation.ensembles import (
    ANCHORED,
    BOUNDS,
    CHOICES,
    DATA,
    METHODS,
    PUBLISHED,
    VANILLA,
    Trainer,
    judge,
    load_training_draws,
    normal_density,
)

CASES = {"outd": ("train_beta", 12), "ind25": ("train_uniform", 8)}


@pytest.fixture(scope="module")
def settings():
    cases = {name: Case(design=design, count=n) for name, (design, n) in CASES.items()}
    sizes = {"n_members": 4, "n_pretrained": 4, "prior_points": 40, "choosing": 2}
    compared = {"tuned": (5, 10), "numbers": (2, 4), "members": (4, 6)}
    return Ablation(cases=cases, draws=2, pretrain_epochs=20, epochs=10, **sizes, **compared)


@pytest.fixture(scope="module")
def draw(settings):
    return load_training_draws(settings)[0]


@pytest.fixture(scope="module")
def fixed_draws(draw, settings):
    return alike.training_sets(draw, Trainer(settings, 4))["outd"]


def test_the_data_scale_to_their_own_range_and_networks_start_at_the_same_prior(draw, fixed_draws):
    """Pre-training sees the prior in its own units, whatever networks are scaled by."""
    rves = draw.cases["outd"]
    networks, scaling = fixed_draws.networks[DATA], fixed_draws.scalings[DATA]
    np.testing.assert_array_equal(scaling.outputs.ub, rves.y.max(axis=0))
    np.testing.assert_array_equal(networks.input_scaler.low, scaling.inputs.lb)
    np.testing.assert_array_equal(networks.output_scaler.high, scaling.outputs.ub)
    assert np.all(networks.inputs.max(axis=0) > scaling.inputs.ub)  # twice as far as the RVEs


def test_held_out_rves_are_not_trained_on(monkeypatch, fixed_draws, settings):
    seen = []
    train = alike.TrainingSet.train

    def recording(self, trainer, method, tuned, rves=None):
        seen.append(rves)
        return train(self, trainer, method, tuned, rves)

    monkeypatch.setattr(alike.TrainingSet, "train", recording)
    tuned, started = alike.tune(VANILLA, fixed_draws, Trainer(settings, 4)).values()
    assert tuned.choice in CHOICES
    assert tuned.epochs in settings.tuned
    assert tuned.n_members in settings.numbers
    assert tuned.start == alike.RANDOM
    assert started == replace(tuned, start=started.start)
    assert {len(rves) for rves in seen} == {10}  # of 12
    assert all(np.array_equal(rves.X, seen[0].X) for rves in seen)


def test_starts_are_those_of_both_methods(fixed_draws, settings):
    """A vanilla ensemble from pre-trained networks has no anchors; untrained it is these."""
    trainer = Trainer(settings, 4)
    number = settings.n_members
    trained = {
        (method, start): fixed_draws.train(
            trainer, method, alike.Tuned(PUBLISHED, settings.epochs, number, start)
        ).weights
        for method in METHODS
        for start in (alike.RANDOM, alike.PRETRAINED)
    }
    networks = fixed_draws.networks[BOUNDS]
    for key, expected in {
        (VANILLA, alike.PRETRAINED): trainer.anchor(networks, fixed_draws.rves, regulariser="none"),
        (ANCHORED, alike.PRETRAINED): trainer.anchor(networks, fixed_draws.rves),
        (VANILLA, alike.RANDOM): trainer.vanilla(fixed_draws.rves),
    }.items():
        np.testing.assert_array_equal(trained[key], expected.weights)
    random, pretrained = (
        np.abs(trained[ANCHORED, start] - networks.weights).mean()
        for start in (alike.RANDOM, alike.PRETRAINED)
    )
    assert random > 2 * pretrained


def test_starts_keep_what_they_say(fixed_draws):
    networks = fixed_draws.networks[BOUNDS]
    whole, permuted, mean, spread, common = reasons.starts(networks, 0).values()
    np.testing.assert_array_equal(whole, networks.weights)
    np.testing.assert_allclose(permuted.mean(axis=0), whole.mean(axis=0), atol=1e-6)
    assert not np.array_equal(permuted, whole)
    np.testing.assert_allclose(mean.std(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose(spread.std(axis=0), whole.std(axis=0), atol=1e-6)
    np.testing.assert_allclose(
        spread.mean(axis=0), networks.initial_weights.mean(axis=0), atol=1e-6
    )
    np.testing.assert_array_equal(common, networks.initial_weights)


def test_wrong_priors_have_less_evidence_than_a_right_one(draw):
    rves = draw.cases["outd"]
    priors = reasons.wrong_priors(problem.fit_theta(rves))
    evidence = {name: reasons.log_evidence(prior, rves) for name, prior in priors.items()}
    assert evidence["theta_reversed"] < evidence["theta_zero"] < evidence["published"]


def test_the_normal_density_is_that_of_the_moments_with_noise():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(6, 3, 5))
    observed = rng.normal(size=(3, 5))
    variance = samples.var(axis=0) + problem.noise_std() ** 2
    expected = norm.logpdf(observed, samples.mean(axis=0), np.sqrt(variance)).sum()
    assert normal_density(samples, observed) == pytest.approx(expected)


def test_scores_are_those_of_the_members_at_rves_and_reference_data(draw, settings):
    reference = load_reference()
    members = Trainer(settings, 3).vanilla(draw.cases["outd"])
    score = judge(members, draw.test, reference)
    samples = members.sample(draw.test.X)
    f = members.sample(reference.X)
    density = normal_density(samples, draw.test.y)
    assert score.rmse == bnn.metrics.rmse(draw.test.y, samples.mean(axis=0))
    assert score.elppd_normal == pytest.approx(density - len(draw.test) * LOG_UNITS)
    assert score.reference_rmse == bnn.metrics.rmse(reference.mean, f.mean(axis=0))
    assert score.spread == pytest.approx(f.std(axis=0).mean())
