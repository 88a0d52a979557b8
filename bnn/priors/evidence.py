"""Gaussian process priors, and noise, by the evidence p(y | X), the marginal likelihood."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.gaussian_process import kernels as sk

from bnn._validation import (
    Array,
    as_data,
    check_flags,
    check_integers,
    check_kind,
    check_option,
    check_positive,
)
from bnn.noise import HeteroscedasticNoise, Noise, StudentNoise, checked_tails, covariance_at
from bnn.noise.heteroscedastic import StandardBasis
from bnn.noise.student import bound
from bnn.priors.conditioning import ProcessPosterior, without_zeros
from bnn.priors.gaussian_process import GaussianProcessPrior
from bnn.priors.hyperparameters import (
    density_of,
    importance_sample,
    linear_trend,
    maximise,
    representatives,
    threads_for,
)
from bnn.priors.kernels import RBF, Multiple
from bnn.priors.means import LinearMean, ModelMean
from bnn.priors.mixture import TINY, MixturePosterior, MixturePrior
from bnn.priors.precision_factors import factors_of

# Prior and noise are estimated in turn, in so many rounds with so many steps of the noise in each.
TAIL_ROUNDS = 5  # of a StudentNoise
TAIL_STEPS = 10
TAIL_LENGTHS = (1.0, 0.3)  # length scales of smooth priors, relative to the range of the input
LEAST_DEVIATION = 1e-6  # of the slopes of the noise
ODDS = 10.0  # prior odds of constant noise against noise by input
FACTOR = 1.0  # prior standard deviation of the factor ρ of a low-fidelity model


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
    restarts: int = 8,
    random_state: int | None = 0,
) -> MixturePrior | GaussianProcessPrior:
    """Estimate a Gaussian process prior with a linear mean and an RBF kernel for each output.

    Output j is a linear trend and a Gaussian process,

        c_j + θ_j·x + GP(0, k0_j exp(-½ Σ_i (x_i - x'_i)² / L_ji²)).

    The constant c_j and the coefficients θ_j have Gaussian priors and are integrated out, so that
    they are part of the kernel. With a low-fidelity model m the term ρ_j m_j(x) is added, and its
    factor ρ_j ~ N(1, 1) is integrated out too.

    Few data leave the variance k0_j and the length scales L_ji uncertain, and their values of
    largest evidence are overconfident. The default is an average: a mixture over 4 (n_in + 1)
    values of (k0_j, L_ji), at least 16. They are chosen from an importance sample of 512 from their
    posterior under a log-normal hyperprior, so that means and variances of f are those of all 512.
    Their weights are divided by their evidence: conditioning the mixture on the data, as
    `ExactPosterior` does, multiplies them by it. To compare priors by `log_evidence`, take those of
    "maximum": such a mixture has seen the data, and its own evidence means nothing.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        noise: Known noise: standard deviations, Σ_noise or a HeteroscedasticNoise, whose
            correlations between outputs are ignored; or a StudentNoise. For a StudentNoise the
            precision factors of the data, see `ExactPosterior`, are estimated first, in turn with
            a prior of largest evidence. For noise-free data zero: noise that is less than double
            precision resolves is replaced by the nugget of `ExactPosterior`.
        estimate: "average" over hyper-parameters, or those of "maximum" evidence.
        mean: Low-fidelity model m, a function of X (n, n_in), read-only, that returns (n, n_out),
            or (n,) for one output.
        mean_features: Numbers of the inputs of the linear mean; None takes all, () none.
        intercept: Whether the mean has a constant too.
        coefficient_variance: Prior variance of θ and of the constant, around zero at x = 0. None
            takes a variance that is large for the data, around their mean, so that the result does
            not depend on units and origins.
        restarts: Number of searches from random starts, each the best of 16 points, in addition to
            one from a default start.
        random_state: Seed of these starts.

    Returns:
        A MixturePrior, or a GaussianProcessPrior for "maximum", with a kernel of all inputs for
        each output.

    Raises:
        ValueError: If an input or an output does not vary, if X, y and the mean do not fit each
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
        >>> bnn.evidence.fit_prior(X, y, noise=0.05, estimate="maximum").n_outputs
        1
    """
    check_option("estimate", estimate, ("average", "maximum"))
    found = _detrended(X, y, mean, mean_features, intercept, coefficient_variance)
    inputs, values = as_data(X, y)
    if not isinstance(noise, StudentNoise):
        noise = without_zeros(noise, values)
    kept = checked_tails(noise, inputs.shape[1], values.shape[1])
    known = covariance_at(kept, inputs)
    if isinstance(kept, StudentNoise):
        known = _likely_tails(found, kept, inputs, values, random_state)
    return _prior_given(*found, known, estimate, restarts, random_state)


def _likely_tails(
    found: tuple[Array, Array, list[sk.Kernel | None], Any],
    noise: StudentNoise,
    X: Array,
    y: Array,
    seed: int | None,
) -> Array:
    """Return the covariances (1 - 2/ν) Σ_i / E λ_i of the noise at the data, (N, n_out, n_out).

    Precision factors and a prior of largest evidence are estimated in turn. A flexible prior bends
    to an outlier, and then finds nothing in it, so there are several starts: no outliers, and
    those that smooth priors see, which do not bend. The largest bound of the evidence wins.
    """
    own = covariance_at(noise, X) * np.ones((len(X), 1, 1))
    _, columns, trends, centre = found
    starts = [own]
    for length in TAIL_LENGTHS:
        rbfs = [RBF(float(column.var()), tuple(length * np.ptp(X, axis=0))) for column in columns.T]
        pairs = zip(rbfs, trends, strict=True)
        kernels = [rbf if trend is None else rbf + trend for rbf, trend in pairs]
        smooth = GaussianProcessPrior(centre, kernels, len(kernels))
        starts.append(factors_of(smooth, noise, X, y, own, TAIL_STEPS)[1])
    best = own
    largest = -np.inf
    for known in starts:
        for _ in range(TAIL_ROUNDS):
            prior = _prior_given(*found, known, "maximum", 0, seed)
            tails, known, factors = factors_of(prior, noise, X, y, known, TAIL_STEPS)
        assert isinstance(prior, GaussianProcessPrior)
        evidences = ProcessPosterior(prior, known, X, y).log_evidences
        value = evidences.sum() + bound(tails.degrees, factors, y.shape[1])
        if value > largest:
            best = known
            largest = value
    return best


def _prior_given(
    X: Array,
    columns: Array,
    trends: list[sk.Kernel | None],
    centre: Any,
    known: Array,
    estimate: str,
    restarts: int,
    seed: int | None,
) -> MixturePrior | GaussianProcessPrior:
    """Return the prior of detrended data (N, n_out) for known covariances of the noise."""
    variances = np.einsum("...jj->j...", known)
    kernels: list[list[sk.Kernel]] = []
    shares: list[Array] = []
    with threads_for(len(X)):
        for column, trend, variance in zip(columns.T, trends, variances, strict=True):
            density = density_of(X, column, trend, variance, hyperprior=estimate == "average")
            best = maximise(density, restarts, seed)
            points = best[None]
            weights = np.ones(1)
            if estimate == "average":
                points, logs, _ = importance_sample(density, best, seed)
                points, posterior = representatives(density, trend, points, logs)
                # Conditioning on the data multiplies the weights by p(y | η).
                evidences = [density.log_evidence(eta) for eta in points]
                weights = softmax(np.log(np.maximum(posterior, TINY)) - evidences)
            own: list[sk.Kernel] = [RBF(float(k0), tuple(L)) for k0, *L in np.exp(points)]
            if trend is not None:
                own = [rbf + trend for rbf in own]
            kernels.append(own)
            shares.append(weights)
    # Component s has kernel s of each output.
    priors = [GaussianProcessPrior(centre, each, len(each)) for each in zip(*kernels, strict=True)]
    if len(priors) == 1:
        return priors[0]
    return MixturePrior(priors, np.column_stack(shares))


def fit_noise(
    X: ArrayLike, y: ArrayLike, *, restarts: int = 8, random_state: int | None = 0, **form: Any
) -> Array:
    """Estimate constant noise for `fit_prior` and the estimators from data without repeated runs.

    The variance of the noise is its posterior mean. Variance and length scales of the prior and the
    variance of the noise have log-normal hyperpriors, over which an importance sample averages.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        restarts: As for `fit_prior`.
        random_state: As for `fit_prior`.
        form: mean, mean_features, intercept or coefficient_variance, as for `fit_prior`.

    Returns:
        Standard deviations of the noise, (n_out,).

    Raises:
        ValueError: As `fit_prior`.

    Warns:
        ConvergenceWarning: As `fit_prior`.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> rng = np.random.default_rng(0)
        >>> bnn.evidence.fit_noise(X, y + 0.1 * rng.standard_normal(12)).round(1)
        array([0.1])
    """
    X, columns, trends, _ = _detrended(X, y, **form)
    none = np.zeros((len(X), 0))
    pairs = zip(columns.T, trends, strict=True)
    with threads_for(len(X)):
        found = [_averaged_noise(X, y, k, none, 0.0, restarts, random_state) for y, k in pairs]
    return np.sqrt([variances[0] for _, variances, _ in found])


def _averaged_noise(
    X: Array,
    y: Array,
    trend: sk.Kernel | None,
    basis: Array,
    deviation: float,
    restarts: int,
    seed: int | None,
) -> tuple[Array, Array, float]:
    """Average the noise of one output over its hyper-parameters.

    Log σ has slopes in a basis (N, p), of a prior standard deviation; zero leaves σ constant.

    Returns:
        E β of the slopes, (p,), E σ_i² at the data, (N,), and the log evidence up to a constant.
    """
    own = basis if deviation else basis[:, :0]
    density = density_of(X, y, trend, None, True, own, deviation or 1.0)
    best = maximise(density, restarts, seed)
    points, logs, evidence = importance_sample(density, best, seed)
    # E σ² = Σ_s w_s σ_s², and likewise E β
    weights = np.exp(logs)
    variances = weights @ [density.variances(eta) for eta in points]
    slopes = np.zeros(basis.shape[1])
    slopes[: own.shape[1]] = weights @ points[:, X.shape[1] + 2 :]
    return slopes, np.asarray(variances), evidence


def fit_heteroscedastic_noise(
    X: ArrayLike,
    y: ArrayLike,
    *,
    squares: Sequence[int] = (),
    slope_deviation: float = 0.25,
    restarts: int = 2,
    random_state: int | None = 0,
    **form: Any,
) -> HeteroscedasticNoise:
    """Estimate noise that depends on the input from data without repeated runs.

    The slopes of log σ, per standard deviation of an input over the data, are hyper-parameters
    with normal priors, beside those of `fit_noise`. Few data tell little of them, and a single
    value is overconfident, so they are averaged: over an importance sample, and with the
    zeros of constant noise, by the evidence of all outputs. Constant noise is ten times as probable
    a priori. The level of the noise is that of its mean variances.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        squares: As for `HeteroscedasticNoise.from_replicates`.
        slope_deviation: Prior standard deviation of the slopes.
        restarts: As for `fit_prior`.
        random_state: As for `fit_prior`.
        form: mean, mean_features, intercept or coefficient_variance, as for `fit_prior`.

    Returns:
        The noise, with the correlations between outputs.

    Raises:
        ValueError: As `fit_prior`.

    Warns:
        ConvergenceWarning: As `fit_prior`.

    Source: Hoeting, Madigan, Raftery & Volinsky (1999), Statistical Science 14, for averages over
    models.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> rng = np.random.default_rng(0)
        >>> noisy = y + 0.1 * rng.standard_normal(12)
        >>> noise = bnn.evidence.fit_heteroscedastic_noise(X, noisy, restarts=0)
        >>> noise(X).shape
        (12, 1, 1)
    """
    check_positive(slope_deviation=slope_deviation)
    if slope_deviation < LEAST_DEVIATION:
        needed = f"must be at least {LEAST_DEVIATION:g}; fit_noise has no slopes"
        raise ValueError(f"slope_deviation = {slope_deviation}: {needed}")
    check_integers("squares", squares, 0)
    inputs, columns, trends, _ = _detrended(X, y, **form)
    basis = StandardBasis(inputs, squares)
    found = []
    for deviation in (0.0, slope_deviation):
        outputs = []
        with threads_for(len(inputs)):
            for column, trend in zip(columns.T, trends, strict=True):
                averages = _averaged_noise(
                    inputs, column, trend, basis.values, deviation, restarts, random_state
                )
                outputs.append(averages)
        found.append([np.array(each) for each in zip(*outputs, strict=True)])
    (_, constant, without), (slopes, variances, evidences) = found
    # The probability of slopes, with the evidence of all outputs.
    share = expit(np.sum(evidences - without) - np.log(ODDS))
    variances = share * variances + (1.0 - share) * constant
    noise = basis.noise(0.5 * np.log(variances).mean(axis=1), share * slopes.T)
    if len(variances) == 1:
        return noise
    prior = fit_prior(X, y, noise, restarts=restarts, random_state=random_state, **form)
    return replace(noise, correlation=_correlation(prior, noise, *as_data(X, y)))


def _correlation(
    prior: MixturePrior | GaussianProcessPrior, noise: HeteroscedasticNoise, X: Array, y: Array
) -> Array:
    """Return the correlation of the noise of the outputs, given its standard deviations.

    It is that of the expected scatter of (y - f) / σ, and of n_out observations without any.
    """
    assert isinstance(prior, MixturePrior)
    covariances = noise(X)
    given = MixturePosterior(prior, covariances, X, y)
    deviations = np.sqrt(np.einsum("njj->nj", covariances))
    away = (y - given.mean(X)) / deviations
    # E (y - f) (y - f)ᵀ = (y - m) (y - m)ᵀ + S at each datum
    spread = given.covariances(X) / deviations[:, :, None] / deviations[:, None, :]
    scatter = away.T @ away + spread.sum(axis=0) + y.shape[1] * np.eye(y.shape[1])
    scale = np.sqrt(np.diag(scatter))
    return np.asarray(scatter / np.outer(scale, scale))


def _detrended(
    X: ArrayLike,
    y: ArrayLike,
    mean: Callable[[Array], ArrayLike] | None = None,
    mean_features: Sequence[int] | None = None,
    intercept: bool = True,
    coefficient_variance: float | None = None,
) -> tuple[Array, Array, list[sk.Kernel | None], Any]:
    """Return X, y minus the known mean, kernels of the uncertain part of the mean, known mean."""
    X, y = as_data(X, y)
    if len(X) < 2:
        raise ValueError(f"X has {len(X)} rows: must be at least 2")
    model = None if mean is None else ModelMean(mean)
    if model is not None:
        if model(X).shape != y.shape:
            raise ValueError(f"mean(X) has shape {model(X).shape}: must be {y.shape}")
        y = y - model(X)
    _check_spread(X, y)
    check_flags(intercept=intercept)
    if coefficient_variance is not None:
        check_positive(coefficient_variance=coefficient_variance)
    features = range(X.shape[1]) if mean_features is None else mean_features
    check_integers("mean_features", features, 0)
    chosen = list(features)
    if any(i >= X.shape[1] for i in chosen):
        raise ValueError(f"mean_features = {chosen}: must be among 0 to {X.shape[1] - 1}")
    centred = intercept and coefficient_variance is None and model is None
    means = y.mean(axis=0) if centred else np.zeros(y.shape[1])
    columns = y - means
    trends = list[sk.Kernel | None]()
    for j, column in enumerate(columns.T):
        # Spread around the average of the data, or around the low-fidelity model.
        spread = column.var() if model is None else np.mean(column**2)
        trend = linear_trend(X, spread, chosen, intercept, coefficient_variance)
        if model is not None:
            multiple = Multiple(model, j, FACTOR**2)
            trend = multiple if trend is None else trend + multiple
        trends.append(trend)
    linear = LinearMean(np.zeros((y.shape[1], X.shape[1])), means) if means.any() else 0.0
    return X, columns, trends, linear if model is None else model


def _check_spread(X: Array, y: Array) -> None:
    for name, values in (("input", X), ("output", y)):
        constant = np.flatnonzero(np.ptp(values, axis=0) == 0)
        if constant.size:
            raise ValueError(f"{name} {constant[0]} is constant: it says nothing about its scale")


def lengthscales(prior: GaussianProcessPrior | MixturePrior) -> Array:
    """Return the length scales L of a prior from fit_prior.

    Args:
        prior: A prior of "maximum" evidence, whose kernels are RBF, or sums of one and a Linear.

    Returns:
        L, (n_out, n_in).

    Raises:
        ValueError: If the prior or a kernel is of another kind.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.evidence.fit_prior(X, y, noise=0.05, estimate="maximum")
        >>> bnn.evidence.lengthscales(prior).shape
        (1, 1)
    """
    check_kind("prior", prior, GaussianProcessPrior, MixturePrior)
    if isinstance(prior, MixturePrior):
        raise ValueError('prior is a MixturePrior: must be one of estimate="maximum"')
    found = [kernel.k1 if isinstance(kernel, sk.Sum) else kernel for kernel in prior.kernels]
    if not all(isinstance(rbf, RBF) for rbf in found):
        raise ValueError(f"kernel = {prior.kernel}: must be an RBF, or its sum with a Linear")
    return np.array([rbf.lengthscale for rbf in found])
