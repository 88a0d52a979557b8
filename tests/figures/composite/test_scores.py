"""Scores and distances of notebook 05."""

import numpy as np
import pytest

from bnn import RBF, GaussianProcessPrior, GPRegressor
from figures.composite.problem import noise_std
from figures.composite.scores import SCORES, Distance, exact_scores, scores

RNG = np.random.default_rng(0)
NOISE = noise_std()


def test_many_draws_score_as_the_closed_form():
    """4000 draws of an exact posterior, near the data: a mixture comes close to the Gaussian."""
    X = RNG.uniform(-1, 1, (12, 4))
    prior = GaussianProcessPrior(0.0, RBF(0.2, 0.8), n_outputs=5)
    exact = GPRegressor(prior, noise=NOISE).fit(X, 0.5 * RNG.standard_normal((12, 5)))
    y = exact.sample(X[:8], 1, 5)[0] + NOISE * RNG.standard_normal((8, 5))
    limit = exact_scores(exact, X[:8], y)
    judged = scores(exact.sample(X[:8], 4000, 1), y, NOISE)
    assert judged.rmse == pytest.approx(limit.rmse, abs=0.01)
    assert judged.crps == pytest.approx(limit.crps, rel=0.03)
    assert judged.elppd == pytest.approx(limit.elppd, abs=1.0)


def test_distance_of_a_known_mean():
    exact = np.zeros((6, 2))
    draws = RNG.standard_normal((20000, 6, 2))
    assert Distance.of(draws, exact).mean < 0.02
    assert Distance.of(3.0 * draws + 1.0, exact).mean == pytest.approx(1.0, abs=0.05)


def test_members_that_agree_on_a_bound_are_infinitely_sure():
    truth = RNG.uniform(-1, 1, (12, 5))
    samples = truth + RNG.normal(0, 0.3, (8, 12, 5))
    samples[:, :, 4] = -0.8
    judged = scores(samples, truth, NOISE)
    samples[:, :, 4] += RNG.normal(0, 1e-7, (8, 1))
    narrow = scores(samples, truth, NOISE)
    assert judged.miscalibration == pytest.approx(narrow.miscalibration, abs=1e-12)
    assert all(np.isfinite([getattr(judged, name) for name in SCORES]))
