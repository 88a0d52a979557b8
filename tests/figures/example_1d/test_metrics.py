"""Numbers and claims of the one-dimensional example."""

import pytest

from figures.example_1d import ensembles as example_1d
from figures.example_1d.metrics import claims, row, rows


def test_exact_posterior_has_no_distance_from_itself():
    exact = example_1d.exact_posterior(1.0)
    numbers = row("anchored 1", {"anchored 1": exact, "exact 1": exact}).to_exact
    assert max(numbers.values()) == pytest.approx(0, abs=1e-5)


def test_every_method_of_the_example_is_summed_up(repeats):
    table = rows(repeats)
    assert len(table) == 11
    assert len(table["vanilla"].rmse.values) == 2
    assert len(claims(table)) == 15
