"""Estimation of heavy-tailed noise together with families of Gaussian processes.

Datum i has a precision factor λ_i ~ Gamma(ν/2, ν/2). Given λ_i, the noise of its output j is
Gaussian with the variance (1 - 2/ν) σ_ij² / λ_i. All outputs of a datum share its factor. See
`tail_updates` for the approximation of the posterior.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from bnn._validation import Array
from bnn.gp.evidence.families import LIMITS, FamilyDensity, NoiseForm
from bnn.gp.evidence.laplace import THINNED, Draw, FamilyFit, most_probable, some_rows
from bnn.gp.precision_factors import Tails, tail_updates
from bnn.noise.student import bound

ODDS = 10.0  # prior odds of constant to input-dependent noise, and of Gaussian noise to heavy tails
# Heavy-tailed noise and hyperparameters are estimated in turn, in TAIL_ROUNDS rounds. Each round
# has TAIL_STEPS updates of the noise; each but the first starts with a search of TAIL_SEARCH steps.
TAIL_ROUNDS = 4
TAIL_STEPS = 8
TAIL_SEARCH = 12
# Above THINNED data, heavy tails are first tried on so many rows chosen at random, and on the rows
# that lie farther than OUTLYING standard deviations from what all others predict, at most MOST_OUT.
OUTLYING = 4.0
MOST_OUT = 30
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
        tails: ν and E λ_i of Student's t; None for Gaussian noise.
    """

    level: float
    slopes: Array
    variances: Array
    tails: Tails | None = None


def student_noise(
    fits: Sequence[FamilyFit],
    noises: Sequence[OutputNoise],
    always: bool = False,
    noise_variances: Sequence[Array] | None = None,
    freedom: float | None = None,
    seed: int | None = 0,
) -> tuple[list[FamilyFit], list[OutputNoise]]:
    """Return fits and noises of all outputs with heavy tails, if these are more probable.

    A function that follows outliers does not reveal them. So a second search starts at the medians
    of the hyperprior, which describe smooth functions. The search with the larger bound is used.

    Above THINNED data some rows are searched first. Their gain in log density, times the ratio of
    the numbers of rows, decides whether all rows are searched. That search does not start at the
    result for some rows, which may be far from the most probable result for all.

    Args:
        fits: The fit of one family for each output.
        noises: Gaussian noise of each output.
        always: Whether to return heavy tails even if Gaussian noise is more probable.
        noise_variances: σ² of the data, (N,) for each output; None estimates their size.
        freedom: ν if it is known.
        seed: Seed of the choice of rows.

    Returns:
        The fits and the noise of each output; the given ones if Gaussian noise is more probable.
    """
    many = len(fits[0].density.y) > THINNED
    if not always and many and not _gain_of_some_rows(fits, seed) > np.log(ODDS):
        return list(fits), list(noises)
    heavy, tails, log_bound = _best_with_tails(_starts(fits), noise_variances, freedom)
    # Densities are compared instead of evidences, because their curvatures are similar.
    gaussian = sum(fit.density.value(fit.eta) for fit in fits)
    if not always and not log_bound > gaussian + np.log(ODDS):
        return list(fits), list(noises)
    with_tails = []
    for fit, noise in zip(heavy, noises, strict=True):
        density = fit.density
        level = noise.level
        if noise_variances is None:
            level = 0.5 * float(fit.eta[density.noise][0])
        slopes = fit.eta[density.slopes]
        slopes = slopes if slopes.size else np.zeros_like(noise.slopes)
        with_tails.append(OutputNoise(level, slopes, density.variances(fit.eta), tails))
    return heavy, with_tails


def _starts(fits: Sequence[FamilyFit]) -> list[list[FamilyFit]]:
    """Return the fits, and the same at the medians of the hyperprior."""
    return [list(fits), [replace(fit, eta=fit.density.centre) for fit in fits]]


def _gain_of_some_rows(fits: Sequence[FamilyFit], seed: int | None) -> float:
    """Return the gain in log density under heavy tails that is expected of all rows, from some."""
    N = len(fits[0].density.y)
    away = np.max([np.abs(fit.density.left_out(fit.eta)) for fit in fits], axis=0)
    farthest = np.argsort(-away, kind="stable")[:MOST_OUT]
    outlying = farthest[away[farthest] > OUTLYING]
    rows = np.union1d(some_rows(N, THINNED, seed), outlying)
    some = []
    for fit in fits:
        density = fit.density.thinned(rows)
        eta = most_probable(density, [fit.eta], TAIL_SEARCH)
        some.append(replace(fit, density=density, eta=eta))
    gaussian = sum(fit.density.value(fit.eta) for fit in some)
    _, _, log_bound = _best_with_tails(_starts(some))
    return (log_bound - gaussian) * N / len(rows)


def _best_with_tails(
    starts: Sequence[list[FamilyFit]],
    noise_variances: Sequence[Array] | None = None,
    freedom: float | None = None,
) -> tuple[list[FamilyFit], Tails, float]:
    """Return the result of `_with_tails` with the largest bound, of those from several starts."""
    searches = [_with_tails(start, noise_variances, freedom) for start in starts]
    return max(searches, key=lambda search: search[2])


def _with_tails(
    fits: list[FamilyFit], noise_variances: Sequence[Array] | None, freedom: float | None
) -> tuple[list[FamilyFit], Tails, float]:
    """Return a fit for each output under Student's t, its factors, and a bound of the log density.

    The factors and the hyperparameters are estimated in turn.
    """
    n_out = len(fits)
    etas = [fit.eta for fit in fits]
    tails = Tails.none(len(fits[0].density.y))

    def under(tails: Tails) -> list[FamilyDensity]:
        """Return the densities of all outputs under Gaussian noise of the same variances."""
        densities = []
        for j, fit in enumerate(fits):
            scaled = replace(fit.density.noise_form, relative=tails.scale)
            if noise_variances is not None:
                scaled = NoiseForm.of_variances(tails.scale * noise_variances[j])
            densities.append(fit.density.with_noise(scaled))
        return densities

    def expected_squares(tails: Tails) -> Array:
        # s_i = Σ_j E (y_ij - f_ij)² / σ_ij²
        total = np.zeros(len(tails.factors))
        for j, (density, eta) in enumerate(zip(under(tails), etas, strict=True)):
            squares = density.squares(eta)
            if noise_variances is None:
                total += squares * tails.scale / density.variances(eta)
            else:
                total += squares / noise_variances[j]
        return total

    for turn in range(TAIL_ROUNDS):
        if turn:
            pairs = zip(under(tails), etas, strict=True)
            etas = [most_probable(density, [eta], TAIL_SEARCH) for density, eta in pairs]
        updates = tail_updates(expected_squares, tails, n_out, freedom)
        *_, tails = islice(updates, TAIL_STEPS)
    triples = list(zip(fits, under(tails), etas, strict=True))
    log_bound = sum(density.value(eta) for _, density, eta in triples)
    log_bound += bound(*tails, n_out)
    return [replace(fit, density=d, eta=eta) for fit, d, eta in triples], tails, log_bound


def averaged_tails(
    draws: Sequence[Sequence[Draw]], weights: Sequence[Array], noises: Sequence[OutputNoise]
) -> tuple[list[list[Draw]], list[Array], list[OutputNoise]]:
    """Find the precision factors under all components, with fixed posterior weights.

    Factors from a single fit would favour the components that resemble it. Good data far from that
    fit would count as outliers, and components near these data would lose their weights. So q(λ_i)
    uses the mean of (y_i - f_i)² over all components. ν and the level of the noise are estimated
    with the factors. No update lowers the bound of log p(y) for these weights.

    Args:
        draws: The components of each output.
        weights: Their posterior weights, (S,) for each output.
        noises: The noise of each output, from whose factors the updates start.

    Returns:
        For each output the components under the estimated noise, log p(y | η) of these, (S,), and
        the noise.
    """
    tails = noises[0].tails
    assert tails is not None
    unit = np.column_stack([noise.variances / tails.scale for noise in noises])  # σ_ij²
    # As in the searches, unless the smallest variance is less already.
    lowest = np.minimum(1.0, LIMITS["noise"][0] / unit.min(axis=0))
    growth = np.ones(len(noises))  # factor by which the variances σ² of each output change
    squares = np.zeros_like(unit)

    def under(variances: Array) -> list[list[Draw]]:
        """Return the components of each output under known variances, (N, n_out)."""
        forms = [NoiseForm.of_variances(column) for column in variances.T]
        pairs = zip(draws, forms, strict=True)
        return [[(density.with_noise(form), eta) for density, eta in of] for of, form in pairs]

    def expected_squares(tails: Tails) -> Array:
        # E (y_ij - f_ij)² = Σ_s w_s E[(y_ij - f_ij)² | s]
        components = under(tails.scale[:, None] * growth * unit)
        for j, (shares, of_output) in enumerate(zip(weights, components, strict=True)):
            pairs = zip(shares, of_output, strict=True)
            terms = [share * density.squares(eta) for share, (density, eta) in pairs if share]
            squares[:, j] = np.sum(terms, axis=0) / (growth[j] * unit[:, j])
        # s_i = Σ_j E (y_ij - f_ij)² / σ_ij²
        return np.asarray(squares.sum(axis=1))

    last = tails.scale[:, None] * unit
    updates = tail_updates(expected_squares, tails, len(noises))
    for tails in islice(updates, AVERAGED_STEPS):
        # The bound is largest for the variance c σ², with c (1 - 2/ν) = mean of λ_i s_ij.
        step = np.mean(squares / tails.scale[:, None], axis=0)
        growth = np.maximum(step * growth, lowest)
        variances = tails.scale[:, None] * growth * unit
        if np.abs(np.log(variances / last)).max() < AVERAGED_TOLERANCE:
            break
        last = variances
    components = under(variances)
    evidences = [np.array([density.log_evidence(eta) for density, eta in c]) for c in components]
    averaged = []
    for noise, grown, column in zip(noises, growth, variances.T, strict=True):
        level = noise.level + 0.5 * float(np.log(grown))
        averaged.append(OutputNoise(level, noise.slopes, column, tails))
    return components, evidences, averaged
