"""Choice of a Gaussian process prior by the evidence p(y | X), the GP's marginal likelihood."""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array
from bnn.function_priors.gaussian_process import GaussianProcessPrior
from bnn.function_priors.kernels import RBF, Linear
from bnn.function_priors.means import LinearMean
from bnn.noise import Noise, noise_covariance

# Bounds of the search: length scales relative to the range of the input, variances relative to the
# variance of the output.
LENGTHSCALES, VARIANCES = (0.025, 25.0), (1e-4, 1e2)
WIDE = 10.0  # prior deviation of a mean's coefficient, relative to what the data's spread suggests
# Warnings of a search that has arrived: a length scale is at its bound because the input does not
# matter, or only rounding errors are left to be gained along the last direction.
AT_BOUND, ROUNDING = ".*close to the specified", "lbfgs failed to converge[^\\n]*\\nABNORMAL"


def fit_prior(
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise,
    *,
    mean_features: Sequence[int] | None = None,
    intercept: bool = True,
    coefficient_variance: float | None = None,
    restarts: int = 4,
    random_state: int | None = 0,
) -> GaussianProcessPrior:
    """Choose the variance and length scales of an RBF prior, for each input and output.

    Output j is θ_j·x + GP(0, k0_j exp(-½ Σ_i (x_i - x'_i)² / L_ji²)). The coefficients θ_j of the
    mean, and its constant, are Gaussian and integrated out, so that they are part of the kernel;
    k0_j and L_ji maximise the evidence.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        noise: Standard deviations or Σ_noise, known; correlations between outputs are ignored.
        mean_features: Numbers of the inputs of the linear mean; None takes all, () none.
        intercept: Whether the mean has a constant too.
        coefficient_variance: Of θ and of the constant, around zero at x = 0; None takes a variance
            that is wide for the data, around their mean, so that units and origins do not matter.
        restarts: Number of searches from random starts, beside the one from the default start.
        random_state: Seed of these starts.

    Returns:
        The prior, with one kernel for each output, on all inputs.

    Raises:
        ValueError: If data do not vary or do not fit each other, or a mean feature is no input.

    Warns:
        ConvergenceWarning: If the search did not end.

    Source: Rasmussen & Williams (2006), equations 2.30 and 2.40 to 2.42.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    y = y.reshape(len(y), -1)
    _check(X, y)
    chosen = list(range(X.shape[1]) if mean_features is None else mean_features)
    if any(not 0 <= i < X.shape[1] for i in chosen):
        raise ValueError(f"mean_features = {chosen}: must be among 0 to {X.shape[1] - 1}")
    variances = np.diag(noise_covariance(noise, y.shape[1]))
    centred = intercept and coefficient_variance is None
    means = y.mean(axis=0) if centred else np.zeros(y.shape[1])
    search = {"n_restarts_optimizer": restarts, "random_state": random_state}
    kernels = []
    for column, variance in zip((y - means).T, variances, strict=True):
        linear = _linear(X, column, chosen, intercept, coefficient_variance)
        kernels.append(_maximise(X, column, variance, linear, **search))
    mean = LinearMean(np.zeros((y.shape[1], X.shape[1])), means) if means.any() else 0.0
    return GaussianProcessPrior(mean, kernels, n_outputs=len(kernels))


def _check(X: Array, y: Array) -> None:
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(f"X has shape {X.shape}: must be ({len(y)}, n_in), as y has {len(y)} rows")
    for name, values in (("input", X), ("output", y)):
        constant = np.flatnonzero(np.ptp(values, axis=0) == 0)
        if constant.size:
            raise ValueError(f"{name} {constant[0]} is constant: it says nothing about its scale")


def _linear(
    X: Array, y: Array, chosen: list[int], intercept: bool, variance: float | None
) -> Linear | None:
    """Return the kernel of the mean, None if there is no mean."""
    if not chosen and not intercept:
        return None
    offset = WIDE**2 * y.var() if variance is None else variance
    slopes = np.zeros(X.shape[1])
    slopes[chosen] = offset / X.var(axis=0)[chosen] if variance is None else variance
    if not intercept:
        return Linear(tuple(slopes))
    return Linear(tuple(slopes), offset, tuple(X.mean(axis=0)) if variance is None else 0.0)


def _maximise(
    X: Array, y: Array, noise_variance: float, linear: Linear | None, **search: int | None
) -> sk.Kernel:
    """Return the RBF kernel of largest evidence, plus the kernel of the mean."""
    ranges, spread = np.ptp(X, axis=0), y.var()
    lengthscales = sk.RBF(0.5 * ranges, np.outer(ranges, LENGTHSCALES))
    kernel = sk.ConstantKernel(spread, np.multiply(spread, VARIANCES)) * lengthscales
    whole = kernel if linear is None else kernel + linear
    regressor = GaussianProcessRegressor(whole, alpha=noise_variance, **search)
    with warnings.catch_warnings():
        for message in (AT_BOUND, ROUNDING):
            warnings.filterwarnings("ignore", message, ConvergenceWarning)
        regressor.fit(X, y)
    found = regressor.kernel_ if linear is None else regressor.kernel_.k1
    rbf = RBF(float(found.k1.constant_value), tuple(np.atleast_1d(found.k2.length_scale)))
    return rbf if linear is None else rbf + linear


def lengthscales(prior: GaussianProcessPrior) -> Array:
    """Return the length scales L of a prior from fit_prior.

    Args:
        prior: A prior whose kernels are RBF kernels, or sums of one and a linear kernel.

    Returns:
        L, (n_out, n_in).

    Raises:
        ValueError: If a kernel is of another kind.
    """
    found = [kernel.k1 if isinstance(kernel, sk.Sum) else kernel for kernel in prior.kernels]
    if not all(isinstance(rbf, RBF) for rbf in found):
        raise ValueError(f"kernel = {prior.kernel}: must be an RBF, or its sum with a Linear")
    return np.array([rbf.lengthscale for rbf in found])
