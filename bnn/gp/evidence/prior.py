"""Estimates of Gaussian process priors and of noise from the evidence p(y | X)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, as_data, check_kind, check_outputs_vary
from bnn.gp.evidence.model import Model, estimated_model
from bnn.gp.evidence.prescribed import MeanForm
from bnn.gp.kernels import RBF
from bnn.gp.mixture import MixturePrior
from bnn.gp.process import GaussianProcessPrior
from bnn.noise import HeteroscedasticNoise, Noise, StudentNoise
from bnn.regressor import PredictiveRegressor

RESTARTS = 8  # random starts of a search


def fit_kernel_average(
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise | StudentNoise | str | None = None,
    *,
    random_state: int | None = 0,
) -> tuple[MixturePrior, Noise | StudentNoise]:
    """Estimate prior and noise together, averaged over families of Gaussian processes.

    For each output these families are tried, one after the other:

    - up to 300 data, an RBF and a Matérn kernel of ν = 3/2, both of unwarped inputs;
    - a Matérn kernel of ν = 5/2 of warped inputs, see `Warped`;
    - the sum of this kernel and a rougher Matérn kernel of ν = 3/2;
    - from 10 n_in² data on, if n_in > 1, this sum for inputs that are warped and mixed;
    - above 300 data, an RBF of unwarped inputs, whose weight is at most one half.

    From 10 n_in data up to 300 each family also has a linear trend, whose slopes have an unknown
    variance. With fewer data slopes often cost more evidence than they gain. Then the families have
    no trend, and an RBF with a trend is tried in addition. The hyperprior of length scales is wider
    then, and its medians grow with √n_in.

    Families are averaged if their evidence, by Laplace's approximation, is at least e⁻⁷ times the
    largest. Hyperparameters are drawn from the posteriors of these families. The draws have
    importance weights, tempered so that their effective number, 1 / Σ w², is at least 16. The
    evidence of a family is estimated from its draws if these weights are reliable. A few draws
    become the components of the mixture: at most 16, 3,000 / N if that is less, and at least four.
    Given the data, it has about the same means and variances of f as all draws together. This holds
    over the data and up to two ranges beyond them. As for `fit_prior`, the weights of the mixture
    are posterior weights divided by the evidence of each component.

    Above 300 data, searches use 300 of them, chosen at random, and then take at most six steps with
    all data. Heavy tails are tried first on these 300 and on outliers.

    Of more than 1,500 data, 1,500 are chosen at random for the searches and draws. Up to ten more
    are added for each input or output that varies only in the rows left out. The evidence of all
    data then updates the posterior weights of the components. They are tempered so that the
    effective number of components stays as large as before, or at least eight.

    The noise of an output is an average, weighted by the evidence, over constant noise and noise
    whose logarithm is linear in the inputs. Up to 300 data the constant noise of
    an RBF is either of usual size or small, as of a deterministic simulator. The medians of its
    variance are exp(-4) and 1e-6 times that of the output, and usual noise is three times as
    probable a priori. The constant variance is its posterior mean, which is too large for few
    deterministic runs. So up to 300 data the same families are fitted without noise. They may be
    more probable, and predict each datum from all others better, by 2.5 standard errors of the log
    density. Then the noise is the most probable one, averaged in logarithms over the families.

    The noise of a single output has heavy tails if these are more probable.
    Constant noise is ten times as probable a priori as input-dependent noise, and Gaussian noise
    ten times as probable as heavy tails. The precision factors of the data, see `StudentNoise`, are
    then estimated under all components together, with their posterior weights. A `GPRegressor` with
    default settings takes these factors. If you pass this prior and noise to a GPRegressor, it
    estimates the factors again, with weights from the evidence. Fewer components may then have a
    noticeable weight.

    If you pass noise, or a kind of noise, it replaces these choices.

    Args:
        X: (N, n_in); inputs that vary by no more than rounding are left out of the kernel.
        y: (N,) or (N, n_out).
        noise: None chooses the noise as described above. "gaussian" does so without heavy tails.
            "constant", "heteroscedastic" and "student_t" fix the kind of noise. Known noise is
            given as standard deviations, Σ_noise, a HeteroscedasticNoise or a StudentNoise; its
            correlations between outputs are ignored in the search.
        random_state: Seed of draws and starts, and of the data that are chosen.

    Returns:
        The prior and the noise. The prior has at most 16 components, and fewer if its covariance
        matrices would take more than 1 GB together. The noise is the given noise, or standard
        deviations (n_out,), a HeteroscedasticNoise or a StudentNoise. With "heteroscedastic" it
        includes the correlations between outputs.

    Raises:
        ValueError: If no input varies or an output does not vary, or if the shapes of X, y and the
            noise do not match.

    Source: Rasmussen & Williams (2006), equations 5.9 to 5.12; Laplace's approximation after
    MacKay (1992), Neural Computation 4; families as in Duvenaud (2014), Automatic model
    construction with Gaussian processes; medians of length scales after Hvarfner, Hellsten & Nardi
    (2024), Vanilla Bayesian optimization performs great in high dimensions.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior, noise = bnn.evidence.fit_kernel_average(X, y)
        >>> 1 < len(prior.components) <= 16
        True
    """
    points, values = as_data(X, y)
    check_outputs_vary(values)
    prior, estimate, _ = estimated_model(points, values, noise, seed=random_state)
    assert isinstance(prior, MixturePrior)
    return prior, estimate


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
    unknown amount at the edges of the data, and ten ranges farther it is another slope. With
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
        estimate: "average" over hyperparameters, or those of largest evidence ("map").
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
        >>> 1 < len(prior.components) <= 16
        True
        >>> bnn.evidence.fit_prior(X, y, noise=0.05, estimate="map").n_outputs
        1
    """
    arguments: dict[str, Any] = {
        "mean": mean,
        "mean_features": mean_features,
        "intercept": intercept,
        "coefficient_variance": coefficient_variance,
    }
    if noise is None or isinstance(noise, str):
        raise ValueError(f"noise = {noise!r:.60}: must be known, as from fit_noise(X, y)")
    points, values = as_data(X, y)
    form = None
    if prior is None:
        form = _form(points, values, arguments)
    else:
        if arguments != {**dict.fromkeys(arguments), "intercept": True}:
            others = "mean, mean_features, intercept or coefficient_variance"
            raise ValueError(f"prior: cannot be combined with {others}")
        check_kind("prior", prior, GaussianProcessPrior)
        if not prior.is_open:
            raise ValueError(f"prior = {prior!r:.60}: must have open parameters (None)")
    return estimated_model(
        points,
        values,
        noise,
        form=form,
        prior=prior,
        restarts=restarts,
        estimate=estimate,
        seed=random_state,
    ).prior


def _form(X: Array, y: Array, arguments: dict[str, Any]) -> MeanForm:
    """Return the form of the mean of outputs that all vary."""
    if arguments.get("mean") is None:
        check_outputs_vary(y)
    return MeanForm.checked(X, y, **arguments)


def _model_of_noise(
    X: ArrayLike, y: ArrayLike, kind: str, restarts: int, seed: int | None, form: dict[str, Any]
) -> Model:
    """Return the model of a kind of noise around a mean of a form."""
    data = as_data(X, y)
    return estimated_model(*data, kind, form=_form(*data, form), restarts=restarts, seed=seed)


def fit_noise(
    X: ArrayLike,
    y: ArrayLike,
    *,
    restarts: int = RESTARTS,
    random_state: int | None = 0,
    **form: Any,
) -> Array:
    """Estimate constant noise for `fit_prior` and the estimators; repeated runs are not needed.

    The variance of the noise is its posterior mean, averaged over the hyperparameters.

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
    return np.asarray(_model_of_noise(X, y, "constant", restarts, random_state, form).noise)


def fit_heteroscedastic_noise(
    X: ArrayLike, y: ArrayLike, *, restarts: int = 2, random_state: int | None = 0, **form: Any
) -> HeteroscedasticNoise:
    """Estimate input-dependent noise; repeated runs are not needed.

    The slopes of log σ, per standard deviation of an input over the data, are hyperparameters
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
    noise = _model_of_noise(X, y, "heteroscedastic", restarts, random_state, form).noise
    assert isinstance(noise, HeteroscedasticNoise)
    return noise


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
    kernels = [kernel.k1 if isinstance(kernel, sk.Sum) else kernel for kernel in prior.kernels]
    if not all(isinstance(rbf, RBF) for rbf in kernels):
        raise ValueError(f"kernel = {prior.kernel}: must be an RBF, or its sum with a Linear")
    return np.array([rbf.lengthscale for rbf in kernels])
