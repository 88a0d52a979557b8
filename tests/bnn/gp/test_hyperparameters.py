"""Few settings of hyperparameters represent many."""

import numpy as np
import pytest

from bnn.gp import hyperparameters
from bnn.gp.hyperparameters import check_points, components_for, representatives


def settings(spread, n_settings=400, n_places=64):
    """Return moments of f under settings whose means scatter by `spread`, and log weights."""
    rng = np.random.default_rng(0)
    places = np.linspace(0.0, 1.0, n_places)
    eta = rng.standard_normal((n_settings, 6))
    waves = np.sin(np.outer(np.arange(1.0, 7.0), 5.0 * places))
    means = 30.0 + spread * eta @ waves
    variances = np.exp(spread * eta[:, :1]) * (1.0 + places)
    return np.hstack([means, variances]), 0.3 * eta[:, 1]


def mean_and_deviation(moments, weights):
    means, variances = np.split(moments, 2, axis=1)
    mean = weights @ means
    return mean, np.sqrt(weights @ (variances + (means - mean) ** 2))


@pytest.mark.parametrize(("most", "error"), [(16, 0.02), (8, 0.1), (4, 0.35)])
@pytest.mark.parametrize("spread", [0.3, 0.6])
def test_mean_and_deviation_are_those_of_all_settings(spread, most, error):
    """Within a part of a deviation, although f² hardly depends on the deviation far from zero."""
    moments, logs = settings(spread)
    mean, deviation = mean_and_deviation(moments, np.exp(logs) / np.exp(logs).sum())
    numbers, weights = representatives(moments, logs, most)
    assert len(np.unique(numbers)) == len(numbers) <= most
    assert weights.min() > 0.0
    assert weights.sum() == pytest.approx(1.0)
    few_mean, few_deviation = mean_and_deviation(moments[numbers], weights)
    errors = np.maximum(np.abs(few_mean - mean), np.abs(few_deviation - deviation)) / deviation
    assert np.sqrt(np.mean(errors**2)) < error


@pytest.mark.parametrize("most", [16, 4])
@pytest.mark.parametrize("spread", [0.03, 0.3, 0.6])
def test_a_bound_rules_out_no_better_choice(monkeypatch, spread, most):
    """With an infinite margin all misfits are computed."""
    moments, logs = settings(spread)
    chosen = representatives(moments, logs, most)
    monkeypatch.setattr(hyperparameters, "ROUNDING", np.inf)
    for few, every in zip(chosen, representatives(moments, logs, most), strict=True):
        np.testing.assert_array_equal(few, every)


def test_no_more_than_there_are_are_chosen():
    """Two settings, of which one has hardly any weight, and a limit of one."""
    moments, _ = settings(0.5, n_settings=2)
    numbers, weights = representatives(moments, np.array([0.0, -30.0]), 16)
    assert (numbers.tolist(), weights.tolist()) == ([0], [1.0])
    assert len(representatives(moments, np.zeros(2), 1)[0]) == 1


def test_settings_without_weight_are_not_chosen():
    """Draws far from all others would otherwise stand for them: their moments are extreme."""
    moments, logs = settings(0.6)
    numbers, _ = representatives(moments, logs, 4)
    assert np.all(logs[numbers] >= np.sort(logs)[-150])


def test_many_data_need_few_components():
    """16 up to 187 data, 10 for 300, and never fewer than 4."""
    numbers = [components_for(n) for n in (2, 187, 300, 750, 5000)]
    assert numbers == [16, 16, 10, 4, 4]


@pytest.mark.parametrize(("around", "farthest"), [(1.0, 1.0), (1.25, 5.0)])
def test_places_beyond_the_data_count_unless_functions_may_be_undefined_there(around, farthest):
    """Two ranges beyond the data an input is five times as far from their middle as its edge."""
    away = np.abs(check_points(3, around) - 0.5) / 0.5
    assert away.max() == pytest.approx(farthest, rel=0.05)
