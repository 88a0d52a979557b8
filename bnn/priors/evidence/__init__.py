"""Gaussian process priors, and noise, by the evidence p(y | X), the marginal likelihood."""

from bnn.priors.evidence.mixture import fit_mixture
from bnn.priors.evidence.noise import fit_heteroscedastic_noise, fit_noise
from bnn.priors.evidence.prior import fit_prior, lengthscales

__all__ = [
    "fit_heteroscedastic_noise",
    "fit_mixture",
    "fit_noise",
    "fit_prior",
    "lengthscales",
]
