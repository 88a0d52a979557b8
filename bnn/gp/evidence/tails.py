"""Noise with heavy tails of one output, beside families of Gaussian processes.

Given its precision factor λ_i, the noise of datum i is Gaussian with the variance
(1 - 2/ν) σ_i² / λ_i, where λ_i ~ Gamma(ν/2, ν/2). The posterior of f and λ is approximated by
q(f) Π_i q(λ_i), so that f has the posterior under the noise of the expected factors E λ_i.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bnn._validation import Array
from bnn.gp.evidence.families import LIMITS, FamilyDensity
from bnn.gp.evidence.laplace import Draw, FamilyFit, most_probable
from bnn.noise.student import bound, likely_freedom, precision_factors

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


def student_noise(
    fit: FamilyFit, noise: OutputNoise, always: bool = False
) -> tuple[FamilyFit, OutputNoise]:
    """Return a fit and its noise with heavy tails if these are likelier, or always.

    A function that bends to outliers finds none. A second search starts at the medians of the
    hyperprior, which are smooth. The larger bound wins.
    """
    starts = [fit, replace(fit, eta=fit.density.centre)]
    heavy, freedom, log_bound = max(map(_with_tails, starts), key=lambda found: found[2])
    # The curvatures of both are alike, so that densities are compared instead of evidences.
    if not always and not log_bound > fit.density.value(fit.eta) + np.log(ODDS):
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
    """Find the precision factors of one output under all its components, see `averaged_factors`.

    Args:
        draws: The components.
        weights: Their posterior weights, (S,).
        noise: The noise, from whose factors the steps start.

    Returns:
        The components given the noise that is found, log p(y | η) of each, (S,), and the noise.
    """
    assert noise.freedom is not None
    assert noise.factors is not None
    own = noise.variances * noise.factors / (1.0 - 2.0 / noise.freedom)  # σ_i²

    def expected(variances: Array) -> Array:
        # E (y_i - f_i)² = Σ_s w_s E[(y_i - f_i)² | s]
        given = [(density.under(variances[:, 0]), eta) for density, eta in draws]
        terms = [w * each.squares(eta) for w, (each, eta) in zip(weights, given, strict=True) if w]
        return np.asarray(np.sum(terms, axis=0))[:, None]

    start = noise.freedom, noise.factors
    least = np.array([LIMITS["noise"][0]])  # of the searches
    growth, freedom, factors = averaged_factors(expected, own[:, None], start, least)
    level = noise.level + 0.5 * float(np.log(growth[0]))
    variances = (1.0 - 2.0 / freedom) * growth[0] * own / factors
    given = [(density.under(variances), eta) for density, eta in draws]
    evidences = np.array([density.log_evidence(eta) for density, eta in given])
    return given, evidences, OutputNoise(level, noise.slopes, variances, freedom, factors)


def averaged_factors(
    expected: Callable[[Array], Array], own: Array, start: tuple[float, Array], least: Array
) -> tuple[Array, float, Array]:
    """Find the precision factors under all components, whose posterior weights stay.

    Factors of one fit would prefer the components that resemble it: good data to which that fit
    does not come near count as outliers, and all components that do come near lose their weights.
    q(λ_i) takes the mean of (y_i - f_i)² over all components instead. ν and the level of the noise
    are estimated with them, so that no step lowers the bound of log p(y) for these weights.

    Args:
        expected: Given the variances of the noise at the data, (N, n_out), E (y - f)² of the data
            under all components, (N, n_out).
        own: σ_ij² of the noise, from whose level the steps start, (N, n_out).
        start: ν and E λ_i, (N,), from which the steps start.
        least: Smallest variance of each output, (n_out,), for data without noise; the smallest
            of `own`, if that is smaller.

    Returns:
        The factor of the variances σ² of each output, (n_out,), ν and E λ_i, (N,).
    """
    freedom, factors = start
    n_out = own.shape[1]
    smallest = own.min(axis=0)
    lowest = np.minimum(1.0, least / smallest)
    growth = np.ones(n_out)
    variances = (1.0 - 2.0 / freedom) * own / factors[:, None]
    for _ in range(AVERAGED_STEPS):
        squares = expected(variances) / (growth * own)
        total = squares.sum(axis=1)  # s_i = Σ_j E (y_ij - f_ij)² / σ_ij²
        freedom = likely_freedom(total, n_out)
        factors = precision_factors(freedom, total, n_out)
        # The bound is largest for the scale c (1 - 2/ν) σ², with c (1 - 2/ν) = mean of λ_i s_ij.
        step = np.mean(factors[:, None] * squares, axis=0) / (1.0 - 2.0 / freedom)
        growth = np.maximum(step * growth, lowest)
        last = variances
        variances = (1.0 - 2.0 / freedom) * growth * own / factors[:, None]
        if np.abs(np.log(variances / last)).max() < AVERAGED_TOLERANCE:
            break
    return growth, freedom, factors
