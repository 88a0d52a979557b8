"""What a fitted estimator takes time for says how far it is, on a terminal and nowhere else."""

import numpy as np
import pytest

from bnn._progress import progress_bar, titled


@pytest.mark.parametrize(
    ("progress", "terminal", "seconds", "shown"),
    [
        (None, False, 1.0, False),
        (None, False, 5.0, True),
        (False, False, 5.0, False),
        (True, False, 1.0, True),
        (None, True, 0.05, False),
        (None, True, 0.2, True),
    ],
)
def test_bars_show_in_long_calls_or_where_they_are_asked_for(
    progress, terminal, seconds, shown, capsys, monkeypatch
):
    """Of 20 steps: on a terminal after two seconds, in a log as lines in calls of a minute."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    now = iter(np.arange(0.0, 1000.0, seconds))
    monkeypatch.setattr("tqdm.std.time", lambda: float(next(now)))
    with progress_bar(20, titled("training", progress), "epoch") as bar:
        for _ in range(20):
            bar.update()
    printed = capsys.readouterr().err
    assert ("training" in printed) == shown
    assert terminal or "\r" not in printed
