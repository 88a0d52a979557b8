"""Spreads over repeated trainings, paired comparisons and metrics files."""

import json

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.stats import ttest_rel

from figures.scores import (
    Interval,
    all_hold,
    is_below,
    is_below_clearly,
    is_within,
    over_repeats,
    write_json,
)


def test_a_comparison_needs_more_than_its_scatter_or_a_single_repeat():
    low = Interval((1.0, 1.1, 0.9))
    high = Interval((2.0, 2.1, 1.9))
    assert is_below(low, high) is True
    assert is_below(high, low) is False
    assert is_below(Interval((1.0, 2.0, 3.0)), Interval((2.0, 1.0, 3.1))) is None
    assert Interval((1.0, 3.0)).std == pytest.approx(np.sqrt(2))
    single = Interval((-2.0,))
    assert (single.std, single.half_width, single.sign) == (None, None, -1)
    for answers, together in (([True, True], True), ([True, None], None), ([None, False], False)):
        assert all_hold(answers) is together


def test_the_interval_of_a_difference_is_that_of_the_paired_t_test():
    """Twenty pairs with a common scatter much larger than their difference."""
    rng = np.random.default_rng(0)
    common = 10.0 * rng.standard_normal(20)
    a = common + rng.standard_normal(20)
    b = common + 0.4 + rng.standard_normal(20)
    for shift in (0.0, 0.5, 2.0):
        difference = Interval(tuple(a)) - Interval(tuple(b + shift))
        expected = ttest_rel(a, b + shift)
        low, high = expected.confidence_interval(0.95)
        assert difference.mean - difference.half_width == pytest.approx(low)
        assert difference.mean + difference.half_width == pytest.approx(high)
        assert bool(difference.sign) == (expected.pvalue < 0.05)


def test_a_metrics_file_gives_the_same_intervals_back(tmp_path):
    table = over_repeats([{"a": {"rmse": i**2}} for i in range(3)])
    for scatter in ("std", "half_width"):
        write_json(tmp_path / "m.json", {"rows": table, "words": ["x"]}, scatter)
        content = json.loads((tmp_path / "m.json").read_text())
        assert set(content["rows"]["a"]["rmse"]) == {"mean", scatter, "values"}
        read = TypeAdapter(dict[str, dict[str, Interval]]).validate_python(content["rows"])
        assert read == table
    with pytest.raises(ValueError, match=r"n\.json: rows: rmse = nan is not finite"):
        write_json(tmp_path / "n.json", {"rows": {"rmse": float("nan")}})
    assert not (tmp_path / "n.json").exists()


def test_a_difference_of_no_size_is_none():
    """Open are differences that may be either; one that is surely small is no difference."""
    other = Interval((2.0, 2.0, 2.0))
    assert is_below_clearly(Interval((1.99, 2.01, 2.0)), other) is False
    assert is_below_clearly(Interval((1.0, 2.6, 1.8)), other) is None
    assert is_below_clearly(Interval((1.0, 1.1, 0.9)), other) is True
    assert is_within(Interval((0.01, -0.01, 0.0)), 0.1) is True
    assert is_within(Interval((0.5, 0.51, 0.49)), 0.1) is False
    assert is_within(Interval((-0.2, 0.2, 0.1)), 0.1) is None
