"""Every method in small: each runs, and repeats are paired."""

import shutil
from dataclasses import asdict

import numpy as np
import pytest

from figures.beyond.other_methods.example_1d import run_example
from figures.beyond.other_methods.methods import FUNCTION_LABELS, run_cases, run_spans
from figures.beyond.other_methods.problems import input_files, load_problems
from figures.beyond.other_methods.weights import METHODS
from figures.composite.scores import SCORES
from figures.pipeline.settings import Case, OtherMethods

CASES = {"outd": ("train_beta", 10), "ind25": ("train_uniform", 4)}


@pytest.fixture(scope="module")
def settings():
    cases = {name: Case(design=design, count=n) for name, (design, n) in CASES.items()}
    epochs = {"pretrain_epochs": 3, "epochs": 2, "converged_epochs": 4}
    function = {"function_pretrain_epochs": 3, "function_points": 5, "small_repeats": 1}
    example = {"example_members": 3, "example_pretrained": 4, "example_epochs_scale": 0.01}
    sizes = {"repeats": 2, "n_members": 3, "n_pretrained": 4, "prior_points": 30, "spans": (3, 6)}
    return OtherMethods(cases=cases, **epochs, **function, **example, **sizes)


@pytest.fixture(scope="module")
def problems(tables, settings):
    return load_problems(tables, settings)


@pytest.fixture(scope="module")
def repeats(problems, settings):
    return run_cases(problems, settings, seed=1)


def test_every_method_is_there_with_every_number(repeats):
    """The slow one in the first repeat only; diagnostics where there are weights to look at."""
    first, second = (repeat["outd"] for repeat in repeats)
    assert set(first) == set(METHODS) | set(FUNCTION_LABELS)
    assert set(first) - set(second) == {"function_small"}
    for row in first.values():
        numbers = {name: number for name, number in asdict(row).items() if number is not None}
        assert {*SCORES, "mean_to_exact", "std_to_exact"} <= set(numbers)
        assert np.isfinite(list(numbers.values())).all()
    assert 0 <= first["low_rank"].gradient_in_span <= 1
    assert first["low_rank"].dimension == pytest.approx(3 / 1465)


def test_repeats_are_paired_and_differ(repeats):
    """The same start and data: two epochs hardly tell whether anything is penalised."""
    first, second = (repeat["outd"] for repeat in repeats)
    assert first["none"].rmse == pytest.approx(first["low_rank"].rmse, rel=1e-3)
    assert abs(first["none"].rmse - second["none"].rmse) > 1e-3


def test_functional_anchoring_comes_as_near_to_the_example_as_exact_draws(settings):
    """And every method in weight space stays farther away."""
    found = run_example(settings, seed=1)["L = 1"]
    away = {name: curves.distance.mean for name, curves in found.items()}
    assert max(away["function"], away["sampled"]) < 0.2 * min(away[name] for name in METHODS)
    assert away["exact"] == 0


def test_more_networks_see_more_of_the_gradient(problems, settings):
    few, many = run_spans(problems["outd"], settings, seed=1).values()
    assert np.all(np.subtract(many.gradient_in_span.values, few.gradient_in_span.values) > 0)


def test_every_file_that_is_read_is_an_input(tables, settings, tmp_path):
    shutil.copytree(tables, tmp_path, dirs_exist_ok=True)
    names = {path.name for path in input_files(tmp_path, settings)}
    assert names == {"train_beta.csv", "test_uniform.csv", "02_example_1d.csv"}
    more = {"train_uniform.csv", "replicates.csv", "noise.csv"}
    for name in more:
        shutil.copy(tables / "train_beta.csv", tmp_path / name)
    assert {path.name for path in input_files(tmp_path, settings)} == names | more
