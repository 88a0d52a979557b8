"""What the page From scikit-learn or BoTorch says of each argument is so."""

import copy
import re

import numpy as np
import pytest
import torch
from botorch.acquisition import qLogExpectedImprovement
from botorch.acquisition.active_learning import qNegIntegratedPosteriorVariance
from botorch.acquisition.objective import GenericMCObjective
from botorch.models import ModelList
from botorch.sampling import SobolQMCNormalSampler
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import bnn
from bnn.interop import botorch_model
from docs.prose import ROOT

PAGE = (ROOT / "docs" / "coming_from.md").read_text(encoding="utf-8")
KERNEL = ConstantKernel(1.5) * RBF([0.3, 0.5])
PRIOR = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.5, (0.3, 0.5)))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 1.0, (20, 2))
    return X, np.sin(4.0 * X[:, 0]) + X[:, 1], rng.uniform(0.0, 1.0, (5, 2))


def both(data, alpha, **options):
    """The same kernel in scikit-learn and here; the options are of `fit`, or the noise."""
    X, y, _ = data
    theirs = GaussianProcessRegressor(KERNEL, alpha=alpha, optimizer=None).fit(X, y)
    prior = bnn.GaussianProcessPrior(0.0, KERNEL)
    ours = bnn.GPRegressor(prior, noise=options.pop("noise", None)).fit(X, y, **options)
    return theirs, ours


def test_alpha_is_the_square_of_the_noise_and_kernels_are_shared(data):
    theirs, ours = both(data, 0.1**2, noise=0.1)
    new = data[2]
    expected = theirs.predict(new, return_std=True)
    np.testing.assert_allclose(ours.predict(new, return_std=True), expected, rtol=1e-6)
    covariance = theirs.predict(new, return_cov=True)[1]
    np.testing.assert_allclose(ours.joint_moments(new)[1].reshape(5, 5), covariance, atol=1e-9)
    assert ours.predict(new, return_cov=True)[1].shape == (5, 1, 1)
    assert ours.sample(new, n_samples=3).shape == (3, 5, 1)


def test_alpha_of_each_row_is_the_square_of_noise_std(data):
    variances = np.linspace(0.01, 0.04, 20)
    theirs, ours = both(data, variances, noise_std=variances**0.5)
    expected = theirs.predict(data[2], return_std=True)
    np.testing.assert_allclose(ours.predict(data[2], return_std=True), expected, rtol=1e-6)


def test_a_white_kernel_counts_noise_that_include_noise_counts_here(data):
    X, y, new = data
    white = GaussianProcessRegressor(KERNEL + WhiteKernel(0.01), alpha=1e-12, optimizer=None)
    expected = white.fit(X, y).predict(new, return_std=True)[1]
    _, ours = both(data, 0.01, noise=0.1)
    std = ours.predict(new, return_std=True, include_noise=True)[1]
    np.testing.assert_allclose(std, expected, rtol=1e-5)


def test_parameters_of_a_kernel_of_scikit_learn_stay_fixed(data):
    _, ours = both(data, 0.01, noise=0.1)
    assert ours.prior_.kernel == KERNEL
    assert copy.deepcopy(ours).predict(data[2]).tolist() == ours.predict(data[2]).tolist()


@pytest.mark.usefixtures("few_draws")
def test_units_and_offset_of_the_data_change_nothing(data):
    X, y, new = data
    noise = {"noise": "constant"}
    plain = bnn.GPRegressor(**noise).fit(X, y).predict(new)
    scaled = bnn.GPRegressor(**noise).fit(1e6 * X, 1e-6 * y + 3.0).predict(1e6 * new)
    np.testing.assert_allclose((scaled - 3.0) * 1e6, plain, atol=1e-3)


def test_botorch_conditions_fantasises_and_lists_our_models(data):
    X, y, new = data
    points = torch.as_tensor(new)
    first, second = (
        botorch_model(bnn.GPRegressor(PRIOR, noise=0.1).fit(X, scale * y)) for scale in (1.0, 2.0)
    )
    assert first.posterior(points).rsample(torch.Size([3])).shape == (3, 5, 1)
    assert ModelList(first, second).posterior(points).mean.shape == (5, 2)
    sampler = SobolQMCNormalSampler(torch.Size([4]))
    assert first.fantasize(points[:2], sampler=sampler).posterior(points).mean.shape == (4, 5, 1)
    told = first.condition_on_observations(points[:1], torch.tensor([[9.0]], dtype=torch.double))
    assert told.posterior(points[:1]).mean.item() > first.posterior(points[:1]).mean.item() + 1.0
    assert qNegIntegratedPosteriorVariance(first, mc_points=points)(points[:1, None]).item() < 0.0


def test_outputs_share_no_covariance_and_constrain_each_other_in_botorch(data):
    X, y, new = data
    both_outputs = np.column_stack([y, X.sum(axis=1)])
    prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.5, (0.3, 0.5)), n_outputs=2)
    model = bnn.GPRegressor(prior, noise=0.1).fit(X, both_outputs)
    assert not model.predict(new, return_cov=True)[1][:, 0, 1].any()
    unconstrained, bound, void = (
        qLogExpectedImprovement(
            botorch_model(model),
            best_f=0.5,
            objective=GenericMCObjective(lambda samples, **_: samples[..., 0]),
            constraints=[lambda samples, limit=limit: samples[..., 1] - limit],
        )(torch.as_tensor(new[:1, None]))
        for limit in (9.0, float(new[0].sum()), -9.0)
    )
    assert unconstrained > bound > void


def test_a_kernel_of_scikit_learn_has_no_gradient_for_botorch(data):
    _, ours = both(data, 0.01, noise=0.1)
    with pytest.raises(ValueError, match="has no gradient"):
        botorch_model(ours)


def test_the_code_of_the_page_runs(data, capsys):
    X, y, _ = data
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(compile(code, "coming_from.md", "exec"), {"bnn": bnn, "X": X, "y": y})
    assert capsys.readouterr().out == "torch.Size([1, 2])\n"
