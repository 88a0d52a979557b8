"""Precision factors of data under noise with heavy tails, given a Gaussian process prior."""

from dataclasses import replace

import numpy as np

from bnn._validation import Array
from bnn.noise import StudentNoise, covariance_at
from bnn.noise.student import likely_freedom, precision_factors, scaled
from bnn.priors.conditioning import ProcessPosterior
from bnn.priors.gaussian_process import GaussianProcessPrior
from bnn.priors.mixture import MixturePosterior, MixturePrior, combination

Prior = GaussianProcessPrior | MixturePrior
ITERATIONS, TOLERANCE = 200, 1e-4  # of precision factors, and their change at the end


def factors_of(
    prior: Prior, noise: StudentNoise, X: Array, y: Array, known: Array,
    iterations: int = ITERATIONS,
) -> tuple[StudentNoise, Array, Array]:  # fmt: skip
    """Return the noise with ν, Σ over the precision factors, which starts as known, and these."""
    # Under a mixture: of the combination of components that has the largest weights.
    own = covariance_at(noise, X) * np.ones((len(X), 1, 1))
    factors, precision, d = np.ones(len(X)), np.linalg.inv(own), y.shape[1]
    found = noise
    for process in [prior] if isinstance(prior, GaussianProcessPrior) else [prior] * 2:
        if isinstance(process, MixturePrior):
            shares = MixturePosterior(process, known * np.eye(d), X, y).shares
            process = combination(process, shares.argmax(axis=0))
        for _ in range(iterations):
            given = ProcessPosterior(process, known, X, y)
            spread = [given.covariances(X[part]) for part in given.batches(len(X))]
            away = y - given.mean(X)
            scatter = away[:, :, None] * away[:, None, :] + np.concatenate(spread)
            squares = np.einsum("nij,nji->n", precision, scatter)
            if noise.freedom is None:
                found = replace(noise, freedom=likely_freedom(squares, d))
            last, factors = factors, precision_factors(found.degrees, squares, d)
            known = scaled(found, own) / factors[:, None, None]
            if np.abs(factors - last).max() < TOLERANCE:
                break
    return found, known, factors
