"""Noise and prior by the evidence of the training data, for estimators that are given none."""

from typing import Any

from bnn._validation import Array, check_option
from bnn.gp.evidence.laplace import some_rows
from bnn.gp.evidence.mixture import FEW, found_model
from bnn.gp.evidence.prior import fit_heteroscedastic_noise, fit_noise
from bnn.noise import Noise, StudentNoise
from bnn.noise.given import without_zeros

GAUSSIAN = ("constant", "heteroscedastic")
KINDS = (*GAUSSIAN, "student_t")


def likely_model(
    prior: Any, noise: Noise | StudentNoise | str | None, X: Array, y: Array
) -> tuple[Any, Noise | StudentNoise, Array | None]:
    """Return prior, noise and the precision factors of the data, (N,), if these are found.

    Without a prior, both are those of `evidence.fit_kernel_average`.

    Args:
        prior: Prior that is given, or None.
        noise: Noise that is given, its kind, or None.
        X: (N, n_in).
        y: (N, n_out).
    """
    if isinstance(noise, str):
        check_option("noise", noise, KINDS)
    if prior is None:
        return found_model(X, y, noise)
    if isinstance(noise, StudentNoise):
        return prior, noise, None
    if isinstance(noise, str) and noise == "student_t":
        return prior, StudentNoise(likely_noise("constant", X, y)), None
    return prior, without_zeros(likely_noise(noise, X, y), y), None


def likely_noise(noise: Noise | str | None, X: Array, y: Array) -> Noise:
    """Return the noise that is given, or estimate Gaussian noise by the evidence of data.

    None and "constant" are standard deviations, "heteroscedastic" is a HeteroscedasticNoise. Of
    more than FEW data, as many are chosen at random.
    """
    kind = "constant" if noise is None else noise
    if not isinstance(kind, str):
        return kind
    check_option("noise", kind, GAUSSIAN)
    rows = some_rows(len(X), FEW, 0)
    fit = fit_heteroscedastic_noise if kind == "heteroscedastic" else fit_noise
    return fit(X[rows], y[rows])


def likely_prior(prior: Any, noise: Noise | StudentNoise, X: Array, y: Array) -> Any:
    """Return the prior that is given; for None an average under this noise."""
    return found_model(X, y, noise)[0] if prior is None else prior
