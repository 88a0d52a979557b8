"""Repeated runs whose scatter rises and falls: a form that no noise model of the default has."""

import numpy as np
import pytest

import bnn

N_INPUTS, N_RUNS, SEEDS = 10, 4, range(6)
AT = np.linspace(0.0, 1.0, N_INPUTS)
NEW = np.linspace(0.0, 1.0, 101)[:, None]


def f(x):
    return np.sin(6.0 * x) + x


def scores(noise, seed):
    """Return RMSE and coverage of f; "averages" are fitted with their standard errors."""
    rng = np.random.default_rng(seed)
    std = 0.03 + 0.6 * np.exp(-(((AT - 0.5) / 0.15) ** 2))
    X, groups = np.repeat(AT, N_RUNS)[:, None], np.repeat(np.arange(N_INPUTS), N_RUNS)
    y = f(X[:, 0]) + np.repeat(std, N_RUNS) * rng.standard_normal(N_INPUTS * N_RUNS)
    if noise == "averages":
        runs = y.reshape(N_INPUTS, N_RUNS)
        standard_errors = runs.std(axis=1, ddof=1) / np.sqrt(N_RUNS)
        model = bnn.GPRegressor().fit(AT[:, None], runs.mean(axis=1), noise_std=standard_errors)
    elif noise == "replicates":
        noise = bnn.HeteroscedasticNoise.from_replicates(X, y, groups)
        model = bnn.GPRegressor(noise=noise).fit(X, y)
    else:
        model = bnn.GPRegressor(noise=noise).fit(X, y)
    mean, std = model.predict(NEW, return_std=True)
    error = mean - f(NEW[:, 0])
    return np.sqrt(np.mean(error**2)), np.mean(np.abs(error) < 1.96 * std)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "largest_error", "smallest_coverage"),
    [("averages", 0.075, 0.93), ("constant", 0.10, 0.90), ("replicates", 0.10, 0.90)],
)
def test_intervals_hold_f_where_the_scatter_has_a_maximum(noise, largest_error, smallest_coverage):
    rmse, coverage = np.mean([scores(noise, seed) for seed in SEEDS], axis=0)
    assert rmse < largest_error
    assert coverage > smallest_coverage
