"""Calls that take more than two seconds show how far they are, on a terminal and nowhere else."""

import pytest

from fe_data.progress import progress_bar


@pytest.mark.parametrize(("seconds", "is_shown"), [(0.3, False), (0.7, True)])
def test_a_bar_shows_after_two_seconds(seconds, is_shown, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with progress_bar(3, "RVE", "step") as bar:
        for _ in range(3):
            now[0] += seconds
            bar.update()
    assert ("RVE" in capsys.readouterr().err) == is_shown
