"""The exact references against independent computations."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sklearn_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

from bnn import (
    RBF,
    ExactPosterior,
    GaussianProcessPrior,
    Linear,
    LinearMean,
    Matern52,
    RandomMean,
    load,
)
from bnn.priors import conditioning
from tests.bnn.closed_forms import LinearGaussianPosterior

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (15, 2))
X_TEST = RNG.uniform(-1, 1, (6, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (RBF(0.7, 0.5), sklearn_kernels.RBF(0.5)),
        (Matern52(0.7, (0.5, 2.0)), sklearn_kernels.Matern((0.5, 2.0), nu=2.5)),
        (0.7 * sklearn_kernels.RBF(0.5), sklearn_kernels.RBF(0.5)),
    ],
)
def test_gp_posterior_against_sklearn(ours, theirs):
    """Mean, standard deviation and evidence of a zero-mean GP."""
    posterior = ExactPosterior(GaussianProcessPrior(0.0, ours), noise=0.1).fit(X, Y[:, 0])
    kernel = sklearn_kernels.ConstantKernel(0.7) * theirs
    regressor = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, Y[:, 0])
    mean, std = posterior.predict(X_TEST, return_std=True)
    expected_mean, expected_std = regressor.predict(X_TEST, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, atol=1e-8)
    np.testing.assert_allclose(std, expected_std, atol=1e-8)
    assert posterior.log_evidence() == pytest.approx(regressor.log_marginal_likelihood_value_)


CORRELATED = np.array([[0.04, 0.03, 0.0], [0.03, 0.09, -0.02], [0.0, -0.02, 0.05]])
DISTINCT = [RBF(0.7, 0.5), RBF(0.3, 1.0), RBF(0.7, 0.5)]
SHARED = Matern52(0.7, (0.5, 2.0))


@pytest.mark.parametrize("noise", [0.2, [0.2, 0.3, 0.2], CORRELATED], ids=["one", "three", "full"])
@pytest.mark.parametrize(
    ("kernel", "features"),
    [(DISTINCT, None), (DISTINCT, [[0], [0, 1], [1]]), (SHARED, None), (RBF(0.7, 0.5), [1])],
    ids=["distinct", "features", "shared", "shared feature"],
)
def test_the_joint_gaussian_written_out(kernel, features, noise):
    """Moments, density and evidence by the dense formula, whichever factors are taken."""
    y = np.column_stack([Y, np.exp(X[:, 0])])
    prior = GaussianProcessPrior(LinearMean([0.5, -1.0, 0.0]), kernel, 3, features=features)
    posterior = ExactPosterior(prior, noise=noise).fit(X, y)
    n = len(X)
    points = np.concatenate([X, X_TEST])
    each = [prior.covariance(points, points, j) for j in range(3)]
    # Entry 3 i + j: output j of point i.
    joint = sum(np.kron(block, np.diag(row)) for block, row in zip(each, np.eye(3), strict=True))
    full = np.diag(np.broadcast_to(noise, 3) ** 2.0) if np.ndim(noise) < 2 else noise
    data = joint[: 3 * n, : 3 * n] + np.kron(np.eye(n), full)
    cross = joint[3 * n :, : 3 * n]
    residual = (y - prior.mean_values(X)).ravel()
    mean = prior.mean_values(X_TEST) + (cross @ np.linalg.solve(data, residual)).reshape(-1, 3)
    covariance = joint[3 * n :, 3 * n :] - cross @ np.linalg.solve(data, cross.T)
    tensor = covariance.reshape(6, 3, 6, 3)
    at_points = np.einsum("nink->nik", tensor)

    close = {"rtol": 1e-10, "atol": 1e-10}
    found, joint_covariance = posterior.joint_moments(X_TEST)
    np.testing.assert_allclose(found, mean, **close)
    by_output = tensor.transpose(1, 0, 3, 2).reshape(18, 18)
    np.testing.assert_allclose(joint_covariance, by_output, **close)
    np.testing.assert_allclose(posterior.predict(X_TEST), mean, **close)
    _, total = posterior.predict(X_TEST, return_cov=True, total=True)
    np.testing.assert_allclose(total, at_points + full, **close)
    _, std = posterior.predict(X_TEST, return_std=True)
    np.testing.assert_allclose(std**2, np.einsum("nii->ni", at_points), **close)
    density = multivariate_normal.logpdf(y[0] - mean[0], cov=at_points[0] + full)
    assert posterior.elppd(X_TEST[:1], y[:1]) == pytest.approx(density, rel=1e-10)
    evidence = multivariate_normal.logpdf(residual, cov=data)
    assert posterior.log_evidence() == pytest.approx(evidence, rel=1e-10)
    draws = posterior.sample(X_TEST[:2], 4000, 0).reshape(4000, 6)
    error = np.cov(draws.T) - covariance[:6, :6]
    deviations = np.sqrt(np.diag(covariance)[:6])
    assert np.all(np.abs(error) < 5 * np.outer(deviations, deviations) * np.sqrt(2 / 4000))


@pytest.mark.parametrize("noise", [0.1, CORRELATED], ids=["diagonal", "full"])
def test_memory_grows_with_the_training_points_alone(noise):
    """Three factors, of 1.1 MB each, and parts of bounded size; a joint one has 10 or 130 MB."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (380, 2))
    new = rng.uniform(-1, 1, (20_000, 2))
    posterior = ExactPosterior(GaussianProcessPrior(0.0, RBF(1.0, 0.5), 3), noise=noise)
    tracemalloc.start()
    posterior.fit(points, np.column_stack([points, points[:, 0] ** 2]))
    kept, peak = tracemalloc.get_traced_memory()
    assert (kept, peak) < (5e6, 8e6)
    tracemalloc.stop()
    assert posterior.predict(new).shape == (20_000, 3)


@pytest.mark.parametrize(
    ("noise", "n", "message"),
    [
        (0.1, 10_001, "10001 points: their joint covariance has 10001 rows, must be at most 10000"),
        (CORRELATED[:2, :2], 5001, "5001 points: their joint covariance has 10002 rows"),
    ],
)
def test_functions_at_too_many_points_are_refused(noise, n, message):
    """Before any work; a covariance of coupled outputs has a row for each of them."""
    prior = GaussianProcessPrior(0.0, DISTINCT[:2], 2)
    with pytest.raises(ValueError, match=message):
        ExactPosterior(prior, noise=noise).fit(X, Y).sample(np.zeros((n, 2)))


def test_posterior_samples_have_its_moments():
    """Within five standard errors."""
    prior = GaussianProcessPrior(0.0, RBF(0.7, 0.5), 2)
    posterior = ExactPosterior(prior, noise=0.1).fit(X, Y)
    samples = posterior.sample(X_TEST, 3000, 0)
    mean, std = posterior.predict(X_TEST, return_std=True)
    assert np.all(np.abs(samples.mean(axis=0) - mean) < 5 * std / np.sqrt(3000))
    assert np.all(np.abs(samples.std(axis=0) / std - 1) < 5 / np.sqrt(6000))
    _, total = posterior.predict(X_TEST, return_std=True, total=True)
    np.testing.assert_allclose(total**2, std**2 + 0.01)


def test_samples_at_data_known_almost_exactly():
    """The posterior is the difference of covariances 1e8 times larger."""
    points = np.linspace(0.0, 1.0, 20)[:, None]
    posterior = ExactPosterior(GaussianProcessPrior(), noise=1e-4).fit(points, points[:, 0])
    samples = posterior.sample(points, 20, 0)
    np.testing.assert_allclose(samples[:, :, 0], np.tile(points[:, 0], (20, 1)), atol=1e-3)


def test_linear_gaussian_in_two_ways():
    """The gain form equals the information form, and a linear-kernel GP."""
    design = np.column_stack([X, np.ones(15)])
    y = Y[:, 0]
    covariance = np.diag([0.5, 0.5, 0.5])
    posterior = LinearGaussianPosterior.condition(design, y, 0.2, np.ones(3), covariance)
    precision = design.T @ design / 0.04 + np.linalg.inv(covariance)
    np.testing.assert_allclose(posterior.covariance, np.linalg.inv(precision), atol=1e-12)
    right = design.T @ y / 0.04 + np.linalg.inv(covariance) @ np.ones(3)
    np.testing.assert_allclose(posterior.mean, np.linalg.solve(precision, right))


@pytest.mark.parametrize("kernel", [SHARED, DISTINCT[:2]], ids=["apart", "coupled"])
def test_points_are_predicted_in_blocks(kernel, monkeypatch):
    """The moments do not depend on how many points are predicted at a time."""
    prior = GaussianProcessPrior(0.0, kernel, 2)
    posterior = ExactPosterior(prior, noise=CORRELATED[:2, :2]).fit(X, Y)
    whole = posterior.predict(X_TEST, return_cov=True)
    monkeypatch.setattr(conditioning, "ENTRIES", 5 * len(X))
    for parts, all_at_once in zip(posterior.predict(X_TEST, return_cov=True), whole, strict=True):
        np.testing.assert_allclose(parts, all_at_once, atol=1e-14)


def test_refusals():
    """Another number of outputs, a random mean, arrays of other shapes, both uncertainties."""
    posterior = ExactPosterior(GaussianProcessPrior())
    with pytest.raises(ValueError, match="y has 2 outputs: must be 1"):
        posterior.fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        posterior.fit(X, Y.T)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        posterior.fit(X[:, 0], Y[:, 0])
    random = ExactPosterior(GaussianProcessPrior(RandomMean(lambda X, rng: rng.normal() * X[:, 0])))
    with pytest.raises(ValueError, match="a random mean has no single value"):
        random.fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="return_std and return_cov: must not both be True"):
        posterior.fit(X, Y[:, 0]).predict(X, return_std=True, return_cov=True)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(0.7, (0.5, 2.0)) + Linear(0.3, offset=0.1),
        [
            0.5 * sklearn_kernels.RBF([0.5, 1.0]),
            Matern52(0.7) * sklearn_kernels.Matern(2.0, nu=1.5),
        ],
    ],
)
def test_saved_and_loaded(kernel, tmp_path):
    """Predictions are equal to the last bit, and what was fitted counts, not what was set later."""
    mean = LinearMean([[0.5, 0.0], [0.0, 1.0]], 0.1)
    prior = GaussianProcessPrior(mean, kernel, 2, bounds=(None, [5.0, 6.0]))
    posterior = ExactPosterior(prior, noise=[0.1, 0.2]).fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    posterior.set_params(noise=0.3).save(tmp_path / "exact.npz")
    loaded = load(tmp_path / "exact.npz")
    points = pd.DataFrame(X_TEST, columns=["a", "b"])
    for ours, theirs in zip(
        posterior.predict(points, return_std=True, total=True),
        loaded.predict(points, return_std=True, total=True),
        strict=True,
    ):
        np.testing.assert_array_equal(theirs, ours)
    np.testing.assert_array_equal(loaded.sample(points, 2, 0), posterior.sample(points, 2, 0))
    assert loaded.log_evidence() == posterior.log_evidence()
    assert loaded.noise == 0.3
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(points.rename(columns={"a": "c"}))


def test_what_no_file_can_hold_is_refused(tmp_path):
    """A mean that is a function, and an estimator before fit."""
    with pytest.raises(NotFittedError):
        ExactPosterior().save(tmp_path / "exact.npz")
    posterior = ExactPosterior(GaussianProcessPrior(lambda X: X[:, 0])).fit(X, Y[:, 0])
    with pytest.raises(TypeError, match=r"fitted.prior_.mean: a function cannot be stored"):
        posterior.save(tmp_path / "exact.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("prior_", RBF(), "prior_ is a RBF"),
        ("X_", np.full((15, 2), np.nan), "must be finite"),
        ("y_", np.zeros((14, 1)), r"y_ has shape \(14, 1\)"),
        ("y_ndim_", 3, "y_ndim_ is 3"),
        ("noise_", -np.eye(1), "positive definite"),
    ],
)
def test_a_damaged_file_is_refused(name, value, message, tmp_path):
    """Each attribute is checked against the others."""
    posterior = ExactPosterior(GaussianProcessPrior()).fit(X, Y[:, 0])
    setattr(posterior, name, value)
    posterior.save(tmp_path / "exact.npz")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "exact.npz")


@parametrize_with_checks([ExactPosterior()])
def test_estimator_check(estimator, check):
    """Every check that scikit-learn applies to a regressor."""
    check(estimator)


def test_without_a_prior_units_do_not_matter():
    plain = ExactPosterior(noise=0.1).fit(X, Y).predict(X_TEST)
    scaled = ExactPosterior(noise=1e-4).fit(1e6 * X, 5.0 + 1e-3 * Y).predict(1e6 * X_TEST)
    np.testing.assert_allclose(scaled, 5.0 + 1e-3 * plain, rtol=1e-6)


LARGE = """
import resource, sys, time
import numpy as np
from bnn import RBF, ExactPosterior, GaussianProcessPrior

def usage():
    # Peak memory in GB, processor time in s.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, time.process_time()

rng, case = np.random.default_rng(0), sys.argv[1]
X, new = rng.uniform(-1, 1, (5000, 4)), rng.uniform(-1, 1, (100_000, 4))
y = np.column_stack([np.sin(X @ rng.standard_normal(4)) for _ in range(5)])
kernels = [RBF(1.0, 1.0 + 0.1 * j) for j in range(5)] if case == "kernels" else RBF()
noise = 0.01 * np.eye(5) + 0.005 if case == "correlated" else 0.1
times = [usage()[1]]
posterior = ExactPosterior(GaussianProcessPrior(0.0, kernels, 5), noise=noise).fit(X, y)
times.append(usage()[1])
posterior.predict(new)
times.append(usage()[1])
posterior.predict(new[:1000], return_std=True)
times.append(usage()[1])
print(*np.diff(times), usage()[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize("case", ["kernels", "one kernel", "correlated"])
def test_five_thousand_data_of_five_outputs(case):
    """Processor time and peak memory, the libraries included."""
    command = [sys.executable, "-c", LARGE, case]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    fit, means, deviations, memory = map(float, words)
    print(
        f"{case}: fit {fit:.1f} s, 100,000 means {means:.1f} s, 1,000 deviations "
        f"{deviations:.1f} s, peak {memory:.2f} GB"
    )
    assert fit <= 20.0
    assert memory <= 2.0
