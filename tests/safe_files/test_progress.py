"""Long calls show how far they are: a bar on a terminal after 2 s, lines in a log after 30 s."""

import numpy as np
import pytest

from safe_files.progress import counted, progress_bar, titled


def run(monkeypatch, title, seconds, steps, terminal):
    """Take steps of some seconds, by a clock that the bar reads."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with progress_bar(steps, title, "step") as bar:
        for _ in range(steps):
            now[0] += seconds
            bar.update()


@pytest.mark.parametrize(
    ("progress", "terminal", "seconds", "is_shown"),
    [
        (None, False, 1.0, False),
        (None, False, 5.0, True),
        (None, True, 0.05, False),
        (None, True, 0.2, True),
        (False, False, 5.0, False),
        (True, False, 1.0, True),
    ],
)
def test_long_and_requested_calls_of_20_steps_show_progress(
    progress, terminal, seconds, is_shown, capsys, monkeypatch
):
    run(monkeypatch, titled("training", progress), seconds, 20, terminal)
    printed = capsys.readouterr().err
    assert ("training" in printed) == is_shown
    assert terminal or "\r" not in printed


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (9.0, []),
        (20.0, ["RVE: 2 of 3 steps after 00:40, 00:20 left"]),
        (
            40.0,
            [
                "RVE: 1 of 3 steps after 00:40, 01:20 left",
                "RVE: 2 of 3 steps after 01:20, 00:40 left",
            ],
        ),
    ],
)
def test_a_log_of_a_long_call_has_a_line_every_30_seconds(seconds, expected, capsys, monkeypatch):
    run(monkeypatch, "RVE", seconds, 3, False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[: len(expected)] == expected
    assert len(lines) <= len(expected) + 1  # and one at the end


def test_items_without_a_length_are_only_counted(capsys, monkeypatch):
    now = iter(np.arange(0.0, 1000.0, 20.0))
    monkeypatch.setattr("tqdm.std.time", lambda: float(next(now)))
    assert list(counted(iter("abc"), "file", "line")) == [*"abc"]
    assert "file: 2 lines after " in capsys.readouterr().err
