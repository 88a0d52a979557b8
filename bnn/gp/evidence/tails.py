"""Noise with heavy tails, beside families of Gaussian processes.

Given its precision factor λ_i, the noise of datum i is Gaussian with the variance
(1 - 2/ν) σ_ij² / λ_i of output j, where λ_i ~ Gamma(ν/2, ν/2). The posterior of f and λ is
approximated by q(f) Π_i q(λ_i), so that f has the posterior under the noise of the expected factors
E λ_i.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bnn._validation import Array
from bnn.gp.evidence.families import LIMITS
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
    fits: Sequence[FamilyFit],
    noises: Sequence[OutputNoise],
    always: bool = False,
    own: Array | None = None,
    freedom: float | None = None,
) -> tuple[list[FamilyFit], list[OutputNoise]]:
    """Return the fits and noises of all outputs with heavy tails if these are likelier, or always.

    A function that bends to outliers finds none. A second search starts at the medians of the
    hyperprior, which are smooth. The larger bound wins.

    Args:
        fits: A family for each output.
        noises: Gaussian noise of each output.
        always: Whether the noise has heavy tails in any case.
        own: σ² of the data if it is known, (N, n_out).
        freedom: ν if it is known.
    """
    starts = [list(fits), [replace(fit, eta=fit.density.centre) for fit in fits]]
    found = [_with_tails(start, own, freedom) for start in starts]
    heavy, degrees, log_bound = max(found, key=lambda each: each[2])
    # The curvatures of both are alike, so that densities are compared instead of evidences.
    gaussian = sum(fit.density.value(fit.eta) for fit in fits)
    if not always and not log_bound > gaussian + np.log(ODDS):
        return list(fits), list(noises)
    with_tails = []
    for j, (fit, noise) in enumerate(zip(heavy, noises, strict=True)):
        density = fit.density
        known = 1.0 if own is None else own[:, j]
        factors = (1.0 - 2.0 / degrees) * known / density.relative
        level = noise.level if own is not None else 0.5 * float(fit.eta[density.noise][0])
        slopes = fit.eta[density.slopes]
        slopes = slopes if slopes.size else np.zeros_like(noise.slopes)
        variances = density.variances(fit.eta)
        with_tails.append(OutputNoise(level, slopes, variances, degrees, factors))
    return heavy, with_tails


def _with_tails(
    fits: list[FamilyFit], own: Array | None, known_freedom: float | None
) -> tuple[list[FamilyFit], float, float]:
    """Return a family for each output under Student's t, ν, and the lower bound of log density.

    Given precision factors λ_i the noise is Gaussian, with variances (1 - 2/ν) σ_ij² / λ_i.
    Their expectations, ν and the hyper-parameters are estimated in turn.
    """
    n_out = len(fits)
    densities = [fit.density for fit in fits]
    etas = [fit.eta for fit in fits]
    for turn in range(TAIL_ROUNDS):
        if turn:
            pairs = zip(densities, etas, strict=True)
            etas = [most_probable(density, [eta], TAIL_SEARCH) for density, eta in pairs]
        for _ in range(TAIL_STEPS):
            # s_i = Σ_j E (y_ij - f_ij)² / σ_ij²
            squares = np.zeros(len(densities[0].y))
            for j, (density, eta) in enumerate(zip(densities, etas, strict=True)):
                scaled = density.squares(eta)
                if own is None:
                    squares += scaled * density.relative / density.variances(eta)
                else:
                    squares += scaled / own[:, j]
            freedom = likely_freedom(squares, n_out) if known_freedom is None else known_freedom
            factors = precision_factors(freedom, squares, n_out)
            scale = (1.0 - 2.0 / freedom) / factors
            densities = [
                density.with_noise(density.basis, scale if own is None else scale * own[:, j])
                for j, density in enumerate(densities)
            ]
    triples = list(zip(fits, densities, etas, strict=True))
    log_bound = sum(density.value(eta) for _, density, eta in triples)
    log_bound += bound(freedom, factors, n_out)
    return [replace(fit, density=d, eta=eta) for fit, d, eta in triples], freedom, log_bound


def averaged_tails(
    draws: Sequence[Sequence[Draw]], weights: Sequence[Array], noises: Sequence[OutputNoise]
) -> tuple[list[list[Draw]], list[Array], list[OutputNoise]]:
    """Find the precision factors under all components, see `averaged_factors`.

    Args:
        draws: The components of each output.
        weights: Their posterior weights, (S,) for each output.
        noises: The noise of each output, from whose factors the steps start.

    Returns:
        The components of each output given the noise that is found, log p(y | η) of each, (S,),
        and the noises.
    """
    freedom = noises[0].freedom
    factors = noises[0].factors
    assert freedom is not None
    assert factors is not None
    own = np.column_stack([n.variances * factors / (1.0 - 2.0 / freedom) for n in noises])  # σ_ij²

    def given(variances: Array) -> list[list[Draw]]:
        """Return the components of each output under known variances, (N, n_out)."""
        pairs = zip(draws, variances.T, strict=True)
        return [[(density.under(known), eta) for density, eta in each] for each, known in pairs]

    def expected(variances: Array) -> Array:
        # E (y_ij - f_ij)² = Σ_s w_s E[(y_ij - f_ij)² | s]
        columns = []
        for shares, each in zip(weights, given(variances), strict=True):
            pairs = zip(shares, each, strict=True)
            terms = [share * density.squares(eta) for share, (density, eta) in pairs if share]
            columns.append(np.sum(terms, axis=0))
        return np.column_stack(columns)

    least = np.full(len(noises), LIMITS["noise"][0])  # of the searches
    growth, freedom, factors = averaged_factors(expected, own, (freedom, factors), least)
    variances = (1.0 - 2.0 / freedom) * growth * own / factors[:, None]
    components = given(variances)
    evidences = [np.array([density.log_evidence(eta) for density, eta in c]) for c in components]
    found = []
    for noise, grown, known in zip(noises, growth, variances.T, strict=True):
        level = noise.level + 0.5 * float(np.log(grown))
        found.append(OutputNoise(level, noise.slopes, known, freedom, factors))
    return components, evidences, found


def averaged_factors(
    expected: Callable[[Array], Array], own: Array, start: tuple[float, Array], least: Array
) -> tuple[Array, float, Array]:
    """Find the precision factors under all components, whose posterior weights stay.

    Factors of one fit would prefer the components that resemble it. Good data far from that fit
    would count as outliers. All components near these data would then lose their weights. q(λ_i)
    takes the mean of (y_i - f_i)² over all components instead. ν and the level of the noise are
    estimated with them. No step lowers the bound of log p(y) for these weights.

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
