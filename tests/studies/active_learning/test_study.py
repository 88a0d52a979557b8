"""Chosen RVEs beside those from a Latin hypercube, on a surface that is known."""

import numpy as np
import pytest

import bnn
from figures.composite.problem import Samples
from figures.composite.reference import Reference
from studies.active_learning.study import (
    BETA,
    BOX,
    DRAWN,
    FEW,
    FIRST,
    HYPERCUBE,
    MANY,
    MORE,
    WORST,
    Study,
    compare,
    joined,
    load_study,
    with_known_prior,
)

RNG = np.random.default_rng(0)
DEVIATION = 0.02


def surface(X):
    return np.column_stack([X[:, 0], X[:, 1] * X[:, 2], X[:, 3] ** 2, X.mean(axis=1)])


def rves(n, width=1.0):
    X = RNG.uniform(-width, width, (n, 4))
    return Samples(X, surface(X) + DEVIATION * RNG.standard_normal((n, 4)))


@pytest.fixture(scope="module")
def study():
    X = RNG.uniform(-1, 1, (60, 4))
    mean = np.hstack([surface(X), np.zeros((60, 1))])
    reference = Reference(X, mean, np.full_like(mean, 1e-3))
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 1.5), n_outputs=4)
    logs = np.vstack([np.full(4, np.log(DEVIATION)), np.zeros((4, 4))])
    noise = bnn.HeteroscedasticNoise(logs)
    return Study(rves(600), rves(30, width=0.3), reference, noise, 600, batch=5, prior=prior)


def test_rves_of_a_hypercube_are_in_every_slice_of_each_input(study):
    drawn = study.hypercube(20, seed=1)
    assert len(np.unique(drawn.X, axis=0)) == 20
    thirds = np.floor((drawn.X + 1.0) * 1.5).astype(int)
    counts = [np.bincount(column, minlength=3) for column in thirds.T]
    assert np.min(counts) >= 4


def test_errors_are_those_of_the_predictions_and_of_the_tenth_where_they_are_largest(study):
    model = study.posterior(study.pool[:40])
    errors = study.errors(model)
    (mean, std) = model.predict(study.reference.X, return_std=True)
    squares = np.sort(np.mean((mean - surface(study.reference.X)) ** 2, axis=1))
    assert errors.rmse**2 == pytest.approx(squares.mean())
    assert errors.worst**2 == pytest.approx(squares[54:].mean())
    assert errors.std**2 == pytest.approx(np.mean(std**2))


def test_chosen_rves_lower_what_they_are_chosen_for_and_none_is_run_twice(study):
    errors_of_rounds, rounds = compare(study, seed=0)
    assert [len(chosen_runs) for chosen_runs in rounds] == [FIRST, *[5] * 5]
    assert len(np.unique(joined(rounds).X, axis=0)) == FIRST + MORE
    assert [*errors_of_rounds[HYPERCUBE]] == [*DRAWN]
    assert [*errors_of_rounds[BETA + HYPERCUBE]] == [FEW, MANY]
    drawn = study.errors(study.posterior(study.hypercube(FIRST + MORE, seed=0)))
    for goal, score in ((BOX, "std"), (WORST, "worst_std")):
        assert [*errors_of_rounds[goal]] == [10, 15, 20, 25, 30, 35]
        stds = [getattr(chosen_runs, score) for chosen_runs in errors_of_rounds[goal].values()]
        assert np.all(np.diff(stds) < 0)
        assert stds[-1] < getattr(drawn, score)
        assert errors_of_rounds[BETA + goal][FEW].rmse < errors_of_rounds[BETA + goal][0].rmse


def test_no_rve_of_the_package_is_simulated_at_the_inputs_of_the_reference_data():
    study = load_study(1000, batch=5)
    assert len(study.pool) == 3600
    inputs = joined([study.pool, study.beta]).X
    assert not {tuple(x) for x in inputs.round(9)} & {tuple(x) for x in study.reference.X.round(9)}
    with_prior = with_known_prior(study, 20)
    assert with_prior.posterior(study.pool[:10]).prior_ is with_prior.prior
