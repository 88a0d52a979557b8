"""A bar with the time left on a terminal, few plain lines elsewhere, nothing when silent."""

import io

import pytest

from fe_data.dataset.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def count_to(total, stream, done=0, **options):
    with Progress(total, done, stream=stream, **options) as progress:
        for _ in range(total - done):
            progress.advance()
    return stream.getvalue()


def test_a_terminal_shows_a_bar_with_the_time_left():
    shown = count_to(50, Terminal())
    assert "50/50" in shown
    assert "cell/s" in shown or "s/cell" in shown
    assert "<00:00" in shown


@pytest.mark.parametrize("total", [1, 7, 100, 5000])
def test_a_log_gets_at_most_ten_lines_and_always_the_last(total):
    lines = count_to(total, io.StringIO()).splitlines()
    assert 1 <= len(lines) <= 10
    assert lines[-1].startswith(f"{total}/{total} cells, ")


def test_time_left_counts_this_run_only(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("fe_data.dataset.progress.time.monotonic", lambda: float(next(clock)))
    stream = io.StringIO()
    with Progress(100, 90, stream=stream) as progress:
        progress.last_time = -100.0
        progress.advance()  # the clock reads 1, 2 (line due), 3 (line)
    assert stream.getvalue() == "91/100 cells, 3.00 s each, 27 s left\n"


def test_silent_is_silent():
    assert count_to(5, Terminal(), silent=True) == ""
