"""Gaussian process priors by the evidence p(y | X), the marginal likelihood."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import roots_genlaguerre
from scipy.stats import ortho_group
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, as_columns, as_finite, as_points, check_option
from bnn.function_priors.gaussian_process import GaussianProcessPrior
from bnn.function_priors.kernels import RBF, Linear
from bnn.function_priors.means import LinearMean
from bnn.function_priors.mixture import MixturePrior
from bnn.noise import Noise, noise_covariance

# Bounds of the search: length scales relative to the range of the input, variances relative to the
# variance of the output.
LENGTHSCALES, VARIANCES = (0.025, 25.0), (1e-4, 1e2)
# Log-normal hyperprior: medians, relative as above, and standard deviations of the logarithms.
MEDIANS, DEVIATIONS = (1.0, 1.0), (2.0, 1.5)  # of the variance, of each length scale
WIDE = 10.0  # prior deviation of a mean's coefficient, relative to what the data's spread suggests
STEP = 1e-3  # of the finite differences of gradients


def fit_prior(
    X: ArrayLike,
    y: ArrayLike,
    noise: Noise,
    *,
    estimate: str = "average",
    mean_features: Sequence[int] | None = None,
    intercept: bool = True,
    coefficient_variance: float | None = None,
    restarts: int = 8,
    random_state: int | None = 0,
) -> MixturePrior | GaussianProcessPrior:
    """Find the variance and length scales of an RBF prior, for each input and output.

    Output j is θ_j·x + GP(0, k0_j exp(-½ Σ_i (x_i - x'_i)² / L_ji²)). The coefficients θ_j of the
    mean, and its constant, are Gaussian and integrated out, so that they are part of the kernel.
    Few data leave k0_j and L_ji uncertain, and the values of largest evidence are overconfident.
    The average is a mixture over 4 (n_in + 1) values of (k0_j, L_ji) around the largest posterior
    density, whose weights are those of a cubature times a log-normal hyperprior; what conditions
    the mixture on the data multiplies the weights by the evidence.

    Args:
        X: (N, n_in).
        y: (N,) or (N, n_out).
        noise: Standard deviations or Σ_noise, known; correlations between outputs are ignored.
        estimate: "average" over hyper-parameters, or those of "maximum" evidence.
        mean_features: Numbers of the inputs of the linear mean; None takes all, () none.
        intercept: Whether the mean has a constant too.
        coefficient_variance: Of θ and of the constant, around zero at x = 0; None takes a variance
            that is wide for the data, around their mean, so that units and origins do not matter.
        restarts: Number of searches from random starts, beside the one from the default start.
        random_state: Seed of these starts.

    Returns:
        The prior, with kernels of its own for each output, on all inputs; for "maximum" a
        GaussianProcessPrior.

    Raises:
        ValueError: If data do not vary or do not fit each other, or a mean feature is no input.

    Warns:
        ConvergenceWarning: If the search did not end.

    Source: Rasmussen & Williams (2006), equations 2.30, 2.40 to 2.42 and 5.9; cubature by shells
    as in Genz & Monahan (1998), SIAM Journal on Numerical Analysis 36.
    """
    check_option("estimate", estimate, ("average", "maximum"))
    X = as_points("X", as_finite("X", X))
    if len(X) < 2:
        raise ValueError(f"X has {len(X)} rows: must be at least 2")
    y = as_columns("y", as_finite("y", y), len(X))
    _check_spread(X, y)
    chosen = list(range(X.shape[1]) if mean_features is None else mean_features)
    if any(not 0 <= i < X.shape[1] for i in chosen):
        raise ValueError(f"mean_features = {chosen}: must be among 0 to {X.shape[1] - 1}")
    variances = np.diag(noise_covariance(noise, y.shape[1]))
    centred = intercept and coefficient_variance is None
    means = y.mean(axis=0) if centred else np.zeros(y.shape[1])
    outputs = []
    for column, variance in zip((y - means).T, variances, strict=True):
        linear = _linear(X, column, chosen, intercept, coefficient_variance)
        fixed = variance * np.eye(len(X)) + (0.0 if linear is None else linear(X, X))
        medians = np.log(np.append(MEDIANS[0] * column.var(), MEDIANS[1] * np.ptp(X, axis=0)))
        precision = np.array([DEVIATIONS[0], *[DEVIATIONS[1]] * X.shape[1]]) ** -2.0
        precision *= estimate == "average"
        density = HyperparameterDensity(X, column, fixed, medians, precision)
        best = _maximise(density, restarts, random_state)
        points, weights = best[None], np.ones(1)
        if estimate == "average":
            points, weights = _cubature(density, best, random_state)
        rbfs = [RBF(float(k0), tuple(L)) for k0, *L in np.exp(points)]
        outputs.append((rbfs if linear is None else [rbf + linear for rbf in rbfs], weights))
    kernels, shares = zip(*outputs, strict=True)
    mean = LinearMean(np.zeros((y.shape[1], X.shape[1])), means) if means.any() else 0.0
    priors = [GaussianProcessPrior(mean, each, len(each)) for each in zip(*kernels, strict=True)]
    return MixturePrior(priors, np.column_stack(shares)) if len(priors) > 1 else priors[0]


def _check_spread(X: Array, y: Array) -> None:
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


@dataclass(frozen=True)
class HyperparameterDensity:
    """log p(y | X, η) + log p(η), but for a constant, of η = log (k0, L_1 .. L_n).

    Attributes:
        X: Training inputs, (N, n).
        y: Training outputs, (N,).
        fixed: Covariance of the noise and of the mean's coefficients, (N, N).
        centre: Mean of η, (n + 1,).
        precision: Of each entry of η, (n + 1,); zeros leave the evidence alone.
    """

    X: Array
    y: Array
    fixed: Array
    centre: Array
    precision: Array

    def __call__(self, eta: Array) -> tuple[float, Array]:
        """Return the value and its gradient, (n + 1,)."""
        A = self.X / np.exp(eta[1:])
        K = np.exp(eta[0] - 0.5 * cdist(A, A, "sqeuclidean"))
        try:
            factor = cho_factor(K + self.fixed, lower=True)
        except np.linalg.LinAlgError:
            return -np.inf, np.zeros_like(eta)
        solved, away = cho_solve(factor, self.y), eta - self.centre
        value = -0.5 * self.y @ solved - np.log(np.diag(factor[0])).sum()
        # Half the trace of (α αᵀ - (K + fixed)⁻¹) ∂K, where ∂K / ∂ log L_i = K (a_i - a'_i)².
        M = (np.outer(solved, solved) - cho_solve(factor, np.eye(len(K)))) * K
        slopes = np.append(0.5 * M.sum(), M.sum(axis=0) @ A**2 - np.sum(A * (M @ A), axis=0))
        penalty = self.precision * away
        return float(value - 0.5 * penalty @ away), slopes - penalty


def _maximise(density: HyperparameterDensity, restarts: int, seed: int | None) -> Array:
    """Return the η of largest density, from the hyperprior's median and from random starts."""
    low, high = (
        np.log(np.append(v * density.y.var(), scale * np.ptp(density.X, axis=0)))
        for v, scale in zip(VARIANCES, LENGTHSCALES, strict=True)
    )
    starts = np.random.default_rng(seed).uniform(low, high, (restarts, len(low)))

    def negative(eta: Array) -> tuple[float, Array]:
        value, gradient = density(eta)
        return -value, -gradient

    box = {"method": "L-BFGS-B", "jac": True, "bounds": np.column_stack([low, high])}
    found = [minimize(negative, start, **box) for start in (density.centre, *starts)]
    best = min(found, key=lambda result: result.fun)
    # "ABNORMAL": only rounding errors are left to be gained along the last direction.
    if not best.success and "ABNORMAL" not in best.message:
        warnings.warn(f"the search did not end: {best.message}", ConvergenceWarning, stacklevel=3)
    eta: Array = best.x
    return eta


def _cubature(density: HyperparameterDensity, best: Array, seed: int | None) -> tuple[Array, Array]:
    """Return points η (S, m) around the best, and their prior weights (S,), which sum to 1."""
    m, steps = len(best), STEP * np.eye(len(best))
    rows = [density(best - step)[1] - density(best + step)[1] for step in steps]
    hessian = np.array(rows) / (2.0 * STEP)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    # Where the density is hardly curved, or upwards, the hyperprior's width is enough.
    root = vectors / np.sqrt(np.maximum(values, density.precision.min()))
    # Two shells of a standard normal z, η = best + root z, on each the ends of orthogonal axes.
    halves, shell_weights = roots_genlaguerre(2, m / 2.0 - 1.0)
    axes = ortho_group.rvs(m, size=2, random_state=seed)
    z = np.concatenate([np.sqrt(2.0 * h) * Q for h, Q in zip(halves, axes, strict=True)])
    points = best + np.concatenate([z, -z]) @ root.T
    # The weight of a shell, p(η), and 1 / N(z; 0, I), which the shell's weight stands for.
    logs = np.tile(np.repeat(np.log(shell_weights) + halves, m), 2)
    logs -= 0.5 * (points - density.centre) ** 2 @ density.precision
    weights = np.exp(logs - logs.max())
    return points, weights / weights.sum()


def lengthscales(prior: GaussianProcessPrior | MixturePrior) -> Array:
    """Return the length scales L of a prior from fit_prior.

    Args:
        prior: A prior of "maximum" evidence, whose kernels are RBF, or sums of one and a Linear.

    Returns:
        L, (n_out, n_in).

    Raises:
        ValueError: If the prior or a kernel is of another kind.
    """
    if isinstance(prior, MixturePrior):
        raise ValueError('prior is a MixturePrior: must be one of estimate="maximum"')
    found = [kernel.k1 if isinstance(kernel, sk.Sum) else kernel for kernel in prior.kernels]
    if not all(isinstance(rbf, RBF) for rbf in found):
        raise ValueError(f"kernel = {prior.kernel}: must be an RBF, or its sum with a Linear")
    return np.array([rbf.lengthscale for rbf in found])
