"""Noise and prior by the evidence of the training data, for estimators that are given none."""

from typing import Any

import numpy as np

from bnn._seeding import generator
from bnn._validation import Array, Ints, check_option
from bnn.gp.evidence import fit_heteroscedastic_noise, fit_noise, fit_prior
from bnn.gp.evidence.mixture import found_mixture
from bnn.gp.evidence.prior import found_tails
from bnn.noise import Noise, StudentNoise
from bnn.noise.given import without_zeros

ROWS = 200  # most data in the evidence, whose cost is O(N³) for each step of the search
GAUSSIAN = ("constant", "heteroscedastic")
KINDS = (*GAUSSIAN, "student_t")


def likely_model(
    prior: Any, noise: Noise | StudentNoise | str | None, X: Array, y: Array
) -> tuple[Any, Noise | StudentNoise, Array | None]:
    """Return prior, noise and the precision factors of the data, (N,), where these are found.

    Without a prior, both are those of `evidence.fit_kernel_average`. It knows no heavy tails of
    several outputs, which `evidence.fit_prior` does. Factors of rows that were not searched are
    NaN.

    Args:
        prior: Prior that is given, or None.
        noise: Noise that is given, its kind, or None.
        X: (N, n_in).
        y: (N, n_out).
    """
    if isinstance(noise, str):
        check_option("noise", noise, KINDS)
    heavy = isinstance(noise, str) and noise == "student_t"
    if prior is None and heavy and y.shape[1] > 1:
        return _found_tails(X, y)
    if prior is None and not isinstance(noise, StudentNoise):
        return found_mixture(X, y, noise)
    found = likely_tails(noise, X, y)
    if not isinstance(found, StudentNoise):
        found = without_zeros(found, y)
    return likely_prior(prior, found, X, y), found, None


def _found_tails(X: Array, y: Array) -> tuple[Any, StudentNoise, Array]:
    """Return prior, noise with heavy tails and factors of the data, as `likely_model` does."""
    rows = _rows(X)
    deviations = fit_noise(X[rows], y[rows])
    prior, noise, found = found_tails(X[rows], y[rows], deviations, len(X))
    factors = np.full(len(X), np.nan)
    factors[rows] = found
    return prior, noise, factors


def likely_noise(noise: Noise | str | None, X: Array, y: Array) -> Noise:
    """Return the noise that is given, or estimate Gaussian noise by the evidence of data.

    None and "constant" are standard deviations, "heteroscedastic" is a HeteroscedasticNoise.
    """
    kind = "constant" if noise is None else noise
    if not isinstance(kind, str):
        return kind
    check_option("noise", kind, GAUSSIAN)
    rows = _rows(X)
    if kind == "heteroscedastic":
        return fit_heteroscedastic_noise(X[rows], y[rows])
    return fit_noise(X[rows], y[rows])


def likely_tails(
    noise: Noise | StudentNoise | str | None, X: Array, y: Array
) -> Noise | StudentNoise:
    """Return the noise as `likely_noise` does; "student_t" is a StudentNoise with unknown ν."""
    if isinstance(noise, StudentNoise):
        return noise
    if isinstance(noise, str):
        check_option("noise", noise, KINDS)
        if noise == "student_t":
            return StudentNoise(likely_noise("constant", X, y))
    return likely_noise(noise, X, y)


def likely_prior(prior: Any, noise: Noise | StudentNoise, X: Array, y: Array) -> Any:
    """Return the prior that is given; for None an average under this noise."""
    if prior is not None:
        return prior
    if not isinstance(noise, StudentNoise):
        return found_mixture(X, y, noise)[0]
    rows = _rows(X)
    # One component has a covariance matrix of all data.
    return fit_prior(X[rows], y[rows], noise, n_data=len(X))


def _rows(X: Array) -> Ints:
    """Return the rows in the evidence: all of X (N, n_in), or ROWS of them chosen at random."""
    if len(X) <= ROWS:
        return np.arange(len(X))
    return generator(0).choice(len(X), ROWS, replace=False)
