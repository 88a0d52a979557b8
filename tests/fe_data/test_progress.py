"""Long calls show how far they are: on a terminal after 2 s, in a log every 30 s."""

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


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (9.0, []),
        (20.0, ["RVE: 2 of 3 steps after 00:40"]),
        (40.0, [f"RVE: {n} of 3 steps after {t}" for n, t in ((1, "00:40"), (2, "01:20"))]),
    ],
)
def test_a_log_of_a_long_call_has_a_line_every_30_seconds(seconds, expected, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with progress_bar(3, "RVE", "step") as bar:
        for _ in range(3):
            now[0] += seconds
            bar.update()
    lines = capsys.readouterr().err.splitlines()
    assert lines[: len(expected)] == expected
    assert len(lines) <= len(expected) + 1  # and one at the end
