import csv
import json
import subprocess
import sys
from functools import partialmethod

import numpy as np
import pytest
from scipy import stats

import bnn
from bench.defaults.__main__ import main
from bench.defaults.functions import problems as functions
from bench.defaults.parts import PARTS
from bench.defaults.settings import SETTINGS, settings, without
from bench.defaults.studies import logarithm, parts, points
from bench.scoreboard import public
from bnn.gp.evidence import laplace, mixture


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sets of 60 rows: a sum of functions of one input each, its exponential; and one of 10."""
    home = tmp_path_factory.mktemp("public")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    y = 2.0 * np.sin(9.0 * X[:, 0]) + np.cos(7.0 * X[:, 1]) + np.abs(X[:, 2] - 0.5)
    y += 0.05 * rng.standard_normal(60)
    splits = json.dumps([list(range(20)), list(range(20, 40))])
    write(home / "sum", np.column_stack([X, y]), splits)
    write(home / "exponential", np.column_stack([X, np.exp(y)]), splits)
    with (home / "single.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "y"], *rng.standard_normal((10, 2))])
    return home


def write(folder, rows, splits):
    folder.mkdir()
    with (folder / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "y"], *rows])
    (folder / "standard.json").write_text(splits)


def problem(folder, name):
    return {each.name: each for each in public.problems(folder)}[name]


def test_a_sum_of_functions_of_one_input_gains_by_the_additive_part(folder):
    found = parts(problem(folder, "sum/standard"), 0)
    assert set(found) == set(PARTS)
    assert found["additive"]["log evidence"] > 0.0
    assert all(np.isfinite(list(change.values())).all() for change in found.values())


def test_the_exponential_of_a_smooth_function_gains_by_the_logarithm(folder):
    found = logarithm(folder, problem(folder, "exponential/standard"), 0)["log y"]
    assert found["log-likelihood"] > 0.0
    assert found["RMSE"] < 0.0


class Normal:
    """A model that predicts the same for all points."""

    def fit(self, _, y):
        self.mean, self.std = y.mean(), 0.5 * y.std()
        return self

    def predict(self, X, return_std=False, include_noise=False):
        assert include_noise or not return_std, "a density of y has its noise"
        mean = np.full(len(X), self.mean)
        return (mean, np.full(len(X), self.std)) if return_std else mean

    def elppd(self, _, y):
        return stats.norm.logpdf(y, self.mean, self.std).sum()


def test_scores_of_the_logarithm_are_those_of_a_log_normal_density(folder, monkeypatch):
    monkeypatch.setattr(bnn, "GPRegressor", Normal)
    found = logarithm(folder, problem(folder, "exponential/standard"), 0)["log y"]
    y = np.loadtxt(folder / "exponential" / "data.csv", delimiter=",", skiprows=1)[:, -1]
    train, test = y[20:], y[:20]
    normal = stats.norm(train.mean(), 0.5 * train.std())
    logs = np.log(train)
    other = stats.lognorm(0.5 * logs.std(), scale=np.exp(logs.mean()))
    gain = np.mean(other.logpdf(test) - normal.logpdf(test))
    assert found["log-likelihood"] == pytest.approx(gain)
    rmse = [np.sqrt(np.mean((test - each.mean()) ** 2)) for each in (normal, other)]
    assert found["RMSE"] == pytest.approx(rmse[1] - rmse[0])


def test_a_set_without_logarithm_is_refused(folder):
    with pytest.raises(ValueError, match=r"sum/standard: y of row \d+ is -.*: no logarithm"):
        logarithm(folder, problem(folder, "sum/standard"), 0)
    with pytest.raises(ValueError, match="single/holdout: must have a folder with splits"):
        logarithm(folder, problem(folder, "single/holdout"), 0)


def test_networks_have_the_prior_and_the_points_that_are_said(folder, monkeypatch):
    fitted = []
    for kind in (bnn.GPRegressor, bnn.FunctionAnchoredEnsemble):
        monkeypatch.setattr(kind, "fit", partialmethod(noted, fitted, kind.fit))
    sums = problem(folder, "sum/standard")
    found = points(sums, 0)
    assert list(found) == ["points of the box", "points that are asked for"]
    assert all(set(change) == {"log-likelihood", "RMSE", "coverage"} for change in found.values())
    exact, box, asked = fitted
    for model in (box, asked):
        assert model.prior is exact.prior
        assert model.noise is exact.noise
    split = sums.split(0)
    n = len(split.given["X"])
    expected = np.sort(split.given["X_test"], axis=0)
    for inputs in asked.members_.inputs:  # of each member, since the prior is a mixture
        np.testing.assert_array_equal(np.sort(inputs[n:], axis=0), expected)
    assert box.members_.inputs.shape[1:] == (n + 200, 3)
    mean, std = exact.predict(split.given["X_test"], return_std=True)
    near = asked.predict(split.given["X_test"])
    assert np.sqrt(np.mean(((near - mean) / std) ** 2)) < 0.4


def noted(model, models, fit, *data):
    models.append(model)
    return fit(model, *data)


def test_the_program_prints_means_over_splits(folder):
    program = [sys.executable, "-m", "bench.defaults", "logarithm", "--data", str(folder)]
    program += ["--problems", "exponential"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("exponential/standard, splits: 2, log y: log-likelihood +")
    assert done.stdout.count(" ± ") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--problems", "other"], "begins with 'other': there are exponential/standard, sum"),
        (["--problems", "sum"], "sum/standard: y of row"),
        (["--problems", "sum", "--splits", "0"], "--splits 0: must be 1 or more"),
        (["--data", "nowhere", "--problems", "sum"], "nowhere: there is no such folder"),
    ],
)
def test_wrong_words_are_refused_before_anything_runs(folder, words, message, monkeypatch, capsys):
    program = ["bench.defaults", "logarithm", "--data", str(folder), *words]
    monkeypatch.setattr(sys, "argv", program)
    with pytest.raises(SystemExit, match="2"):
        main()
    assert message in capsys.readouterr().err


def test_settings_are_taken_back_and_put_in_again():
    """The families of before; afterwards those of now."""
    now = [mixture.families_for(*shape) for shape in ((20, 8), (400, 3))]
    with without(SETTINGS):
        few, many = (mixture.families_for(*shape) for shape in ((20, 8), (400, 3)))
        assert np.inf == laplace.RELIABLE
    assert all(family.trend and not family.sparse for family in few)
    assert all(family.warped for family in many)
    assert [mixture.families_for(*shape) for shape in ((20, 8), (400, 3))] == now


def test_functions_have_their_deviation_and_their_own_points():
    for each in functions():
        split = each.split(0)
        assert split.given["f_test"].std() == pytest.approx(1.0, abs=0.15), each.name
        assert split.digest != each.split(1).digest
        away = np.std(split.y_test - split.given["f_test"])
        assert 0.005 < away < 0.12


def test_the_default_is_compared_with_a_plain_process():
    """Of three inputs and 30 data, to which two of the settings do nothing."""
    three = {each.name: each for each in functions()}["chosen/three-30"]
    found = settings(three, 0)
    assert list(found) == [
        "with sparse",
        "with smooth",
        "with evidence",
        "with all",
        "beside a plain process",
    ]
    assert found["with sparse"]["RMSE"] == found["with smooth"]["RMSE"] == 0.0
    assert abs(found["beside a plain process"]["RMSE"]) < 0.03
