"""Precision factors of data under noise with heavy tails, given a Gaussian process prior."""

from dataclasses import replace
from typing import NoReturn, TypeAlias

import numpy as np
from tqdm import tqdm

from bnn._progress import progress_bar, titled
from bnn._validation import Array
from bnn.gp.conditioning import resolved
from bnn.gp.mixture import TINY, Posterior, Prior, components_of, conditioned
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import StudentNoise, covariance_at
from bnn.noise.student import bound, given_factors, likely_freedom, precision_factors

# The noise with ν, its covariances at the data, (N, n_out, n_out), and E λ_i, (N,)
HeavyTails: TypeAlias = tuple[StudentNoise, Array, Array]
ITERATIONS = 200  # most updates of the precision factors
TOLERANCE = 1e-4  # change of a precision factor at which the updates end
ALONE = 10  # updates under each single component of a mixture
LEAST_GAIN = 0.1  # of the bound by another start; smaller differences are rounding errors


def factors_of(
    prior: Prior,
    noise: StudentNoise,
    X: Array,
    y: Array,
    covariances: Array,
    iterations: int = ITERATIONS,
    title: str | None = None,
    kept: Array | None = None,
) -> HeavyTails:
    """Find the variational precision factors of the data.

    The posterior of f, of the component s of a mixture and of the factors λ is approximated by
    q(f, s) Π_i q(λ_i). Each update computes the best q(λ) for q(f, s), and then the best q(f, s)
    for q(λ). That is the mixture given the data, with prior weights times the evidence of each
    component under noise of the covariances (1 - 2/ν) Σ_i / E λ_i. No update lowers the bound of
    log p(y).

    If the updates start from noise without outliers, a mixture may prefer components that follow
    the outliers, so that none is detected. So the updates start twice: from the given covariances,
    and from the result for the single component that is most probable with its own factors. The
    second result is returned if its bound is larger.

    Args:
        prior: Prior.
        noise: Noise. If its degrees of freedom ν are None, they are estimated.
        X: (N, n_in).
        y: (N, n_out).
        covariances: Covariances of the noise at the data from which the updates start.
        iterations: Most updates from each start.
        title: Title of a progress bar on a terminal; None shows no bar.
        kept: E λ_i, (N,), of rows whose factors are not updated, such as those of an earlier fit;
            NaN for other rows. If a factor is kept, the updates start only once.

    Returns:
        The noise with ν, the covariances (1 - 2/ν) Σ_i / E λ_i of the noise at the data,
        (N, n_out, n_out), and E λ_i, (N,).
    """
    shown = None if title is None else titled(title, None)
    kept = np.full(len(X), np.nan) if kept is None else kept
    if isinstance(prior, GaussianProcessPrior) or not np.isnan(kept).all():
        with progress_bar(iterations, shown, "update") as bar:
            return _updated(prior, noise, X, y, covariances, iterations, bar, kept)
    steps = ALONE * len(prior.components) + 2 * iterations
    with progress_bar(steps, shown, "update") as bar:
        likely = []
        for component, shares in zip(prior.components, prior.shares, strict=True):
            tails = _updated(component, noise, X, y, covariances, ALONE, bar, kept)
            value = np.log(np.maximum(shares, TINY)).sum() + _bound(component, tails, X, y)
            likely.append((value, tails[1]))
        starts = [covariances, max(likely, key=lambda pair: pair[0])[1]]
        first, other = (
            _updated(prior, noise, X, y, start, iterations, bar, kept) for start in starts
        )
    gain = _bound(prior, other, X, y) - _bound(prior, first, X, y)
    return other if gain > LEAST_GAIN else first


def _updated(
    prior: Prior,
    noise: StudentNoise,
    X: Array,
    y: Array,
    covariances: Array,
    iterations: int,
    bar: "tqdm[NoReturn]",
    kept: Array,
) -> HeavyTails:
    """Update the factors until they hardly change."""
    unscaled = covariance_at(noise, X) * np.ones((len(X), 1, 1))  # Σ_i
    precision = np.linalg.inv(unscaled)
    d = y.shape[1]
    stays = ~np.isnan(kept)
    factors = np.where(stays, kept, 1.0)
    if stays.any():
        covariances = given_factors(noise, unscaled, factors)
    with_freedom = noise
    for left in range(iterations, 0, -1):
        scatter = expected_scatter(_posterior(prior, covariances, X, y), X, y)
        squares = np.einsum("nij,nji->n", precision, scatter)  # E (y - f)ᵀ Σ⁻¹ (y - f)
        if noise.df is None:
            with_freedom = replace(noise, df=likely_freedom(squares, d))
        last = factors
        factors = np.where(stays, kept, precision_factors(with_freedom.degrees, squares, d))
        covariances = given_factors(with_freedom, unscaled, factors)
        bar.update()
        if np.abs(factors - last).max() < TOLERANCE:
            bar.update(left - 1)  # updates that are not needed
            break
    return with_freedom, covariances, factors


def _bound(prior: Prior, tails: HeavyTails, X: Array, y: Array) -> float:
    """Return the lower bound of log p(y)."""
    noise, covariances, factors = tails
    evidences = _posterior(prior, covariances, X, y).log_evidences
    return float(np.sum(evidences)) + bound(noise.degrees, factors, y.shape[1])


def _posterior(prior: Prior, noise: Array, X: Array, y: Array) -> Posterior:
    """Return the posterior of a prior given data, with a nugget if the noise needs one."""
    return conditioned(prior, resolved(noise, components_of(prior), X, y), X, y)


def expected_scatter(posterior: Posterior, X: Array, y: Array) -> Array:
    """Return E (y - f) (y - f)ᵀ of the data under a posterior of f, (N, n_out, n_out)."""
    moments = [posterior.moments(X[batch]) for batch in posterior.batches(len(X))]
    mean, spread = map(np.concatenate, zip(*moments, strict=True))
    away = y - mean
    # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S
    return np.asarray(away[:, :, None] * away[:, None, :] + spread)
