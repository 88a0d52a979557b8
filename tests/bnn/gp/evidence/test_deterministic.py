"""Few runs of a deterministic simulator, beside scikit-learn's Gaussian process."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

import bnn

ROOT = Path(__file__).parents[4]
SEEDS = range(12)


def branin(X):
    """Branin's function on the unit square."""
    a, b = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    bowl = (b - 5.1 / (4.0 * np.pi**2) * a**2 + 5.0 / np.pi * a - 6.0) ** 2
    return bowl + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 10.0


def matern():
    """Matérn 5/2 without noise, ten searches within bounds that suit the unit square."""
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * Matern([1.0, 1.0], (1e-2, 1e2), nu=2.5)
    return GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=9, random_state=0
    )


def scores(model, n_rows, seed):
    """Mean negative log-density per standard deviation of f, and coverage of 95 % intervals."""
    X = np.random.default_rng(seed).random((n_rows, 2))
    points = qmc.Sobol(2, seed=99).random(512)
    f = branin(points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's search ends at a bound
        model.fit(X, branin(X))
        mean, std = model.predict(points, return_std=True)
    density = norm.logpdf(f, mean, std).mean() + np.log(f.std())
    return -density, np.mean(np.abs(f - mean) < 1.96 * std)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(
    ("seed", "noise", "least", "most"),
    [
        (2, 0.0, 0.0, 0.002),
        pytest.param(8, 0.0, 0.0, 0.01, marks=pytest.mark.slow),
        (2, 0.1, 0.02, 0.5),
    ],
)
def test_twenty_runs_show_whether_a_simulator_is_deterministic(seed, noise, least, most):
    """Standard deviations of the estimated noise, relative to that of the output."""
    rng = np.random.default_rng(seed)
    X = rng.random((20, 2))
    f = branin(X)
    y = f + noise * f.std() * rng.standard_normal(20)
    model = bnn.GPRegressor().fit(X, y)
    of_f, of_y = (model.predict(X, return_std=True, include_noise=b)[1] for b in (False, True))
    assert least <= np.sqrt(np.mean(of_y**2 - of_f**2)) / y.std() <= most


@pytest.mark.slow
def test_without_noise_twenty_runs_are_predicted_as_well_as_by_scikit_learn():
    """The loss of the default, which has to find out that there is no noise, is bounded."""
    losses, coverages = np.moveaxis(
        [
            [scores(model, 20, seed) for seed in SEEDS]
            for model in (bnn.GPRegressor(noise=0.0), bnn.GPRegressor(), matern())
        ],
        -1,
        0,
    )
    without, default, reference = losses
    difference = without - reference
    standard_error = difference.std(ddof=1) / np.sqrt(len(SEEDS))
    assert difference.mean() < 2.0 * standard_error
    assert coverages[0].mean() > 0.93
    assert coverages[1].mean() > 0.93
    assert 0.0 < (default - without).mean() < 1.0
    page = (ROOT / "docs/explanation_gp.md").read_text(encoding="utf-8")
    quoted = re.search(r"log-density per test point from ([\d.]+) to ([\d.]+) nats", page)
    expected = [float(number) for number in quoted.groups()]
    np.testing.assert_allclose([-default.mean(), -without.mean()], expected, atol=0.02)


@pytest.mark.slow
def test_forty_runs_are_predicted_better_than_by_scikit_learn():
    for model in (bnn.GPRegressor(noise=0.0), bnn.GPRegressor()):
        ours = [scores(model, 40, seed) for seed in SEEDS[:3]]
        reference = [scores(matern(), 40, seed) for seed in SEEDS[:3]]
        loss, coverage = np.mean(ours, axis=0)
        assert loss < np.mean(reference, axis=0)[0] - 1.0
        assert coverage > 0.93
