"""Noise and prior by the evidence of the training data, where an estimator is given none."""

from typing import Any

import numpy as np

from bnn._seeding import generator
from bnn._validation import Array, Ints, check_option
from bnn.noise import Noise, StudentNoise
from bnn.priors.evidence import fit_heteroscedastic_noise, fit_noise, fit_prior

ROWS = 200  # of the data at most: one step of the search takes O(N³) for N of them
GAUSSIAN = ("constant", "by_input")
KINDS = (*GAUSSIAN, "student")


def likely_noise(noise: Noise | str | None, X: Array, y: Array) -> Noise:
    """Return a noise as it is given, or Gaussian noise by the evidence of data.

    None and "constant" are standard deviations, "by_input" is a HeteroscedasticNoise.
    """
    kind = "constant" if noise is None else noise
    if not isinstance(kind, str):
        return kind
    check_option("noise", kind, GAUSSIAN)
    rows = _rows(X)
    if kind == "by_input":
        return fit_heteroscedastic_noise(X[rows], y[rows])
    return fit_noise(X[rows], y[rows])


def likely_tails(
    noise: Noise | StudentNoise | str | None, X: Array, y: Array
) -> Noise | StudentNoise:
    """Return what likely_noise does; "student" is a StudentNoise of unknown ν."""
    if isinstance(noise, StudentNoise):
        return noise
    if isinstance(noise, str):
        check_option("noise", noise, KINDS)
        if noise == "student":
            return StudentNoise(likely_noise("constant", X, y))
    return likely_noise(noise, X, y)


def likely_prior(prior: Any, noise: Noise | StudentNoise, X: Array, y: Array) -> Any:
    """Return a prior as it is given; None is the average that `evidence.fit_prior` returns."""
    if prior is not None:
        return prior
    rows = _rows(X)
    return fit_prior(X[rows], y[rows], noise)


def _rows(X: Array) -> Ints:
    """Return the numbers of the data that the evidence is of: all, or as many as ROWS."""
    if len(X) <= ROWS:
        return np.arange(len(X))
    return generator(0).choice(len(X), ROWS, replace=False)
