"""Scores of predictions and repeated trainings."""

import numpy as np
import pytest
from scipy.stats import norm

from bnn.evaluation.metrics import elppd
from figures.composite.problem import OUTPUT_NAMES, Samples, noise_std
from figures.materials_surrogate import panels
from figures.materials_surrogate.surrogate import (
    Prediction,
    prior_function_claims,
    prior_mean_rmse,
    prior_mean_table,
)


def prediction(shift=0.0, members=30, rves=50, spread=0.1):
    rng = np.random.default_rng(0)
    observed = rng.uniform(-1, 1, (rves, 5))
    return Prediction(observed + shift + spread * rng.normal(size=(members, rves, 5)), observed)


def test_scores_over_all_outputs_are_those_of_each_put_together():
    scores = prediction(shift=0.2, spread=0.3, members=200).scores()
    assert scores.epistemic_std == pytest.approx(0.3, rel=0.02)
    spreads = [*scores.by_output["epistemic_std"].values()]
    assert scores.epistemic_std == pytest.approx(np.mean(spreads))
    errors = np.array([*scores.by_output["rmse"].values()])
    assert scores.rmse == pytest.approx(np.sqrt(np.mean(errors**2)))


def test_change_of_units_shifts_the_elppd_by_a_constant():
    shown = prediction()
    scaled = elppd(shown.observed, shown.samples, noise_std())
    # 50 RVEs: 50 Σ log of the half ranges
    assert scaled - shown.scores().elppd == pytest.approx(93.935, abs=2e-3)


def test_coverage_of_a_correct_spread_is_that_of_two_standard_deviations():
    rng = np.random.default_rng(1)
    centre = rng.uniform(-1, 1, (4000, 5))
    std = 0.2
    observed = centre + std * rng.normal(size=centre.shape)
    samples = centre + std * np.array([-1.0, 1.0])[:, None, None]
    assert Prediction(samples, observed).scores().coverage == pytest.approx(0.9545, abs=0.005)


def test_prior_mean_that_is_right_explains_everything():
    X = np.random.default_rng(1).uniform(-1, 1, (20, 4))
    theta = np.array([0.6, -0.2, 0.9, -0.9, 1.2])
    exact = Samples(X, X[:, :1] * theta)
    np.testing.assert_allclose(list(prior_mean_table(exact, theta).values()), 1)
    assert max(prior_mean_table(exact, -theta).values()) < 0
    rmse = prior_mean_rmse(exact, 0 * theta)
    assert rmse["c_eff"] == pytest.approx(0.2 * np.sqrt(np.mean(X[:, 0] ** 2)))
    squares = [rmse[name] ** 2 for name in OUTPUT_NAMES]
    assert rmse["all"] == pytest.approx(np.sqrt(np.mean(squares)))


def test_prior_of_the_composite_depends_on_what_the_paper_says():
    """Clipping p_σ: closed form of the deviation of max(z, bound), z the unclipped normal."""
    theta = np.array([0.656, -0.191, 0.933, -0.876, 1.195])
    negligible, narrower = prior_function_claims(theta, seed=0)
    assert negligible.holds
    assert max(negligible.ours[name] for name in ("E_f_GPa", "b_m_MPa", "c_m")) < 1e-3
    assert narrower.holds
    z = norm(-theta[4], np.sqrt(0.2))
    bound = 0.01 / 0.4 - 1
    moments = [z.expect(lambda t, n=n: np.maximum(t, bound) ** n) for n in (1, 2)]
    expected = np.sqrt(moments[1] - moments[0] ** 2)
    assert narrower.ours["smallest"] == pytest.approx(expected, rel=0.15)
    upwards = prior_function_claims(-theta, seed=0)[1]  # there the bound does not act at small v_f
    assert not upwards.holds


def test_behaviour_laws_are_power_laws_of_rves_from_the_weakest_to_the_strongest():
    (stress,) = panels.behaviour_law(np.array([500.0]), np.array([0.5]))
    assert (stress[0], stress[-1]) == pytest.approx((400.0, 400 + 500 * np.sqrt(0.05)))
    truth = np.random.default_rng(0).uniform(size=(50, 5))
    test_set = Samples(truth[:, :4], truth)
    assert panels.law_points(test_set, published=True) == [16, 5, 6, 7]
    chosen = panels.law_points(test_set, published=False)
    assert truth[chosen[0], 0] == truth[:, 0].min()
    assert truth[chosen[-1], 0] == truth[:, 0].max()
