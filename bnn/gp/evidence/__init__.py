"""Gaussian process priors and noise from the evidence p(y | X), the marginal likelihood."""

from bnn.gp.evidence.prior import (
    fit_heteroscedastic_noise,
    fit_kernel_average,
    fit_noise,
    fit_prior,
    lengthscales,
)

__all__ = [
    "fit_heteroscedastic_noise",
    "fit_kernel_average",
    "fit_noise",
    "fit_prior",
    "lengthscales",
]
