"""Gradients of means and standard deviations by central differences of `predict`."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn.networks.activations import ACTIVATIONS
from tests.bnn.small import small
from tests.bnn.two_inputs import (
    BY_INPUT,
    CORRELATED,
    NEW,
    PRIORS,
    VARYING,
    WITHIN,
    L,
    X,
    Y,
    ensemble,
    prior,
)

STEP = np.array([1e-4, 1e-2])
KERNELS = {
    "sum": bnn.RBF(1.5, L) + bnn.Linear((1.0, 0.01), 2.0, (0.1, 300.0), (0.5, 70.0)),
    "bent": bnn.RBF(1.5, L)
    + bnn.Linear((1.0, 0.01), 2.0, (0.1, 300.0), (0.9, 120.0), (2.0, 0.03), (0.3, 50.0)),
    "product": bnn.RBF(1.5, L) * bnn.Linear((1.0, 1e-4), 1.0, (0.0, 300.0)),
    "constant": sk.ConstantKernel(2.0) * bnn.Matern52(1.0, L) + sk.ConstantKernel(0.1),
}


def differences(model, total, step):
    """Of mean and standard deviation, by points moved along each input."""
    columns = []
    for i in range(2):
        sides = [
            model.predict(NEW + sign * step * np.eye(2)[i], return_std=True, include_noise=total)
            for sign in (1.0, -1.0)
        ]
        columns.append([(a - b) / (2.0 * step[i]) for a, b in zip(*sides, strict=True)])
    return [np.stack(parts, axis=-1) for parts in zip(*columns, strict=True)]


def agree(model, step=STEP, tolerance=2e-6):
    for total in (False, True):
        gradients = model.predict_gradient(NEW, include_noise=total)
        for ours, theirs in zip(gradients, differences(model, total, step), strict=True):
            assert ours.shape == theirs.shape
            scale = np.abs(theirs).max(axis=0)
            scale[scale == 0.0] = 1.0  # of an input that the kernel does not see
            np.testing.assert_allclose(ours / scale, theirs / scale, atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_sums_and_products_of_kernels(kernel):
    """The gradient of each kernel alone is compared in test_kernels.py."""
    agree(bnn.GPRegressor(prior(kernel, 1e3 * bnn.RBF(1.0, L)), noise=[0.1, 5.0]).fit(X, Y))


@pytest.mark.parametrize("noise", [[0.1, 5.0], CORRELATED, BY_INPUT, WITHIN, VARYING])
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.filterwarnings("ignore::bnn.NoiseWarning")
def test_posteriors_of_one_kernel_of_several_and_of_mixtures(prior, noise):
    agree(bnn.GPRegressor(prior, noise=noise).fit(X, Y))


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
def test_the_default_and_heavy_tails():
    # Under small noise predictions have relative rounding errors of 1e-8, so the step is longer.
    agree(bnn.GPRegressor().fit(X[:12], Y[:12]), 10.0 * STEP, 2e-5)
    agree(bnn.GPRegressor(PRIORS["different"], noise=bnn.StudentNoise([0.1, 5.0], 4.0)).fit(X, Y))


@pytest.mark.parametrize(
    ("activation", "hidden"), [*((name, (7, 5)) for name in ACTIVATIONS), ("silu", ())]
)
def test_members(activation, hidden):
    agree(ensemble(activation, hidden, noise=BY_INPUT))


def test_members_at_a_bound_have_no_gradient():
    low = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, L), bounds=(0.0, None))
    model = small(bnn.FunctionAnchoredEnsemble, low, network__hidden=(6,)).fit(X, Y[:, 0])
    agree(model)
    at = model.sample(NEW)[:, :, 0] == 0.0
    assert at.any()
    assert np.all(model.members_.gradients(NEW)[:, :, 0][at] == 0.0)


class Squared(bnn.RationalQuadratic):
    """A kernel whose values are not those of its base, whose gradient would be wrong."""

    def _evaluate(self, A, B):
        return super()._evaluate(A, B) ** 2


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (bnn.GaussianProcessPrior(kernel=sk.RBF(L)), "kernel RBF has no gradient"),
        (bnn.GaussianProcessPrior(kernel=Squared()), "kernel Squared has no gradient"),
        (bnn.GaussianProcessPrior(lambda X: X[:, 0]), "the mean of the prior is a function"),
    ],
)
def test_what_has_no_gradient_is_named(prior, message):
    with pytest.raises(ValueError, match=message):
        bnn.GPRegressor(prior, noise=0.1).fit(X, Y[:, 0]).predict_gradient(NEW)
