"""Alternatives to the defaults on sets for which it is known what they change."""

import json

import numpy as np
import pytest
from scipy import stats

import bnn
from studies.defaults.__main__ import logarithm
from studies.scoreboard import public


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


def test_scores_of_the_logarithm_are_those_of_a_log_normal_density(tmp_path, monkeypatch):
    monkeypatch.setattr(bnn, "GPRegressor", Normal)
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(size=60), np.exp(rng.normal(size=60))])
    (tmp_path / "made").mkdir()
    np.savetxt(tmp_path / "made" / "data.csv", rows, delimiter=",", header="a,y", comments="")
    (tmp_path / "made" / "standard.json").write_text(json.dumps([[*range(20)]]))
    normal_of_logarithm = logarithm(tmp_path, public.problems(tmp_path)[0], 0)["log y"]
    train, test = rows[20:, 1], rows[:20, 1]
    normal = stats.norm(train.mean(), 0.5 * train.std())
    logs = np.log(train)
    other = stats.lognorm(0.5 * logs.std(), scale=np.exp(logs.mean()))
    gain = np.mean(other.logpdf(test) - normal.logpdf(test))
    assert normal_of_logarithm["log-likelihood"] == pytest.approx(gain)
    rmse = [np.sqrt(np.mean((test - predictive.mean()) ** 2)) for predictive in (normal, other)]
    assert normal_of_logarithm["RMSE"] == pytest.approx(rmse[1] - rmse[0])
