"""The proper Gaussian over the weights, and networks at the optimum under it."""

import copy

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from bnn import (
    MLP,
    RBF,
    AnchoredEnsemble,
    Anchoring,
    Architecture,
    GaussianProcessPrior,
    Pretraining,
    ProbabilisticPCA,
    Scaling,
    TrainingSettings,
)
from bnn._seeding import Purpose, member_generators, seed_sequence, spawn
from bnn.estimators.members import OPTIMUM
from bnn.gauss_newton.jacobian import Linearisation
from bnn.noise import resample
from bnn.training.backprop import LayerBlocks
from bnn.weight_priors import FactorisedGaussian, IsotropicGaussian

ARCHITECTURE = MLP((2, 6, 3))
D = ARCHITECTURE.n_weights
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


def test_gradient_is_that_of_the_full_matrix():
    """2 (Σ0 + τ² I)⁻¹ δ, from the training loop's term."""
    weights = draw(12, 1)
    prior = ProbabilisticPCA.fit(weights, ARCHITECTURE)
    differences, gradients = (LayerBlocks(ARCHITECTURE, 3, torch.device("cpu")) for _ in range(2))
    delta = (draw(3, 2) - weights[:3]).astype(np.float32)
    differences.load(torch.as_tensor(delta))
    add_gradient = prior.regulariser().on(differences.slices, torch.device("cpu"))
    add_gradient(differences.blocks, gradients.blocks, 1.0)
    covariance = np.cov(weights.T) + prior.noise_variance * np.eye(D)
    expected = 2.0 * np.linalg.solve(covariance, delta.T).T
    np.testing.assert_allclose(gradients.export(), expected, atol=1e-4 * np.abs(expected).max())


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


def test_too_few_networks():
    """Two networks leave no covariance once one is held out."""
    with pytest.raises(ValueError, match="K = 2: probabilistic PCA needs at least 3 networks"):
        ProbabilisticPCA.fit(draw(2, 0), ARCHITECTURE)


@pytest.fixture
def smooth(smooth_once):
    """Pre-trained networks whose objective has a gradient everywhere; a copy for each test."""
    return copy.deepcopy(smooth_once)


@pytest.fixture(scope="module")
def smooth_once():
    """What smooth gives copies of."""
    return AnchoredEnsemble(
        GaussianProcessPrior(0.0, RBF(0.5, 0.8)),
        noise=0.1,
        n_members=8,
        network=Architecture((10, 10), "silu"),
        pretraining=Pretraining(12, 64, range_factor=2.0, training=TrainingSettings(epochs=150)),
        anchoring=Anchoring(regulariser="factorised", optimiser="gauss_newton"),
        scaling=Scaling(None, None),
        random_state=0,
    ).pretrain(n_features=1)


@pytest.mark.parametrize("resampling", ["likelihood", "bootstrap"])
@pytest.mark.parametrize("regulariser", ["probabilistic_pca", "factorised", "isotropic"])
def test_gauss_newton_reaches_the_optimum(regulariser, resampling, smooth, line_data):
    """The gradient of the objective vanishes, and Adam does not get as low."""
    smooth.set_params(
        anchoring__regulariser=regulariser,
        anchoring__resampling=resampling,
        anchoring__optimiser="gauss_newton",
    )
    lowest, gradient, size = objective(smooth.fit(*line_data), *line_data)
    assert smooth.members_.epochs.max() < OPTIMUM.iterations
    assert np.all(gradient < 0.01 * size)
    np.testing.assert_allclose(
        smooth.members_.losses[smooth.members_.epochs, np.arange(8)], lowest, rtol=1e-3
    )
    smooth.set_params(anchoring__optimiser="adam", training__epochs=100).fit(*line_data)
    assert np.all(objective(smooth, *line_data)[0] > 0.99 * lowest)


def objective(ensemble, X, y):
    """Algorithm 2's objective, the norms of its gradient and of its data term's, each (K,)."""
    seeds = spawn(seed_sequence(ensemble.random_state), Purpose.RESAMPLING)
    generators = member_generators(seeds, len(ensemble.members_.weights))
    inputs, targets = resample(
        X, y[:, None], ensemble.anchoring.resampling, ensemble.members_.noise_covariance, generators
    )
    weights = torch.as_tensor(ensemble.members_.weights, dtype=torch.float64)
    state = Linearisation(ensemble.pretrained_.architecture, weights, torch.as_tensor(inputs))
    residual = (state.values - torch.as_tensor(targets))[:, :, 0] / 0.1
    data = 2.0 * state.pull_back(residual / 0.1).numpy()
    parts = ensemble.pretrained_.weight_prior(ensemble.anchoring.regulariser).covariance
    covariance = np.diag(parts.diagonal) + parts.root @ parts.root.T
    difference = (ensemble.members_.weights - ensemble.members_.anchors).astype(float)
    scaled = np.linalg.solve(covariance, difference.T).T
    value = (residual.numpy() ** 2).sum(axis=1) + (difference * scaled).sum(axis=1)
    return value, np.linalg.norm(data + 2.0 * scaled, axis=1), np.linalg.norm(data, axis=1)


def test_gauss_newton_needs_a_proper_gaussian(line_data):
    """The degenerate density has no optimum of its own."""
    with pytest.raises(ValueError, match="regulariser = 'low_rank': optimiser = 'gauss_newton'"):
        AnchoredEnsemble(noise=0.1, anchoring=Anchoring(optimiser="gauss_newton")).fit(*line_data)
