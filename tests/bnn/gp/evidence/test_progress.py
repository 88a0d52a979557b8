"""Searches by the evidence say how far they are, on a terminal and nowhere else."""

import re

import numpy as np
import pytest

import bnn
from tests.terminal import slow_terminal

X = np.random.default_rng(0).uniform(size=(15, 2))
Y = np.column_stack([np.sin(5.0 * X[:, 0]) + X[:, 1], np.cos(4.0 * X[:, 1])])
TAILS = bnn.StudentNoise(0.05)
pytestmark = pytest.mark.usefixtures("few_draws")
SEARCHES = {
    "prior": lambda y: bnn.evidence.fit_prior(X, y, 0.05),
    "heavy tails": lambda y: bnn.evidence.fit_prior(X, y, TAILS, estimate="map"),
    "noise": lambda y: bnn.evidence.fit_noise(X, y),
    "noise by input": lambda y: bnn.evidence.fit_heteroscedastic_noise(X, y),
    "prior and noise": lambda y: bnn.evidence.fit_kernel_average(X, y),
}


@pytest.mark.parametrize("title", SEARCHES)
@pytest.mark.parametrize("n_out", [1, 2])
def test_a_search_shows_its_steps_on_a_terminal_up_to_the_last(title, n_out, capsys, monkeypatch):
    slow_terminal(monkeypatch)
    SEARCHES[title](Y[:, :n_out])
    printed = capsys.readouterr().err
    shown = re.findall(rf"(?:^|\r){title}: +\d+%.*?(\d+)/(\d+) ", printed)
    (total,) = {int(end) for _, end in shown}
    done = [int(number) for number, _ in shown]
    assert total >= 6 * n_out
    assert done[-1] == total
    assert not re.search(rf"{title}: \d+step", printed)  # beyond the total
    assert len(set(done)) >= total - 3  # none is shown in the first two seconds


@pytest.mark.parametrize("title", SEARCHES)
def test_elsewhere_a_search_is_silent(title, capsys):
    SEARCHES[title](Y[:, :1])
    assert capsys.readouterr().err == ""
