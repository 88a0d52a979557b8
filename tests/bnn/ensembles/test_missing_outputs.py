"""Ensembles leave outputs that a row lacks out of their loss."""

import numpy as np
import pytest

import bnn
from bnn.ensembles.members import data_gradient
from tests.bnn.small import small

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (15, 2))
WHOLE = np.column_stack([np.sin(2.0 * X.sum(axis=1)), X[:, 0] ** 2])
MISSING = np.zeros(WHOLE.shape, dtype=bool)
MISSING[[1, 4, 7], 1] = True
MISSING[[0, 2], 0] = True
Y = np.where(MISSING, np.nan, WHOLE)
NEW = RNG.uniform(-1.0, 1.0, (6, 2))
PRIOR = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.7), 2)
EXACT = bnn.Anchoring("isotropic", optimiser="gauss_newton", resampling="likelihood")
LIKELIHOOD = bnn.Anchoring("factorised", resampling="likelihood")
CORRELATED = np.array([[0.04, 0.015], [0.015, 0.02]])
BOUNDS = bnn.Scaling(outputs=(-1.5, 1.5))
QUIET = pytest.mark.filterwarnings(
    "ignore::bnn.NoiseWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
ENSEMBLES = {
    "vanilla": small(bnn.VanillaEnsemble, training__epochs=30),
    "bootstrap": small(bnn.VanillaEnsemble, resampling="bootstrap", training__epochs=30),
    "anchored": small(bnn.AnchoredEnsemble, PRIOR, anchoring=LIKELIHOOD, training__epochs=30),
    "optimum": small(bnn.AnchoredEnsemble, PRIOR, anchoring=EXACT),
    "functions": small(bnn.FunctionAnchoredEnsemble, PRIOR, anchoring__tol=1e-3),
}


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_missing_entry_counts_like_one_of_boundless_noise(name):
    """Noise of 1e12 leaves nothing of an entry in the loss, without any mask."""
    model = ENSEMBLES[name].set_params(noise=None, scaling=BOUNDS)
    std = np.full(WHOLE.shape, 0.1)
    masked = model.fit(X, Y, noise_std=std).predict(NEW, return_std=True)
    boundless = np.where(MISSING, 1e12, std)
    if name == "functions":
        boundless = np.where(MISSING, 1e5, std)  # data of 1e12 would round the others away
    expected = model.fit(X, WHOLE, noise_std=boundless).predict(NEW, return_std=True)
    np.testing.assert_allclose(masked, expected, rtol=2e-4, atol=2e-5)
    prediction = model.fit(X, WHOLE, noise_std=std).predict(NEW, return_std=True)
    assert np.abs(np.subtract(masked, prediction)).max() > 1e-3


@QUIET
@pytest.mark.parametrize("noise", [CORRELATED, bnn.HeteroscedasticNoise(-np.ones((3, 2)))])
@pytest.mark.parametrize(
    ("resampling", "y"), [("bootstrap", Y), ("likelihood", Y), ("bootstrap", WHOLE)]
)
def test_the_gradient_of_the_loss_is_that_of_what_is_there(noise, resampling, y):
    options = {"resampling": resampling, "network__activation": "tanh"}
    members = small(bnn.VanillaEnsemble, noise=noise, **options).fit(X, y).members_
    scaler = members.output_scaler
    missing = np.isnan(members.targets)
    assert missing.any() == (y is Y)
    points = np.broadcast_to(members.inputs, (*missing.shape[:2], 2))
    inputs = members.input_scaler.transform(members.inputs)
    covariances = bnn.noise.covariance_at(members.noise_covariance, points)
    covariances = scaler.transform_covariance(covariances * np.ones((*missing.shape[:2], 1, 1)))

    def loss(weights):
        """Return the sum over entries of each member, by blocks of the covariances."""
        f = members.architecture.forward(weights, inputs)
        total = np.zeros(len(weights))
        for k, i in np.ndindex(missing.shape[:2]):
            measured = np.flatnonzero(~missing[k, i])
            target = (members.targets[k, i] - scaler.centre)[measured] / scaler.half_range[measured]
            away = f[k, i][measured] - target
            total[k] += away @ np.linalg.solve(covariances[k, i][np.ix_(measured, measured)], away)
        return total

    weights = members.weights.astype(float)
    gradient = data_gradient(members, members.weights)
    for step in 1e-5 * np.eye(weights.shape[1]):
        slopes = (loss(weights + step) - loss(weights - step)) / 2e-5
        np.testing.assert_allclose(gradient @ step * 1e5, slopes, rtol=1e-6, atol=1e-4)
