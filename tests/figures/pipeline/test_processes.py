"""Trainings side by side: results in order, also after an error."""

import pytest

from figures.pipeline import processes


def test_results_come_in_order_and_after_an_error_the_next_calls_run(monkeypatch):
    monkeypatch.setattr(processes, "cpu_count", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        processes.side_by_side(divmod, [(1, 1), (1, 0)])
    calls = [(2, 5), (3, 4), (5, 2)]
    assert processes.side_by_side(pow, calls) == [32, 81, 25]
