"""Intervals of the default beyond the data: functions that go on almost straight, or bend."""

import numpy as np
import pytest

import bnn
from bnn.gp.evidence import prescribed

# Functions of x in [0, 1], at 3, 5 and 10 ranges of the data from their low end: at most 3 standard
# deviations off
STRAIGHT = {
    "linear": lambda t: t,
    "falling": lambda t: -50000.0 * t,
    "slightly curved": lambda t: t + 0.05 * t**2,
    "slowly growing": lambda t: np.exp(0.1 * t),
}
# The same at 30 ranges, beyond the reach of a trend; larger tables have none.
FARTHER = {"linear", "falling", "slightly curved"}
LARGEST = 300  # rows
# At 3 ranges at most 4 standard deviations off
CURVED = {
    "quadratic": lambda t: t**2,
    "exponential": np.exp,
    "saturating": lambda t: 1.0 - np.exp(-2.0 * t),
}
NOISES = (0.0, 1e-3, 0.05)  # standard deviations, relative to that of the function
SIZES = [(8, 1), (30, 1), (100, 1), (320, 1), (10, 3), (30, 3)]  # rows, inputs


def misses(function, rows, inputs, noise, at):
    """Return |error| / std, the first input `at` ranges of the data from their low end."""
    rng = np.random.default_rng([rows, inputs, 0])
    X = rng.uniform(size=(rows, inputs)) if inputs > 1 else np.linspace(0.0, 1.0, rows)[:, None]
    y = function(X.mean(axis=1))
    model = bnn.GPRegressor().fit(X, y + noise * y.std() * rng.standard_normal(rows))
    new = np.full((len(at), inputs), 0.5)
    new[:, 0] = X[:, 0].min() + np.ptp(X[:, 0]) * np.array(at)
    mean, std = model.predict(new, return_std=True)
    return np.abs(mean - function(new.mean(axis=1))) / std


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("name", ["linear", "exponential"])
def test_a_straight_and_a_curved_function(name):
    _check(name, [((8, 1), 1e-3)])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*STRAIGHT, *CURVED])
def test_functions_with_and_without_noise(name):
    """Each function with each size, and each of these with each noise of some functions."""
    first = [*STRAIGHT, *CURVED].index(name)
    _check(name, [(size, NOISES[(first + i) % 3]) for i, size in enumerate(SIZES)])


def _check(name, tables):
    """Check the errors of one function for sizes of tables with noises."""
    at, most = ((3.0, 5.0, 10.0), 3.0) if name in STRAIGHT else ((3.0,), 4.0)
    function = (STRAIGHT | CURVED)[name]
    for (rows, inputs), noise in tables:
        beyond = (30.0,) if name in FARTHER and rows <= LARGEST else ()
        errors = misses(function, rows, inputs, noise, at + beyond)
        assert np.all(errors < most), (name, rows, inputs, noise, errors)


@pytest.mark.usefixtures("few_draws")
def test_hooke_s_law():
    """30 rows up to 1 % strain with a noise of 1 MPa: 10,250 MPa at 5 %."""
    strain = np.linspace(0.0, 0.01, 30)[:, None]
    stress = 205e3 * strain[:, 0] + np.random.default_rng(0).standard_normal(30)
    for noise in (None, 1.0):
        model = bnn.GPRegressor(noise=noise).fit(strain, stress)
        (mean,), (std,) = model.predict([[0.05]], return_std=True)
        assert abs(mean - 10250.0) < 3.0 * std
        assert std < 1025.0  # a tenth of the stress


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("mean", [None, lambda X: np.sin(6.0 * X[:, 0])], ids=["", "beside a mean"])
def test_the_trend_of_fit_prior_bends_beyond_the_data(mean):
    """An exponential at three ranges is at most four standard deviations off."""
    X = np.linspace(0.0, 1.0, 20)[:, None]
    y = np.exp(X[:, 0]) + (0.0 if mean is None else mean(X))
    prior = bnn.evidence.fit_prior(X, y, 1e-3, mean=mean)
    model = bnn.GPRegressor(prior, noise=1e-3).fit(X, y)
    new = np.array([[3.0]])
    (predicted,), (std,) = model.predict(new, return_std=True)
    truth = np.exp(3.0) + (0.0 if mean is None else mean(new)[0])
    assert abs(predicted - truth) < 4.0 * std


@pytest.mark.usefixtures("few_draws")
def test_far_away_the_mean_is_constant_and_the_band_grows_with_the_distance():
    """BEYOND ranges from skewed data of a product, and farther."""
    rng = np.random.default_rng(0)
    X = np.exp(rng.standard_normal((60, 4)))
    y = np.prod(X[:, :2], axis=1) + X[:, 2]
    model = bnn.GPRegressor().fit(X, y)
    edge = X.max(axis=0) + (1.0 + prescribed.BEYOND) * np.ptp(X, axis=0)
    mean, std = model.predict([1e3 * edge, 1e6 * edge], return_std=True)
    assert np.all(np.abs(mean) < 100.0 * y.std() * prescribed.BEYOND)
    np.testing.assert_allclose(mean[0], mean[1], rtol=1e-6)
    np.testing.assert_allclose(1e3 * std[0], std[1], rtol=0.01)
