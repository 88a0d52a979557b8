"""Few settings of hyper-parameters represent many."""

import numpy as np
import pytest

from bnn.gp.hyperparameters import representatives


def settings(spread, n_settings=400, n_places=64):
    """Return moments of f under settings whose means scatter by `spread`, and log weights."""
    rng = np.random.default_rng(0)
    places = np.linspace(0.0, 1.0, n_places)
    eta = rng.standard_normal((n_settings, 6))
    waves = np.sin(np.outer(np.arange(1.0, 7.0), 5.0 * places))
    means = 30.0 + spread * eta @ waves
    variances = np.exp(spread * eta[:, :1]) * (1.0 + places)
    return np.hstack([means, means**2 + variances]), 0.3 * eta[:, 1]


def mean_and_deviation(moments, weights):
    mean, square = np.split(weights @ moments, 2)
    return mean, np.sqrt(square - mean**2)


@pytest.mark.parametrize("spread", [0.3, 0.6])
def test_mean_and_deviation_are_those_of_all_settings(spread):
    """Within a tenth of a deviation, although f² hardly depends on the deviation far from zero."""
    moments, logs = settings(spread)
    mean, deviation = mean_and_deviation(moments, np.exp(logs) / np.exp(logs).sum())
    numbers, weights = representatives(moments, logs, 16)
    assert len(np.unique(numbers)) == len(numbers) <= 16
    assert weights.min() > 0.0
    assert weights.sum() == pytest.approx(1.0)
    few_mean, few_deviation = mean_and_deviation(moments[numbers], weights)
    errors = np.maximum(np.abs(few_mean - mean), np.abs(few_deviation - deviation)) / deviation
    assert np.sqrt(np.mean(errors**2)) < 0.1


def test_no_more_than_there_are_are_chosen():
    """Two settings, of which one has hardly any weight, and a limit of one."""
    moments, _ = settings(0.5, n_settings=2)
    numbers, weights = representatives(moments, np.array([0.0, -30.0]), 16)
    assert (numbers.tolist(), weights.tolist()) == ([0], [1.0])
    assert len(representatives(moments, np.zeros(2), 1)[0]) == 1
