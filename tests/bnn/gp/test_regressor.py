"""The exact references against independent computations."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn import RBF, GaussianProcessPrior, GPRegressor, Matern52
from bnn.gp import conditioning
from tests.bnn.closed_forms import assert_moments

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (15, 2))
X_TEST = RNG.uniform(-1, 1, (6, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2])


@pytest.mark.parametrize("kernel", [RBF(0.7, 0.5), 0.7 * sk.RBF(0.5)])
def test_gp_posterior_against_sklearn(kernel):
    """Mean, standard deviation and evidence of a zero-mean GP."""
    posterior = GPRegressor(GaussianProcessPrior(0.0, kernel), noise=0.1).fit(X, Y[:, 0])
    regressor = GaussianProcessRegressor(0.7 * sk.RBF(0.5), alpha=0.01, optimizer=None)
    prediction = posterior.predict(X_TEST, return_std=True)
    expected = regressor.fit(X, Y[:, 0]).predict(X_TEST, return_std=True)
    np.testing.assert_allclose(prediction, expected, atol=1e-8)
    assert posterior.log_evidence() == pytest.approx(regressor.log_marginal_likelihood_value_)


CORRELATED = np.array([[0.04, 0.03, 0.0], [0.03, 0.09, -0.02], [0.0, -0.02, 0.05]])
COEFFICIENTS = [[-1.6, -1.2, -1.4], [0.7, 0.2, 0.0], [-0.3, 0.5, 0.2], [0.4, -0.2, 0.1]]
CORRELATION = [[1.0, 0.6, 0.0], [0.6, 1.0, -0.2], [0.0, -0.2, 1.0]]
NOISES = {
    "one": 0.2,
    "three": [0.2, 0.3, 0.2],
    "full": CORRELATED,
    "by input": bnn.HeteroscedasticNoise(COEFFICIENTS, squares=(0,)),
    "by input, full": bnn.HeteroscedasticNoise(COEFFICIENTS, CORRELATION, squares=(0,)),
}
DISTINCT = [RBF(0.7, 0.5), RBF(0.3, 1.0), RBF(0.7, 0.5)]
SHARED = Matern52(0.7, (0.5, 2.0))


@pytest.mark.parametrize("gaps", [False, True], ids=["all", "gaps"])
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize(
    ("kernel", "features"),
    [(DISTINCT, None), (DISTINCT, [[0], [0, 1], [1]]), (SHARED, None), (RBF(0.7, 0.5), [1])],
    ids=["distinct", "features", "shared", "shared feature"],
)
def test_the_joint_gaussian_written_out(kernel, features, noise, gaps):
    """Moments, density and evidence by the dense formula, whichever factors are taken."""
    y = np.column_stack([Y, np.exp(X[:, 0])])
    y[[1, 4, 7, 2], [1, 1, 2, 0]] = np.nan if gaps else 0.5
    seen = ~np.isnan(y.ravel())
    prior = GaussianProcessPrior(bnn.LinearMean([0.5, -1.0, 0.0]), kernel, 3, active_dims=features)
    posterior = GPRegressor(prior, noise=noise).fit(X, y)
    points = np.concatenate([X, X_TEST])
    covariances = [prior.covariance(points, points, j) for j in range(3)]
    # Entry 3 i + j: output j of point i.
    joint = sum(
        np.kron(block, np.diag(row)) for block, row in zip(covariances, np.eye(3), strict=True)
    )
    if callable(noise):
        added = noise(points)
    else:
        full = np.diag(np.broadcast_to(noise, 3) ** 2.0) if np.ndim(noise) < 2 else noise
        added = np.broadcast_to(full, (21, 3, 3))
    data = (joint[:45, :45] + block_diag(*added[:15]))[np.ix_(seen, seen)]
    cross = joint[45:, :45][:, seen]
    residual = (y - prior.mean_values(X)).ravel()[seen]
    mean = prior.mean_values(X_TEST) + (cross @ np.linalg.solve(data, residual)).reshape(-1, 3)
    covariance = joint[45:, 45:] - cross @ np.linalg.solve(data, cross.T)
    tensor = covariance.reshape(6, 3, 6, 3)
    at_points = np.einsum("nink->nik", tensor)

    close = {"rtol": 1e-10, "atol": 1e-10}
    joint_mean, joint_covariance = posterior.joint_moments(X_TEST)
    np.testing.assert_allclose(joint_mean, mean, **close)
    by_output = tensor.transpose(1, 0, 3, 2).reshape(18, 18)
    np.testing.assert_allclose(joint_covariance, by_output, **close)
    np.testing.assert_allclose(posterior.predict(X_TEST), mean, **close)
    _, total = posterior.predict(X_TEST, return_cov=True, include_noise=True)
    np.testing.assert_allclose(total, at_points + added[15:], **close)
    for with_noise, expected in ((False, at_points), (True, total)):
        _, std = posterior.predict(X_TEST, return_std=True, include_noise=with_noise)
        np.testing.assert_allclose(std**2, np.einsum("nii->ni", expected), **close)
    truth = mean + 0.1
    triples = zip(truth, mean, total, strict=True)
    density = sum(multivariate_normal.logpdf(t, m, C) for t, m, C in triples)
    assert posterior.elppd(X_TEST, truth) == pytest.approx(density, rel=1e-10)
    evidence = multivariate_normal.logpdf(residual, cov=data)
    assert posterior.log_evidence() == pytest.approx(evidence, rel=1e-10)
    draws = posterior.sample(X_TEST[:2], 4000, 0).reshape(4000, 6)
    assert_moments(draws, mean[:2].ravel(), covariance[:6, :6])


def test_samples_at_data_known_almost_exactly():
    """The posterior is the difference of covariances 1e8 times larger."""
    points = np.linspace(0.0, 1.0, 20)[:, None]
    posterior = GPRegressor(GaussianProcessPrior(), noise=1e-4).fit(points, points[:, 0])
    samples = posterior.sample(points, 20, 0)
    np.testing.assert_allclose(samples[:, :, 0], np.tile(points[:, 0], (20, 1)), atol=1e-3)


@pytest.mark.parametrize("kernel", [SHARED, DISTINCT[:2]], ids=["apart", "coupled"])
def test_points_are_predicted_in_blocks(kernel, monkeypatch):
    """The moments do not depend on how many points are predicted at a time."""
    prior = GaussianProcessPrior(0.0, kernel, 2)
    posterior = GPRegressor(prior, noise=CORRELATED[:2, :2]).fit(X, Y)
    whole = posterior.predict(X_TEST, return_cov=True)
    monkeypatch.setattr(conditioning, "ENTRIES", 5 * len(X))
    for parts, all_at_once in zip(posterior.predict(X_TEST, return_cov=True), whole, strict=True):
        np.testing.assert_allclose(parts, all_at_once, atol=1e-14)


def test_too_many_points_are_refused_before_their_covariance_is_computed():
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5), 2)
    model = bnn.GPRegressor(prior, noise=0.1).fit([[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])
    points = np.linspace(0.0, 1.0, 5001)[:, None]
    with pytest.raises(ValueError, match="5001 points: their joint covariance has 10002 rows"):
        model.joint_moments(points)


def test_rows_of_equal_inputs_are_refused_with_what_to_do():
    """Their means with weights, under the noise of the replicates, give the same posterior."""
    rng = np.random.default_rng(0)
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
    inputs = np.linspace(0.0, 1.0, 5)[:, None]
    many = inputs[np.arange(10_001) % 5]
    model = bnn.GPRegressor(prior, noise=0.1)
    with pytest.raises(ValueError, match=r"only 5 inputs differ: fit the means .* sample_weight"):
        model.fit(many, np.sin(many[:, 0]))
    rows = np.arange(20) % 5
    y = np.sin(inputs[rows, 0]) + 0.2 * rng.standard_normal(20)
    noise = bnn.noise.replicate_covariance(y, rows)
    single = bnn.GPRegressor(prior, noise=noise).fit(inputs[rows], y)
    means = np.array([y[rows == i].mean() for i in range(5)])
    averaged = bnn.GPRegressor(prior, noise=noise).fit(inputs, means, sample_weight=np.full(5, 4))
    expected = single.predict([[0.3]], return_std=True)
    np.testing.assert_allclose(averaged.predict([[0.3]], return_std=True), expected, rtol=1e-9)
