"""Laplace's approximation for families of processes, and draws from the posteriors of several.

The posterior of the hyperparameters η of a family is close to a normal distribution around their
most probable values η*. Its precision is H = -∂² log p(y, η) / ∂η² at η*, and so

    log p(y) ≈ log p(y | η*) + log p(η*) - ½ log |H| + ½ log |P|,

where log p(η) = -½ (η - c)ᵀ P (η - c) is the hyperprior of precision P, without its constant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.special import logsumexp, softmax
from scipy.stats import chi2, multivariate_t, norm, qmc

from bnn._seeding import generator
from bnn._validation import Array, Ints
from bnn.gp.evidence.density import FamilyDensity, Solved
from bnn.gp.hyperparameters import AROUND, check_points, noticeable, representatives
from bnn.gp.mixture import TINY

STEPS = 60  # most steps of a search
TOLERANCE = 1e-7  # relative change at which a search ends
STARTS = 8  # draws from the hyperprior for a random start, which is the best of them
NEARER = 0.5  # scales the hyperprior's deviations for starts nearer to its median
THINNED = 300  # most data from which H is computed
GRADIENT_STEP = 1e-3  # of the differences of gradients that give H
FIRST_STEPS = 15  # steps of searches from several starts, before only the best is continued
LAST_STEPS = 6  # most steps of a search with all data, after one with THINNED data
WORK = 2e7  # number of draws from a posterior, times N²
DRAWS = (32, 256)  # fewest and most draws from a posterior, for any N
# The average over hyperparameters uses importance sampling. A share OF_HYPERPRIOR of the points is
# drawn from the hyperprior. The others are drawn from Student's t with PROPOSAL_DF degrees of
# freedom around the maximum of the density. It is PROPOSAL_WIDTH times as wide as the curvature
# there implies.
PROPOSAL_DF = 8.0
PROPOSAL_WIDTH = 1.15
OF_HYPERPRIOR = 0.25
UNLIKELY = 1e-9  # tail probability at which draws are clipped
# Weights of draws are raised to the largest of POWERS powers, from 1 to LEAST_POWER, with which the
# effective number of draws, 1 / Σ w², is at least EFFECTIVE.
EFFECTIVE = 16.0
LEAST_POWER = 1e-3
POWERS = 30
# Components keep at least this effective number when further data update their weights.
EFFECTIVE_COMPONENTS = 8.0
RELIABLE = 8.0  # least effective number of draws whose evidence replaces Laplace's
Draw: TypeAlias = tuple[FamilyDensity, Array]  # the density of a family, and its η


@dataclass
class FamilyFit:
    """A family of processes with the most probable hyperparameters of one output.

    Attributes:
        density: log p(y, η) of the family, up to a constant that all families share.
        eta: η*, where the density is largest.
        hessian: H, at least the precision of the hyperprior.
        log_evidence: log p(y) by Laplace's approximation, up to the same constant.
    """

    density: FamilyDensity
    eta: Array
    hessian: Array
    log_evidence: float

    def refitted(self, density: FamilyDensity, seed: int | None, steps: int = STEPS) -> "FamilyFit":
        """Return the fit of another density, whose search starts at the η* of this one."""
        start = density.start_from(self.density, self.eta)
        if len(density.y) > THINNED:
            steps = min(steps, LAST_STEPS)
        return approximated(density, most_probable(density, [start], steps), seed)


def most_probable(
    density: FamilyDensity,
    starts: Sequence[Array],
    steps: int = STEPS,
    tolerance: float = TOLERANCE,
) -> Array:
    """Return the η of largest density that searches from several starts find.

    Args:
        density: log p(y, η) with its gradient.
        starts: Starts of the searches, (m,) each.
        steps: Most steps of a search.
        tolerance: Relative change of the density at which a search ends.

    Returns:
        η, (m,).
    """
    if not density.centre.size:
        return density.centre

    def negative(eta: Array) -> tuple[float, Array]:
        value, gradient = density(eta)
        return (-value, -gradient) if np.isfinite(value) else (1e10, np.zeros_like(eta))

    box = density.limits

    def search(start: Array, steps: int) -> OptimizeResult:
        options = {"maxiter": steps, "ftol": tolerance}
        start = np.clip(start, *box.T)
        return minimize(negative, start, jac=True, method="L-BFGS-B", bounds=box, options=options)

    if len(starts) == 1 or steps <= FIRST_STEPS:
        ends = [search(start, steps) for start in starts]
    else:
        ends = [search(start, FIRST_STEPS) for start in starts]
        ends.append(search(min(ends, key=attrgetter("fun")).x, steps))
    return np.asarray(min(ends, key=attrgetter("fun")).x)


def most_probable_of_many(
    density: FamilyDensity, starts: Sequence[Array], seed: int | None
) -> Array:
    """Return `most_probable`, above THINNED data by a search with some and a few steps with all."""
    N = len(density.y)
    if N <= THINNED:
        return most_probable(density, starts)
    of_some = most_probable(density.thinned(some_rows(N, THINNED, seed)), starts)
    return most_probable(density, [of_some], LAST_STEPS)


def further_starts(
    density: FamilyDensity, restarts: int, near: int, seed: int | None
) -> list[Array]:
    """Return 1 + restarts + near starts of searches: the median of the hyperprior, and draws.

    Each restart is the best of STARTS draws from the hyperprior. The last starts are `near` draws
    at NEARER times their distance to the median.
    """
    drawn = generator(seed).standard_normal((restarts * STARTS, len(density.centre)))
    away = drawn * density.deviations
    points = np.clip(density.centre + away, *density.limits.T)
    groups = points.reshape(restarts, STARTS, len(density.centre))
    further = density.centre + NEARER * away[:near]
    return [density.centre, *(max(group, key=density.value) for group in groups), *further]


def approximated(density: FamilyDensity, eta: Array, seed: int | None) -> FamilyFit:
    """Return Laplace's approximation around the most probable η."""
    if density.family.flat or not eta.size:  # such a family is not compared with others
        return FamilyFit(density, eta, np.zeros((len(eta), len(eta))), density.value(eta))
    N = len(density.y)
    rows = some_rows(N, THINNED, seed)
    P = np.diag(density.precision)
    # H = P + N/n (H_n - P), with H_n from n of the data, whose part has no negative eigenvalues
    of_data = curvature(density.thinned(rows), eta) - P
    values, vectors = np.linalg.eigh(0.5 * (of_data + of_data.T) * (N / len(rows)))
    H = (vectors * np.maximum(values, 0.0)) @ vectors.T + P
    # log p(y) = log p(y | η*) + log p(η*) - ½ log |H| + ½ log |P|
    gained = np.log(density.precision).sum() - np.linalg.slogdet(H)[1]
    return FamilyFit(density, eta, H, density.value(eta) + 0.5 * float(gained))


def some_rows(n: int, most: int, seed: int | None) -> Ints:
    """Return the indices of all n rows, or of `most` rows chosen at random if there are more."""
    if n <= most:
        return np.arange(n)
    return np.sort(generator(seed).choice(n, most, replace=False))


def curvature(density: FamilyDensity, best: Array) -> Array:
    """Return -∂² log p / ∂η² by differences of the gradient, (m, m), not symmetric."""
    steps = GRADIENT_STEP * np.eye(len(best))
    there = density(best)[1]
    rows = [there - density(best + step)[1] for step in steps]
    return np.array(rows) / GRADIENT_STEP


@dataclass
class Sample:
    """Weighted draws from the posterior of the hyperparameters of one family.

    Attributes:
        points: η, (S, m).
        solved: The evidence under each draw, and the factor of its covariance.
        logs: Logarithms of the weights, (S,), which sum to 1.
        log_evidence: log p(y | X), up to a constant that is the same for all families.
    """

    points: Array
    solved: list[Solved]
    logs: Array
    log_evidence: float


def importance_sample(
    fit: FamilyFit, draws: int, seed: int | None, keep_roots: bool = False
) -> Sample:
    """Return draws from the posterior of the η of a family, by importance sampling.

    Source: Ionides (2008), Journal of Computational and Graphical Statistics 17, for the limit of
    the weights.
    """
    density, best = fit.density, fit.eta
    m = len(best)
    if not m:
        points = np.tile(best, (draws, 1))
        solved = [density.solved(best)] * draws
        return Sample(points, solved, np.full(draws, -np.log(draws)), density.value(best))
    values, vectors = np.linalg.eigh(0.5 * (fit.hessian + fit.hessian.T))
    # R Rᵀ = PROPOSAL_WIDTH² H⁻¹, with H = V diag(λ) Vᵀ. λ is at least the hyperprior's least
    # precision, so that points stay within its width if the density is flat or curved upwards.
    root = PROPOSAL_WIDTH * vectors / np.sqrt(np.maximum(values, density.precision.min()))
    uniform = qmc.Sobol(m + 1, seed=generator(seed)).random(draws)
    z = norm.ppf(np.clip(uniform[:, :m], UNLIKELY, 1.0 - UNLIKELY))
    radii = np.sqrt(PROPOSAL_DF / chi2.ppf(np.maximum(uniform[:, m:], UNLIKELY), PROPOSAL_DF))
    deviations = density.precision**-0.5
    n = int(OF_HYPERPRIOR * draws)
    points = np.concatenate([density.centre + z[:n] * deviations, best + (radii * z)[n:] @ root.T])
    # log w = log p(y | η) + log p(η) - log q(η), with q(η) = s p(η) + (1 - s) t(η)
    of_hyperprior = norm.logpdf(points, density.centre, deviations).sum(axis=1)
    of_student = multivariate_t.logpdf(points, best, root @ root.T, df=PROPOSAL_DF)
    shares = np.array([[OF_HYPERPRIOR], [1.0 - OF_HYPERPRIOR]])
    solved = []
    for eta in points:
        of_draw = density.solved(eta)
        solved.append(of_draw if keep_roots else of_draw._replace(root=None))
    evidences = [solution.log_evidence for solution in solved]
    logs = np.array([e + density.log_prior(eta) for e, eta in zip(evidences, points, strict=True)])
    logs -= logsumexp(np.stack([of_hyperprior, of_student]), axis=0, b=shares)
    total = logsumexp(logs)
    # log p(y | X) = log 1/S Σ_s w_s, with the constant of log p(η)
    normaliser = 0.5 * np.sum(np.log(density.precision) - np.log(2.0 * np.pi))
    evidence = float(total - np.log(draws) + normaliser)
    # No weight exceeds √draws times the average, so that none outweighs all others.
    logs = np.minimum(logs, total - 0.5 * np.log(draws))
    return Sample(points, solved, logs - logsumexp(logs), evidence)


@dataclass
class Draws:
    """Weighted draws from the posteriors of the hyperparameters of several families.

    Attributes:
        draws: The draws of all families.
        logs: Logarithms of their weights, (S,), which sum to one.
        evidences: log p(y | X, η) of each, (S,).
        moments: Means and variances of f at m scaled places under each draw, (S, 2 m); zeros for
            draws of negligible weight.
    """

    draws: list[Draw]
    logs: Array
    evidences: Array
    moments: Array


def posterior_draws(
    fits: Sequence[FamilyFit], seed: int | None, places: Array | None = None
) -> Draws:
    """Return draws from the posteriors of several families, weighted by their evidence.

    The evidence of a family is estimated from its draws if their effective number is at least
    RELIABLE. Otherwise Laplace's approximation is used, which gives too small an evidence to
    families with many hyperparameters.
    Moments are computed at scaled places (m, n), if there are any.
    """
    draws: list[Draw] = []
    log_weights = []
    evidences = []
    moments = []
    for fit in fits:
        density = fit.density
        n = _number_of_draws(len(density.y))
        sample = importance_sample(fit, n, seed, keep_roots=places is not None)
        evidence = sample.log_evidence
        if effective(sample.logs) < RELIABLE:
            evidence = fit.log_evidence
        draws.extend((density, eta) for eta in sample.points)
        logs = tempered(sample.logs)
        # log w = τ log p(η | y, family) / q(η) + log p(y | family)
        log_weights.append(logs + evidence)
        evidences += [solution.log_evidence for solution in sample.solved]
        if places is not None:
            rows = np.zeros((len(logs), 2 * len(places)))
            for s in np.flatnonzero(noticeable(logs)):
                rows[s] = density.moments(sample.points[s], places, sample.solved[s])
            moments.append(rows)
        del sample  # so that only the factors of one family are in memory
    joined = np.concatenate(limited(fits, log_weights))
    of_places = np.concatenate(moments) if moments else np.zeros((len(draws), 0))
    return Draws(draws, joined - logsumexp(joined), np.array(evidences), of_places)


def left_out_densities(fits: Sequence[FamilyFit], seed: int | None) -> Array:
    """Return log p(y_i | all other data), (N,), averaged over families and hyperparameters.

    Source: Gelfand, Dey & Chang (1992), Bayesian Statistics 4, for the average over draws.
    """
    every = posterior_draws(fits, seed)
    numbers = np.flatnonzero(noticeable(every.logs))
    logs = every.logs[numbers] - logsumexp(every.logs[numbers])
    draws = [every.draws[s] for s in numbers]
    of_draws = np.array([density.left_out(eta)[1] for density, eta in draws])
    # 1 / p(y_i | others) = Σ_s w_s / p(y_i | others, η_s)
    return np.asarray(-logsumexp(logs[:, None] - of_draws, axis=0))


def limited(fits: Sequence[FamilyFit], log_weights: Sequence[Array]) -> list[Array]:
    """Return log weights of draws, lowered for each family above its limit, see `Family.most`.

    A limit leaves weight to the families without a limit. If there is none, it changes nothing.
    There is an array (S,) for each family; the new weights do not sum to one.
    """
    most = np.array([fit.density.family.most for fit in fits])
    if np.all(most < 1.0):
        return list(log_weights)
    totals = np.array([logsumexp(logs) for logs in log_weights])
    free = logsumexp(totals[most == 1.0])  # of the families without a limit
    lowered = totals.copy()
    # w / (w + w_free) <= most
    odds = most[most < 1.0] / (1.0 - most[most < 1.0])
    lowered[most < 1.0] = np.minimum(totals[most < 1.0], free + np.log(odds))
    return [logs + shift for logs, shift in zip(log_weights, lowered - totals, strict=True)]


def _number_of_draws(n_data: int) -> int:
    """Return the number of draws from a posterior, which is smaller if each draw takes longer."""
    # A power of two, which Sobol sequences need.
    return int(2 ** int(np.log2(np.clip(WORK / n_data**2, *DRAWS))))


def effective(logs: Array) -> float:
    """Return the effective number of draws, 1 / Σ w², from log weights; the weights sum to one."""
    return float(np.exp(-logsumexp(2.0 * logs)))


def tempered(logs: Array) -> Array:
    """Raise weights to a power τ <= 1, so that the effective number of draws is EFFECTIVE or more.

    Draws of many hyperparameters come from a poor approximation of their posterior. Without the
    power one draw would then outweigh all others.

    Args:
        logs: Logarithms of the weights, (S,).

    Returns:
        Logarithms of the new weights, (S,), which sum to one.

    Source: Koblents & Míguez (2015), Statistics and Computing 25.
    """
    for power in np.geomspace(1.0, LEAST_POWER, POWERS):
        # w_s^τ / Σ_r w_r^τ, of an effective number 1 / Σ w²
        powered = power * logs - logsumexp(power * logs)
        if effective(powered) >= EFFECTIVE:
            break
    return np.asarray(powered)


def components(
    fits: Sequence[FamilyFit], most: int, seed: int | None, around: float = AROUND
) -> tuple[list[Draw], Array, Array]:
    """Return a few draws that represent the posteriors of several families in a MixturePrior.

    Given the data, their mixture has about the same means and variances of f as all draws together.
    This holds in a range of the inputs `around` times as wide as the data, and beyond it if it is
    wider than the data.

    Returns:
        At most `most` draws, their posterior weights, (k,), and log p(y | η) of each, (k,).
    """
    every = posterior_draws(fits, seed, check_points(fits[0].density.u.shape[1], around))
    families = [fit.density.family for fit in fits]
    groups = np.array([families.index(density.family) for density, _ in every.draws])
    numbers, posterior = representatives(every.moments, every.logs, most, groups)
    return [every.draws[s] for s in numbers], posterior, every.evidences[numbers]


def prior_weights(posterior: Array, evidences: Array) -> Array:
    """Return the prior weights of components, (S,), from posterior weights and log evidences."""
    # Conditioning a mixture on y multiplies its weights by p(y | η_s), so π_s ∝ w_s / p(y | η_s).
    return np.asarray(softmax(np.log(np.maximum(posterior, TINY)) - evidences))


def updated(weights: Array, gains: Array) -> Array:
    """Return the posterior weights of components given further data, tempered like draws.

    These are w_s g_s^τ / Σ_r w_r g_r^τ, (S,), where log g_s is the log density of the further data.
    τ <= 1 is the largest power for which the effective number of components is at least
    EFFECTIVE_COMPONENTS, or that before if smaller.
    """
    least = min(EFFECTIVE_COMPONENTS, 1.0 / np.sum(weights**2))
    logs = np.log(np.maximum(weights, TINY))
    for power in [*np.geomspace(1.0, LEAST_POWER, POWERS), 0.0]:
        new = softmax(logs + power * gains)
        if 1.0 / np.sum(new**2) >= least:
            break
    return np.asarray(new)
