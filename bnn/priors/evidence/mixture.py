"""The default of the estimators: prior and noise in one, averaged over families of processes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from bnn._seeding import generator
from bnn._validation import Array, Ints, as_data, check_flags
from bnn.noise import Noise, StudentNoise
from bnn.noise.heteroscedastic import StandardBasis
from bnn.noise.student import bound, likely_freedom, precision_factors
from bnn.priors.evidence.families import Family, FamilyDensity
from bnn.priors.gaussian_process import GaussianProcessPrior
from bnn.priors.hyperparameters import (
    curvature,
    importance_sample,
    moments_of,
    representatives,
    threads_for,
)
from bnn.priors.kernels import RBF, Matern32, Matern52
from bnn.priors.means import LinearMean
from bnn.priors.mixture import TINY, MixturePrior
from bnn.training.execution import progress_bar, titled

PLAIN = (Family((RBF,), trend=True), Family((Matern32,), trend=True))
PER_ENTRY = 10  # data for each entry of the matrix that mixes the inputs, from which it is tried
SEARCHED = 1500  # most data in the search
STEPS = 60  # of a search
STARTS = 8  # random points of which the best is another start, for few data
# Data up to which families have a trend, which is overconfident in the gaps of more of them, and
# those of plain inputs are tried too; and up to which a search has several starts.
FEW = 300
THINNED = 300  # most data in the Hessian matrix of the density
WORK = 2e7  # of an average: number of draws times N², within the limits of the next line
DRAWS = (32, 256)
LIKELY = 7.0  # difference of log evidence from the best family up to which one is averaged
ODDS = 10.0  # prior odds of constant noise against other forms
COMPONENTS = 16
MEMORY = 1.25e8  # numbers in the matrices of all components
NEGLIGIBLE = 0.05  # probability of noise by input below which it is left out
EFFECTIVE = 8.0  # draws of a family that count, 1 / Σ w²
LEAST_POWER = 1e-3
POWERS = 30
AGAIN = 20  # steps of a search under the noise that was found
TAIL_ROUNDS = 4  # of a StudentNoise: noise and prior in turn
TAIL_STEPS = 8
TAIL_SEARCH = 12
STAGES = 3  # of an output, after its families: noise, families under that noise, components


@dataclass
class _Found:
    """A family with the most probable hyper-parameters of one output."""

    density: FamilyDensity
    eta: Array
    hessian: Array
    log_evidence: float


def _search(density: FamilyDensity, starts: Sequence[Array], steps: int = STEPS) -> Array:
    """Return the η of largest density of those that searches reach."""

    def negative(eta: Array) -> tuple[float, Array]:
        value, gradient = density(eta)
        return (-value, -gradient) if np.isfinite(value) else (1e10, np.zeros_like(eta))

    options = {"maxiter": steps}
    box = density.limits
    searched = [
        minimize(
            negative,
            np.clip(start, *box.T),
            jac=True,
            method="L-BFGS-B",
            bounds=box,
            options=options,
        )
        for start in starts
    ]
    return np.asarray(min(searched, key=lambda result: result.fun).x)


def _found(density: FamilyDensity, eta: Array, seed: int | None) -> _Found:
    """Return a family with the evidence of Laplace's approximation."""
    N = len(density.y)
    rows = _rows(N, THINNED, seed)
    thin = density.thinned(rows)
    # H = N / n H_n of n data, and the hyperprior's precision
    own = curvature(thin, eta) - np.diag(density.precision)
    values, vectors = np.linalg.eigh(0.5 * (own + own.T) * (N / len(rows)))
    hessian = (vectors * np.maximum(values, 0.0)) @ vectors.T + np.diag(density.precision)
    # log p(y) = log p(y, η) - ½ log |H| + ½ log |precision|
    gained = np.log(density.precision).sum() - np.linalg.slogdet(hessian)[1]
    return _Found(density, eta, hessian, density.value(eta) + 0.5 * float(gained))


def _rows(n: int, most: int, seed: int | None) -> Ints:
    """Return all numbers below n, or so many of them chosen at random."""
    if n <= most:
        return np.arange(n)
    return np.sort(generator(seed).choice(n, most, replace=False))


def _families(n_data: int, n_inputs: int) -> list[Family]:
    """Return the families that are tried, each larger than the one before it."""
    few = n_data <= FEW
    families = [*PLAIN] if few else []
    families.append(Family((Matern52,), few, warped=True))
    families.append(Family((Matern52, Matern32), few, warped=True))
    if n_inputs > 1 and n_data >= PER_ENTRY * n_inputs**2:
        families.append(replace(families[-1], mixed=True))
    return families


def _searched(u: Array, y: Array, seed: int | None, step: Callable[[], object]) -> list[_Found]:
    """Return each family with constant noise; a search begins where the one before it ended.

    `step` is called after each family.
    """
    found: list[_Found] = []
    constant = np.zeros((len(u), 0))
    for family in _families(*u.shape):
        density = FamilyDensity(family, u, y, constant, np.ones(len(u)))
        starts = [density.start_from(each.density, each.eta) for each in found[-1:]]
        if not starts or len(u) <= FEW:
            starts.append(density.centre)
            deviations = density.precision**-0.5
            drawn = generator(seed).standard_normal((STARTS, len(density.centre)))
            random = np.clip(density.centre + drawn * deviations, *density.limits.T)
            starts.append(max(random, key=density.value))
        found.append(_found(density, _search(density, starts), seed))
        step()
    return found


def _with_slopes(each: _Found, basis: Array, seed: int | None) -> _Found:
    """Return a family under noise whose logarithm has slopes."""
    old = each.density
    density = FamilyDensity(old.family, old.u, old.y, basis, old.own)
    start = density.start_from(old, each.eta)
    return _found(density, _search(density, [start]), seed)


def _with_tails(each: _Found) -> tuple[_Found, float, float]:
    """Return a family under Student's t, with ν, and the lower bound of its log density."""
    density = each.density
    eta = each.eta
    for turn in range(TAIL_ROUNDS):
        if turn:
            eta = _search(density, [eta], TAIL_SEARCH)
        for _ in range(TAIL_STEPS):
            # Noise of the covariance σ² is (1 - 2/ν) σ² / E λ_i at the data.
            squares = density.squares(eta) * density.own / density.variances(eta)
            freedom = likely_freedom(squares, 1)
            factors = precision_factors(freedom, squares, 1)
            scale = (1.0 - 2.0 / freedom) / factors
            density = FamilyDensity(density.family, density.u, density.y, density.basis, scale)
    value = density.value(eta) + bound(freedom, factors, 1)
    return replace(each, density=density, eta=eta), freedom, value


def _draws(n_data: int) -> int:
    """Return the number of draws of an average, fewer where each takes longer."""
    # A power of two, as the sequences of Sobol have.
    return int(2 ** int(np.log2(np.clip(WORK / n_data**2, *DRAWS))))


def _likely(found: list[_Found]) -> list[_Found]:
    """Return the families that are averaged."""
    best = max(each.log_evidence for each in found)
    return [each for each in found if each.log_evidence > best - LIKELY]


def _pooled(found: list[_Found], seed: int | None) -> tuple[list[tuple[int, Array]], Array]:
    """Return draws of several families, each with its number, and the logarithms of weights."""
    pool: list[tuple[int, Array]] = []
    weights = []
    for f, each in enumerate(found):
        draws = _draws(len(each.density.y))
        points, logs, _ = importance_sample(each.density, each.eta, seed, each.hessian, draws)
        pool.extend((f, point) for point in points)
        weights.append(_tempered(logs) + each.log_evidence)
    joined = np.concatenate(weights)
    return pool, joined - logsumexp(joined)


def _tempered(logs: Array) -> Array:
    """Return logarithms of weights to a power τ <= 1, by which at least EFFECTIVE of them count.

    Draws of many hyper-parameters have weights that differ by the errors of the approximation from
    which they are drawn, so that one of them would outweigh all others.

    Source: Koblents & Míguez (2015), Statistics and Computing 25.
    """

    def powered(power: float) -> tuple[Array, float]:
        own = power * logs - logsumexp(power * logs)
        return own, float(np.exp(-logsumexp(2.0 * own)))

    for power in np.geomspace(1.0, LEAST_POWER, POWERS):
        tempered, count = powered(power)
        if count >= EFFECTIVE:
            break
    return tempered


def _average_noise(found: list[_Found], seed: int | None) -> tuple[Array, Array]:
    """Return E σ_i² at the data, (N,), and E β of the slopes, (p,), over families."""
    pool, logs = _pooled(found, seed)
    variances = [found[f].density.variances(eta) for f, eta in pool]
    slopes = [eta[found[f].density.slopes] for f, eta in pool]
    weights = np.exp(logs)
    return np.asarray(weights @ np.array(variances)), np.asarray(weights @ np.array(slopes))


@dataclass
class _Output:
    """What is known of one output: likely families, variances of the noise, its level and slopes.

    Variances are relative to that of the output.
    """

    found: list[_Found]
    known: Array
    level: float
    slopes: Array
    freedom: float | None


def _output(
    u: Array,
    y: Array,
    basis: Array,
    tails: bool,
    seed: int | None,
    step: Callable[[], object],
) -> _Output:
    """Find families and noise of one output; `step` is called after each family and each stage."""
    found = _searched(u, y, seed, step)
    best = max(found, key=lambda each: each.log_evidence)
    likely = _likely(found)
    variances, _ = _average_noise(likely, seed)
    slopes = np.zeros(basis.shape[1])
    sloped = _with_slopes(best, basis, seed)
    share = float(expit(sloped.log_evidence - best.log_evidence - np.log(ODDS)))
    if share > NEGLIGIBLE:
        by_input, own = _average_noise([sloped], seed)
        variances = share * by_input + (1.0 - share) * variances
        slopes = share * own
    if share > 0.5:
        best = sloped
    level = 0.5 * float(np.log(variances).mean())
    known = np.exp(2.0 * (level + basis @ slopes))
    freedom = None
    if tails:
        heavy, degrees, value = _with_tails(best)
        if value > best.density.value(best.eta) + np.log(ODDS):
            freedom = degrees
            density = heavy.density
            slopes = np.zeros(basis.shape[1])
            slopes[: heavy.eta[density.slopes].size] = heavy.eta[density.slopes]
            level = 0.5 * float(heavy.eta[density.noise][0])
            known = density.variances(heavy.eta)
            best = heavy
    step()
    others = [each for each in likely if each.density.family != best.density.family]
    again = [best, *others]
    given = []
    for each in again:
        density = FamilyDensity(each.density.family, u, y, None, known)
        start = density.start_from(each.density, each.eta)
        given.append(_found(density, _search(density, [start], AGAIN), seed))
    step()
    return _Output(_likely(given), known, level, slopes, freedom)


def _components(
    found: list[_Found], most: int, seed: int | None
) -> tuple[list[tuple[FamilyDensity, Array]], Array]:
    """Return few settings of several families, with weights, (most,), that stand for all draws."""
    pool, logs = _pooled(found, seed)
    drawn = [(found[f].density, eta) for f, eta in pool]
    u = found[0].density.u
    unit = np.ones(u.shape[1])

    def moments(s: int, places: Array) -> Array:
        density, eta = drawn[s]
        kernel = density.kernel(eta, 0.0 * unit, unit, 1.0)
        return moments_of(kernel, u, density.solved(eta), places)

    numbers, posterior = representatives(u, moments, logs, most)
    chosen = [drawn[s] for s in numbers]
    # Conditioning on the data multiplies the weights by p(y | η).
    evidences = [density.log_evidence(eta) for density, eta in chosen]
    weights = softmax(np.log(np.maximum(posterior, TINY)) - evidences)
    return chosen, np.asarray(weights)


def fit_mixture(
    X: ArrayLike, y: ArrayLike, *, tails: bool = True, random_state: int | None = 0
) -> tuple[MixturePrior, Noise | StudentNoise]:
    """Estimate prior and noise together, averaged over families of Gaussian processes.

    For each output the families are a Matérn of ν = 5/2 of warped inputs, see `Warped`, its
    sum with a rougher one, and, from 10 n_in² data on, that sum of inputs that are also mixed. Up
    to 300 data there are an RBF and a Matérn of ν = 3/2 of plain inputs too, and all have a linear
    trend, whose slopes have an unknown variance. The search for each family begins where that for
    the one before it ended. Families whose evidence, by Laplace's approximation, is within e⁷ of
    the largest are averaged: draws from the posteriors of their hyper-parameters, with weights that
    are tempered until eight of them count, are reduced to few components that keep means and
    variances of f, as for `fit_prior`, see there about the weights of these.

    The noise is constant, or its logarithm is linear in the inputs, or it has heavy tails, by the
    evidence; constant noise is ten times as probable a priori.

    Args:
        X: (N, n_in); inputs that do not vary are left out of the kernel.
        y: (N,) or (N, n_out).
        tails: Whether the noise of a single output may be a StudentNoise.
        random_state: Seed of draws and starts. Of more than 1,500 data as many are drawn for the
            search.

    Returns:
        The prior, with 16 components, fewer from 2,800 data on, and the noise: standard deviations
        (n_out,), a HeteroscedasticNoise or a StudentNoise.

    Raises:
        ValueError: If X and y do not fit each other, or no input or an output does not vary.

    Source: Rasmussen & Williams (2006), equations 5.9 and 5.10; Laplace's approximation after
    MacKay (1992), Neural Computation 4; families as in Duvenaud (2014), Automatic model
    construction with Gaussian processes.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior, noise = bnn.evidence.fit_mixture(X, y)
        >>> len(prior.components)
        16
    """
    check_flags(tails=tails)
    X, y = as_data(X, y)
    if len(X) < 2:
        raise ValueError(f"X has {len(X)} rows: must be at least 2")
    rows = _rows(len(X), SEARCHED, random_state)
    some = X[rows]
    chosen = np.flatnonzero(np.ptp(some, axis=0))
    constant = np.flatnonzero(np.ptp(y[rows], axis=0) == 0.0)
    if not chosen.size:
        raise ValueError("X: no input varies")
    if constant.size:
        raise ValueError(f"output {constant[0]} is constant: it says nothing about its scale")
    seen = some[:, chosen]
    low = seen.min(axis=0)
    width = np.ptp(seen, axis=0)
    u = (seen - low) / width
    standard = StandardBasis(some, ())
    basis = standard.values[:, chosen]
    means = y[rows].mean(axis=0)
    spreads = y[rows].var(axis=0)
    most = int(np.clip(MEMORY / len(X) ** 2, 1, COMPONENTS))
    outputs = []
    kernels = []
    shares = []
    steps = y.shape[1] * (len(_families(*u.shape)) + STAGES)
    bar = progress_bar(steps, titled("prior and noise", None), "step")
    with bar, threads_for(len(rows)):
        for values, spread in zip((y[rows] - means).T, spreads, strict=True):
            heavy = bool(tails) and y.shape[1] == 1
            own = _output(u, values / np.sqrt(spread), basis, heavy, random_state, bar.update)
            pairs, weights = _components(own.found, most, random_state)
            outputs.append(own)
            kernels.append([each.kernel(eta, low, width, float(spread)) for each, eta in pairs])
            shares.append(weights)
            bar.update()
    n_out = y.shape[1]
    features = None if len(chosen) == X.shape[1] else chosen.tolist()
    centre = LinearMean(np.zeros((n_out, X.shape[1])), means)
    priors = [
        GaussianProcessPrior(centre, list(each), n_out, features)
        for each in zip(*kernels, strict=True)
    ]
    return MixturePrior(priors, np.column_stack(shares)), _noise(outputs, standard, chosen, spreads)


def _noise(
    outputs: list[_Output], standard: StandardBasis, chosen: Ints, spreads: Array
) -> Noise | StudentNoise:
    """Return the noise of all outputs in their units."""
    levels = np.array([each.level for each in outputs]) + 0.5 * np.log(spreads)
    noise: Noise = np.exp(levels)
    if any(each.slopes.any() for each in outputs):
        slopes = np.zeros((standard.values.shape[1], len(outputs)))
        slopes[chosen] = np.column_stack([each.slopes for each in outputs])
        noise = standard.noise(levels, slopes)
    freedom = outputs[0].freedom
    return noise if freedom is None else StudentNoise(noise, freedom)
