"""Chosen runs against the posterior refitted with every candidate, and against linear algebra."""

import numpy as np
import pytest

import bnn
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X, CANDIDATES, REGION = (RNG.uniform(-1, 1, (n, 2)) for n in (6, 9, 12))
Y = np.column_stack([np.sin(2 * X[:, 0]), 10 * X[:, 1] ** 2])
FULL = np.array([[0.04, 0.03], [0.03, 0.09]])
DEPENDS = bnn.HeteroscedasticNoise([[-2.0, -1.0], [1.0, 0.5], [0.0, 0.8]])
CORRELATED = bnn.HeteroscedasticNoise(DEPENDS.coefficients, [[1.0, 0.6], [0.6, 1.0]])

SHARED = bnn.GaussianProcessPrior(0.0, bnn.RBF(0.7, 0.8), 2)
PRIOR_BY_OUTPUT = bnn.GaussianProcessPrior(
    0.0, [bnn.RBF(0.7, 0.8), bnn.Matern52(2.0, (0.5, 1.5))], 2
)
MIXTURE = bnn.MixturePrior([SHARED, PRIOR_BY_OUTPUT], [0.4, 0.6])
REGION_AND_RANGES = {"region": REGION, "output_ranges": [2.0, 10.0]}


ONES = np.ones(2)
WEIGHTED = {"output_weights": np.array([3.0, 1.0]), "costs": np.linspace(1.0, 4.0, 9)}


def integrated_variance(prior, noise, weights, *runs):
    """Of the posterior, refitted with runs of any result, in units of half the ranges."""
    added = np.concatenate([X, *np.reshape(runs, (-1, 1, 2))])
    y = np.concatenate([Y, RNG.normal(size=(len(runs), 2))])
    std = bnn.GPRegressor(prior, noise=noise).fit(added, y).predict(REGION, return_std=True)[1]
    return np.mean(std**2, axis=0) @ (weights / np.sum(weights) / [1.0, 25.0])


@pytest.mark.parametrize(
    ("prior", "noise", "allow_replicates", "asked"),
    [
        (SHARED, [0.2, 0.4], False, {}),
        (PRIOR_BY_OUTPUT, FULL, True, {}),
        (SHARED, DEPENDS, True, {}),
        (PRIOR_BY_OUTPUT, CORRELATED, False, {}),
        (PRIOR_BY_OUTPUT, [0.2, 0.4], False, WEIGHTED),
        (PRIOR_BY_OUTPUT, [0.2, 0.4], False, WEIGHTED | {"output_weights": np.array([0.0, 2.0])}),
    ],
)
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_as_by_refitting_with_every_candidate(prior, noise, allow_replicates, asked):
    """Each choice reduces the weighted variance most for its cost; two runs are pending."""
    pending = REGION[:2] + 0.1
    costs = asked.get("costs", np.ones(9))
    process = prior, noise, asked.get("output_weights", ONES)
    model = bnn.GPRegressor(prior, noise=noise).fit(X, Y)
    options = {"pending": pending, "allow_replicates": allow_replicates} | asked | REGION_AND_RANGES
    chosen, variances = bnn.select_runs(model, CANDIDATES, 4, **options)
    done = list(pending)
    assert variances[0] == pytest.approx(integrated_variance(*process, *done), rel=1e-8)
    for k, row in enumerate(chosen):
        after = np.array([integrated_variance(*process, *done, x) for x in CANDIDATES])
        done.append(CANDIDATES[row])
        assert variances[k + 1] == pytest.approx(after[row], rel=1e-8)
        gains = (variances[k] - after) / costs
        if not allow_replicates:
            gains[chosen[:k]] = -np.inf
        assert row == np.argmax(gains)


def linear(covariance, noise, runs, region):
    """Mean variance at the region (rows of the points) of the best linear prediction from runs."""
    P = len(covariance) // 2
    selected = np.add.outer(P * np.arange(2), runs).ravel()
    wanted = P * np.arange(2)[:, None] + region
    results = covariance[np.ix_(selected, selected)] + np.kron(noise, np.eye(len(runs)))
    cross = covariance[np.ix_(wanted.ravel(), selected)]
    left = covariance[np.ix_(wanted.ravel(), wanted.ravel())] - cross @ np.linalg.solve(
        results, cross.T
    )
    return np.mean(np.diag(left).reshape(2, -1) / np.array([[1.0], [25.0]]))


@pytest.mark.parametrize("noise", [np.diag([0.04, 0.16]), FULL], ids=["diagonal", "full"])
@pytest.mark.parametrize("kind", ["mixture", "ensemble"])
def test_a_mixture_and_an_ensemble_as_the_best_linear_prediction(kind, noise):
    points = np.concatenate([CANDIDATES, REGION])
    if kind == "mixture":
        model = bnn.GPRegressor(MIXTURE, noise=noise).fit(X, Y)
        covariance = model.joint_moments(points)[1]
    else:
        model = small(bnn.VanillaEnsemble, noise=noise, n_members=200).fit(X, Y)
        covariance = np.cov(model.sample(points).swapaxes(1, 2).reshape(200, -1).T)
    chosen, variances = bnn.select_runs(model, CANDIDATES, 3, **REGION_AND_RANGES)
    region = len(CANDIDATES) + np.arange(len(REGION))
    for k in range(3):
        after = [linear(covariance, noise, [*chosen[:k], c], region) for c in range(9)]
        left = np.where(np.isin(range(9), chosen[:k]), np.inf, after)
        assert chosen[k] == np.argmin(left)
        assert variances[k + 1] == pytest.approx(after[chosen[k]], rel=1e-8)


LINE = np.linspace(0.0, 1.0, 6)[:, None]
GRID = np.array([[0.0], [0.1], [0.1], [0.4], [0.4], [0.9], [0.9]])  # 0 and 0.4 are finished
WAVES = np.column_stack([np.sin(5.0 * LINE[:, 0]), np.cos(4.0 * LINE[:, 0])])
GAPS = np.where([[False, True], *[[False, False]] * 5], np.nan, WAVES)
KERNELS = [bnn.RBF(1.0, 0.3), bnn.Matern52(1.0, 0.3)]
BETWEEN = np.linspace(0.05, 0.95, 7)[:, None]
ONE = bnn.GaussianProcessPrior(0.0, KERNELS[0])
SMALL = bnn.GaussianProcessPrior(0.0, bnn.RBF(1e-60, 0.3))
SLOPE = bnn.GaussianProcessPrior(0.0, bnn.Linear(1.0))
TWO = bnn.GaussianProcessPrior(0.0, KERNELS, 2)
PAIR = [bnn.GaussianProcessPrior(0.0, k, 2) for k in KERNELS]
ROOT = np.array([[1e-9, 0.0], [1e-6, 0.0]])
# Prior, noise, outputs, and whether a finished run is certain
WITHOUT_NOISE = {
    "one output": (ONE, 0.0, WAVES[:, 0], True),
    "two outputs": (TWO, 0.0, WAVES, True),
    "equal kernels": (PAIR[0], 0.0, WAVES, True),
    "one without noise": (TWO, [0.0, 0.2], WAVES, False),
    "correlated": (TWO, ROOT @ ROOT.T + 1e-24 * np.eye(2), WAVES, True),
    "tiny": (ONE, 1e-9, WAVES[:, 0], True),
    "tiny unit": (SMALL, 0.0, 1e-30 * WAVES[:, 0], True),
    "mixture": (bnn.MixturePrior(PAIR, [0.5, 0.5]), 0.0, WAVES, True),
    "gap": (TWO, 0.0, GAPS, False),
    "no variance at zero": (SLOPE, 0.0, LINE[:, 0], False),
}


@pytest.mark.parametrize("name", WITHOUT_NOISE)
@pytest.mark.parametrize(
    "options",
    [{}, {"allow_replicates": True}, {"pending": GRID[[0, 1]]}, {"pending": GRID[:0]}],
)
@pytest.mark.filterwarnings("ignore::bnn.gp.conditioning.NuggetWarning")
def test_finished_and_doubled_runs_have_no_gain_without_noise(name, options):
    """The grid may contain both; the variances are those of the distinct runs."""
    prior, noise, y, certain = WITHOUT_NOISE[name]
    model = bnn.GPRegressor(prior, noise=noise).fit(LINE, y)
    distinct = [5] if len(options.get("pending", ())) else [1, 5]
    chosen, variances = bnn.select_runs(model, GRID, 7, **options)
    assert len(chosen) == 7
    gains = -np.diff(variances)
    assert np.all(np.isfinite(gains))
    assert np.all(gains > -1e-8 * variances[0])
    if certain:
        options = options | {"region": BETWEEN}
        few = bnn.select_runs(model, GRID[distinct], len(distinct), **options)[1]
        all_of = bnn.select_runs(model, GRID, len(distinct), **options)[1]
        assert set(GRID[chosen[: len(distinct)], 0]) == set(GRID[distinct, 0])
        np.testing.assert_allclose(gains[len(distinct) :], 0.0, atol=1e-8 * variances[0])
        np.testing.assert_allclose(all_of, few, rtol=1e-6)


def test_candidates_are_within_the_limits_with_the_probability():
    """Against the shares of draws from the posterior within the limits."""
    model = bnn.GPRegressor(PRIOR_BY_OUTPUT, noise=0.1).fit(X, Y)
    points = np.random.default_rng(1).uniform(-1.0, 1.0, (60, 2))
    limits = (None, np.array([0.8, 6.0]))
    asked = {"output_bounds": limits, "min_feasibility": 0.7}
    chosen, _ = bnn.select_runs(model, points, 5, **asked)
    draws = model.sample(points, 20_000, random_state=0)
    probable = np.mean(draws < limits[1], axis=0).prod(axis=1)
    assert np.all(probable[chosen] > 0.69)
    assert probable.min() < 0.3
    most = int(np.sum(probable >= 0.7))
    with pytest.raises(ValueError, match=rf"at most {most}, .* candidates within the limits"):
        bnn.select_runs(model, points, most + 1, **asked)
    with pytest.raises(ValueError, match="no candidate satisfies output_bounds"):
        bnn.select_runs(model, points, 1, output_bounds=(None, np.array([-100.0, -100.0])))


def test_the_choice_ends_where_a_run_gains_too_little():
    model = bnn.GPRegressor(PRIOR_BY_OUTPUT, noise=0.1).fit(X, Y)
    chosen, variances = bnn.select_runs(model, CANDIDATES, 9, **REGION_AND_RANGES)
    share = -np.diff(variances) / variances[0]
    for least in (0.02, 0.1, 0.9):
        first = int(np.argmax(share < least))
        fewer, left = bnn.select_runs(model, CANDIDATES, 9, min_gain=least, **REGION_AND_RANGES)
        np.testing.assert_array_equal(fewer, chosen[:first])
        np.testing.assert_array_equal(left, variances[: first + 1])
    assert len(fewer) == 0
