"""Prior predictive check: whether data conflict with a prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from bnn._seeding import RandomState, generator, seed_sequence, spawn
from bnn._validation import Array, as_data, check_count
from bnn.gp.means import RandomMean
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import Noise, checked_noise, covariance_at
from bnn.priors.function_prior import FunctionalPrior
from bnn.priors.samplers import TablePrior, draw_realisations
from safe_files.progress import progress_bar, titled
from safe_files.text import Short

QUANTILES = (0.025, 0.5, 0.975)


@dataclass(frozen=True, repr=False)
class PriorCheck(Short):
    """Distances and quantiles of data under a prior and noise, see `check_prior`.

    Attributes:
        distance: Mahalanobis distance of the data of each output from the prior mean, divided by
            the root mean square of this distance under the prior, (n_out,). It is about 1 if data
            and prior agree.
        p_value: Probability of at least this distance under the prior, (n_out,).
        quantiles: 2.5, 50 and 97.5 % quantiles of noisy data under the prior, (3, N, n_out).
        y: The data, (N, n_out).

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.GaussianProcessPrior(5.0, bnn.RBF(1e-4, 0.5))
        >>> bool(bnn.check_prior(prior, X, y, noise=0.05, random_state=0).p_value[0] < 0.05)
        True
    """

    distance: Array
    p_value: Array
    quantiles: Array
    y: Array


def check_prior(
    prior: FunctionalPrior,
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise,
    *,
    realisations: int = 1000,
    random_state: RandomState = None,
) -> PriorCheck:
    """Test whether data agree with their distribution under a prior and noise.

    For a Gaussian process the squared Mahalanobis distance has a chi-squared distribution. For any
    other prior R realisations are drawn. One half gives the moments of the prior, the other half,
    with noise, the distribution of the distance. The p-values are then valid for any R; the
    smallest possible value is about 2 / R.

    Args:
        prior: Functional prior, as for `pretrain`.
        X: Inputs, (N, n_in).
        y: Outputs, (N,) or (N, n_out).
        noise: Standard deviations, Σ_noise or a HeteroscedasticNoise; correlations between outputs
            are ignored.
        realisations: Number of realisations R >= 4; for a TablePrior at most as many as it
            contains.
        random_state: Seed of the realisations.

    Returns:
        Distances, p-values and quantiles. If a p-value is below about 0.05, widen the prior.

    Raises:
        ValueError: If an argument is invalid, or the shapes of data, noise and prior do not match.

    Source: Box (1980), Journal of the Royal Statistical Society A 143.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
        >>> check = bnn.check_prior(prior, X, y, noise=0.05, random_state=0)
        >>> bool(check.p_value[0] > 0.05)
        True
    """
    if isinstance(prior, type) or not isinstance(prior, FunctionalPrior):
        raise ValueError(f"prior = {prior!r:.60}: must be an object with a method sample")
    X, y = as_data(X, y)
    covariance = covariance_at(checked_noise(noise, X.shape[1], y.shape[1]), X)
    seeds = seed_sequence(random_state)
    variances = np.einsum("...jj->...j", covariance) * np.ones((len(X), 1))
    check_count("realisations", realisations, 4)
    R = min(realisations, len(prior.values)) if isinstance(prior, TablePrior) else realisations
    check_count("realisations", R, 4)
    f = draw_realisations(prior, X, R, spawn(seeds, 0))
    if f.shape[2] != y.shape[1]:
        raise ValueError(f"y has {y.shape[1]} outputs: must be {f.shape[2]}")
    noisy = f + np.sqrt(variances) * generator(spawn(seeds, 1)).standard_normal(f.shape)
    # A Gaussian process has a Gaussian density if its mean is not random and it has no bounds.
    gaussian = isinstance(prior, GaussianProcessPrior) and not (
        isinstance(prior.mean, RandomMean) or np.isfinite(prior.limits).any()
    )
    results = []
    with progress_bar(y.shape[1] + 1, titled("prior check", None), "step") as bar:
        for j, variance in enumerate(variances.T):
            if gaussian and isinstance(prior, GaussianProcessPrior):
                mean = prior.mean_values(X)[:, j]
                covariance = prior.covariance(X, X, j)
            else:
                mean = f[::2, :, j].mean(axis=0)
                covariance = np.cov(f[::2, :, j], rowvar=False)
            away = np.vstack([y[:, j], noisy[1::2, :, j]]) - mean
            squares = _squared_distances(away, np.atleast_2d(covariance), variance)
            results.append(_compared(squares, len(X) if gaussian else None))
            bar.update()
        distance, p_values = np.transpose(results)
        quantiles = np.quantile(noisy, QUANTILES, axis=0)
        bar.update()
    return PriorCheck(distance, p_values, quantiles, y)


def _compared(squares: Array, degrees: int | None) -> tuple[float, float]:
    """Return the relative distance of the data, and the probability of at least this distance.

    Args:
        squares: Squared distances of the data, and of realisations of the prior, (1 + R,).
        degrees: Degrees of freedom of a chi-squared distribution; None takes the realisations.
    """
    if degrees is None:
        expected = squares[1:].mean()
        return np.sqrt(squares[0] / expected), np.mean(squares >= squares[0])
    return np.sqrt(squares[0] / degrees), chi2.sf(squares[0], degrees)


def _squared_distances(away: Array, covariance: Array, variance: Array) -> Array:
    """Return the squared Mahalanobis distances, (R,), of deviations from the mean (R, N)."""
    # d² = (y - m)ᵀ (K + σ²I)⁻¹ (y - m), with K + σ²I = V diag(λ) Vᵀ
    eigenvalues, vectors = np.linalg.eigh(covariance + np.diag(variance))
    along = away @ vectors
    return np.asarray(np.sum(along**2 / np.maximum(eigenvalues, variance.min()), axis=1))
