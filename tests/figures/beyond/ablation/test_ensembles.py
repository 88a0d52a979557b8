"""Ensembles of the study of the gain, and their scores."""

import numpy as np
import pytest
from scipy.stats import norm

import bnn
from figures.beyond.ablation.ensembles import (
    BOUNDS,
    DATA,
    PUBLISHED,
    Trainer,
    judge,
    normal_density,
    scaling_by,
)
from figures.composite import problem
from figures.composite.scores import LOG_UNITS


def test_training_sets_are_the_first_cells_of_each_draw_and_scale_to_their_own_range(draws):
    first, second = (draw.cases["outd"] for draw in draws)
    assert {name: len(cells) for name, cells in draws[0].cases.items()} == {"outd": 12, "ind25": 8}
    assert not np.array_equal(first.X, second.X)
    bounds = scaling_by(DATA, first).outputs
    np.testing.assert_array_equal(
        [bounds.lb, bounds.ub], [first.y.min(axis=0), first.y.max(axis=0)]
    )
    assert scaling_by(BOUNDS, first).inputs is None


def test_the_normal_density_is_that_of_the_moments_with_noise():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(6, 3, 5))
    observed = rng.normal(size=(3, 5))
    variance = samples.var(axis=0) + problem.noise_std() ** 2
    expected = norm.logpdf(observed, samples.mean(axis=0), np.sqrt(variance)).sum()
    assert normal_density(samples, observed) == pytest.approx(expected)


def test_scores_are_those_of_the_members_at_cells_and_reference_data(draws, settings, reference):
    draw = draws[0]
    members = Trainer(settings, 3).vanilla(draw.cases["outd"])
    found = judge(members, draw.test, reference)
    samples = members.sample(draw.test.X)
    f = members.sample(reference.X)
    density = normal_density(samples, draw.test.y)
    assert found.rmse == bnn.metrics.rmse(draw.test.y, samples.mean(axis=0))
    assert found.elppd_normal == pytest.approx(density - len(draw.test) * LOG_UNITS)
    assert found.reference_rmse == bnn.metrics.rmse(reference.mean, f.mean(axis=0))
    assert found.spread == pytest.approx(f.std(axis=0).mean())


def test_equal_seeds_give_equal_ensembles_and_start_where_networks_were_pretrained(draws, settings):
    cells = draws[0].cases["outd"]
    prior = problem.functional_prior(problem.fit_theta(cells))
    trainer = Trainer(settings, 5)
    networks = trainer.pretrain(prior)
    first, second = (trainer.anchor(networks, cells, PUBLISHED.resampling) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.start, networks.weights)
