"""Trainings side by side: results in order, and seeds of their own."""

import pytest

from figures.pipeline import processes


def test_results_come_in_order_and_after_an_error_the_next_calls_run(monkeypatch):
    monkeypatch.setattr(processes, "cpu_count", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        processes.side_by_side(divmod, [(1, 1), (1, 0)])
    calls = [(2, 5), (3, 4), (5, 2)]
    assert processes.side_by_side(pow, calls) == [32, 81, 25]


def test_seeds_of_repeats_differ_and_do_not_depend_on_their_number():
    assert len(set(processes.seeds_of(1, 50))) == 50
    assert processes.seeds_of(1, 3) == processes.seeds_of(1, 50)[:3]
