"""The generalised normal density and its fit."""

import numpy as np
import pytest
import torch
from scipy import stats

from bnn.ensembles.weight_priors import FactorisedGeneralisedNormal
from bnn.ensembles.weight_priors.generalised_normal import fit_generalised_normal
from tests.bnn.ensembles.weight_priors.conftest import D, gradient_of


def test_power_gradient_is_finite_at_the_anchor():
    """β < 1 has a cusp at the anchor, where every member starts."""
    prior = FactorisedGeneralisedNormal(np.zeros(D), np.ones(D), np.full(D, 0.5))
    assert not gradient_of(prior, np.zeros((2, D), np.float32)).any()


@pytest.mark.parametrize("beta", [1.0, 1.5, 2.0, 3.0])
def test_gradient_is_that_of_the_penalty_near_the_anchor(beta):
    """Against automatic differentiation in float64, from 1e-5 α on."""
    size = np.logspace(-5, 1, D) * np.where(np.arange(D) % 2, -1.0, 1.0)
    alpha = np.linspace(0.5, 2.0, D)
    delta = torch.as_tensor((alpha * size)[None], dtype=torch.float32)
    prior = FactorisedGeneralisedNormal(np.zeros(D), alpha, np.full(D, beta))
    exact = delta.double().requires_grad_()
    (2.0 * (exact.abs() / torch.as_tensor(alpha)) ** beta).sum().backward()
    np.testing.assert_allclose(gradient_of(prior, delta), exact.grad, rtol=1e-5)


@pytest.mark.parametrize("beta", [0.7, 1.0, 2.0, 4.0])
def test_generalised_normal_fit_recovers_its_parameters(beta):
    """Maximum likelihood on 20 000 draws; β = 2 is the Gaussian, β = 1 Laplace."""
    values = 0.3 * stats.gennorm(beta).rvs(20_000, random_state=0)
    alpha_hat, beta_hat = fit_generalised_normal(values[:, None])
    assert beta_hat == pytest.approx(beta, rel=0.08)
    assert alpha_hat == pytest.approx(0.3, rel=0.08)
