"""Every method in small: each runs, repeats are paired, and claims follow the numbers."""

import shutil
from dataclasses import asdict

import numpy as np
import pytest

from figures.beyond.other_methods.findings import RIVALS, advice, claims
from figures.beyond.other_methods.methods import FUNCTION_LABELS, run_noise
from figures.beyond.other_methods.problems import input_files
from figures.beyond.other_methods.weights import METHODS
from figures.composite.scores import SCORES


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


def test_more_networks_see_more_of_the_gradient(results):
    few, many = (row.gradient_in_span.values for row in results.spans.values())
    assert np.all(np.array(many) > np.array(few))


def test_functional_anchoring_comes_as_near_to_the_example_as_exact_draws(results):
    """And every method in weight space stays farther away."""
    away = {name: row.mean.mean for name, row in results.example["L = 1"].items()}
    assert max(away["function"], away["sampled"]) < 0.2 * min(away[name] for name in METHODS)
    assert away["exact"] == 0


@pytest.mark.slow
def test_noise_study_runs_under_each_covariance(problems, settings):
    problem = problems["outd"]
    tasks = problem.under_noise(np.diag(problem.noise**2) + 0.001)
    found = run_noise(tasks, settings, seed=1)
    assert list(found) == ["paper", "replicates_diagonal", "replicates"]
    assert all(set(rows) == set(found["paper"]) for rows in found.values())
    assert tasks["paper"].exact == problem.exact


def test_every_file_that_is_read_is_an_input(tables, settings, tmp_path):
    shutil.copytree(tables, tmp_path, dirs_exist_ok=True)
    names = {path.name for path in input_files(tmp_path, settings)}
    assert names == {"train_beta.csv", "test_uniform.csv", "02_example_1d.csv"}
    more = {"train_uniform.csv", "replicates.csv", "noise.csv"}
    for name in more:
        shutil.copy(tables / "train_beta.csv", tmp_path / name)
    assert {path.name for path in input_files(tmp_path, settings)} == names | more


def test_claims_and_advice_follow_the_numbers(changed):
    for low_rank, alike in (([0.5, 0.6], False), ([1.0, 1.1], True)):
        other = changed(none={"rmse": [1.0, 1.1]}, low_rank={"rmse": low_rank})
        assert {c.id: c.holds for c in claims(other)}["alike/rmse"] is alike
    sizes = {"n_members": 30, "n_test": 50, "n_train": {"outd": 50}}
    for miscalibration, expected in ((0.07, True), (0.09, False)):
        scores = {"rmse": [0.12], "miscalibration": [miscalibration], "elppd": [160.0]}
        sized = claims(changed(other=sizes, function_evidence=scores))
        assert {c.id: c.holds for c in sized}["target/outd/function_evidence"] is expected
    alike = {"rmse": [0.2, 0.2], "miscalibration": [0.1, 0.1], "elppd": [100.0, 100.0]}
    rows = dict.fromkeys(RIVALS, alike) | {"vanilla": alike | {"elppd": [150.0, 150.0]}}
    found = advice(changed(function_evidence=alike | {"rmse": [0.1, 0.1]}, **rows).cases)
    assert found["rmse"] == {"better": 3, "worse": 0, "of": 3}
    assert found["miscalibration"] == {"better": 0, "worse": 0, "of": 3}
    assert found["elppd"] == {"better": 0, "worse": 1, "of": 3}
