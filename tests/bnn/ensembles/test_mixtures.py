"""Ensembles with a mixture of Gaussian processes as their prior, against its exact posterior."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import bnn
from bnn.gp.evidence import fit_prior
from bnn.storage.values import NotStored
from tests.bnn.small import small

RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, (8, 1))
Y = np.sin(3 * X[:, 0]) + 0.1 * RNG.standard_normal(8)
PROCESSES = [bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, L)) for L in (0.4, 1.0)]
MIXTURE = bnn.MixturePrior(PROCESSES, [0.5, 0.5])
DISCREPANCY = fit_prior(X, Y, 0.1, mean=lambda x: 2.0 * x[:, 0] - 1.5 * x[:, 0] ** 3)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [MIXTURE, DISCREPANCY], ids=["processes", "low-fidelity model"])
def test_members_follow_the_posterior_of_the_mixture(prior, tmp_path):
    """Within the scatter of twenty draws; the file holds the members but not a model."""
    points = np.linspace(-1, 1, 9)[:, None]
    fitted = bnn.FunctionAnchoredEnsemble(
        prior,
        noise=0.1,
        n_members=20,
        network=bnn.Architecture((30, 30), "silu"),
        pretraining=bnn.Pretraining(20, 40, training=bnn.TrainingSettings(epochs=100)),
        anchoring=bnn.FunctionAnchoring(n_points=20),
        random_state=0,
    ).fit(X, Y)
    exact = bnn.GPRegressor(prior, noise=0.1).fit(X, Y)
    mean, std = exact.predict(points, return_std=True)
    ours, spread = fitted.predict(points, return_std=True)
    assert np.sqrt(np.mean(((ours - mean) / std) ** 2)) < 1.5 / np.sqrt(20)
    assert np.mean(spread / std) == pytest.approx(1.0, abs=0.2 if prior is MIXTURE else 0.25)
    assert len(np.unique(fitted.members_.inputs[:, 8:], axis=0)) == 20
    np.testing.assert_array_equal(fitted.members_.inputs[:, :8], np.tile(X, (20, 1, 1)))
    fitted.save(tmp_path / "ensemble.npz")
    loaded = bnn.load(tmp_path / "ensemble.npz")
    np.testing.assert_array_equal(loaded.predict(points), ours)
    assert prior is MIXTURE or loaded.prior == NotStored("MixturePrior")


@pytest.mark.slow
def test_members_have_the_components_of_all_outputs_together():
    """Noise of correlation 0.95: their targets at the data are draws of the exact posterior."""
    kernels = [bnn.RBF(1.0, L) for L in (0.15, 0.5, 2.0)]
    noise = 0.09 * np.array([[1.0, 0.95], [0.95, 1.0]])
    rng = np.random.default_rng(22)
    truth = np.column_stack([np.sin(3 * X[:, 0]), 0.5 * X[:, 0]])
    y = truth + rng.standard_normal((8, 2)) @ np.linalg.cholesky(noise).T
    prior = bnn.MixturePrior([bnn.GaussianProcessPrior(0.0, k, 2) for k in kernels], [1 / 3] * 3)
    many = {"n_members": 200, "pretraining__n_networks": 200, "anchoring__max_iter": 1}
    fitted = small(bnn.FunctionAnchoredEnsemble, prior, noise=noise, **many).fit(X, y)
    mean, std = bnn.GPRegressor(prior, noise=noise).fit(X, y).predict(X, return_std=True)
    error = (fitted.members_.targets[:, :8].mean(axis=0) - mean) / std
    assert np.sqrt(np.mean(error**2)) < 1.5 / np.sqrt(200)


def test_members_that_do_not_arrive_are_counted_once():
    """All together, although each is trained alone."""
    hard = {"anchoring__max_iter": 2, "anchoring__tol": 1e-6, "anchoring__n_points": 20}
    with pytest.warns(ConvergenceWarning, match="3 of 3 members did not converge within 2"):
        small(bnn.FunctionAnchoredEnsemble, MIXTURE, **hard).fit(X, Y)
