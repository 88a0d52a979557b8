"""Ensembles in BoTorch's acquisition functions, against formulas from their samples."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import bnn
from bnn.interop import botorch_model
from bnn.networks.activations import ACTIVATIONS
from tests.bnn.small import small
from tests.bnn.two_inputs import PRIORS, VARYING, X, Y, ensemble

MISSING = "needs the extra botorch"
WANTED = np.random.default_rng(0).uniform([-1.0, 200.0], [1.0, 400.0], (9, 2))


@pytest.fixture(scope="module")
def varying():
    return ensemble(n_members=200, noise=VARYING)


def test_the_posterior_has_the_moments_of_the_ensemble(varying):
    pytest.importorskip("botorch", reason=MISSING)
    posterior = botorch_model(varying).posterior(torch.as_tensor(WANTED))
    mean, std = varying.predict(WANTED, return_std=True)
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(posterior.variance.sqrt(), std, rtol=1e-10)
    second = botorch_model(varying).subset_output([1]).posterior(torch.as_tensor(WANTED))
    np.testing.assert_allclose(second.mean[:, 0], mean[:, 1], rtol=1e-10)


def test_the_posterior_of_results_adds_the_noise(varying):
    pytest.importorskip("botorch", reason=MISSING)
    model = botorch_model(varying)
    points = torch.as_tensor(WANTED)
    mean, std = varying.predict(WANTED, return_std=True, include_noise=True)
    noisy = model.posterior(points, observation_noise=True)
    np.testing.assert_allclose(noisy.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(noisy.variance.sqrt(), std, rtol=1e-6)
    second = model.posterior(points, [1], observation_noise=torch.full((9, 1), 1e8))
    np.testing.assert_allclose(second.variance.sqrt(), 1e4, rtol=1e-2)


@pytest.mark.parametrize("kind", ["process", "networks"])
def test_noise_that_is_only_known_for_the_data_is_not_zero_for_new_results(kind):
    pytest.importorskip("botorch", reason=MISSING)
    from botorch.sampling.normal import SobolQMCNormalSampler

    process = bnn.GPRegressor(PRIORS["alike"])
    networks = small(bnn.VanillaEnsemble, noise=None, n_members=200)
    fitted = {"process": process, "networks": networks}[kind]
    model = botorch_model(fitted.fit(X, Y, noise_std=np.full(Y.shape, [0.1, 5.0])))
    points, results = torch.as_tensor(WANTED[:2]), torch.as_tensor(Y[:2])
    sampler = SobolQMCNormalSampler(torch.Size([4]), seed=0)
    variances = torch.full((2, 2), 0.01, dtype=torch.float64)
    for call in (
        lambda noise: model.fantasize(points, sampler, noise),
        lambda noise: model.condition_on_observations(points, results, noise),
        lambda noise: model.posterior(points, observation_noise=True if noise is None else noise),
    ):
        with pytest.raises(ValueError, match="noise_std, which is not known for new data"):
            call(None)
        call(variances)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_members_of_every_activation_are_those_of_the_ensemble(activation):
    pytest.importorskip("botorch", reason=MISSING)
    model = ensemble(activation, n_members=3)
    model.members_ = replace(model.members_, bounds=np.array([[-0.1, 1000.0], [0.5, 1100.0]]))
    values = botorch_model(model)(torch.as_tensor(WANTED)).numpy()
    np.testing.assert_allclose(values, model.sample(WANTED), rtol=1e-10)


def test_results_are_taken_in_as_a_gaussian_process_takes_them(varying):
    """With the covariance of the members for prior: mean, covariance, and results one by one."""
    pytest.importorskip("botorch", reason=MISSING)
    runs = WANTED[:2]
    results = Y[:2]
    flat = varying.sample(WANTED).reshape(200, -1)
    C = np.cov(flat.T)
    n = runs.size
    noise = np.zeros((n, n))
    noise[:2, :2], noise[2:, 2:] = VARYING(runs)
    gain = np.linalg.solve(C[:n, :n] + noise, C[:n]).T
    mean = flat.mean(axis=0) + gain @ (results.ravel() - flat.mean(axis=0)[:n])
    conditioned = botorch_model(varying).condition_on_observations(
        *map(torch.as_tensor, (runs, results))
    )
    one = botorch_model(varying)
    for x, y in zip(runs, results, strict=True):
        one = one.condition_on_observations(*(torch.as_tensor(v[None]) for v in (x, y)))
    for model in (conditioned, one):
        values = model(torch.as_tensor(WANTED)).numpy().reshape(200, -1)
        np.testing.assert_allclose(values.mean(axis=0), mean, rtol=1e-8)
        scale = np.sqrt(np.outer(np.diag(C), np.diag(C)))
        assert np.all(np.abs(np.cov(values.T) - (C - gain @ C[:n])) < 1e-8 * scale)


@pytest.mark.parametrize("q", [1, 2])
def test_the_integrated_variance_is_that_of_a_gaussian_process_and_its_gradient_too(varying, q):
    pytest.importorskip("botorch", reason=MISSING)
    from botorch.acquisition.active_learning import qNegIntegratedPosteriorVariance

    model = botorch_model(varying).subset_output([0])
    function = qNegIntegratedPosteriorVariance(model, torch.as_tensor(WANTED))
    asked = np.random.default_rng(1).uniform([-1.0, 200.0], [1.0, 400.0], (3, q, 2))
    for runs, value in zip(asked, function(torch.as_tensor(asked)), strict=True):
        C = np.cov(varying.sample(np.concatenate([runs, WANTED]))[:, :, 0].T)
        results = C[:q, :q] + np.diag(VARYING(runs)[:, 0, 0])
        left = C - C[:, :q] @ np.linalg.solve(results, C[:q])
        np.testing.assert_allclose(value, -np.mean(np.diag(left)[q:]), rtol=1e-9)
    x = torch.as_tensor(asked, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(function, x, rtol=1e-4, atol=1e-7, eps=1e-5)


def test_what_has_no_covariances_and_a_missing_library_are_said(monkeypatch):
    with pytest.raises(TypeError, match="model = None: must be a GPRegressor or an ensemble"):
        botorch_model(None)
    few = ensemble()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "botorch", None)
        patch.setitem(sys.modules, "botorch.models.ensemble", None)
        patch.delitem(sys.modules, "bnn.interop.botorch_ensemble", raising=False)
        patch.delitem(sys.modules, "bnn.interop.botorch_process", raising=False)
        with pytest.raises(ImportError, match=r"pip install '.\[botorch\]' in the checkout"):
            botorch_model(few)
    pytest.importorskip("botorch", reason=MISSING)
    with pytest.raises(ValueError, match="model has 5 members: must be at least 200"):
        botorch_model(few).condition_on_observations(*map(torch.as_tensor, (X[:1], Y[:1])))


def test_equal_results_almost_without_noise_are_taken_in():
    """The variance at them is that of the noise, half of it for two equal results."""
    pytest.importorskip("botorch", reason=MISSING)
    model = ensemble(n_members=200, noise=[1e-9, 1e-6])
    points = torch.as_tensor(WANTED[[0, 0, 1]])
    mean = botorch_model(model).posterior(points).mean
    conditioned = botorch_model(model).condition_on_observations(points, mean + 0.1)
    posterior = conditioned.posterior(points)
    scale = model.predict(WANTED[[0, 0, 1]], return_std=True)[1]
    np.testing.assert_allclose(posterior.mean, mean + 0.1, atol=1e-5 * scale.max())
    np.testing.assert_array_less(conditioned(points).std(dim=0).numpy() / scale, 1e-5)
