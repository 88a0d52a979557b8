"""A campaign asks, is told, and goes on from its file wherever it was killed."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import bnn
from bnn.acquisition import campaign_file

BOUNDS = [[0.0, 2.0], [-1.0, 1.0]]
PRIOR = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, (0.8, 0.8)), 2)
MODEL = bnn.GPRegressor(PRIOR, noise=0.05)


def simulate(X):
    return np.column_stack([np.sin(X[:, 0]), X[:, 0] * X[:, 1]])


def made(path, **options):
    return bnn.Campaign(path, BOUNDS, MODEL, **{"n_initial": 5, "batch_size": 3} | options)


def begun(path, **options):
    """A campaign and what it asks for first."""
    campaign = made(path, **options)
    return campaign, campaign.ask()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "campaign.json"


def test_each_round_is_what_choose_takes_from_a_hypercube(file):
    campaign, first = begun(file)
    assert first.shape == (5, 2)
    assert np.all((first > [0.0, -1.0]) & (first < [2.0, 1.0]))
    assert len(np.unique(np.floor(2.5 * first[:, 0]))) == 5  # one in each fifth
    campaign.tell(first, simulate(first))
    second = campaign.ask()
    assert campaign.round == 1
    model = MODEL.fit(first, simulate(first))
    candidates = campaign._hypercube(500, 5)
    rows, variances = bnn.select_runs(model, candidates, 3)
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
    loaded = bnn.Campaign.load(pieces, MODEL, batch_size=3)
    np.testing.assert_array_equal(loaded.y, simulate(loaded.X))
    np.testing.assert_array_equal(loaded.ask(), whole.ask())


def test_a_round_has_fewer_runs_if_fewer_satisfy_the_limits(file):
    """f(x) = x, and about 3 of 200 candidates lie between 0.5 and 0.515."""
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.3)), noise=0.01)
    limits = {"output_bounds": (0.5, 0.515), "min_feasibility": 0.5}
    sizes = {"n_initial": 6, "batch_size": 5, "n_candidates": 200}
    campaign = bnn.Campaign(file, [(0.0, 1.0)], model, select_options=limits, **sizes)
    first = campaign.ask()
    campaign.tell(first, first[:, 0])
    second = campaign.ask()
    assert 1 <= len(second) < 5
    np.testing.assert_allclose(second, 0.5, atol=0.03)


def test_a_crash_while_the_file_is_written_leaves_the_old_one(file, monkeypatch):
    campaign, X = begun(file)
    before = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.delattr(os, "fsync")
        with pytest.raises(AttributeError):
            campaign.tell(X, simulate(X))
    assert file.read_bytes() == before
    np.testing.assert_array_equal(campaign.ask(), X)  # as the file has them, without results


def test_a_run_that_failed_is_not_asked_for_again_and_no_datum(file):
    campaign, X = begun(file)
    y = simulate(X)
    y[2] = np.nan
    campaign.tell(X, y)
    again = bnn.Campaign.load(file, MODEL)
    assert len(again.X) == 4
    assert not np.isin(again.ask(), X[2]).all(axis=1).any()
    assert "NaN" not in file.read_text()


def test_a_run_with_some_results_is_data_for_these(file):
    campaign, X = begun(file)
    y = simulate(X)
    y[2, 0] = y[0, 1] = np.nan
    campaign.tell(X, y)
    again = bnn.Campaign.load(file, MODEL, batch_size=3)
    np.testing.assert_array_equal(again.y, y)
    assert not len(again.failed)
    new = np.array([[0.5, 0.5], [1.5, -0.5]])
    np.testing.assert_array_equal(again.fit().predict(new), MODEL.fit(X, y).predict(new))
    assert again.ask().shape == (3, 2)
    assert np.isfinite(again.deviations[5:]).all()


def test_a_first_round_of_failures_leads_to_another_hypercube(file):
    campaign, first = begun(file)
    campaign.tell(first, np.full((5, 2), np.nan))
    np.testing.assert_array_equal(campaign.failed, first)
    second = campaign.ask()
    assert campaign.round == 1
    assert len(np.unique(np.floor(2.5 * second[:, 0]))) == 5  # one in each fifth
    assert not np.isin(second, first).any()


def test_runs_that_were_not_asked_for_are_data(file):
    campaign, X = begun(file)
    others = np.column_stack([X[:2, 0], [0.5, -0.5]])  # with an input of runs that were
    with pytest.warns(UserWarning, match="counts as another run"):
        campaign.tell(others, simulate(others))
    # The inputs of a run that was asked for may come back from a text.
    campaign.tell(np.round(X, 8), simulate(X))
    again = bnn.Campaign.load(file, MODEL)
    assert len(again.X) == 7
    assert again.round == 1
    with pytest.raises(ValueError, match="already has its results"):
        again.tell(others, simulate(others))


def test_results_that_are_told_while_a_round_is_chosen_are_part_of_it(file, monkeypatch):
    """`ask` must not return nothing, which would end the loop of a script."""
    campaign, X = begun(file)
    campaign.tell(X, simulate(X))
    other = made(file)
    extra = np.array([[1.0, 0.5]])
    chosen = bnn.Campaign._chosen

    def while_another_tells(self):
        candidate = chosen(self)
        if len(other.X) == 5:
            other.tell(extra, simulate(extra))
        return candidate

    monkeypatch.setattr(bnn.Campaign, "_chosen", while_another_tells)
    asked = campaign.ask()
    model = MODEL.fit(np.vstack([X, extra]), simulate(np.vstack([X, extra])))
    candidates = campaign._hypercube(500, 6)
    np.testing.assert_array_equal(asked, candidates[bnn.select_runs(model, candidates, 3)[0]])


def share_of_failures(path, seed, fails):
    """The share of runs that fail after the first two rounds."""
    campaign = made(path, n_initial=10, batch_size=5, random_state=seed)
    distances = []
    while campaign.round < 8:
        X = campaign.ask()
        failed = fails(X)
        campaign.tell(X, np.where(failed[:, None], np.nan, simulate(X)))
        distances.append(failed)
    return np.concatenate(distances[2:]).mean()


# Each is about 40 % of the domain.
FAILING = {
    "disc": lambda X: (X[:, 0] - 1.0) ** 2 + X[:, 1] ** 2 < 0.5,
    "band": lambda X: np.abs(X[:, 0] - 1.0 - X[:, 1]) < 0.45,
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", FAILING)
def test_few_runs_are_made_where_they_fail(tmp_path, shape):
    points = np.random.default_rng(0).uniform([0.0, -1.0], [2.0, 1.0], (10_000, 2))
    assert FAILING[shape](points).mean() == pytest.approx(0.4, abs=0.02)
    shares = [share_of_failures(tmp_path / f"{s}.json", s, FAILING[shape]) for s in range(2)]
    assert np.mean(shares) < 0.25


def test_it_stops_where_no_run_is_worth_it_and_when_it_is_told_to(file, tmp_path):
    campaign, X = begun(file, select_options={"min_gain": 0.9})
    campaign.tell(X, simulate(X))
    assert campaign.ask().shape == (0, 2)
    assert campaign.stopped
    assert bnn.Campaign.load(file).stopped
    other, X = begun(tmp_path / "other.json")
    other.stop()
    assert other.ask().shape == (0, 2)
    other.tell(X, simulate(X))  # what runs already is still taken
    assert len(other.X) == 5


def test_costs_are_a_function_of_the_inputs_and_a_first_round_can_be_given(file):
    start = np.random.default_rng(0).uniform(0.0, 1.0, (4, 2))
    campaign = made(
        file, n_initial=start, select_options={"costs": lambda X: np.exp(5.0 * X[:, 0])}
    )
    np.testing.assert_array_equal(campaign.ask(), start)
    campaign.tell(start, simulate(start))
    assert np.all(campaign.ask()[:, 0] < 1.0)  # the dear half of the box is left out


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.tell([[5.0, 0.0]], [[0.0, 0.0]]), r"X\[0, 0\] = 5: must be from 0 to 2"),
        (lambda c: c.tell([[1.0]], [[0.0, 0.0]]), "X has 1 inputs: must be 2"),
        (lambda c: c.tell(c.ask(), np.zeros(3)), r"y has shape \(3,\): must be \(5,\)"),
        (lambda c: bnn.Campaign(c.path, [(0.0, 1.0)]), "bounds = .*: the campaign in .* has"),
        (lambda c: made(c.path.with_name("c"), n_initial=[[5.0, 0.0]]), r"n_initial\[0, 0\] = 5"),
    ],
)
def test_a_wrong_argument_is_named(file, call, message):
    with pytest.raises(ValueError, match=message):
        call(made(file))


def run(**changed):
    return {"round": 0, "inputs": [0.5, 0.5], "deviation": None, "outputs": None} | changed


def written(*runs, **changed):
    """The text of a campaign."""
    head = {"format": "bnn campaign", "version": 1, "bounds": BOUNDS, "stopped": False}
    return json.dumps(head | {"runs": runs} | changed)


DAMAGED = {
    "{": "must be JSON",
    "[" * 100_000: "nested too deep",
    '{"format": "bnn campaign", "bounds": [], "version": 9}': "version 9, this bnn reads 1 to 2",
    written(run(), version=2, steps=[-1.0, 0.0]): r"steps\[0\] = -1",
    written(run(), version=2, candidates=[[5.0, 0.0]]): r"candidates\[0, 0\] = 5",
    written(run(), stopped="no"): "stopped = 'no'",
    written(run(), bounds=[[2.0, 0.0], [-1.0, 1.0]]): "bounds of column 0",
    written(run(), runs="ab"): "runs: must be a list",
    written(run(more=1)): "must have deviation, inputs, outputs, round",
    written(run(outputs=[1.0]), run(round=2)): r"runs\[1\] has the round 2 after round 0",
    written(run(inputs=[np.nan, 0.0])): "NaN is not a finite number",
    written(run(inputs=[5.0, 0.0])): r"inputs\[0, 0\] = 5",
    written(run(outputs=[10**400])): "an integer of more than 18 digits",
    written(run(outputs=[1e200])): "outputs = ",
    written(run(outputs=[1.0]), run(outputs=[1.0, 2.0])): "runs have 1 and 2 outputs",
    written(run(deviation=-1.0)): "deviation = -1.0",
}


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_file_that_is_no_campaign_is_refused(file, text):
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"{re.escape(str(file))}.*{DAMAGED[text]}"):
        bnn.Campaign.load(file)


def test_what_is_no_regular_file_or_too_large_is_refused(file, monkeypatch):
    with pytest.raises(FileNotFoundError, match="no such file"):
        bnn.Campaign.load(file)
    os.mkfifo(file)
    for path in (file, Path("/dev/zero"), file.parent):
        with pytest.raises(ValueError, match=f"{path} is .*: a regular file is needed"):
            made(path)
    monkeypatch.setattr(campaign_file, "MOST_BYTES", 99)
    with pytest.raises(ValueError, match="bytes: at most 99 are read"):
        made(file.with_name("small.json"))


def test_scripts_that_share_a_file_lose_no_results(file):
    """One asks and tells while the other, by a link, still knows the file as it was."""
    link = file.with_name("link.json")
    link.symlink_to(file)
    first, second = made(link), made(file)
    X = first.ask()
    first.tell(X[:2], simulate(X[:2]))
    with pytest.raises(ValueError, match="y has 1 outputs: must be 2"):
        second.tell(X[2:], np.zeros(3))
    second.tell(X[2:], simulate(X[2:]))
    np.testing.assert_array_equal(bnn.Campaign.load(file).y, simulate(X))
    asked = first.ask()
    np.testing.assert_array_equal(second.ask(), asked)  # the round that is there, no other one
    first.tell(asked, simulate(asked))
    with pytest.raises(ValueError, match="already has its results"):
        second.tell(asked, simulate(asked))
    second.stop()
    assert first.ask().shape == (0, 2)
    assert bnn.Campaign.load(file).round == 2
    assert link.is_symlink()


@pytest.mark.usefixtures("one_family")
def test_a_weighted_output_that_is_constant_so_far_gets_another_hypercube(file):
    options = {"select_options": {"output_weights": [0.0, 1.0]}, "n_initial": 8}
    campaign = bnn.Campaign(file, BOUNDS, bnn.GPRegressor(), **options)
    first = campaign.ask()
    campaign.tell(first, np.column_stack([np.sin(first[:, 0]), np.full(8, 3.0)]))
    second = campaign.ask()
    np.testing.assert_array_equal(second, campaign._hypercube(8, 8))


def test_rounded_inputs_answer_the_nearest_waiting_runs_and_are_stored(tmp_path):
    campaign = bnn.Campaign(tmp_path / "a.json", [(0.0, 1.0), (5.0, 9.0)], n_initial=4)
    asked = campaign.ask()
    used = np.clip(asked + np.array([4e-3, 0.02]), [0.0, 5.0], [1.0, 9.0])
    campaign.tell(used[::-1], used[::-1, 0])
    assert campaign.round == 1
    np.testing.assert_array_equal(bnn.Campaign.load(tmp_path / "a.json").X, used)


def test_of_two_results_near_a_waiting_run_the_nearer_belongs_to_it(tmp_path):
    campaign = bnn.Campaign(tmp_path / "a.json", [(0.0, 1.0)], n_initial=[[0.5], [0.505]])
    campaign.tell([[0.504], [0.501]], [4.0, 1.0])
    np.testing.assert_array_equal(campaign.X, [[0.501], [0.504]])
    np.testing.assert_array_equal(campaign.y, [[1.0], [4.0]])
    assert campaign.round == 1


def test_results_told_again_do_not_answer_a_run_nearby(tmp_path):
    campaign = bnn.Campaign(tmp_path / "a.json", [(0.0, 1.0)], n_initial=[[0.5], [0.505]])
    campaign.tell([[0.501]], [1.0])
    with pytest.raises(ValueError, match="already has its results"):
        campaign.tell([[0.501]], [1.0])


def test_a_result_of_no_waiting_run_warns_and_says_what_waits(tmp_path):
    campaign = bnn.Campaign(tmp_path / "a.json", [(0.0, 1.0)], n_initial=[[0.5], [0.7]])
    with pytest.warns(UserWarning, match=r"0\.6.*2 of 3 runs wait.*0\.5"):
        campaign.tell([[0.6]], [1.0])
    np.testing.assert_array_equal(campaign.ask(), [[0.5], [0.7]])


def test_a_failed_run_does_not_fix_the_number_of_outputs(tmp_path):
    campaign = bnn.Campaign(tmp_path / "a.json", [(0.0, 1.0)], n_initial=[[0.1], [0.5], [0.9]])
    campaign.tell([[0.1]], [np.nan])
    campaign.tell([[0.5]], [[1.0, 2.0]])
    campaign.tell([[0.9]], [np.nan])
    again = bnn.Campaign.load(tmp_path / "a.json")
    np.testing.assert_array_equal(again.y, [[1.0, 2.0]])
    np.testing.assert_array_equal(again.failed, [[0.1], [0.9]])
    with pytest.raises(ValueError, match="1 outputs: must be 2"):
        again.tell([[0.3]], [1.0])


PLIES = [(1.0, 7.0), (1.0, 3.0)]
PLY_MODEL = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, (3.0, 2.0))), noise=0.05)
ONE_INPUT = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5)), noise=0.01)
GRID = np.array([[a, b] for a in range(1, 8) for b in range(1, 4)], dtype=float)
SUBSET = GRID[[0, 3, 4, 8, 11, 17, 20]]


def distinct(points):
    return len(np.unique(points, axis=0)) == len(points)


# Options, all possible runs, and whether an input of the simulator fails.
FINITE = {
    "whole numbers": ({"steps": [1, 1]}, GRID, None),
    "steps of two": ({"steps": [2.0, 2.0]}, GRID[(GRID % 2 == 1).all(axis=1)], None),
    "candidates": ({"candidates": SUBSET}, SUBSET, None),
    "few candidates at a time": ({"steps": [1, 1], "n_candidates": 4}, GRID, None),
    "failed runs": ({"steps": [1, 1]}, GRID, 5.0),
}


@pytest.mark.parametrize("case", FINITE)
def test_a_campaign_makes_each_possible_run_once_and_ends(file, case):
    options, possible, failing = FINITE[case]
    rounds = 0
    bnn.Campaign(file, PLIES, PLY_MODEL, n_initial=6, batch_size=4, **options)
    while len(X := (campaign := bnn.Campaign.load(file, PLY_MODEL, batch_size=4)).ask()):
        assert "runs wait" in campaign.state
        y = np.where(X[:, 0] == failing, np.nan, X.sum(axis=1))
        campaign.tell(np.clip(X + 2e-3, 1.0, [7.0, 3.0]), y)
        rounds += 1
        assert rounds < 12
    made = np.round(np.vstack([campaign.X, campaign.failed]))
    assert distinct(made)
    np.testing.assert_array_equal(np.unique(made, axis=0), possible)
    again = bnn.Campaign.load(file)
    assert again.stopped
    assert again.state == "ended: all possible runs have been made"
    assert "all possible runs" in repr(again)


def test_told_inputs_belong_to_the_run_of_the_same_step(tmp_path):
    bounds = [(0.0, 3.0), (0.0, 1.0)]
    start = [[1.0, 0.5], [2.5, 0.7]]
    campaign = bnn.Campaign(tmp_path / "a.json", bounds, n_initial=start, steps=[0.5, None])
    campaign.tell([[2.3, 0.703], [0.9, 0.495]], [2.0, 1.0])
    np.testing.assert_array_equal(campaign.X, [[0.9, 0.495], [2.3, 0.703]])
    assert campaign.round == 1


def test_an_input_with_steps_and_a_continuous_one(file):
    options = {"n_initial": 6, "batch_size": 3, "steps": (0.1, None)}
    campaign = bnn.Campaign(file, [(0.0, 0.3), (0.0, 1.0)], MODEL, **options)
    for _ in range(2):
        X = campaign.ask()
        np.testing.assert_allclose(X[:, 0] / 0.1, np.round(X[:, 0] / 0.1), atol=1e-9)
        assert X[:, 0].max() <= 0.3
        campaign.tell(X, simulate(X))
    assert distinct(campaign.X)
    assert len(campaign.X) == 9


def test_more_steps_than_are_listed_still_give_different_runs(file):
    options = {"n_initial": 50, "batch_size": 3, "steps": (1.0, 1.0)}
    campaign = bnn.Campaign(file, [(0.0, 2.0), (0.0, 1e5)], MODEL, **options)
    X = campaign.ask()
    assert len(X) == 50
    assert distinct(X)
    np.testing.assert_array_equal(X, np.round(X))


def test_a_run_is_repeated_only_if_replicates_are_allowed(file):
    options = {"n_initial": [[0.0], [1.0]], "batch_size": 4, "steps": [1.0]}
    replicates = {"allow_replicates": True}
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5)), noise=0.5)
    campaign = bnn.Campaign(file, [(0.0, 1.0)], model, select_options=replicates, **options)
    for _ in range(3):
        X = campaign.ask()
        campaign.tell(X, X[:, 0])
    assert len(campaign.X) == 10
    assert campaign.round == 3


def test_a_file_of_version_1_has_continuous_inputs(file):
    file.write_text(written(run()), encoding="utf-8")
    np.testing.assert_array_equal(made(file).ask(), [[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"steps = .*: the campaign in .* has None"):
        made(file, steps=[1.0, None])


def test_other_runs_told_together_with_a_run_asked_do_not_warn(tmp_path):
    campaign = bnn.Campaign(tmp_path / "a.json", [(0.0, 1.0)], n_initial=[[0.5], [0.7]])
    campaign.tell([[0.2], [0.5]], [1.0, 2.0])
    assert campaign.state == "1 of 3 runs wait for results, the first with [0.7]"


def test_a_simulator_that_changes_its_inputs_a_little_leaves_the_first_round(file):
    campaign = bnn.Campaign(file, [(0.0, 1.0)], ONE_INPUT, n_initial=4, batch_size=2)
    for k in range(5):
        used = np.clip(campaign.ask() + 3e-6 * (1 + k), 0.0, 1.0)
        campaign.tell(used, used[:, 0] ** 2)
    assert campaign.round == 5
    assert len(np.unique(campaign.X.round(3))) == 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": [-1, None]}, r"steps\[0\] = -1: must be None .* or > 0"),
        ({"steps": [1, 5.0]}, r"steps\[1\] = 5: .* at most the range 2"),
        ({"steps": [1]}, r"steps has shape \(1,\): must be \(2,\)"),
        ({"steps": 1}, "steps = 1: must have a step, or None, for each input"),
        ({"steps": [1, np.nan]}, r"steps\[1\] = nan"),
        ({"steps": [1, 1], "n_initial": [[1.5, 1.0]]}, r"n_initial\[0, 0\] = 1.5: .*step 1"),
        ({"steps": [1, 1], "candidates": SUBSET}, "steps = .*: must be None if candidates"),
        ({"candidates": [[1.0, 4.0]]}, r"candidates\[0, 1\] = 4: must be from 1 to 3"),
        ({"candidates": [[1.0, 2.0]] * 2}, r"candidates\[1\] = .*equals candidates\[0\]"),
        ({"candidates": [[1.0]]}, r"candidates has shape \(1, 1\)"),
        ({"candidates": SUBSET, "n_initial": [[2.0, 2.5]]}, "must be one of the candidates"),
        ({"select_options": {"min_gains": 0.1}}, "select_options = 'min_gains': must be"),
        ({"select_options": {"n": 3}}, "select_options = 'n': must be"),
        ({"select_options": {"min_gain": 1.5}}, "min_gain = 1.5: must be in"),
        ({"select_options": {"min_feasibility": 1.0}}, "min_feasibility = 1.0: must be in"),
        ({"select_options": {"allow_replicates": 2}}, "allow_replicates = 2: must be True"),
        ({"n_candidates": 4}, "n_candidates = 4: must be >= batch_size = 5"),
        ({"model": bnn.VanillaEnsemble(n_members=30)}, "model has 30 members: must be at least"),
        ({"model": LinearRegression()}, "LinearRegression.*: must be a GPRegressor or an ensemble"),
    ],
)
def test_wrong_choices_of_runs_are_named_before_the_first_run(file, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bnn.Campaign(file, PLIES, **options)
    assert not file.exists()


@pytest.mark.slow
def test_costs_that_change_the_candidates_leave_the_campaign_as_it_is(file):
    def costs(X):
        X /= 20.0
        return X[:, 0]

    campaign = bnn.Campaign(file, [(20.0, 60.0)], n_initial=4, select_options={"costs": costs})
    X = campaign.ask()
    campaign.tell(X, np.sin(X[:, 0]))
    with pytest.raises(ValueError, match="read-only"):
        campaign.ask()
    assert len(bnn.Campaign.load(file).X) == 4


def test_a_result_belongs_to_a_run_within_one_percent_of_the_range(file):
    campaign = bnn.Campaign(file, [(0.0, 10.0)], n_initial=[[5.0]])
    with pytest.warns(UserWarning, match="counts as another run"):
        campaign.tell([[5.101]], [1.0])
    assert campaign.state.startswith("1 of 2 runs wait")
    campaign.tell([[5.099]], [1.0])
    assert campaign.round == 1
