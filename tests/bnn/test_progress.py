"""What a fitted estimator takes time for says how far it is, on a terminal and nowhere else."""

import re

import numpy as np
import pytest

import bnn
from bnn._progress import progress_bar, titled
from tests.terminal import slow_terminal

rng = np.random.default_rng(0)
X = rng.uniform(size=(40, 2))
Y = np.column_stack([np.sin(5.0 * X[:, 0]), np.cos(4.0 * X[:, 1])])
X_NEW = rng.uniform(size=(30, 2))
PROCESS = bnn.GaussianProcessPrior(0.0, [bnn.RBF(1.0, 0.5), bnn.Matern32(1.0, 0.4)], 2)
# Calls, and the bars of a process with two outputs, 40 data and 10 points at a time.
CALLS = [
    (lambda model: model.predict(X_NEW, return_std=True), {"predictions": 3}),
    (lambda model: model.elppd(X_NEW, X_NEW), {"density": 3}),
    (lambda model: model.predict_gradient(X_NEW), {"gradients": 6, "predictions": 3}),
    (lambda model: model.sample(X_NEW, 2), {"joint covariance": 2, "realisations": 2}),
    (lambda model: bnn.select_runs(model, X_NEW, 2), {"covariances": 2, "choosing": 2}),
    (lambda model: model.fit(X, Y), {"covariance of the data": 4, "conditioning": 2}),
]


def ended(printed: str) -> set[tuple[str, int]]:
    """Title and number of steps of each bar that was shown to its end."""
    found = re.findall(r"(?:^|[\r\nA])([a-z ]+): 100%[^\r]*?\| (\d+)/\2 ", printed)
    return {(title, int(steps)) for title, steps in found}


@pytest.mark.parametrize(("call", "bars"), CALLS)
def test_an_exact_posterior_shows_its_steps(call, bars, capsys, monkeypatch):
    monkeypatch.setattr("bnn.gp.conditioning.ENTRIES", 400)
    monkeypatch.setattr("bnn.gp.conditioning.CACHED", 400)
    monkeypatch.setattr("bnn.gp.regressor.GRADIENT_ENTRIES", 400)
    model = bnn.GPRegressor(PROCESS, noise=0.1).fit(X, Y)
    call(model)
    assert capsys.readouterr().err == ""
    slow_terminal(monkeypatch)
    call(model)
    assert set(bars.items()) <= ended(capsys.readouterr().err)


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
