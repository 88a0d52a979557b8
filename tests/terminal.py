"""A terminal on which every step of a progress bar is shown."""


def slow_terminal(monkeypatch):
    """Make standard error a terminal, where each look at the clock is a second later.

    A test calls it, since a fixture would change the standard error of the set-up.
    """
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    seconds = iter(range(100_000))
    monkeypatch.setattr("tqdm.std.time", lambda: float(next(seconds)))
