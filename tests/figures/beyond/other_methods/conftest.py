"""Notebook 05 in small, run once."""

import dataclasses

import pytest

from figures.beyond.other_methods.example_1d import distances, run_example
from figures.beyond.other_methods.methods import run_cases, run_spans
from figures.beyond.other_methods.problems import load_problems
from figures.beyond.other_methods.tables import Results
from figures.pipeline.settings import Case, OtherMethods
from figures.scores import Interval, over_repeats


@pytest.fixture(scope="session")
def settings():
    return OtherMethods(
        cases={
            "outd": Case(design="train_beta", count=10),
            "ind25": Case(design="train_uniform", count=4),
        },
        repeats=2,
        n_members=3,
        n_pretrained=4,
        prior_points=30,
        pretrain_epochs=3,
        epochs=2,
        converged_epochs=4,
        spans=(3, 6),
        function_pretrain_epochs=3,
        function_points=5,
        small_repeats=1,
        noise_repeats=1,
        example_repeats=1,
        example_members=3,
        example_pretrained=4,
        example_epochs_scale=0.01,
    )


@pytest.fixture(scope="session")
def problems(tables, settings):
    return load_problems(tables, settings)


@pytest.fixture(scope="session")
def repeats(problems, settings):
    return run_cases(problems, settings, seed=1)


@pytest.fixture(scope="session")
def results(problems, repeats, settings):
    """What the notebook puts together, without noise: the folder has no replicates."""
    return Results(
        cases=over_repeats(repeats),
        exact={case: problem.exact for case, problem in problems.items()},
        spans=run_spans(problems["outd"], settings, seed=1),
        example=distances([run_example(settings, seed=1)]),
        relevance={},
        noise={},
        exact_noise={},
        repeats=2,
        n_members=3,
        n_test=6,
        n_train={"outd": 10},
    )


@pytest.fixture
def changed(results):
    """A function that gives the results of one training set with some other scores."""

    def change(other=None, **rows):
        """With method → score → values, and the rest."""
        cases = dict(results.cases["outd"])
        for method, scores in rows.items():
            values = {score: Interval(tuple(each)) for score, each in scores.items()}
            cases[method] = dataclasses.replace(cases[method], **values)
        return dataclasses.replace(results, cases={"outd": cases}, **(other or {}))

    return change
