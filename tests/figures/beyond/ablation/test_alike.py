"""Vanilla and anchored ensembles with equal choices, and what the gain rests on."""

from dataclasses import replace

import numpy as np

from figures.beyond.ablation import alike, reasons
from figures.beyond.ablation.ensembles import (
    ANCHORED,
    BOUNDS,
    CHOICES,
    DATA,
    METHODS,
    PUBLISHED,
    VANILLA,
    Trainer,
)


def test_networks_scaled_by_data_start_at_the_same_prior(draws, settings):
    """Pre-training sees the prior in its own units, whatever networks are scaled by."""
    given = alike.training_sets(draws[0], Trainer(settings, 1))["outd"]
    networks = given.networks[DATA]
    scaling = given.scalings[DATA]
    np.testing.assert_array_equal(networks.input_scaler.low, scaling.inputs.lb)
    np.testing.assert_array_equal(networks.output_scaler.high, scaling.outputs.ub)
    assert np.all(networks.inputs.max(axis=0) > scaling.inputs.ub)  # twice as far as the cells


def test_held_out_cells_are_not_trained_on(monkeypatch, draws, settings):
    seen = []
    trainer = Trainer(settings, 4)
    given = alike.training_sets(draws[0], trainer)["outd"]
    train = alike.TrainingSet.train

    def recording(self, trainer, method, tuned, cells=None):
        seen.append(cells)
        return train(self, trainer, method, tuned, cells)

    monkeypatch.setattr(alike.TrainingSet, "train", recording)
    chosen = alike.tune(VANILLA, given, trainer)
    tuned, started = chosen.values()
    assert tuned.choice in CHOICES
    assert tuned.epochs in settings.tuned
    assert tuned.n_members in settings.numbers
    assert tuned.start == alike.RANDOM
    assert started == replace(tuned, start=started.start)
    assert {len(cells) for cells in seen} == {10}  # of 12
    assert all(np.array_equal(cells.X, seen[0].X) for cells in seen)


def test_starts_are_those_of_both_methods(draws, settings):
    """A vanilla ensemble from pre-trained networks has no anchors; untrained it is these."""
    trainer = Trainer(settings, 4)
    given = alike.training_sets(draws[0], trainer)["outd"]
    number = settings.n_members
    trained = {
        (method, start): given.train(
            trainer, method, alike.Tuned(PUBLISHED, settings.epochs, number, start)
        ).weights
        for method in METHODS
        for start in (alike.RANDOM, alike.PRETRAINED)
    }
    networks = given.networks[BOUNDS]
    without = trainer.anchor(networks, given.cells, regulariser="none").weights
    np.testing.assert_array_equal(trained[VANILLA, alike.PRETRAINED], without)
    published = trainer.anchor(networks, given.cells).weights
    np.testing.assert_array_equal(trained[ANCHORED, alike.PRETRAINED], published)
    vanilla = trainer.vanilla(given.cells).weights
    np.testing.assert_array_equal(trained[VANILLA, alike.RANDOM], vanilla)
    distances = {
        start: np.abs(trained[ANCHORED, start] - networks.weights).mean()
        for start in (alike.RANDOM, alike.PRETRAINED)
    }
    assert distances[alike.RANDOM] > 2 * distances[alike.PRETRAINED]


def test_starts_keep_what_they_say(draws, settings):
    networks = alike.training_sets(draws[0], Trainer(settings, 1))["outd"].networks["bounds"]
    starts = [*reasons.starts(networks, 0).values()]
    whole, permuted, mean, spread, common = starts
    np.testing.assert_array_equal(whole, networks.weights)
    np.testing.assert_allclose(permuted.mean(axis=0), whole.mean(axis=0), atol=1e-6)
    assert not np.array_equal(permuted, whole)
    np.testing.assert_allclose(mean.std(axis=0), 0, atol=1e-7)
    np.testing.assert_allclose(spread.std(axis=0), whole.std(axis=0), atol=1e-6)
    np.testing.assert_allclose(spread.mean(axis=0), networks.start.mean(axis=0), atol=1e-6)
    np.testing.assert_array_equal(common, networks.start)


def test_wrong_priors_have_less_evidence_than_a_right_one(draws):
    cells = draws[0].cases["outd"]
    priors = reasons.wrong_priors(reasons.problem.fit_theta(cells))
    evidence = {name: reasons.log_evidence(prior, cells) for name, prior in priors.items()}
    assert evidence["theta_reversed"] < evidence["theta_zero"] < evidence["published"]
