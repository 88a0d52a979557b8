"""Estimates of a Gaussian process around a given mean, and of noise, from the evidence p(y | X)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, as_data, check_kind
from bnn.gp.evidence.mixture import found_model
from bnn.gp.evidence.scaling import SearchData
from bnn.gp.kernels import RBF
from bnn.gp.mixture import MixturePrior
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import HeteroscedasticNoise, Noise, StudentNoise
from bnn.regressor import PredictiveRegressor

RESTARTS = 8  # random starts of a search


def fit_prior(
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise | StudentNoise,
    *,
    estimate: str = "average",
    mean: Callable[[Array], ArrayLike] | PredictiveRegressor | None = None,
    mean_features: Sequence[int] | None = None,
    intercept: bool = True,
    coefficient_variance: float | None = None,
    prior: GaussianProcessPrior | None = None,
    restarts: int = RESTARTS,
    random_state: int | None = 0,
) -> MixturePrior | GaussianProcessPrior:
    """Estimate a Gaussian process prior with a linear mean and an RBF kernel for each output.

    Output j is a linear trend and a Gaussian process,

        c_j + θ_j·x + GP(0, k0_j exp(-½ Σ_i (x_i - x'_i)² / L_ji²)).

    The constant c_j and the coefficients θ_j have Gaussian priors and are integrated out, so that
    they are part of the kernel. Unless `coefficient_variance` is given, the slope changes by an
    unknown amount at the edges of the data, and ten ranges farther the trend becomes constant. With
    a low-fidelity model m the term ρ_j m_j(x) is added, and its factor ρ_j ~ N(1, 1) is integrated
    out too.

    If m is a fitted GPRegressor, of mean m_j and covariance S_j, the term is ρ_j g_j(x) with g_j ~
    GP(m_j, S_j). Given both datasets, f is then the autoregressive process of recursive co-kriging.
    ρ_j is a hyperparameter, which is averaged over like the others. Correlations between outputs in
    S are ignored.

    The search and its hyperprior are those of `fit_kernel_average`, with one kernel and with this
    mean. Few data leave the variance k0_j and the length scales L_ji uncertain, and their values of
    largest evidence are overconfident. So the default is an average over them, a mixture of up to
    16 components. To compare priors by `log_evidence`, use estimate="map": the weights of a mixture
    come from the same data, so its evidence cannot be compared.

    Args:
        X: (N, n_in). An input that does not vary is left out: its length scale is infinite.
        y: (N,) or (N, n_out).
        noise: Known noise: standard deviations, Σ_noise or a HeteroscedasticNoise, whose
            correlations between outputs are ignored; or a StudentNoise, whose precision factors
            (see `GPRegressor`) are estimated in turn with the prior. For noise-free data pass zero:
            noise that is too small for double precision is replaced by the nugget of `GPRegressor`.
        estimate: "average" over hyper-parameters, or those of largest evidence ("map").
        mean: Low-fidelity model m, a function of X (n, n_in), read-only, that returns (n, n_out),
            or (n,) for one output. It is evaluated at the data and elsewhere within their ranges.
            Or a fitted GPRegressor, whose uncertainty becomes part of the prior.
        mean_features: Indices of the inputs of the linear mean; None takes all, () none.
        intercept: Whether the mean also has a constant.
        coefficient_variance: Prior variance of θ and of the constant, around zero at x = 0. None
            takes a variance that is large for the data, around their mean, so that the result does
            not depend on units and origins.
        prior: Prior whose open parameters, the kernel parameters that are None, are estimated. It
            replaces the linear trend and the RBF, and the arguments that describe them.
        restarts: Number of searches from random starts, each the best of 8 draws from the
            hyperprior, in addition to one from its median.
        random_state: Seed of these starts, and of the draws.

    Returns:
        A MixturePrior, or a GaussianProcessPrior for "map", with a kernel of all inputs for
        each output.

    Raises:
        ValueError: If no input varies or an output does not vary, if the shapes of X, y and of the
            mean or the prior do not match, if a mean feature is not an input, or if a prior has no
            open parameter.

    Source: Rasmussen & Williams (2006), equations 2.30, 2.40 to 2.42 and 5.9; model and discrepancy
    as in Kennedy & O'Hagan (2000), Biometrika 87, recursively as in Le Gratiet & Garnier (2014),
    International Journal for Uncertainty Quantification 4.

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
    form: dict[str, Any] | None = {
        "mean": mean,
        "mean_features": mean_features,
        "intercept": intercept,
        "coefficient_variance": coefficient_variance,
    }
    if prior is not None:
        if form != {**dict.fromkeys(form or ()), "intercept": True}:
            others = "mean, mean_features, intercept or coefficient_variance"
            raise ValueError(f"prior: cannot be combined with {others}")
        check_kind("prior", prior, GaussianProcessPrior)
        if not prior.is_open:
            raise ValueError(f"prior = {prior!r:.60}: must have open parameters (None)")
        form = None
    data = SearchData(*as_data(X, y), form, random_state, prior=prior)
    return found_model(data, noise, restarts=restarts, estimate=estimate)[0]


def fit_noise(
    X: ArrayLike,
    y: ArrayLike,
    *,
    restarts: int = RESTARTS,
    random_state: int | None = 0,
    **form: Any,
) -> Array:
    """Estimate constant noise for `fit_prior` and the estimators; repeated runs are not needed.

    The variance of the noise is its posterior mean, averaged over the hyper-parameters.

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

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 30)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> rng = np.random.default_rng(0)
        >>> bnn.evidence.fit_noise(X, y + 0.1 * rng.standard_normal(30)).round(1)
        array([0.1])
    """
    found = found_model(
        SearchData(*as_data(X, y), form, random_state), "constant", restarts=restarts
    )[1]
    return np.asarray(found)


def fit_heteroscedastic_noise(
    X: ArrayLike, y: ArrayLike, *, restarts: int = 2, random_state: int | None = 0, **form: Any
) -> HeteroscedasticNoise:
    """Estimate input-dependent noise; repeated runs are not needed.

    The slopes of log σ, per standard deviation of an input over the data, are hyper-parameters
    with normal priors. Few data leave them uncertain, and a single value would be overconfident. So
    the noise is averaged over draws of the slopes and over constant noise, weighted by the
    evidence. Constant noise is ten times as probable a priori.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        restarts: As for `fit_prior`.
        random_state: As for `fit_prior`.
        form: mean, mean_features, intercept or coefficient_variance, as for `fit_prior`.

    Returns:
        The noise, with the correlations between outputs.

    Raises:
        ValueError: As `fit_prior`.

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
    found = found_model(
        SearchData(*as_data(X, y), form, random_state), "heteroscedastic", restarts=restarts
    )[1]
    assert isinstance(found, HeteroscedasticNoise)
    return found


def lengthscales(prior: GaussianProcessPrior | MixturePrior) -> Array:
    """Return the length scales L of a prior from fit_prior.

    Args:
        prior: A prior of estimate="map", whose kernels are an RBF, or the sum of an RBF and a
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
        raise ValueError('prior is a MixturePrior: must be the result of estimate="map"')
    found = [kernel.k1 if isinstance(kernel, sk.Sum) else kernel for kernel in prior.kernels]
    if not all(isinstance(rbf, RBF) for rbf in found):
        raise ValueError(f"kernel = {prior.kernel}: must be an RBF, or its sum with a Linear")
    return np.array([rbf.lengthscale for rbf in found])
