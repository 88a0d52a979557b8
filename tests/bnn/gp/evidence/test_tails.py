"""Outliers and the default: they are found, and 95 % intervals hold the function beside them."""

import numpy as np
import pytest

import bnn
from bnn.gp.evidence import scaling, tails
from bnn.gp.evidence.mixture import found_model
from bnn.gp.evidence.scaling import SearchData
from bnn.gp.mixture import MixturePosterior


def spoilt(n, d, rate, seed):
    """Return data of a smooth function with outliers of 10 to 30 deviations of the noise.

    Returns:
        X (n, d), y (n,), 200 other points, f there, and the numbers of the outliers.
    """
    rng = np.random.default_rng([seed, n, d])
    X = rng.uniform(-1, 1, (n, d))
    if d == 1:
        X = np.sort(X, axis=0)
    new = np.linspace(-1, 1, 201)[:, None] if d == 1 else rng.uniform(-1, 1, (200, d))
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5 * d))
    f = prior.sample(np.vstack([X, new]), 1, seed)[0, :, 0]
    y = f[:n] + 0.1 * rng.standard_normal(n)
    k = round(rate * n)
    rows = rng.permutation(n)[:k]
    y[rows] += rng.uniform(1, 3, k) * rng.choice([-1, 1], k)
    return X, y, new, f[n:], rows


def judged(model, new, f):
    """Return the share of f in 95 % intervals, the RMSE, and how many components count."""
    mean, std = model.predict(new, return_std=True)
    held = np.mean(np.abs(f - mean) < 1.96 * std)
    count = 1.0 / np.sum(model.posterior_.shares**2)
    return held, bnn.metrics.rmse(f, mean), count


@pytest.mark.parametrize(
    ("noise", "data", "most_error", "least_count"),
    [
        (None, (30, 2, 0.05, 8), 0.1, 4.0),
        (None, (30, 1, 0.1, 5), 0.1, 1.0),
        (None, (150, 1, 0.08, 0), 0.05, 4.0),
        ("student_t", (30, 2, 0.1, 2), 0.1, 3.0),
    ],
    ids=["several", "bends", "not searched", "one family"],
)
def test_outliers_are_found_and_leave_several_components(
    noise, data, most_error, least_count, monkeypatch
):
    """With factors of one component it alone counts, and holds 0.44 of f in the first set.

    The likeliest fit without heavy tails bends to the outliers of the second. Of 150 data 60 are
    searched. Some good data may count as outliers too.
    """
    monkeypatch.setattr(scaling, "SEARCHED", 60)
    X, y, new, f, rows = spoilt(*data)
    model = bnn.GPRegressor(noise=noise).fit(X, y)
    assert set(rows) <= set(np.flatnonzero(model.factors_ < 0.1))
    held, error, count = judged(model, new, f)
    assert held > 0.9
    assert error < most_error
    assert count > least_count
    if data[2] < 0.1:
        assert set(np.flatnonzero(model.factors_ < 0.1)) == set(rows)


def test_the_factors_are_those_of_the_whole_mixture():
    """E λ_i = (ν + 1) / (ν + E (y_i - f_i)² / ψ_i) under all components, with their weights."""
    X, y, *_ = spoilt(30, 1, 0.1, 0)
    prior, noise, factors = found_model(SearchData(X, y[:, None]))
    model = bnn.GPRegressor().fit(X, y)
    np.testing.assert_array_equal(model.factors_, factors)
    freedom = noise.degrees
    kept = bnn.noise.checked_tails(noise, 1, 1)
    scale = (1.0 - 2.0 / freedom) * np.ravel(bnn.noise.covariance_at(kept, X)) * np.ones(30)
    known = (scale / factors)[:, None, None]
    given = MixturePosterior(prior, known, X, y[:, None])
    squares = (y - given.mean(X)[:, 0]) ** 2 + given.covariances(X)[:, 0, 0]
    expected = (freedom + 1.0) / (freedom + squares / scale)
    # The steps end where a variance changes by less than 0.001 in one of them.
    np.testing.assert_allclose(factors, expected, rtol=0.03)
    # With this level of the noise the bound is largest.
    assert np.mean(factors * squares / scale) == pytest.approx(1.0, rel=0.01)


def test_further_data_leave_the_outliers_what_they_are():
    """One datum more, with the prior that was found: no prediction moves by a deviation."""
    X, y, new, f, rows = spoilt(30, 2, 0.05, 3)
    model = bnn.GPRegressor().fit(X, y)
    mean, std = model.predict(new, return_std=True)
    factors = model.factors_
    model.fit(np.vstack([X, new[:1]]), np.append(y, f[0]), keep_prior=True)
    np.testing.assert_array_equal(model.factors_[:30], factors)
    assert 0.1 < model.factors_[30] < 2.0
    assert np.all(np.abs(model.predict(new) - mean) < std)
    assert set(np.flatnonzero(model.factors_ < 0.1)) == set(rows)


def test_outliers_among_data_that_were_not_searched_are_found_under_given_noise(monkeypatch):
    """Of 150 data 60 are searched; 12 of all are outliers."""
    monkeypatch.setattr(scaling, "SEARCHED", 60)
    X, y, new, f, rows = spoilt(150, 1, 0.08, 0)
    model = bnn.GPRegressor(noise=bnn.StudentNoise(0.1)).fit(X, y)
    assert set(np.flatnonzero(model.factors_ < 0.1)) == set(rows)
    assert judged(model, new, f)[1] < 0.05


def test_one_row_has_one_factor_for_all_outputs(monkeypatch):
    """E λ_i = (ν + d) / (ν + Σ_j E (y_ij - f_ij)² / ψ_j), and each output has its own level."""
    monkeypatch.setattr(tails, "AVERAGED_STEPS", 300)
    monkeypatch.setattr(tails, "AVERAGED_TOLERANCE", 1e-6)
    X, y, *_ = spoilt(30, 1, 0.1, 0)
    other = 100.0 * (y + 0.02 * np.random.default_rng(0).standard_normal(30))
    values = np.column_stack([y, other])
    model = bnn.GPRegressor(noise="student_t").fit(X, values)
    freedom = model.noise_.degrees
    scale = (1.0 - 2.0 / freedom) * np.diag(model.noise_.noise)
    spread = np.diagonal(model.posterior_.covariances(X), axis1=1, axis2=2)
    squares = ((values - model.posterior_.mean(X)) ** 2 + spread) / scale
    expected = (freedom + 2.0) / (freedom + squares.sum(axis=1))
    np.testing.assert_allclose(model.factors_, expected, rtol=5e-3)
    # With these levels of the noise the bound is largest.
    np.testing.assert_allclose(np.mean(model.factors_[:, None] * squares, axis=0), 1.0, rtol=1e-3)


def of_twenty_sets(noise, n, d, rate):
    """Return coverage, RMSE, components that count and heavy tails, means over 20 sets."""
    found = []
    for seed in range(20):
        X, y, new, f, _ = spoilt(n, d, rate, seed)
        model = bnn.GPRegressor(noise=noise).fit(X, y)
        heavy = isinstance(model.noise_, bnn.StudentNoise) and model.noise_.degrees < 100.0
        found.append([*judged(model, new, f), heavy])
    held, error, count, heavy = np.mean(found, axis=0)
    print(
        f"{n} data, {d} inputs, {rate:.0%} outliers: 95 % intervals hold {held:.3f}, RMSE "
        f"{error:.3f}, {count:.1f} components count, heavy tails in {heavy:.0%}"
    )
    return held, error


@pytest.mark.coverage
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n", [30, 60])
def test_intervals_hold_functions_beside_outliers(n, d):
    """The numbers of the guide: 20 sets each, beside the same sets without outliers."""
    errors = {}
    for rate in (0.0, 0.05, 0.1, 0.2):
        held, errors[rate] = of_twenty_sets(None, n, d, rate)
        if rate <= 0.1:
            assert held >= 0.9
    assert errors[0.1] < 2.0 * errors[0.0]


@pytest.mark.coverage
def test_intervals_of_one_family_hold_functions_beside_outliers():
    """The numbers of the guide for noise="student_t": 30 data, over one and two inputs together."""
    errors = {}
    for rate in (0.0, 0.05, 0.1, 0.2):
        found = [of_twenty_sets("student_t", 30, d, rate) for d in (1, 2)]
        held, errors[rate] = np.mean(found, axis=0)
        if rate <= 0.1:
            assert held >= 0.9
    assert errors[0.1] < 1.75 * errors[0.0]
