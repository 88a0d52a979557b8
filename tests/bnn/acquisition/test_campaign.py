"""A campaign asks, is told, and goes on from its file wherever it was killed."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import bnn

BOUNDS = [(0.0, 2.0), (-1.0, 1.0)]
PRIOR = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, (0.8, 0.8)), 2)
MODEL = bnn.ExactPosterior(PRIOR, noise=0.05)


def simulate(X):
    return np.column_stack([np.sin(X[:, 0]), X[:, 0] * X[:, 1]])


def made(path, **options):
    return bnn.Campaign(path, BOUNDS, MODEL, **{"start": 5, "batch": 3} | options)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "campaign.json"


def test_each_round_is_what_choose_takes_from_a_hypercube(file):
    campaign = made(file)
    first = campaign.ask()
    assert first.shape == (5, 2)
    assert np.all((first > [0.0, -1.0]) & (first < [2.0, 1.0]))
    assert len(np.unique(np.floor(2.5 * first[:, 0]))) == 5  # one in each fifth
    campaign.tell(first, simulate(first))
    second = campaign.ask()
    assert campaign.round == 1
    model = MODEL.fit(first, simulate(first))
    candidates = campaign._hypercube(500, 5)
    rows, variances = bnn.choose(model, candidates, 3)
    np.testing.assert_array_equal(second, candidates[rows])
    np.testing.assert_array_equal(campaign.deviations[5:], np.sqrt(variances[1:]))
    assert np.isnan(campaign.deviations[:5]).all()
    assert [len(points) for points in campaign.rounds] == [5, 3]


def test_one_that_is_loaded_after_every_step_asks_for_the_same(tmp_path):
    """As after a kill between any two calls."""
    whole = made(tmp_path / "whole.json")
    while whole.round < 3:
        X = whole.ask()
        whole.tell(X, simulate(X))
    pieces = tmp_path / "pieces.json"
    while made(pieces).round < 3:
        x = made(pieces).ask()[-1:]
        np.testing.assert_array_equal(made(pieces).ask()[-1:], x)
        made(pieces).tell(x, simulate(x))
    assert json.loads(pieces.read_text()) == json.loads((tmp_path / "whole.json").read_text())
    loaded = bnn.Campaign.load(pieces, MODEL, batch=3)
    np.testing.assert_array_equal(loaded.y, simulate(loaded.X))
    np.testing.assert_array_equal(loaded.ask(), whole.ask())


def test_a_crash_while_the_file_is_written_leaves_the_old_one(file, monkeypatch):
    campaign = made(file)
    X = campaign.ask()
    before = file.read_bytes()

    def full(*_, **__):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="no space"):
            campaign.tell(X, simulate(X))
    assert file.read_bytes() == before
    np.testing.assert_array_equal(campaign.ask(), X)  # as the file has them, without results
    campaign.tell(X, simulate(X))
    assert len(campaign.X) == 5


def test_a_run_that_failed_is_not_asked_for_again_and_no_datum(file):
    campaign = made(file)
    X = campaign.ask()
    y = simulate(X)
    y[2] = np.nan
    campaign.tell(X, y)
    again = bnn.Campaign.load(file, MODEL)
    assert len(again.X) == 4
    assert not np.isin(again.ask(), X[2]).all(axis=1).any()
    assert "NaN" not in file.read_text()


def test_it_stops_where_no_run_is_worth_it_and_when_it_is_told_to(file, tmp_path):
    campaign = made(file, options={"least_gain": 0.9})
    X = campaign.ask()
    campaign.tell(X, simulate(X))
    assert campaign.ask().shape == (0, 2)
    assert campaign.stopped
    assert bnn.Campaign.load(file).stopped
    other = made(tmp_path / "other.json")
    X = other.ask()
    other.stop()
    assert other.ask().shape == (0, 2)
    other.tell(X, simulate(X))  # what runs already is still taken
    assert len(other.X) == 5


def test_costs_are_a_function_of_the_inputs_and_a_first_round_can_be_given(file):
    start = np.random.default_rng(0).uniform(0.0, 1.0, (4, 2))
    campaign = made(file, start=start, options={"costs": lambda X: np.exp(5.0 * X[:, 0])})
    np.testing.assert_array_equal(campaign.ask(), start)
    campaign.tell(start, simulate(start))
    assert np.all(campaign.ask()[:, 0] < 1.0)  # the dear half of the box is left out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.tell([[5.0, 5.0]], [[0.0, 0.0]]), r"X\[0\] = \[5.0, 5.0\]: was not asked for"),
        (lambda c: c.tell(c.ask(), np.zeros(3)), r"y has shape \(3,\): must be \(5,\)"),
        (lambda c: c.tell(c.ask(), np.full((5, 2), np.inf)), "y: must be finite, or NaN"),
        (lambda c: made(c.path, batch=0), "batch = 0: must be an integer >= 1"),
        (lambda c: bnn.Campaign(c.path, [(0.0, 1.0)]), "bounds = .*: the campaign in .* has"),
        (lambda c: bnn.Campaign(c.path.with_name("b"), [0.0, 1.0]), "bounds has shape"),
        (lambda c: made(c.path.with_name("c"), start=[[1.0]]), "start has 1 inputs: must be 2"),
        (lambda c: made(c.path, random_state=-1), "random_state = -1"),
    ],
)
def test_a_wrong_argument_is_named(file, call, message):
    with pytest.raises(ValueError, match=message):
        call(made(file))


def test_results_are_told_once_and_have_one_shape(file):
    campaign = made(file)
    X = campaign.ask()
    campaign.tell(X[:2], simulate(X[:2]))
    with pytest.raises(ValueError, match=r"X\[0\] = .* has its results"):
        campaign.tell(X[:1], simulate(X[:1]))
    with pytest.raises(ValueError, match="y has 1 outputs: must be 2"):
        campaign.tell(X[2:], np.zeros(3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no campaign, or damaged"),
        ("[]", "no campaign"),
        ('{"format": "bnn campaign", "bounds": [], "version": 9}', "version 9, this bnn reads 1"),
        ('{"format": "bnn campaign", "bounds": [[0, 2], [-1, 1]], "version": 1}', "damaged"),
    ],
)
def test_a_file_that_is_no_campaign_is_refused(file, text, message):
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(str(file)) + f".*{message}"):
        made(file)


def test_a_missing_file_is_named(file):
    with pytest.raises(FileNotFoundError, match="no such file"):
        bnn.Campaign.load(file)
