"""Gaussian process priors have the moments that they claim."""

import numpy as np
import pytest

import bnn
from bnn import RBF, GaussianProcessPrior, Linear, Matern52, RandomMean
from bnn.ensembles.drawn_priors import continued, prior_covariance
from bnn.gp.process import covariance_root
from bnn.priors.samplers import truncated_normal_hypercube
from tests.bnn.closed_forms import assert_covariance, assert_moments

X1 = np.linspace(-1.0, 1.0, 9)[:, None]
KERNELS = [
    RBF(0.6, 0.8),
    Matern52(1.0, 0.5),
    Linear((2.0,), offset=0.5),
    RBF(0.5, 2.0) * Linear(1.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_samples_have_the_kernels_covariance(kernel):
    """Sample mean and covariance against mean function and kernel."""
    prior = GaussianProcessPrior(lambda X: 2.0 * X[:, 0], kernel)
    samples = prior.sample(X1, 4000, 0)[:, :, 0]
    assert_moments(samples, 2.0 * X1[:, 0], kernel(X1, X1))


@pytest.mark.parametrize("lengthscale", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("kernel", [RBF, Matern52])
def test_sampling_is_safe_at_many_points(kernel, lengthscale):
    """600 points, repeated ones among them: finite, with the right variance."""
    X = np.vstack([truncated_normal_hypercube(500, 1, 0), np.zeros((100, 1))])
    samples = GaussianProcessPrior(0.0, kernel(0.2, lengthscale)).sample(X, 300, 0)[:, :, 0]
    assert np.isfinite(samples).all()
    assert np.abs(np.diff(samples[:, 500:], axis=1)).max() < 1e-5
    assert samples[:, 500].var() == pytest.approx(0.2, rel=5 * np.sqrt(2 / 300))


def test_features_outputs_and_bounds():
    """Each output sees its inputs only, outputs are independent, values stay within bounds."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6, 3))
    moved = X.copy()
    moved[:, 2] += 1.0
    prior = GaussianProcessPrior(
        bnn.LinearMean([0.5, -0.5]), RBF(0.2, 0.8), n_outputs=2, features=[[0, 1], [2]]
    )
    first, second = (prior.sample(values, 3000, 1) for values in (X, moved))
    np.testing.assert_allclose(first[:, :, 0], second[:, :, 0])
    assert_covariance(first[:, :, 0], RBF(0.2, 0.8)(X[:, :2], X[:, :2]))
    assert_covariance(first[:, :, 1], RBF(0.2, 0.8)(X[:, 2:], X[:, 2:]))
    correlation = np.corrcoef(first[:, 0, 0], first[:, 0, 1])[0, 1]
    assert abs(correlation) < 5 / np.sqrt(3000)
    np.testing.assert_allclose(
        first.mean(axis=1).mean(axis=0), X[:, 0].mean() * np.array([0.5, -0.5]), atol=0.05
    )
    clipped = GaussianProcessPrior(0.0, RBF(), 2, bounds=([-0.5, -1.0], None)).sample(X, 200, 0)
    np.testing.assert_array_equal(clipped.min(axis=(0, 1)), [-0.5, -1.0])


def test_realisations_do_not_depend_on_their_number():
    """Realisation k is the same among 3 and among 10."""
    prior = GaussianProcessPrior(
        RandomMean(lambda X, rng: rng.normal() * X[:, 0]), RBF(), n_outputs=2
    )
    np.testing.assert_allclose(prior.sample(X1, 3, 5), prior.sample(X1, 10, 5)[:3])
    assert not np.allclose(prior.sample(X1, 3, 6), prior.sample(X1, 3, 5))


@pytest.mark.parametrize("random", [False, True])
def test_realisations_continue(random):
    """continued goes on where sample ended: nearly equal nearby, with the prior's moments afar."""
    cubic = RandomMean(lambda X, rng: rng.uniform(-1.0, 1.0) * X[:, 0] ** 3)
    prior = GaussianProcessPrior(cubic if random else 0.0, RBF(0.5, 0.4))
    known = np.linspace(-1.0, 1.0, 40)[:, None]
    drawn = prior.sample(known, 500, 3)
    np.testing.assert_allclose(continued(prior, known, known, 500, 3), drawn, atol=2e-3)
    far = continued(prior, np.array([[1.5], [3.0]]), known, 500, 3)[:, :, 0]
    covariance = prior_covariance(prior, np.array([[1.5], [3.0]]), 4000, 1)[0]
    assert np.all(np.abs(np.cov(far.T) - covariance) < 0.3 * covariance.max())


def test_root_of_an_indefinite_covariance_is_refused():
    """No function has a variance below zero, wherever in the matrix it hides."""
    for matrix in ([[1.0, 2.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], np.full((2, 2), np.nan)):
        with pytest.raises(ValueError, match=r"eigenvalue -1: must be >= 0|not finite"):
            covariance_root(np.array(matrix))
