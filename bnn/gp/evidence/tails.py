"""Estimation of heavy-tailed noise together with families of Gaussian processes.

Given its precision factor λ_i, the noise of output j of datum i is Gaussian with the variance
(1 - 2/ν) σ_ij² / λ_i, where λ_i ~ Gamma(ν/2, ν/2). The posterior of f and λ is approximated by
q(f) Π_i q(λ_i). Then q(f) is the posterior of f under Gaussian noise with the expected factors
E λ_i.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bnn._validation import Array
from bnn.gp.evidence.families import LIMITS
from bnn.gp.evidence.laplace import Draw, FamilyFit, most_probable
from bnn.noise.student import bound, likely_freedom, precision_factors

ODDS = 10.0  # prior odds of constant to input-dependent noise, and of Gaussian noise to heavy tails
# Heavy-tailed noise and hyper-parameters are estimated in turn, in TAIL_ROUNDS rounds. Each round
# has TAIL_STEPS updates of the noise; each but the first starts with a search of TAIL_SEARCH steps.
TAIL_ROUNDS = 4
TAIL_STEPS = 8
TAIL_SEARCH = 12
AVERAGED_STEPS = 30  # most updates of the factors under all components
AVERAGED_TOLERANCE = 1e-3  # change of the logarithm of a variance at which these updates end


@dataclass
class OutputNoise:
    """Noise of one output, in units of the standard deviation of that output.

    Its standard deviation at datum i is σ_i = exp(level + β·b_i), where b_i are the inputs minus
    their means, in units of their standard deviations.

    Attributes:
        level: Mean of log σ_i over the data.
        slopes: β, (p,); zeros for constant noise.
        variances: Variances at the data, (N,), including known parts: σ_i² for Gaussian noise,
            (1 - 2/ν) σ_i² / E λ_i for Student's t.
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
    """Return fits and noises of all outputs with heavy tails, if these are more probable.

    A function that follows outliers does not reveal them. So a second search starts at the medians
    of the hyperprior, which describe smooth functions. The search with the larger bound is used.

    Args:
        fits: The fit of one family for each output.
        noises: Gaussian noise of each output.
        always: Whether to return heavy tails even if Gaussian noise is more probable.
        own: σ² of the data if it is known, (N, n_out).
        freedom: ν if it is known.

    Returns:
        The fits and the noise of each output; the given ones if Gaussian noise is more probable.
    """
    starts = [list(fits), [replace(fit, eta=fit.density.centre) for fit in fits]]
    found = [_with_tails(start, own, freedom) for start in starts]
    heavy, degrees, log_bound = max(found, key=lambda each: each[2])
    # Densities are compared instead of evidences, because their curvatures are similar.
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
    """Return a fit for each output under Student's t, ν, and a lower bound of the log density.

    The expected precision factors, ν and the hyper-parameters are estimated in turn.
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
        noises: The noise of each output, from whose factors the updates start.

    Returns:
        For each output the components under the estimated noise, log p(y | η) of these, (S,), and
        the noise.
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

    least = np.full(len(noises), LIMITS["noise"][0])  # as in the searches
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
    """Find the precision factors under all components, with fixed posterior weights.

    Factors from a single fit would favour the components that resemble it: good data far from that
    fit would count as outliers, and components near these data would lose their weights. So q(λ_i)
    uses the mean of (y_i - f_i)² over all components. ν and the level of the noise are estimated
    with the factors. No update lowers the bound of log p(y) for these weights.

    Args:
        expected: Function of the variances of the noise at the data, (N, n_out), which returns
            E (y - f)² of the data under all components, (N, n_out).
        own: σ_ij² of the noise, (N, n_out), from whose level the updates start.
        start: ν and E λ_i, (N,), from which the updates start.
        least: Lower limit of the variance of the noise of each output, (n_out,). If the smallest
            of `own` is less, that is the limit.

    Returns:
        The factor by which the variances σ² of each output change, (n_out,), ν, and E λ_i, (N,).
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
        # The bound is largest for the variance c σ², with c (1 - 2/ν) = mean of λ_i s_ij.
        step = np.mean(factors[:, None] * squares, axis=0) / (1.0 - 2.0 / freedom)
        growth = np.maximum(step * growth, lowest)
        last = variances
        variances = (1.0 - 2.0 / freedom) * growth * own / factors[:, None]
        if np.abs(np.log(variances / last)).max() < AVERAGED_TOLERANCE:
            break
    return growth, freedom, factors
