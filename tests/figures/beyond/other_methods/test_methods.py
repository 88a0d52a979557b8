"""Every method in small: each runs, and repeats are paired."""

from dataclasses import asdict

import numpy as np
import pytest

from figures.beyond.other_methods.methods import FUNCTION_LABELS, run_noise
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
    assert list(results.spans) == ["3", "6"]
    seen = [row.gradient_in_span.values for row in results.spans.values()]
    assert np.all(np.array(seen[1]) > np.array(seen[0]))


@pytest.mark.slow
def test_noise_study_runs_under_each_covariance(problems, settings):
    problem = problems["outd"]
    tasks = problem.under_noise(np.diag(problem.noise**2) + 0.001)
    found = run_noise(tasks, settings, seed=1)
    assert list(found) == ["paper", "replicates_diagonal", "replicates"]
    assert all(set(rows) == set(found["paper"]) for rows in found.values())
    assert tasks["paper"].exact == problem.exact
