"""Laplace's evidence against an integral, and weights of draws."""

import numpy as np
import pytest

import bnn
from bnn.gp.evidence.density import FamilyDensity
from bnn.gp.evidence.families import Family, NoiseForm
from bnn.gp.evidence.laplace import (
    approximated,
    most_probable,
    most_probable_of_many,
    posterior_draws,
    tempered,
    updated,
)
from bnn.gp.evidence.search import _noise_of_family


def test_laplace_s_evidence_is_the_integral():
    """One input, an RBF and constant noise: three of four hyperparameters by a dense grid."""
    x = np.linspace(0.0, 1.0, 60)[:, None]
    y = np.sin(6.0 * x[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(60)
    made = FamilyDensity(Family((bnn.RBF,)), x, y / y.std(), NoiseForm.constant(np.ones(60)))
    best = most_probable(made, [made.centre])
    approximation = approximated(made, best, 0)
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(1.3 * np.linalg.inv(approximation.hessian))
    z = rng.standard_normal((4000, len(best)))
    points = best + z @ root.T
    logs = np.array([made.value(eta) for eta in points])
    weights = logs + 0.5 * np.sum(z**2, axis=1) + np.log(np.diag(root)).sum()
    integral = np.log(np.mean(np.exp(weights - weights.max()))) + weights.max()
    integral += 0.5 * np.log(made.precision).sum()
    assert approximation.log_evidence == pytest.approx(integral, abs=0.7)


def test_a_family_with_a_largest_share_has_no_more_whatever_the_evidence_is():
    """A smooth function, for which the evidence prefers the RBF by many nats."""
    u = np.linspace(0.0, 1.0, 40)[:, None]
    y = np.sin(3.0 * u[:, 0])
    y = (y - y.mean()) / y.std() + 1e-3 * np.random.default_rng(0).standard_normal(40)
    fits = []
    for family in (Family((bnn.Matern32,)), Family((bnn.RBF,), most=0.25)):
        density = FamilyDensity(family, u, y, NoiseForm.constant(np.ones(40)))
        fits.append(approximated(density, most_probable(density, [density.centre]), 0))
    assert fits[1].log_evidence > fits[0].log_evidence + 5.0
    draws = posterior_draws(fits, 0)
    share = np.exp(draws.logs[[density is fits[1].density for density, _ in draws.draws]]).sum()
    assert share == pytest.approx(0.25)
    assert np.exp(draws.logs).sum() == pytest.approx(1.0)


def test_a_family_alone_has_all_the_weight_whatever_its_limit_is():
    """There is no other family to which a limit could leave weight."""
    u = np.linspace(0.0, 1.0, 20)[:, None]
    y = np.sin(6.0 * u[:, 0])
    density = FamilyDensity(Family((bnn.RBF,), most=0.25), u, y, NoiseForm.constant(np.ones(20)))
    fit = approximated(density, density.centre, 0)
    for fits in ([fit], [fit, fit]):
        draws = posterior_draws(fits, 0)
        assert len(draws.draws) == len(draws.logs)
        assert np.exp(draws.logs).sum() == pytest.approx(1.0)


def test_weights_are_tempered_until_several_count():
    """Weights to the power τ; those that are enough stay as they are."""
    alike = np.log(np.full(40, 0.025))
    np.testing.assert_allclose(tempered(alike), alike)
    logs = -10.0 * np.arange(40.0)
    weights = tempered(logs)
    assert 16.0 <= 1.0 / np.sum(np.exp(2.0 * weights)) < 24.0
    assert np.exp(weights).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.diff(weights), np.diff(weights)[0])


def test_further_data_update_weights_as_far_as_as_many_count():
    """Bayes' rule where enough is left; where as many as before would not, a power of it."""
    weights = np.full(16, 1.0 / 16.0)
    gains = 0.1 * np.arange(16.0)
    bayes = weights * np.exp(gains) / np.sum(weights * np.exp(gains))
    np.testing.assert_allclose(updated(weights, gains), bayes)
    changed = updated(weights, 100.0 * gains)
    assert 8.0 <= 1.0 / np.sum(changed**2) < 10.0
    assert np.all(np.diff(changed) > 0.0)
    few = np.array([0.5, 0.5, 0.0])
    np.testing.assert_allclose(updated(few, np.array([0.0, 99.0, 99.0])), few, atol=1e-12)


def noisy_sine(n, noise=0.1):
    """Return the density of an RBF and constant noise for a sine of one input."""
    u = np.linspace(0.0, 1.0, n)[:, None]
    y = np.sin(6.0 * u[:, 0]) + noise * np.random.default_rng(1).standard_normal(n)
    y = (y - y.mean()) / y.std()
    return FamilyDensity(Family((bnn.RBF,)), u, y, NoiseForm.constant(np.ones(n)))


def test_the_noise_of_a_family_is_the_mean_over_draws():
    """σ² from a sum over its levels, against importance sampling of all hyperparameters."""
    density = noisy_sine(25)
    fit = approximated(density, most_probable(density, [density.centre]), 0)
    every = posterior_draws([fit], 0)
    exact = np.exp(every.logs) @ [density.unit_variances(eta)[0] for eta in points_of(every)]
    variances, slopes = _noise_of_family(fit)
    np.testing.assert_allclose(variances, exact, rtol=0.1)
    assert slopes.size == 0
    assert exact > 1.05 * density.unit_variances(fit.eta)[0]  # the most probable one is smaller


def points_of(every):
    return [eta for _, eta in every.draws]


def test_a_search_with_some_data_ends_near_the_maximum_for_all():
    """Within a tenth of a nat of a search with all 600 data, which takes longer."""
    density = noisy_sine(600, noise=0.3)
    eta = most_probable_of_many(density, [density.centre], 0)
    best = most_probable(density, [density.centre])
    assert density.value(eta) == pytest.approx(density.value(best), abs=0.1)
