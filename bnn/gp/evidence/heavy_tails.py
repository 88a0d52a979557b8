"""Noise with heavy tails: its precision factors, under a given prior or found with families.

Datum i has a precision factor λ_i ~ Gamma(ν/2, ν/2). Given λ_i, the noise of its output j is
Gaussian with the variance (1 - 2/ν) σ_ij² / λ_i. All outputs of a datum share its factor. See
`tail_updates` for the approximation of the posterior.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple, NoReturn, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from tqdm import tqdm

from bnn._validation import Array
from bnn.gp.evidence.density import FamilyDensity
from bnn.gp.evidence.families import LIMITS, NoiseForm
from bnn.gp.evidence.laplace import THINNED, Draw, FamilyFit, most_probable, some_rows
from bnn.gp.mixture import TINY, Posterior, Prior, conditioned
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import StudentNoise, covariance_at
from safe_files.progress import progress_bar, titled

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
FACTOR_STEPS = 200  # most updates of the factors under a given prior
FACTOR_TOLERANCE = 1e-4  # change of a factor at which these updates end
ALONE = 10  # updates under each single component of a mixture
LEAST_GAIN = 0.1  # of the bound by another start; smaller differences are rounding errors
LOG_EXCESS = float(np.log(0.01)), float(np.log(1e3))  # range of log (ν - 2) in the search for ν


class Tails(NamedTuple):
    """The precision factors λ_i of heavy-tailed noise, as q(λ_i) describes them.

    Attributes:
        freedom: ν; infinity for Gaussian noise.
        factors: E λ_i, (N,).
    """

    freedom: float
    factors: Array

    @classmethod
    def none(cls, n_data: int) -> Self:
        """Return those of Gaussian noise."""
        return cls(np.inf, np.ones(n_data))

    @property
    def scale(self) -> Array:
        """(1 - 2/ν) / E λ_i, (N,), the variances of q(f) relative to those of the noise."""
        return (1.0 - 2.0 / self.freedom) / self.factors

    def bound(self, n_out: int) -> float:
        """Return what to add to the log evidence of noise Σ / E λ for a lower bound of log p(y)."""
        # d/2 (E log λ - log E λ) - KL(q(λ) | p(λ)), where q(λ) = Gamma(a, a / E λ).
        half = 0.5 * self.freedom
        a = 0.5 * (self.freedom + n_out)
        constant = gammaln(a) - gammaln(half) + a - a * np.log(a) + half * np.log(half)
        return float(np.sum(constant + half * (np.log(self.factors) - self.factors)))


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


def tail_updates(
    expected_squares: Callable[[Tails], Array],
    tails: Tails,
    n_out: int,
    freedom: float | None = None,
    fixed: Array | None = None,
) -> Iterator[Tails]:
    """Yield better and better precision factors, by updating q(f) and q(λ) in turn.

    The posterior of f and λ is approximated by q(f) Π_i q(λ_i). Then q(f) is the posterior of f
    under Gaussian noise with the covariances (1 - 2/ν) Σ_i / E λ_i. No update lowers the bound of
    log p(y).

    Args:
        expected_squares: Function of the factors that returns s_i = E (y_i - f_i)ᵀ Σ_i⁻¹ (y_i -
            f_i) under q(f), (N,).
        tails: Factors at the start.
        n_out: Number of outputs.
        freedom: ν; None estimates it.
        fixed: E λ_i, (N,), of rows whose factors are not updated, NaN for other rows; None updates
            all.
    """
    while True:
        squares = expected_squares(tails)
        degrees = _likely_freedom(squares, n_out) if freedom is None else freedom
        # E λ = (ν + d) / (ν + s / (1 - 2/ν))
        factors = (1.0 + n_out / degrees) / (1.0 + squares / (degrees - 2.0))
        if fixed is not None:
            factors = np.where(np.isnan(fixed), factors, fixed)
        tails = Tails(degrees, factors)
        yield tails


def _likely_freedom(squares: Array, n_out: int) -> float:
    """Return the maximum-likelihood ν for rows with squares s = E (y-f)ᵀ Σ⁻¹ (y-f), (n,)."""

    def lost(log: float) -> float:
        # -log p(s) = log Γ(ν/2) - log Γ(a) + d/2 log(ν-2) + a log(1 + s / (ν-2)), a = (ν + d) / 2
        excess = np.exp(log)
        a = 0.5 * (2.0 + np.exp(log) + n_out)
        constant = gammaln(1.0 + 0.5 * excess) - gammaln(a) + 0.5 * n_out * log
        return float(np.sum(constant + a * np.log1p(squares / excess)))

    best = minimize_scalar(lost, bounds=LOG_EXCESS, method="bounded", options={"xatol": 1e-4}).x
    return 2.0 + float(np.exp(best))


def factors_of(
    prior: Prior,
    noise: StudentNoise,
    X: Array,
    y: Array,
    iterations: int = FACTOR_STEPS,
    title: str | None = None,
    fixed: Array | None = None,
) -> Tails:
    """Find the variational precision factors of the data, see `tail_updates`.

    q(f) becomes q(f, s) with the component s of a mixture: the mixture given the data, with prior
    weights times the evidence of each component.

    If the updates start from noise without outliers, a mixture may prefer components that follow
    the outliers, so that none is detected. So the updates start twice: from Gaussian noise, and
    from the result for the single component that is most probable with its own factors. The second
    result is returned if its bound is larger.

    Args:
        prior: Prior.
        noise: Noise. If its degrees of freedom ν are None, they are estimated.
        X: (N, n_in).
        y: (N, n_out).
        iterations: Most updates from each start.
        title: Title of a progress bar on a terminal; None shows no bar.
        fixed: E λ_i, (N,), of rows whose factors are not updated, such as those of an earlier fit;
            NaN for other rows. If a factor is fixed, the updates start only once.

    Returns:
        ν and E λ_i.
    """
    shown = None if title is None else titled(title, None)
    data = _HeavyTailedData(noise, X, y, fixed)
    if isinstance(prior, GaussianProcessPrior) or data.any_fixed:
        with progress_bar(iterations, shown, "update") as bar:
            return data.updated(prior, data.start, iterations, bar)
    steps = ALONE * len(prior.components) + 2 * iterations
    with progress_bar(steps, shown, "update") as bar:
        likely = []
        for component, shares in zip(prior.components, prior.shares, strict=True):
            tails = data.updated(component, data.start, ALONE, bar)
            value = np.log(np.maximum(shares, TINY)).sum() + data.bound(component, tails)
            likely.append((value, tails))
        starts = [data.start, max(likely, key=lambda pair: pair[0])[1]]
        first, other = (data.updated(prior, start, iterations, bar) for start in starts)
    gain = data.bound(prior, other) - data.bound(prior, first)
    return other if gain > LEAST_GAIN else first


class _HeavyTailedData:
    """Data with heavy-tailed noise, and the updates of their factors under any prior."""

    def __init__(self, noise: StudentNoise, X: Array, y: Array, fixed: Array | None) -> None:
        self._noise = noise
        self._X = X
        self._y = y
        self._fixed = fixed
        self._covariances = covariance_at(noise, X) * np.ones((len(X), 1, 1))  # Σ_i
        self._precision = np.linalg.inv(self._covariances)
        self.any_fixed = fixed is not None and not np.isnan(fixed).all()
        self.start = Tails.none(len(X))
        if self.any_fixed:
            assert fixed is not None
            factors = np.where(np.isnan(fixed), 1.0, fixed)
            self.start = Tails(noise.degrees, factors)

    def updated(self, prior: Prior, start: Tails, iterations: int, bar: "tqdm[NoReturn]") -> Tails:
        """Update the factors under a prior until they hardly change."""

        def expected_squares(tails: Tails) -> Array:
            posterior = self._posterior(prior, tails)
            moments = [posterior.moments(self._X[rows]) for rows in posterior.batches(len(self._X))]
            mean, spread = map(np.concatenate, zip(*moments, strict=True))
            away = self._y - mean
            # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S, and E (y - f)ᵀ Σ⁻¹ (y - f)
            scatter = away[:, :, None] * away[:, None, :] + spread
            return np.asarray(np.einsum("nij,nji->n", self._precision, scatter))

        n_out = self._y.shape[1]
        updates = tail_updates(expected_squares, start, n_out, self._noise.df, self._fixed)
        last = self.start
        for count, tails in enumerate(islice(updates, iterations), 1):
            bar.update()
            if np.abs(tails.factors - last.factors).max() < FACTOR_TOLERANCE:
                bar.update(iterations - count)  # updates that are not needed
                break
            last = tails
        return tails

    def bound(self, prior: Prior, tails: Tails) -> float:
        """Return the lower bound of log p(y)."""
        evidences = self._posterior(prior, tails).log_evidences
        return float(np.sum(evidences)) + tails.bound(self._y.shape[1])

    def _posterior(self, prior: Prior, tails: Tails) -> Posterior:
        """Return the posterior of a prior given data."""
        noise = self._covariances * tails.scale[:, None, None]
        return conditioned(prior, noise, self._X, self._y)


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
    heavy, tails, log_bound = _best_with_tails(fits, noise_variances, freedom)
    # Densities are compared instead of evidences, because their curvatures are similar.
    gaussian = sum(fit.density.value(fit.eta) for fit in fits)
    if not always and not log_bound > gaussian + np.log(ODDS):
        return list(fits), list(noises)
    with_tails = []
    for fit, noise in zip(heavy, noises, strict=True):
        density = fit.density
        level = noise.level
        if noise_variances is None:
            level = 0.5 * float(fit.eta[density.noise_level][0])
        slopes = fit.eta[density.slopes]
        slopes = slopes if slopes.size else np.zeros_like(noise.slopes)
        with_tails.append(OutputNoise(level, slopes, density.variances(fit.eta), tails))
    return heavy, with_tails


def _gain_of_some_rows(fits: Sequence[FamilyFit], seed: int | None) -> float:
    """Return the gain in log density under heavy tails that is expected of all rows, from some."""
    N = len(fits[0].density.y)
    away = np.max([np.abs(fit.density.left_out(fit.eta)[0]) for fit in fits], axis=0)
    farthest = np.argsort(-away, kind="stable")[:MOST_OUT]
    outlying = farthest[away[farthest] > OUTLYING]
    rows = np.union1d(some_rows(N, THINNED, seed), outlying)
    some = []
    for fit in fits:
        density = fit.density.thinned(rows)
        eta = most_probable(density, [fit.eta], TAIL_SEARCH)
        some.append(replace(fit, density=density, eta=eta))
    gaussian = sum(fit.density.value(fit.eta) for fit in some)
    _, _, log_bound = _best_with_tails(some)
    return (log_bound - gaussian) * N / len(rows)


def _best_with_tails(
    fits: Sequence[FamilyFit],
    noise_variances: Sequence[Array] | None = None,
    freedom: float | None = None,
) -> tuple[list[FamilyFit], Tails, float]:
    """Return the better result of `_with_tails` from the fits and from medians of hyperpriors."""
    starts = [list(fits), [replace(fit, eta=fit.density.centre) for fit in fits]]
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
    log_bound += tails.bound(n_out)
    return [replace(fit, density=d, eta=eta) for fit, d, eta in triples], tails, log_bound


def averaged_tails(
    draws: Sequence[Sequence[Draw]], weights: Sequence[Array], noises: Sequence[OutputNoise]
) -> tuple[list[list[Draw]], list[Array], list[OutputNoise]]:
    """Find the precision factors under all components, with fixed posterior weights.

    Factors from a single fit would favour the components that resemble it. Good data far from that
    fit would count as outliers, and components near these data would lose their weights. So q(λ_i)
    uses the mean of (y_i - f_i)² over all components. ν and the level of the noise are estimated
    with the factors. No update lowers the bound of log p(y) for these weights.

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
