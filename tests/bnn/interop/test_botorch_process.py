"""Gaussian processes in BoTorch's acquisition functions, against their own moments and formulas."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn.interop import botorch_model
from tests.bnn.calls import OwnKernel
from tests.bnn.two_inputs import CORRELATED, ENDING, GAPS, PRIORS, SMOOTH, VARYING, X, Y, prior

pytest.importorskip("botorch", reason="needs the extra botorch")
from bnn.interop import botorch_process

WANTED = np.random.default_rng(1).uniform([-1.0, 200.0], [1.0, 400.0], (5, 2))
BOUNDED_APART = replace(
    VARYING, bounds=([[-0.5, -0.2], [240.0, 210.0]], [[0.5, 0.4], [360.0, 300.0]])
)
SUM = prior(SMOOTH + ENDING, 1e4 * SMOOTH, active_dims=[[0, 1], [1, 0]])
FITS = {
    "apart": (PRIORS["different"], (0.1, 5.0), Y),
    "a mean of each output": (PRIORS["numbers"], (0.1, 5.0), Y),
    "turned": (PRIORS["alike"], CORRELATED, Y),
    "coupled": (SUM, VARYING, Y),
    "bounds of each output": (SUM, BOUNDED_APART, Y),
    "mixture": (PRIORS["mixture"], (0.1, 5.0), Y),
    "coupled mixture": (PRIORS["mixture"], CORRELATED, Y),
    "gaps": (SUM, (0.1, 5.0), GAPS),
    "coupled with gaps": (SUM, CORRELATED, GAPS),
}


@pytest.fixture(scope="module", params=FITS)
def model(request):
    prior, noise, y = FITS[request.param]
    return bnn.GPRegressor(prior, noise=noise).fit(X, y)


def by_point(covariance, n):
    """Order entries by points first, then outputs."""
    order = np.arange(2 * n).reshape(2, n).T.ravel()
    return covariance[np.ix_(order, order)]


def close(computed, wanted, scale):
    assert np.max(np.abs(computed.detach().numpy() - wanted) / scale) < 1e-9


def test_the_joint_posterior_and_that_of_results_are_those_of_the_process(model):
    mean, covariance = model.joint_moments(WANTED)
    posterior = botorch_model(model).posterior(torch.as_tensor(WANTED)[None, None])
    close(posterior.mean[0, 0], mean, np.abs(mean))
    variances = model.predict(WANTED, return_std=True)[1] ** 2
    close(posterior.variance[0, 0], variances, variances)
    wanted = by_point(covariance, len(WANTED))
    of_first = posterior.distribution.covariance_matrix[0, 0]
    close(of_first, wanted, np.sqrt(np.outer(np.diag(wanted), np.diag(wanted))))
    std = model.predict(WANTED, return_std=True, include_noise=True)[1]
    of_first = botorch_model(model).posterior(torch.as_tensor(WANTED), observation_noise=True)
    close(of_first.variance.sqrt(), std, std)
    second = botorch_model(model).posterior(torch.as_tensor(WANTED), output_indices=[1])
    close(second.variance[:, 0], variances[:, 1], variances[:, 1])


@pytest.mark.parametrize("most", [botorch_process.MOST_SLOPES, 0])
@pytest.mark.parametrize("model", ["apart", "coupled", "mixture"], indirect=True)
def test_gradients_are_those_of_differences(model, most, monkeypatch):
    monkeypatch.setattr(botorch_process, "MOST_SLOPES", most)
    x = torch.as_tensor(WANTED[:2].reshape(1, 2, 2)).requires_grad_()
    scale = torch.tensor([1.0, 100.0])

    def parts(at):
        posterior = botorch_model(model).posterior(at)
        units = scale.repeat(2)
        joint = posterior.distribution.covariance_matrix / units[:, None] / units
        return posterior.mean / scale, joint

    assert torch.autograd.gradcheck(parts, x, eps=1e-4, rtol=1e-4, atol=1e-6)


def test_results_are_taken_in_as_by_a_process_with_more_data(model):
    """One by one too, with one output, and by the process of a mixture with its own covariance."""
    runs, results = WANTED[:2], Y[:2]
    mean, C = model.joint_moments(WANTED)
    flat = mean.ravel()
    C = by_point(C, len(WANTED))
    noise = np.zeros((4, 4))
    noise[:2, :2], noise[2:, 2:] = np.ones((2, 1, 1)) * model._noise_at(runs)
    at = {"all": [0, 1, 2, 3], "second": [1, 3]}
    start = botorch_model(model)
    one = start
    for x, y in zip(runs, results, strict=True):
        one = one.condition_on_observations(*(torch.as_tensor(v[None]) for v in (x, y)))
    points, values = map(torch.as_tensor, (runs, results))
    second = start.subset_output([1]).condition_on_observations(points, values[:, 1:])
    second.outputs = [0, 1]
    both = start.condition_on_observations(points, values)
    for conditioned, rows in ((one, at["all"]), (both, at["all"]), (second, at["second"])):
        A = C[np.ix_(rows, rows)] + noise[np.ix_(rows, rows)]
        gain = np.linalg.solve(A, C[rows]).T
        posterior = conditioned.posterior(torch.as_tensor(WANTED))
        wanted = flat + gain @ (results.ravel()[rows] - flat[rows])
        close(posterior.mean.flatten(), wanted, np.abs(wanted))
        left = C - gain @ C[rows]
        scale = np.sqrt(np.outer(np.diag(left), np.diag(left)))
        close(posterior.distribution.covariance_matrix, left, 100.0 * scale)


def test_a_prior_without_gradient_is_refused_by_name():
    for kernel, mean in ((OwnKernel(), 0.0), (sk.RBF(), 0.0), (bnn.RBF(), np.sin)):
        prior = bnn.GaussianProcessPrior(mean, kernel)
        fitted = bnn.GPRegressor(prior, noise=0.1).fit([[1.0], [2.0]], [0.3, 0.5])
        with pytest.raises(ValueError, match=r"has no gradient|mean of the prior is a ufunc"):
            botorch_model(fitted)


class Root(bnn.Kernel):
    """Lines in √x, which are defined for x >= 0 only."""

    def _evaluate(self, A, B):
        with np.errstate(invalid="ignore"):
            return np.sqrt(A) @ np.sqrt(B).T

    def diag(self, X):
        with np.errstate(invalid="ignore"):
            return np.sqrt(X[:, 0]) ** 2

    def gradient(self, a, b):
        with np.errstate(invalid="ignore"):
            return np.sqrt(a * b)[..., 0], 0.5 * np.sqrt(b / a)


def test_a_kernel_that_is_not_finite_at_a_new_point_is_named_with_the_point():
    positive = np.array([[0.5], [1.0], [2.0]])
    root = bnn.GaussianProcessPrior(0.0, Root())
    converted = botorch_model(bnn.GPRegressor(root, noise=0.1).fit(positive, positive[:, 0]))
    with pytest.raises(ValueError, match=r"the kernel Root is not finite at X = \[-0\.5\]$"):
        converted.posterior(torch.tensor([[0.5], [-0.5]], dtype=torch.float64))
