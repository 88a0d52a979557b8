"""The proper Gaussian over the weights, and networks at the optimum under it."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bnn import RBF, AnchoredEnsemble, GaussianProcessPrior, ProbabilisticPCA, Scaling
from bnn.ensembles.members import OPTIMUM, data_gradient
from bnn.ensembles.weight_priors import FactorisedGaussian, IsotropicGaussian
from tests.bnn.ensembles.weight_priors.conftest import ARCHITECTURE, D
from tests.bnn.small import small

ROOT = np.random.default_rng(0).standard_normal((4, D))
NOISE = 0.1


def draw(n, seed):
    """Weights with 4 strong directions and a standard deviation of 0.1 in all, (n, d)."""
    rng = np.random.default_rng(seed)
    return 1.0 + rng.standard_normal((n, 4)) @ ROOT + NOISE * rng.standard_normal((n, D))


def test_penalty_and_density_are_those_of_the_full_matrix():
    """Against Σ0 + τ² I written out, d x d."""
    weights = draw(12, 1)
    prior = ProbabilisticPCA.fit(weights, ARCHITECTURE)
    covariance = np.cov(weights.T) + prior.noise_variance * np.eye(D)
    others = draw(3, 2)
    density = multivariate_normal(weights.mean(axis=0), covariance)
    np.testing.assert_allclose(prior.log_prob(others), density.logpdf(others), rtol=1e-9)
    difference = others - weights[:3]
    expected = np.einsum("ki,ij,kj->k", difference, np.linalg.inv(covariance), difference)
    np.testing.assert_allclose(prior.penalty(others, weights[:3]), expected, rtol=1e-9)
    np.testing.assert_allclose(prior.variance, np.diag(covariance))
    parts = prior.covariance
    full = np.diag(parts.diagonal) + parts.root @ parts.root.T
    np.testing.assert_allclose(full, covariance, atol=1e-12)
    np.testing.assert_allclose(parts.multiply(others), others @ covariance)


def test_held_out_networks_choose_the_noise():
    """τ² is near the true one, and predicts fresh networks better than others do."""
    prior = ProbabilisticPCA.fit(draw(40, 1), ARCHITECTURE)
    fresh = draw(200, 2)
    assert prior.noise_variance == pytest.approx(NOISE**2, rel=0.3)
    score = prior.log_prob(fresh).mean()
    for factor in (0.1, 10.0):
        scales = prior.deviations, prior.directions, factor * prior.noise_variance
        other = ProbabilisticPCA(prior.mean, *scales)
        assert other.log_prob(fresh).mean() < score - 1.0
    for kind in (FactorisedGaussian, IsotropicGaussian):
        assert kind.fit(draw(40, 1), ARCHITECTURE).log_prob(fresh).mean() < score - 10.0


@pytest.fixture(scope="module")
def smooth():
    """Pre-trained networks whose objective has a gradient everywhere."""
    return small(
        AnchoredEnsemble,
        GaussianProcessPrior(0.0, RBF(0.5, 0.8)),
        n_members=8,
        network__hidden=(10, 10),
        network__activation="silu",
        pretraining__n_networks=12,
        pretraining__n_points=64,
        pretraining__range_factor=2.0,
        pretraining__training__epochs=150,
        scaling=Scaling(None, None),
    ).pretrain(n_features=1)


@pytest.mark.slow
@pytest.mark.parametrize("resampling", ["likelihood", "bootstrap"])
@pytest.mark.parametrize("regulariser", ["probabilistic_pca", "factorised", "isotropic"])
def test_gauss_newton_reaches_the_optimum(regulariser, resampling, smooth, line_data):
    """The gradient of the objective vanishes, and Adam does not get as low."""
    smooth.set_params(
        anchoring__regulariser=regulariser,
        anchoring__resampling=resampling,
        anchoring__optimiser="gauss_newton",
    )
    lowest, gradient, size = objective(smooth.fit(*line_data))
    assert smooth.members_.epochs.max() < OPTIMUM.iterations
    assert np.all(gradient < 0.01 * size)
    np.testing.assert_allclose(
        smooth.members_.losses[smooth.members_.epochs, np.arange(8)], lowest, rtol=1e-3
    )
    smooth.set_params(anchoring__optimiser="adam", training__epochs=100).fit(*line_data)
    assert np.all(objective(smooth)[0] > 0.99 * lowest)


def objective(ensemble):
    """Algorithm 2's objective, the norms of its gradient and of its data term's, each (K,)."""
    members = ensemble.members_
    weights = members.weights.astype(float)
    residuals = (members.architecture.forward(weights, members.inputs) - members.targets) / 0.1
    parts = ensemble.pretrained_.weight_prior(ensemble.anchoring.regulariser).covariance
    covariance = np.diag(parts.diagonal) + parts.root @ parts.root.T
    difference = weights - members.anchors
    scaled = np.linalg.solve(covariance, difference.T).T
    data = data_gradient(members, weights)
    value = np.sum(residuals**2, axis=(1, 2)) + np.sum(difference * scaled, axis=1)
    return value, np.linalg.norm(data + 2.0 * scaled, axis=1), np.linalg.norm(data, axis=1)
