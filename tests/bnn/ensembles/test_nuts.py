"""Weight-space methods against NUTS, for a network so small that NUTS is the truth."""

import copy

import numpy as np
import pytest
import torch

import bnn
from tests.bnn.small import small

pyro_mcmc = pytest.importorskip("pyro.infer.mcmc", reason="needs pyro-ppl")

pytestmark = pytest.mark.slow

NOISE = 0.2
GRID = np.linspace(-1.0, 1.0, 21)[:, None]


def data():
    """Eight points on a sine, X (8, 1) and y (8,)."""
    rng = np.random.default_rng(0)
    X = np.linspace(-0.8, 0.8, 8)[:, None]
    return X, np.sin(3.0 * X[:, 0]) + NOISE * rng.standard_normal(8)


@pytest.fixture(scope="module")
def ensemble():
    """1-8-1 networks, 300 of them."""
    settings = {"batch_size": None, "learning_rate": 0.01}
    brief = bnn.TrainingSettings(epochs=300, **settings)
    return small(
        bnn.AnchoredEnsemble,
        bnn.GaussianProcessPrior(0.0, bnn.RBF(0.5, 0.8)),
        noise=NOISE,
        n_members=300,
        network=bnn.Architecture((8,), "tanh"),
        pretraining=bnn.Pretraining(300, 60, range_factor=2.0, training=brief),
        training=bnn.TrainingSettings(epochs=3000, **settings),
        anchoring=bnn.Anchoring(anchors="sampled", resampling="likelihood"),
        scaling=bnn.Scaling(None, None),
    ).pretrain(np.linspace(-2.0, 2.0, 60)[:, None])


def nuts(ensemble, covariance, mean):
    """Draw f on GRID from the posterior of the weights, (400, 21)."""
    X, y = (torch.as_tensor(v) for v in data())
    architecture = ensemble.pretrained_.architecture
    root = np.linalg.cholesky(covariance)
    centre = torch.as_tensor(mean)
    root = torch.as_tensor(root)

    def network(weights, points):
        (first, first_bias), (last, last_bias) = architecture.unpack(weights[None])
        hidden = torch.tanh(points @ first[0] + first_bias[0])
        return (hidden @ last[0] + last_bias[0])[:, 0]

    def potential(parameters):
        # Whitened: ω = μ0 + R z, z ~ N(0, I).
        z = parameters["z"]
        residual = (network(centre + root @ z, X) - y) / NOISE
        return 0.5 * (z @ z + residual @ residual)

    torch.manual_seed(0)
    kernel = pyro_mcmc.NUTS(potential_fn=potential, max_tree_depth=7)
    sampler = pyro_mcmc.MCMC(
        kernel,
        num_samples=400,
        warmup_steps=200,
        initial_params={"z": torch.zeros(len(mean), dtype=torch.float64)},
        disable_progbar=True,
    )
    sampler.run()
    draws = sampler.get_samples()["z"]
    points = torch.as_tensor(GRID)
    return np.stack([network(centre + root @ z, points).numpy() for z in draws])


@pytest.mark.parametrize(
    ("regulariser", "optimiser"),
    [("low_rank", "adam"), ("probabilistic_pca", "gauss_newton"), ("factorised", "gauss_newton")],
)
def test_weight_space_ensembles_against_nuts(regulariser, optimiser, ensemble):
    """Mean within 0.35 standard deviations and standard deviations within 20 %, on average.

    Randomise-then-optimise is exact for linear networks only; 0.17 to 0.21, and 7 %, were measured.
    With 300 networks the low-rank covariance of 25 weights has full rank.
    """
    ensemble = copy.deepcopy(ensemble)
    ensemble.set_params(anchoring__regulariser=regulariser, anchoring__optimiser=optimiser)
    ensemble.fit(*data())
    prior = ensemble.pretrained_.weight_prior(regulariser)
    if regulariser == "low_rank":
        covariance = prior.covariance()
    else:
        parts = prior.covariance
        covariance = np.diag(parts.diagonal) + parts.root @ parts.root.T
    truth = nuts(ensemble, covariance, prior.mean)
    mean, std = ensemble.predict(GRID, return_std=True)
    exact = truth.mean(axis=0)
    spread = truth.std(axis=0)
    assert np.abs(mean - exact).mean() < 0.35 * spread.mean()
    assert 0.8 < std.mean() / spread.mean() < 1.2
