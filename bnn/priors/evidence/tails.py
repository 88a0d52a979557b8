"""Noise with heavy tails of one output, beside families of Gaussian processes.

Given its precision factor λ_i, the noise of datum i is Gaussian with the variance
(1 - 2/ν) σ_i² / λ_i, where λ_i ~ Gamma(ν/2, ν/2). The posterior of f and λ is approximated by
q(f) Π_i q(λ_i), so that f has the posterior under the noise of the expected factors E λ_i.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bnn._validation import Array
from bnn.noise.student import bound, likely_freedom, precision_factors
from bnn.priors.evidence.families import LIMITS, FamilyDensity
from bnn.priors.evidence.laplace import Draw, FamilyFit, most_probable

ODDS = 10.0  # prior odds of constant noise to noise by input, and of Gaussian noise to heavy tails
# Heavy tails: noise and hyper-parameters are estimated in turn, in so many rounds, with so many
# steps of the noise and of a search in each.
TAIL_ROUNDS = 4
TAIL_STEPS = 8
TAIL_SEARCH = 12
AVERAGED_STEPS = 30  # most steps of the factors under all components
AVERAGED_TOLERANCE = 1e-3  # change of the logarithm of a variance at which they end


@dataclass
class OutputNoise:
    """Noise of one output, in units of the standard deviation of that output.

    Its standard deviation is σ_i = exp(level + β·b_i) at datum i, where b_i are the inputs less
    their means, in units of their standard deviations.

    Attributes:
        level: Mean of log σ_i over the data.
        slopes: β, (p,); zeros for constant noise.
        variances: Variances at the data, (N,): σ_i², or (1 - 2/ν) σ_i² / E λ_i for Student's t,
            which is Gaussian noise once the precision factors λ_i are known.
        freedom: ν of Student's t; None for Gaussian noise.
        factors: E λ_i, (N,); None for Gaussian noise.
    """

    level: float
    slopes: Array
    variances: Array
    freedom: float | None = None
    factors: Array | None = None


def student_noise(fit: FamilyFit, noise: OutputNoise) -> tuple[FamilyFit, OutputNoise]:
    """Return a fit and its noise with heavy tails where these are likelier, else as they are.

    A function that bends to outliers finds none. A second search starts at the medians of the
    hyperprior, which are smooth. The larger bound wins.
    """
    starts = [fit, replace(fit, eta=fit.density.centre)]
    heavy, freedom, log_bound = max(map(_with_tails, starts), key=lambda found: found[2])
    # The curvatures of both are alike, so that densities are compared instead of evidences.
    if not log_bound > fit.density.value(fit.eta) + np.log(ODDS):
        return fit, noise
    density = heavy.density
    level = 0.5 * float(heavy.eta[density.noise][0])
    found = heavy.eta[density.slopes]
    slopes = found if found.size else np.zeros_like(noise.slopes)
    variances = density.variances(heavy.eta)
    factors = (1.0 - 2.0 / freedom) / density.relative
    return heavy, OutputNoise(level, slopes, variances, freedom, factors)


def _with_tails(fit: FamilyFit) -> tuple[FamilyFit, float, float]:
    """Return a family under Student's t, with ν, and the lower bound of its log density.

    Given precision factors λ_i the noise is Gaussian, with variances (1 - 2/ν) σ_i² / λ_i.
    Their expectations, ν and the hyper-parameters are estimated in turn.
    """
    density = fit.density
    eta = fit.eta
    for turn in range(TAIL_ROUNDS):
        if turn:
            eta = most_probable(density, [eta], TAIL_SEARCH)
        for _ in range(TAIL_STEPS):
            # s_i = E (y_i - f_i)² / σ_i²
            squares = density.squares(eta) * density.relative / density.variances(eta)
            freedom = likely_freedom(squares, 1)
            factors = precision_factors(freedom, squares, 1)
            scale = (1.0 - 2.0 / freedom) / factors
            density = FamilyDensity(density.family, density.u, density.y, density.basis, scale)
    log_bound = density.value(eta) + bound(freedom, factors, 1)
    return replace(fit, density=density, eta=eta), freedom, log_bound


def averaged_tails(
    draws: Sequence[Draw], weights: Array, noise: OutputNoise
) -> tuple[list[Draw], Array, OutputNoise]:
    """Find the precision factors under all components, whose posterior weights stay.

    Factors of one fit would prefer the components that resemble it: good data to which that fit
    does not come near count as outliers, and all components that do come near lose their weights.
    q(λ_i) takes the mean of (y_i - f_i)² over all components instead. ν and the level of the noise
    are estimated with them, so that no step lowers the bound of log p(y) for these weights.

    Args:
        draws: The components.
        weights: Their posterior weights, (S,).
        noise: The noise, from whose factors the steps start.

    Returns:
        The components given the noise that is found, log p(y | η) of each, (S,), and the noise.
    """
    assert noise.freedom is not None
    assert noise.factors is not None
    freedom = noise.freedom
    factors = noise.factors
    variances = noise.variances
    own = variances * factors / (1.0 - 2.0 / freedom)  # σ_i²
    level = noise.level
    least = min(LIMITS["noise"][0], own.min())  # of the searches, for data without noise
    for _ in range(AVERAGED_STEPS):
        # s_i = Σ_s w_s E[(y_i - f_i)² | s] / σ_i²
        given = [(density.under(variances), eta) for density, eta in draws]
        terms = [w * each.squares(eta) for w, (each, eta) in zip(weights, given, strict=True) if w]
        squares = np.sum(terms, axis=0) / own
        freedom = likely_freedom(squares, 1)
        factors = precision_factors(freedom, squares, 1)
        # The bound is largest for the scale c (1 - 2/ν) σ_i², with c (1 - 2/ν) = mean of λ_i s_i.
        growth = float(np.mean(factors * squares)) / (1.0 - 2.0 / freedom)
        growth = max(growth, least / own.min())
        own = growth * own
        level += 0.5 * np.log(growth)
        last = variances
        variances = (1.0 - 2.0 / freedom) * own / factors
        if np.abs(np.log(variances / last)).max() < AVERAGED_TOLERANCE:
            break
    given = [(density.under(variances), eta) for density, eta in draws]
    evidences = np.array([density.log_evidence(eta) for density, eta in given])
    return given, evidences, OutputNoise(level, noise.slopes, variances, freedom, factors)
