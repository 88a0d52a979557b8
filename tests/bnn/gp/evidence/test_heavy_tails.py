"""Outliers and the default: they are found, and 95 % intervals hold the function beside them."""

import numpy as np
import pytest

import bnn
from bnn.gp.evidence import heavy_tails, output_data
from bnn.gp.evidence.laplace import some_rows


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


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(
    ("noise", "data", "most_error", "least_count"),
    [
        (None, (30, 2, 0.05, 8), 0.1, 4.0),
        pytest.param(None, (30, 1, 0.1, 5), 0.1, 1.0, marks=pytest.mark.slow),
        pytest.param(None, (150, 1, 0.08, 0), 0.05, 4.0, marks=pytest.mark.slow),
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
    monkeypatch.setattr(output_data, "SEARCHED", 60)
    X, y, new, f, rows = spoilt(*data)
    model = bnn.GPRegressor(noise=noise).fit(X, y)
    assert set(rows) <= set(np.flatnonzero(model.factors_ < 0.1))
    held, error, count = judged(model, new, f)
    assert held > 0.9
    assert error < most_error
    assert count > least_count
    if data[2] < 0.1:
        assert set(np.flatnonzero(model.factors_ < 0.1)) == set(rows)


@pytest.mark.slow
def test_the_single_outlier_of_many_data_is_found(monkeypatch):
    """Heavy tails are tried on 30 of 80 rows and the outlier; without it noise is Gaussian."""
    monkeypatch.setattr(heavy_tails, "THINNED", 30)
    X, y, *_, rows = spoilt(80, 1, 0.0125, 0)
    assert len(rows) == 1
    assert rows[0] not in some_rows(80, 30, 0)
    model = bnn.GPRegressor().fit(X, y)
    assert np.flatnonzero(model.factors_ < 0.1).tolist() == rows.tolist()
    others = np.arange(80) != rows[0]
    assert isinstance(bnn.GPRegressor().fit(X[others], y[others]).noise_, np.ndarray)


@pytest.mark.usefixtures("few_draws")
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


@pytest.mark.slow
def test_one_row_has_one_factor_for_all_outputs(monkeypatch):
    """E λ_i = (ν + d) / (ν + Σ_j E (y_ij - f_ij)² / ψ_j), and each output has its own level."""
    monkeypatch.setattr(heavy_tails, "AVERAGED_STEPS", 300)
    monkeypatch.setattr(heavy_tails, "AVERAGED_TOLERANCE", 1e-6)
    X, y, *_ = spoilt(30, 1, 0.1, 0)
    other = 100.0 * (y + 0.02 * np.random.default_rng(0).standard_normal(30))
    values = np.column_stack([y, other])
    model = bnn.GPRegressor(noise="student_t").fit(X, values)
    freedom = model.noise_.degrees
    scale = (1.0 - 2.0 / freedom) * np.diag(model.noise_.noise)
    spread = np.diagonal(model.posterior_.moments(X)[1], axis1=1, axis2=2)
    squares = ((values - model.posterior_.mean(X)) ** 2 + spread) / scale
    expected = (freedom + 2.0) / (freedom + squares.sum(axis=1))
    np.testing.assert_allclose(model.factors_, expected, rtol=5e-3)
    # With these levels of the noise the bound is largest.
    np.testing.assert_allclose(np.mean(model.factors_[:, None] * squares, axis=0), 1.0, rtol=1e-3)


def of_twenty_sets(noise, n, d, rate):
    """Return coverage, RMSE, components that count and heavy tails, means over 20 sets."""
    rows = []
    for seed in range(20):
        X, y, new, f, _ = spoilt(n, d, rate, seed)
        model = bnn.GPRegressor(noise=noise).fit(X, y)
        heavy = isinstance(model.noise_, bnn.StudentNoise) and model.noise_.degrees < 100.0
        rows.append([*judged(model, new, f), heavy])
    held, error, count, heavy = np.mean(rows, axis=0)
    print(f"{n} data, {d} inputs, {rate:.0%} outliers: {held:.3f} held, RMSE {error:.3f}")
    print(f"{count:.1f} components count, heavy tails in {heavy:.0%}")
    return held, error


@pytest.mark.coverage
@pytest.mark.parametrize(
    ("noise", "n", "inputs", "most"),
    [
        *((None, n, [d], 2.0) for n in (30, 60) for d in (1, 2)),
        ("student_t", 30, [1, 2], 1.75),
    ],
)
def test_intervals_hold_functions_beside_outliers(noise, n, inputs, most):
    """The numbers of the guide: 20 sets each, beside the same sets without outliers.

    For noise="student_t" over one and two inputs together.
    """
    errors = {}
    for rate in (0.0, 0.05, 0.1, 0.2):
        scores = [of_twenty_sets(noise, n, d, rate) for d in inputs]
        held, errors[rate] = np.mean(scores, axis=0)
        if rate <= 0.1:
            assert held >= 0.9
    assert errors[0.1] < most * errors[0.0]
