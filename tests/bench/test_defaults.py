"""Alternatives to the defaults on sets for which it is known what they change."""

import csv
import json
from functools import partialmethod

import numpy as np
import pytest
from scipy import stats

import bnn
from bench.defaults import logarithm, points
from bench.scoreboard import public


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sets of 60 rows: a sum of functions of one input each, and its exponential."""
    home = tmp_path_factory.mktemp("public")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    y = 2.0 * np.sin(9.0 * X[:, 0]) + np.cos(7.0 * X[:, 1]) + np.abs(X[:, 2] - 0.5)
    y += 0.05 * rng.standard_normal(60)
    for name, column in (("sum", y), ("exponential", np.exp(y))):
        (home / name).mkdir()
        with (home / name / "data.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["a", "b", "c", "y"], *np.column_stack([X, column])])
        (home / name / "standard.json").write_text(json.dumps([[*range(20)], [*range(20, 40)]]))
    return home


def problem(folder, name):
    return {each.name: each for each in public.problems(folder)}[name]


@pytest.mark.slow
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


@pytest.mark.slow
def test_networks_have_the_prior_and_the_points_that_are_said(folder, monkeypatch):
    fitted = []
    for kind in (bnn.GPRegressor, bnn.FunctionAnchoredEnsemble):
        monkeypatch.setattr(kind, "fit", partialmethod(noted, fitted, kind.fit))
    sums = problem(folder, "sum/standard")
    found = points(sums, 0)
    assert all(set(change) == {"log-likelihood", "RMSE", "coverage"} for change in found.values())
    exact, box, asked = fitted
    assert all(model.prior is exact.prior and model.noise is exact.noise for model in (box, asked))
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
