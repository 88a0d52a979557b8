"""The low-rank Gaussian against the sample covariance."""

import numpy as np
import pytest

from bnn.ensembles.weight_priors import LowRankGaussian
from tests.bnn.closed_forms import assert_covariance
from tests.bnn.ensembles.weight_priors.conftest import ARCHITECTURE, D, K


def test_low_rank_is_the_sample_covariance(ensemble):
    """Rank K-1, covariance and mean of the ensemble, and Σ Σ⁺ Σ = Σ."""
    low_rank = LowRankGaussian.fit(ensemble, ARCHITECTURE)
    covariance = np.cov(ensemble.T)
    assert low_rank.rank == K - 1
    np.testing.assert_allclose(low_rank.covariance(), covariance, atol=1e-10)
    np.testing.assert_allclose(low_rank.variance, np.diag(covariance))
    factor = low_rank.regulariser().factor
    inverse = factor @ factor.T
    np.testing.assert_allclose(covariance @ inverse @ covariance, covariance, atol=1e-8)
    np.testing.assert_allclose(inverse, np.linalg.pinv(covariance, rcond=1e-10), atol=1e-7)


def test_low_rank_of_float32_weights_drops_the_null_direction(ensemble):
    """Rounding does not turn singular value number K into a direction."""
    assert LowRankGaussian.fit(ensemble.astype(np.float32), ARCHITECTURE).rank == K - 1


def test_low_rank_penalty_by_direction(ensemble):
    """Zero on the anchor, t² a standard deviation along V, zero along the complement."""
    low_rank = LowRankGaussian.fit(ensemble, ARCHITECTURE)
    anchor = ensemble[:1]
    assert low_rank.penalty(anchor, anchor) == 0.0
    for j in (0, K - 2):
        step = low_rank.deviations[j] * low_rank.directions[:, j]
        moved = [low_rank.penalty(anchor + t * step, anchor).item() for t in (1.0, 2.0, -3.0)]
        np.testing.assert_allclose(moved, [1.0, 4.0, 9.0])
    rng = np.random.default_rng(1)
    away = rng.standard_normal(D)
    away -= low_rank.directions @ (low_rank.directions.T @ away)
    assert low_rank.penalty(anchor + 100.0 * away, anchor).item() < 1e-12
    distance = low_rank.complement_distance(anchor + 100.0 * away, anchor).item()
    assert distance == pytest.approx(100.0 * np.linalg.norm(away))


def test_low_rank_samples_have_the_covariance(ensemble):
    """Every entry within five standard errors."""
    low_rank = LowRankGaussian.fit(ensemble, ARCHITECTURE)
    assert_covariance(low_rank.sample(4000, 0), low_rank.covariance())
