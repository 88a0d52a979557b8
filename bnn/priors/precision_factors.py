"""Precision factors of data under noise with heavy tails, given a Gaussian process prior."""

from dataclasses import replace

import numpy as np

from bnn._validation import Array
from bnn.noise import StudentNoise, covariance_at
from bnn.noise.student import likely_freedom, precision_factors, scaled
from bnn.priors.conditioning import ProcessPosterior
from bnn.priors.gaussian_process import GaussianProcessPrior
from bnn.priors.mixture import MixturePosterior, MixturePrior, combination
from bnn.training.execution import progress_bar, titled

Prior = GaussianProcessPrior | MixturePrior
ITERATIONS = 200  # updates of the precision factors at most
TOLERANCE = 1e-4  # change of a precision factor at which the updates end


def factors_of(
    prior: Prior,
    noise: StudentNoise,
    X: Array,
    y: Array,
    known: Array,
    iterations: int = ITERATIONS,
    title: str | None = None,
) -> tuple[StudentNoise, Array, Array]:
    """Find the variational precision factors of the data.

    Args:
        prior: Prior; of a mixture the combination of components with the largest weights counts.
        noise: Noise, whose degrees of freedom ν may be unknown.
        X: (N, n_in).
        y: (N, n_out).
        known: Covariances of the noise at the data from which the updates start.
        iterations: Largest number of updates, for a mixture once more.
        title: Of a bar on a terminal; None shows nothing.

    Returns:
        The noise with ν, the covariances (1 - 2/ν) Σ_i / E λ_i of the noise at the data,
        (N, n_out, n_out), and E λ_i, (N,).
    """
    own = covariance_at(noise, X) * np.ones((len(X), 1, 1))
    factors = np.ones(len(X))
    precision = np.linalg.inv(own)
    d = y.shape[1]
    found = noise
    processes: list[Prior] = [prior] if isinstance(prior, GaussianProcessPrior) else [prior] * 2
    shown = None if title is None else titled(title, None)
    with progress_bar(iterations * len(processes), shown, "update") as bar:
        for number, process in enumerate(processes, 1):
            if isinstance(process, MixturePrior):
                shares = MixturePosterior(process, known * np.eye(d), X, y).shares
                process = combination(process, shares.argmax(axis=0))
            for _ in range(iterations):
                given = ProcessPosterior(process, known, X, y)
                squares = _expected_squares(given, X, y, precision)
                if noise.freedom is None:
                    found = replace(noise, freedom=likely_freedom(squares, d))
                last = factors
                factors = precision_factors(found.degrees, squares, d)
                known = scaled(found, own) / factors[:, None, None]
                bar.update()
                if np.abs(factors - last).max() < TOLERANCE:
                    break
            bar.update(number * iterations - bar.n)  # those that are not needed
    return found, known, factors


def _expected_squares(given: ProcessPosterior, X: Array, y: Array, precision: Array) -> Array:
    """Return E (y - f)ᵀ Σ⁻¹ (y - f) of the data under a posterior of f, (N,)."""
    spread = [given.covariances(X[part]) for part in given.batches(len(X))]
    away = y - given.mean(X)
    # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S
    scatter = away[:, :, None] * away[:, None, :] + np.concatenate(spread)
    return np.asarray(np.einsum("nij,nji->n", precision, scatter))
