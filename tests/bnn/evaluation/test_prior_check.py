"""Prior predictive check: closed form, valid p-values for few realisations, refusals."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

import bnn
from bnn import RBF, GaussianProcessPrior, SamplerPrior, TablePrior, check_prior

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(-1, 1, (30, 1)), axis=0)
NOISE = 0.05


def line(x, slope):
    return slope * x[:, 0]


def data(seed, slope=1.2, bend=0.0):
    """Noisy data on a line, or off it."""
    noise = NOISE * np.random.default_rng(seed).standard_normal(30)
    return slope * X[:, 0] + bend * np.sin(4 * X[:, 0]) + noise


LINES = SamplerPrior(line, {"slope": norm(1.0, 0.3)})

BY_INPUT = bnn.HeteroscedasticNoise([np.log([0.05, 0.2]), [1.0, -0.5]], [[1.0, 0.3], [0.3, 1.0]])


@pytest.mark.parametrize("slopes", [np.zeros(2), np.array([1.0, -0.5])])
def test_distance_under_a_gaussian_process(slopes):
    """Both outputs by the inverse of the covariance, and chi-squared."""
    prior = GaussianProcessPrior(0.5, [RBF(0.7, 0.4), RBF(2.0, 1.0)], 2)
    y = np.column_stack([data(0), 3 * data(1)])
    noise = np.array([0.05, 0.2])
    noise_model = BY_INPUT if slopes.any() else noise
    conflict = check_prior(prior, X, y, noise_model, random_state=0)
    for j, kernel in enumerate(prior.kernels):
        deviations = noise[j] * np.exp(slopes[j] * X[:, 0])
        covariance = kernel(X, X) + np.diag(deviations**2)
        square = (y[:, j] - 0.5) @ np.linalg.solve(covariance, y[:, j] - 0.5)
        assert conflict.distance[j] == pytest.approx(np.sqrt(square / 30))
        assert conflict.p_value[j] == pytest.approx(chi2.sf(square, 30))
        high = 0.5 + 1.96 * np.sqrt(kernel.variance + deviations**2)
        assert conflict.quantiles[2, :, j].mean() == pytest.approx(high.mean(), rel=0.1)


@pytest.mark.parametrize("kind", ["sampler", "table", "mixture", "bounded"])
def test_p_values_are_uniform_under_the_prior(kind):
    """Data drawn from priors that are no Gaussian process; 20 realisations, 30 data."""
    process = GaussianProcessPrior(0.0, RBF(0.7, 0.4))
    prior = {
        "sampler": LINES,
        "table": TablePrior(X, process.sample(X, 20, 1)),
        "mixture": bnn.MixturePrior(
            [process, GaussianProcessPrior(0.0, RBF(9.0, 0.4))], [0.5, 0.5]
        ),
        "bounded": GaussianProcessPrior(0.0, RBF(0.7, 0.4), bounds=(0.0, None)),
    }[kind]
    rng = np.random.default_rng(2)
    drawn = process.sample(X, 200, 3) if kind == "table" else prior.sample(X, 200, 3)
    noisy = drawn[:, :, 0] + NOISE * rng.standard_normal((200, 30))
    checks = [
        check_prior(prior, X, y, NOISE, realisations=20, random_state=s)
        for s, y in enumerate(noisy)
    ]
    p = np.array([conflict.p_value[0] for conflict in checks])
    for level in (0.2, 0.5, 0.8):  # with 10 of 20 realisations, p is a multiple of 1/11
        allowed = np.floor(11 * level) / 11
        spread = 5.0 if kind == "table" else 4.0  # one table serves all
        assert np.mean(p <= level) == pytest.approx(allowed, abs=spread * np.sqrt(0.25 / 200))
    assert p.min() == pytest.approx(1 / 11)


def test_data_that_the_model_cannot_explain_conflict():
    """A bend that no line has; the same data agree with lines and a process for what they lack."""
    conflict = data(5, bend=0.3)
    first_check = check_prior(LINES, X, data(5), NOISE, random_state=0)
    assert first_check.p_value[0] > 0.05
    assert first_check.distance[0] == pytest.approx(1.0, abs=0.3)
    wrong = check_prior(LINES, X, conflict, NOISE, random_state=0)
    assert wrong.p_value[0] == pytest.approx(1 / 501)
    assert wrong.distance[0] > 2.0
    process = GaussianProcessPrior(0.0, RBF(0.1, 0.4))
    with_discrepancy = SamplerPrior(
        lambda x, rng: (
            line(x, rng.normal(1.0, 0.3)) + process.sample(x, 1, int(rng.integers(2**31)))[0, :, 0]
        )
    )
    assert check_prior(with_discrepancy, X, conflict, NOISE, random_state=0).p_value[0] > 0.05
