"""Choice of a Gaussian process prior by the evidence p(y | X), the GP's marginal likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from bnn.gaussian_processes import GaussianProcessPrior
from bnn.kernels import RBF, Combination, Kernel, Linear
from bnn.noise import noise_covariance

# Bounds of the search: length scales in ranges of the input, variances in those of the output.
LENGTHSCALES = (0.025, 25.0)
VARIANCES = (1e-4, 1e2)


class _Fixed(sk.Kernel):
    """A kernel of bnn without anything to optimise, as one of scikit-learn.

    Args:
        kernel: The kernel.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __call__(self, X, Y=None, eval_gradient=False):
        values = self.kernel(X, X if Y is None else Y)
        return (values, np.empty((*values.shape, 0))) if eval_gradient else values

    def diag(self, X):
        return np.array([self.kernel(row, row)[0, 0] for row in X[:, None]])

    def is_stationary(self):
        return False


def fit_prior(
    X: np.ndarray,
    y: np.ndarray,
    noise,
    *,
    mean_features: Sequence[int] | None = None,
    intercept: bool = False,
    coefficient_variance: float = 1.0,
    restarts: int = 4,
    random_state: int | None = 0,
) -> GaussianProcessPrior:
    """Choose variance and length scales of an RBF prior, one for each input and output.

    Output j is θ_j·x + GP(0, k0_j exp(-½ Σ_i (x_i - x'_i)² / L_ji²)). The coefficients θ_j of the
    mean are Gaussian and integrated out, so that they are part of the kernel; k0_j and L_ji
    maximise the evidence.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        noise: Standard deviations or Σ_noise, known; correlations between outputs are ignored.
        mean_features: Inputs of the linear mean; None takes all, () none.
        intercept: Whether the mean has a constant too.
        coefficient_variance: Of θ and the constant, in units of y² and x².
        restarts: Random starts of the search beside the usual one.
        random_state: Seed of these starts.

    Returns:
        The prior, with one kernel an output, on all inputs.

    Raises:
        ValueError: If X and y have different lengths, an input is constant, or a mean feature is
            not an input.

    Source: Rasmussen & Williams (2006), equations 2.30 and 2.40 to 2.42.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    y = y.reshape(len(y), -1)
    _check(X, y)
    variances = np.diag(noise_covariance(noise, y.shape[1]))
    linear = _linear(X.shape[1], mean_features, intercept, coefficient_variance)
    kernels = [
        _maximise(X, column, variance, linear, restarts, random_state)
        for column, variance in zip(y.T, variances, strict=True)
    ]
    return GaussianProcessPrior(0.0, kernels, n_outputs=len(kernels))


def _check(X: np.ndarray, y: np.ndarray) -> None:
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(f"X has shape {X.shape}: must be ({len(y)}, n_in), as y has {len(y)} rows")
    for name, values in (("input", X), ("output", y)):
        constant = np.flatnonzero(np.ptp(values, axis=0) == 0)
        if constant.size:
            raise ValueError(f"{name} {constant[0]} is constant: it says nothing about its scale")


def _linear(n_inputs: int, features, intercept: bool, variance: float) -> Linear | None:
    chosen = list(range(n_inputs) if features is None else features)
    if any(not 0 <= i < n_inputs for i in chosen):
        raise ValueError(f"mean_features = {chosen}: must be among 0 to {n_inputs - 1}")
    if not chosen and not intercept:
        return None
    slopes = tuple(variance if i in chosen else 0.0 for i in range(n_inputs))
    return Linear(slopes, variance if intercept else 0.0)


def _maximise(
    X: np.ndarray,
    y: np.ndarray,
    noise_variance: float,
    linear: Linear | None,
    restarts: int,
    random_state: int | None,
) -> Kernel:
    ranges, spread = np.ptp(X, axis=0), y.var()
    lengthscales = sk.RBF(0.5 * ranges, np.outer(ranges, LENGTHSCALES))
    kernel = sk.ConstantKernel(spread, np.multiply(spread, VARIANCES)) * lengthscales
    regressor = GaussianProcessRegressor(
        kernel if linear is None else kernel + _Fixed(linear),
        alpha=noise_variance,
        n_restarts_optimizer=restarts,
        random_state=random_state,
    )
    with warnings.catch_warnings():
        # A length scale at its bound is an answer: the input does not matter.
        warnings.simplefilter("ignore", ConvergenceWarning)
        regressor.fit(X, y)
    found = regressor.kernel_ if linear is None else regressor.kernel_.k1
    rbf = RBF(float(found.k1.constant_value), tuple(np.atleast_1d(found.k2.length_scale)))
    return rbf if linear is None else rbf + linear


def lengthscales(prior: GaussianProcessPrior) -> np.ndarray:
    """Return L of a prior from `fit_prior`, (n_out, n_in)."""
    return np.array([_rbf(prior, j).lengthscale for j in range(prior.n_outputs)])


def _rbf(prior: GaussianProcessPrior, output: int) -> RBF:
    kernel = prior.kernel if isinstance(prior.kernel, Kernel) else prior.kernel[output]
    kernel = kernel.first if isinstance(kernel, Combination) else kernel
    if not isinstance(kernel, RBF):
        raise ValueError(f"kernel = {kernel}: must be an RBF, or its sum with a linear kernel")
    return kernel
