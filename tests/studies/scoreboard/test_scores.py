import numpy as np
import pytest
from scipy.stats import norm

import bnn
from figures.composite.problem import OUTPUT_SCALING
from figures.composite.scores import LOG_UNITS
from studies.scoreboard.problems import Split
from studies.scoreboard.scores import scores


def test_scores_of_the_composite_are_those_of_the_exact_posterior():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (20, 4))
    y = rng.normal(size=(20, 5))
    noise = np.linspace(0.1, 0.5, 5)
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(n_outputs=5), noise=noise).fit(X, y)
    X = rng.uniform(-1, 1, (8, 4))
    y = rng.normal(size=(8, 5))
    mean, std = model.predict(X, return_std=True, include_noise=True)
    split = Split({}, y, 1.0, LOG_UNITS, "")
    # Of several outputs a density of its own does not count.
    row = scores(split, {"mean": mean, "std": std, "fit": 1.0, "predict": 2.0, "elppd": 9.0})
    assert "normal" not in row
    assert row["loglik"] == pytest.approx(model.elppd(X, y) / 8 - LOG_UNITS)  # outputs independent
    physical = norm(OUTPUT_SCALING.inverse_transform(mean), std * OUTPUT_SCALING.half_range)
    densities = physical.logpdf(OUTPUT_SCALING.inverse_transform(y))
    assert row["loglik"] == pytest.approx(densities.sum() / 8)
