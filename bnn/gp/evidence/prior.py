"""Gaussian process priors by the evidence p(y | X), the marginal likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.gaussian_process import kernels as sk

from bnn._progress import progress_bar, titled
from bnn._validation import Array, as_data, check_count, check_kind, check_option
from bnn.gp.conditioning import ProcessPosterior
from bnn.gp.evidence.laplace import prior_weights
from bnn.gp.evidence.tails import averaged_factors
from bnn.gp.evidence.trend import Sorted, detrended
from bnn.gp.hyperparameters import (
    AROUND,
    FEWEST,
    NOISES,
    HyperparameterDensity,
    density_of,
    importance_sample,
    left_out,
    maximise,
    moments_of,
    most_components,
    representatives,
    search_bar,
    threads_for,
)
from bnn.gp.kernels import RBF
from bnn.gp.means import ModelMean
from bnn.gp.mixture import TINY, MixturePosterior, MixturePrior
from bnn.gp.precision_factors import Found, expected_scatter, factors_of
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import Noise, StudentNoise, checked_tails, covariance_at
from bnn.noise.given import without_zeros
from bnn.noise.student import bound

# Prior and noise are estimated in turn, in so many rounds with so many steps of the noise in each.
TAIL_ROUNDS = 5  # of a StudentNoise
TAIL_STEPS = 10
TAIL_SEARCHES = 2  # of prior and noise, each from the level of the noise of the last one
RESTARTS = 8
TAIL_LENGTHS = (1.0, 0.3)  # length scales of smooth priors, relative to the range of the input


def fit_prior(
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise | StudentNoise,
    *,
    estimate: str = "average",
    mean: Callable[[Array], ArrayLike] | None = None,
    mean_features: Sequence[int] | None = None,
    intercept: bool = True,
    coefficient_variance: float | None = None,
    restarts: int = RESTARTS,
    random_state: int | None = 0,
    n_data: int | None = None,
) -> MixturePrior | GaussianProcessPrior:
    """Estimate a Gaussian process prior with a linear mean and an RBF kernel for each output.

    Output j is a linear trend and a Gaussian process,

        c_j + θ_j·x + GP(0, k0_j exp(-½ Σ_i (x_i - x'_i)² / L_ji²)).

    The constant c_j and the coefficients θ_j have Gaussian priors and are integrated out, so that
    they are part of the kernel. Two ranges beyond the data the trend becomes constant, unless
    `coefficient_variance` is given. With a low-fidelity model m the term ρ_j m_j(x) is added, and
    its factor ρ_j ~ N(1, 1) is integrated out too.

    Few data leave the variance k0_j and the length scales L_ji uncertain, and their values of
    largest evidence are overconfident. The default is an average: a mixture over 4 (n_in + 1)
    values of (k0_j, L_ji), at least 16, or as many as memory allows, see n_data. They are chosen
    from an importance sample of 512 from their posterior under a log-normal hyperprior, so that
    means and variances of f are those of all 512. Their weights are divided by their evidence:
    conditioning the mixture on the data, as `GPRegressor` does, multiplies them by it. To
    compare priors by `log_evidence`, take those of "map": such a mixture has seen the data, and
    its own evidence means nothing.

    Args:
        X: (N, n_in). An input that does not vary is left out: its length scale is infinite.
        y: (N,) or (N, n_out).
        noise: Known noise: standard deviations, Σ_noise or a HeteroscedasticNoise, whose
            correlations between outputs are ignored; or a StudentNoise. For a StudentNoise the
            precision factors of the data, see `GPRegressor`, are estimated first, in turn with
            a prior of largest evidence. For noise-free data zero: noise that is less than double
            precision resolves is replaced by the nugget of `GPRegressor`.
        estimate: "average" over hyper-parameters, or those of largest density ("map").
        mean: Low-fidelity model m, a function of X (n, n_in), read-only, that returns (n, n_out),
            or (n,) for one output. Its points are the data and others within their ranges.
        mean_features: Numbers of the inputs of the linear mean; None takes all, () none.
        intercept: Whether the mean has a constant too.
        coefficient_variance: Prior variance of θ and of the constant, around zero at x = 0. None
            takes a variance that is large for the data, around their mean, so that the result does
            not depend on units and origins.
        restarts: Number of searches from random starts, each the best of 16 points, in addition to
            one from a default start.
        random_state: Seed of these starts.
        n_data: Number of data that the prior will be given, where X are some of them; None takes N.
            With n_data² n_out numbers in the covariances of a component, the components of an
            average are so few that all these numbers take at most 1 GB, or one.

    Returns:
        A MixturePrior, or a GaussianProcessPrior for "map", with a kernel of all inputs for
        each output.

    Raises:
        ValueError: If no input varies or an output does not, if X, y and the mean do not fit each
            other, or if a mean feature is no input.

    Warns:
        ConvergenceWarning: If a search for the largest density did not converge.

    Source: Rasmussen & Williams (2006), equations 2.30, 2.40 to 2.42 and 5.9; importance sampling
    with a share of the prior after Hesterberg (1995), Technometrics 37; model and discrepancy as in
    Kennedy & O'Hagan (2000), Biometrika 87.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.evidence.fit_prior(X, y, noise=0.05)
        >>> len(prior.components)
        16
        >>> bnn.evidence.fit_prior(X, y, noise=0.05, estimate="map").n_outputs
        1
    """
    check_option("estimate", estimate, ("average", "map"))
    found = detrended(X, y, mean, mean_features, intercept, coefficient_variance)
    inputs, values = as_data(X, y)
    if not isinstance(noise, StudentNoise):
        noise = without_zeros(noise, values)
    kept = checked_tails(noise, inputs.shape[1], values.shape[1])
    known = covariance_at(kept, inputs)
    if isinstance(kept, StudentNoise):
        known = _likely_tails(found, kept, inputs, values, random_state)[1]
    if n_data is not None:
        check_count("n_data", n_data, len(inputs))
    more = 2 if estimate == "average" else 0
    with search_bar("prior", values.shape[1], restarts, more) as bar:
        of_data = (n_data or len(inputs)) if estimate == "average" else None
        return _prior_given(*found, known, of_data, restarts, random_state, bar.update)


def found_tails(
    X: Array, y: Array, deviations: Array, n_data: int
) -> tuple[MixturePrior, StudentNoise, Array]:
    """Return the average of `fit_prior` under heavy tails, their noise, and E λ_i of the data.

    The precision factors, ν and the level of the noise of each output are found under the whole
    average, see `averaged_factors`. The search starts from the level of Gaussian noise, which has
    the outliers in it and hides some of them. A second search starts from the level that was found.

    Args:
        X: (N, n_in).
        y: (N, n_out).
        deviations: Standard deviations of Gaussian noise, (n_out,).
        n_data: As in `fit_prior`.

    Returns:
        The prior, the noise with its ν, and E λ_i, (N,).
    """
    parts = detrended(X, y)
    noise = StudentNoise(deviations)
    for _ in range(TAIL_SEARCHES):
        start = checked_tails(replace(noise, freedom=None), X.shape[1], y.shape[1])
        assert isinstance(start, StudentNoise)
        found = _likely_tails(parts, start, X, y, 0)
        with search_bar("prior", y.shape[1], RESTARTS, 2) as bar:
            average = _prior_given(*parts, found[1], n_data, RESTARTS, 0, bar.update)
        assert isinstance(average, MixturePrior)
        with threads_for(len(X)):
            prior, noise, factors = _averaged(average, found, X, y)
    return prior, noise, factors


def _averaged(
    prior: MixturePrior, found: Found, X: Array, y: Array
) -> tuple[MixturePrior, StudentNoise, Array]:
    """Return a mixture, its noise and E λ_i under all components, whose posterior weights stay."""
    tails, known, factors = found
    weights = MixturePosterior(prior, known, X, y).shares

    def given(variances: Array) -> list[ProcessPosterior]:
        noise = variances[:, :, None] * np.eye(y.shape[1])
        return [ProcessPosterior(each, noise, X, y) for each in prior.components]

    def expected(variances: Array) -> Array:
        # E (y - f)² = Σ_s w_s E[(y - f)² | s]
        posteriors = zip(weights, given(variances), strict=True)
        terms = [w * np.einsum("njj->nj", expected_scatter(each, X, y)) for w, each in posteriors]
        return np.asarray(np.sum(terms, axis=0))

    own = np.diagonal(covariance_at(tails, X)) * np.ones((len(X), 1))  # σ_j²
    least = NOISES[0] * y.var(axis=0)
    start = tails.degrees, factors
    growth, freedom, factors = averaged_factors(expected, own, start, least)
    variances = (1.0 - 2.0 / freedom) * growth * own / factors[:, None]
    evidences = np.array([each.log_evidences for each in given(variances)])
    shares = [prior_weights(*each) for each in zip(weights.T, evidences.T, strict=True)]
    noise = StudentNoise(np.sqrt(growth * own[0]), freedom)
    return replace(prior, weights=np.column_stack(shares)), noise, factors


def _likely_tails(
    found: tuple[Array, Array, list[sk.Kernel | None], Any],
    noise: StudentNoise,
    X: Array,
    y: Array,
    seed: int | None,
) -> Found:
    """Return the noise with ν, its covariances at the data given factors E λ_i, and these.

    Precision factors and a prior of largest evidence are estimated in turn. A flexible prior bends
    to an outlier, and then finds nothing in it, so there are several starts: no outliers, and
    those that smooth priors see, which do not bend. The largest bound of the evidence wins.
    """
    own = covariance_at(noise, X) * np.ones((len(X), 1, 1))
    _, columns, trends, centre = found
    starts = [own]
    ends: list[tuple[float, Found]] = []
    smooth_starts = len(TAIL_LENGTHS)
    steps = smooth_starts + (1 + smooth_starts) * TAIL_ROUNDS * y.shape[1]
    with progress_bar(steps, titled("heavy tails", None), "step") as bar:
        for length in TAIL_LENGTHS:
            widths = left_out(X, length * np.ptp(X, axis=0))
            rbfs = [RBF(float(column.var()), widths) for column in columns.T]
            pairs = zip(rbfs, trends, strict=True)
            kernels = [rbf if trend is None else rbf + trend for rbf, trend in pairs]
            smooth = GaussianProcessPrior(centre, kernels, len(kernels))
            starts.append(factors_of(smooth, noise, X, y, own, TAIL_STEPS)[1])
            bar.update()
        for known in starts:
            for _ in range(TAIL_ROUNDS):
                prior = _prior_given(*found, known, None, 0, seed, bar.update)
                tails, known, factors = factors_of(prior, noise, X, y, known, TAIL_STEPS)
            assert isinstance(prior, GaussianProcessPrior)
            evidences = ProcessPosterior(prior, known, X, y).log_evidences
            value = evidences.sum() + bound(tails.degrees, factors, y.shape[1])
            ends.append((value, (tails, known, factors)))
    return max(ends, key=lambda end: end[0])[1]


def _prior_given(
    X: Array,
    columns: Array,
    trends: list[sk.Kernel | None],
    centre: Any,
    known: Array,
    n_data: int | None,
    restarts: int,
    seed: int | None,
    step: Callable[[], object],
) -> MixturePrior | GaussianProcessPrior:
    """Return the prior of detrended data (N, n_out) for known covariances of the noise.

    It is an average that is small enough for n_data, or the one of largest density for None.
    """
    ordered = Sorted(X, columns)
    variances = np.einsum("...jj->j...", known)
    kernels: list[list[sk.Kernel]] = []
    shares: list[Array] = []
    with threads_for(len(X)):
        for column, trend, variance in zip(columns.T, trends, variances, strict=True):
            fixed = ordered.kernel(trend)
            averaged = n_data is not None
            density = density_of(ordered.X, column, fixed, variance, hyperprior=averaged)
            best = maximise(density, restarts, seed, step)
            points = best[None]
            weights = np.ones(1)
            if n_data is not None:
                sample, logs, _ = importance_sample(density, best, seed)
                step()
                most = max(4 * len(best), FEWEST)
                most = most_components(most, n_data, columns.shape[1])
                moments = partial(_moments, density, trend, sample, ordered)
                # A low-fidelity model may have no values beyond the data.
                around = 1.0 if isinstance(centre, ModelMean) else AROUND
                chosen, posterior = representatives(ordered.X, moments, logs, most, around)
                points = sample[chosen]
                # Conditioning on the data multiplies the weights by p(y | η).
                evidences = [density.log_evidence(eta) for eta in points]
                weights = softmax(np.log(np.maximum(posterior, TINY)) - evidences)
                step()
            found = np.exp(points)
            lengths = [left_out(X, each) for each in ordered.back(found[:, 1:])]
            own: list[sk.Kernel] = [
                RBF(float(k0), L) for k0, L in zip(found[:, 0], lengths, strict=True)
            ]
            if trend is not None:
                own = [rbf + trend for rbf in own]
            kernels.append(own)
            shares.append(weights)
    # Component s has kernel s of each output.
    priors = [GaussianProcessPrior(centre, each, len(each)) for each in zip(*kernels, strict=True)]
    if n_data is None:
        return priors[0]
    return MixturePrior(priors, np.column_stack(shares))


def _moments(
    density: HyperparameterDensity,
    trend: sk.Kernel | None,
    points: Array,
    ordered: Sorted,
    s: int,
    places: Array,
) -> Array:
    """Return the means of f and of f² at places (n, n_in), given points[s] and the data, (2 n,)."""
    k0, *L = np.exp(points[s])
    kernel: sk.Kernel = RBF(float(k0), tuple(ordered.back(np.array(L))))
    if trend is not None:
        kernel = kernel + trend
    X, places = (ordered.back(each) for each in (density.X, places))
    return moments_of(kernel, X, density.solved(points[s]), places)


def lengthscales(prior: GaussianProcessPrior | MixturePrior) -> Array:
    """Return the length scales L of a prior from fit_prior.

    Args:
        prior: A prior of largest density ("map"), with kernels that are RBF, or its sum with a
            Linear.

    Returns:
        L, (n_out, n_in); infinite for inputs that did not vary.

    Raises:
        ValueError: If the prior or a kernel is of another kind.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.evidence.fit_prior(X, y, noise=0.05, estimate="map")
        >>> bnn.evidence.lengthscales(prior).shape
        (1, 1)
    """
    check_kind("prior", prior, GaussianProcessPrior, MixturePrior)
    if isinstance(prior, MixturePrior):
        raise ValueError('prior is a MixturePrior: must be one of estimate="map"')
    found = [kernel.k1 if isinstance(kernel, sk.Sum) else kernel for kernel in prior.kernels]
    if not all(isinstance(rbf, RBF) for rbf in found):
        raise ValueError(f"kernel = {prior.kernel}: must be an RBF, or its sum with a Linear")
    return np.array([rbf.lengthscale for rbf in found])
