"""Noise and prior by the evidence of the training data, for estimators that are given none."""

from typing import Any

from bnn._validation import Array, check_option
from bnn.gp.evidence.laplace import some_rows
from bnn.gp.evidence.mixture import found_model
from bnn.gp.evidence.prior import fit_heteroscedastic_noise, fit_noise
from bnn.gp.evidence.scaling import SearchData
from bnn.gp.evidence.search import FEW
from bnn.noise import Noise, StudentNoise
from bnn.noise.given import without_zeros

GAUSSIAN = ("constant", "heteroscedastic")
KINDS = (*GAUSSIAN, "student_t")


def noise_beside_prior(noise: Noise | StudentNoise | str | None, X: Array, y: Array) -> Any:
    """Return noise that is given, or that of its kind, for a prior that is given."""
    if isinstance(noise, StudentNoise):
        return noise
    if isinstance(noise, str) and noise == "student_t":
        return StudentNoise(likely_noise("constant", X, y))
    return without_zeros(likely_noise(noise, X, y), y)


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
    return found_model(SearchData(X, y), noise)[0] if prior is None else prior
