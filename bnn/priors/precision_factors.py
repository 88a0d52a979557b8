"""Precision factors of data under noise with heavy tails, given a Gaussian process prior."""

from dataclasses import replace
from typing import NoReturn

import numpy as np
from tqdm import tqdm

from bnn._validation import Array
from bnn.noise import StudentNoise, covariance_at
from bnn.noise.student import bound, likely_freedom, precision_factors, scaled
from bnn.priors.conditioning import ProcessPosterior
from bnn.priors.gaussian_process import GaussianProcessPrior
from bnn.priors.mixture import TINY, MixturePosterior, MixturePrior, combination
from bnn.training.execution import progress_bar, titled

Prior = GaussianProcessPrior | MixturePrior
Found = tuple[StudentNoise, Array, Array]
ITERATIONS = 200  # updates of the precision factors at most
TOLERANCE = 1e-4  # change of a precision factor at which the updates end
ALONE = 10  # updates under each component of a mixture alone
LEAST_GAIN = 0.1  # of the bound: both starts end alike but for rounding, or far apart


def factors_of(
    prior: Prior,
    noise: StudentNoise,
    X: Array,
    y: Array,
    known: Array,
    iterations: int = ITERATIONS,
    title: str | None = None,
) -> Found:
    """Find the variational precision factors of the data.

    Under a mixture the combination of components with the largest weights counts. Without outliers
    this may be one that bends to them, and then finds none. So there are two starts: the noise that
    is given, and that under the component which is likeliest with factors of its own. It wins if
    the bound of the evidence is larger.

    Args:
        prior: Prior.
        noise: Noise, whose degrees of freedom ν may be unknown.
        X: (N, n_in).
        y: (N, n_out).
        known: Covariances of the noise at the data from which the updates start.
        iterations: Largest number of updates, for a mixture four times.
        title: Of a bar on a terminal; None shows nothing.

    Returns:
        The noise with ν, the covariances (1 - 2/ν) Σ_i / E λ_i of the noise at the data,
        (N, n_out, n_out), and E λ_i, (N,).
    """
    shown = None if title is None else titled(title, None)
    if isinstance(prior, GaussianProcessPrior):
        with progress_bar(iterations, shown, "update") as bar:
            return _updated(prior, noise, X, y, known, iterations, bar)
    steps = ALONE * len(prior.components) + 4 * iterations
    with progress_bar(steps, shown, "update") as bar:
        alone = []
        for component, shares in zip(prior.components, prior.shares, strict=True):
            found = _updated(component, noise, X, y, known, ALONE, bar)
            value = np.log(np.maximum(shares, TINY)).sum() + _bound(component, found, X, y)
            alone.append((value, found[1]))
        starts = [known, max(alone, key=lambda each: each[0])[1]]
        first, other = (_of_mixture(prior, noise, X, y, start, iterations, bar) for start in starts)
    gain = _bound(prior, other, X, y) - _bound(prior, first, X, y)
    return other if gain > LEAST_GAIN else first


def _of_mixture(
    prior: MixturePrior,
    noise: StudentNoise,
    X: Array,
    y: Array,
    known: Array,
    iterations: int,
    bar: "tqdm[NoReturn]",
) -> Found:
    """Update the factors under the likeliest combination, twice, because it depends on them."""
    for _ in range(2):
        shares = MixturePosterior(prior, known * np.eye(y.shape[1]), X, y).shares
        process = combination(prior, shares.argmax(axis=0))
        found = _updated(process, noise, X, y, known, iterations, bar)
        known = found[1]
    return found


def _updated(
    prior: GaussianProcessPrior,
    noise: StudentNoise,
    X: Array,
    y: Array,
    known: Array,
    iterations: int,
    bar: "tqdm[NoReturn]",
) -> Found:
    """Update the factors under one process until they hardly change."""
    own = covariance_at(noise, X) * np.ones((len(X), 1, 1))
    factors = np.ones(len(X))
    precision = np.linalg.inv(own)
    d = y.shape[1]
    found = noise
    for left in range(iterations, 0, -1):
        given = ProcessPosterior(prior, known, X, y)
        squares = _expected_squares(given, X, y, precision)
        if noise.freedom is None:
            found = replace(noise, freedom=likely_freedom(squares, d))
        last = factors
        factors = precision_factors(found.degrees, squares, d)
        known = scaled(found, own) / factors[:, None, None]
        bar.update()
        if np.abs(factors - last).max() < TOLERANCE:
            bar.update(left - 1)  # those that are not needed
            break
    return found, known, factors


def _bound(prior: Prior, found: Found, X: Array, y: Array) -> float:
    """Return the lower bound of log p(y)."""
    noise, known, factors = found
    kind = MixturePosterior if isinstance(prior, MixturePrior) else ProcessPosterior
    evidences = kind(prior, known, X, y).log_evidences  # type: ignore[arg-type]
    return float(np.sum(evidences)) + bound(noise.degrees, factors, y.shape[1])


def _expected_squares(given: ProcessPosterior, X: Array, y: Array, precision: Array) -> Array:
    """Return E (y - f)ᵀ Σ⁻¹ (y - f) of the data under a posterior of f, (N,)."""
    spread = [given.covariances(X[part]) for part in given.batches(len(X))]
    away = y - given.mean(X)
    # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S
    scatter = away[:, :, None] * away[:, None, :] + np.concatenate(spread)
    return np.asarray(np.einsum("nij,nji->n", precision, scatter))
