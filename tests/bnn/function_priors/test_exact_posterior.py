"""The exact references against independent computations."""

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
from bnn.function_priors import exact_posterior
from tests.bnn.closed_forms import LinearGaussianPosterior

RNG = np.random.default_rng(0)
X, X_TEST = RNG.uniform(-1, 1, (15, 2)), RNG.uniform(-1, 1, (6, 2))
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


def test_correlated_noise_by_brute_force():
    """Two outputs coupled by Σ_noise: conditioning the joint Gaussian written out."""
    noise = np.array([[0.04, 0.03], [0.03, 0.09]])
    prior = GaussianProcessPrior(
        LinearMean([0.5, -1.0]), [RBF(0.7, 0.5), RBF(0.3, 1.0)], 2, features=[[0], [0, 1]]
    )
    posterior = ExactPosterior(prior, noise=noise).fit(X, Y)
    n = len(X)
    joint = np.zeros((2 * n, 2 * n))
    for i in range(n):
        for k in range(n):
            for j in range(2):
                joint[2 * i + j, 2 * k + j] = prior.covariance(X[[i]], X[[k]], j).item()
        joint[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] += noise
    residual = (Y - prior.mean_values(X)).ravel()
    cross = np.zeros((2, 2 * n))
    for j in range(2):
        cross[j, j::2] = prior.covariance(X_TEST[:1], X, j)
    expected = prior.mean_values(X_TEST[:1])[0] + cross @ np.linalg.solve(joint, residual)
    np.testing.assert_allclose(posterior.predict(X_TEST[:1])[0], expected)
    own = np.diag([0.7, 0.3]) - cross @ np.linalg.solve(joint, cross.T)
    _, covariance = posterior.predict(X_TEST, return_cov=True, total=True)
    np.testing.assert_allclose(covariance[0], own + noise)
    _, joint_covariance = posterior.joint_moments(X_TEST)
    np.testing.assert_allclose(joint_covariance[::6, ::6], own, atol=1e-12)
    density = multivariate_normal.logpdf(Y[0], expected, own + noise)
    assert posterior.elppd(X_TEST[:1], Y[:1]) == pytest.approx(density)
    evidence = multivariate_normal.logpdf(residual, np.zeros(2 * n), joint)
    assert posterior.log_evidence() == pytest.approx(evidence)


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
    design, y = np.column_stack([X, np.ones(15)]), Y[:, 0]
    covariance = np.diag([0.5, 0.5, 0.5])
    posterior = LinearGaussianPosterior.condition(design, y, 0.2, np.ones(3), covariance)
    precision = design.T @ design / 0.04 + np.linalg.inv(covariance)
    np.testing.assert_allclose(posterior.covariance, np.linalg.inv(precision), atol=1e-12)
    right = design.T @ y / 0.04 + np.linalg.inv(covariance) @ np.ones(3)
    np.testing.assert_allclose(posterior.mean, np.linalg.solve(precision, right))


def test_points_are_predicted_in_blocks(monkeypatch):
    """The moments do not depend on how many points are predicted at a time."""
    prior = GaussianProcessPrior(0.0, RBF(0.7, 0.5), 2)
    posterior = ExactPosterior(prior, noise=[[0.04, 0.03], [0.03, 0.09]]).fit(X, Y)
    whole = posterior.predict(X_TEST, return_cov=True)
    monkeypatch.setattr(exact_posterior, "POINTS", 4)
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
    loaded, points = load(tmp_path / "exact.npz"), pd.DataFrame(X_TEST, columns=["a", "b"])
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
        ("X_", np.full((15, 2), np.nan), "not finite"),
        ("y_", np.zeros((14, 1)), r"y_ has shape \(14, 1\)"),
        ("y_ndim_", 3, "y_ndim_ is 3"),
        ("noise_covariance_", -np.eye(1), "positive definite"),
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
