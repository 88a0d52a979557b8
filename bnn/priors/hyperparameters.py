"""Posterior density of a Gaussian process' hyper-parameters: its maximum, and points around it."""

import warnings
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

from bnn._seeding import generator
from bnn._validation import Array, check_count
from bnn.priors.kernels import Linear

# Bounds of the search. Length scales are relative to the range of the input, and all variances to
# the variance of the output.
LENGTHSCALES = (0.025, 25.0)
VARIANCES = (1e-4, 1e2)
NOISES = (1e-8, 1.0)
# Log-normal hyperprior of the variance, of each length scale and of the variance of the noise:
# medians, relative as above, and standard deviations of the logarithms. For the noise they are the
# default of BoTorch.
MEDIANS = (1.0, 1.0, np.exp(-4.0))
DEVIATIONS = (2.0, 1.5, 1.0)
WIDE = 10.0  # prior deviation of a coefficient of the mean, relative to that of y by that of x
STEP = 1e-3  # of the finite differences of gradients
FARTHEST = 5.0  # slope of the noise in the search, relative to its prior deviation


@dataclass(frozen=True)
class HyperparameterDensity:
    """log p(y | X, η) + log p(η) up to a constant, a function of η = log (k0, L_1 .. L_n [, σ²]).

    With a basis b the variance of the noise of datum i is σ² exp(2 β·b_i), and η ends with the
    slopes β.

    Attributes:
        X: Training inputs, (N, n).
        y: Training outputs, (N,).
        fixed: Covariance of known noise and of the mean's coefficients, (N, N).
        centre: Mean of η, (n + 1,), or (n + 2 + p,) if η has the variance σ² of the noise too.
        precision: Precision of each entry of η; with zeros the density is the evidence alone.
        basis: b of the data, (N, p); p is zero where the noise is constant.
    """

    X: Array
    y: Array
    fixed: Array
    centre: Array
    precision: Array
    basis: Array

    def variances(self, eta: Array) -> Array:
        """Return the variances of the unknown noise of the data, (N,)."""
        n = self.X.shape[1] + 1
        return np.asarray(np.exp(eta[n : n + 1]).sum() * np.exp(2.0 * self.basis @ eta[n + 1 :]))

    def __call__(self, eta: Array) -> tuple[float, Array]:
        """Return the value and its gradient by η."""
        n = self.X.shape[1] + 1
        A = self.X / np.exp(eta[1:n])
        noise = self.variances(eta)
        K = np.exp(eta[0] - 0.5 * cdist(A, A, "sqeuclidean"))
        identity = np.eye(len(A))
        try:
            # Σ = K + Σ_fixed + diag σ_i² = L Lᵀ
            factor = cho_factor(K + self.fixed + noise * identity, lower=True)
        except np.linalg.LinAlgError:
            return -np.inf, np.zeros_like(eta)
        solved = cho_solve(factor, self.y)  # α = Σ⁻¹ y
        away = eta - self.centre
        # log p(y) = -½ yᵀ α - Σ_i log L_ii + const
        value = -0.5 * self.y @ solved - np.log(np.diag(factor[0])).sum()
        # ∂ log p(y) / ∂η = ½ tr(M ∂Σ/∂η), with M = α αᵀ - Σ⁻¹ and ∂Σ/∂ log σ_i² = σ_i² e_i e_iᵀ
        M = np.outer(solved, solved) - cho_solve(factor, identity)
        each = 0.5 * np.diag(M) * noise
        by_noise = np.append(each.sum(), 2.0 * self.basis.T @ each)[: len(eta) - n]
        # ∂K/∂ log k0 = K, and ∂K_pq/∂ log L_i = K_pq (a_pi - a_qi)² with a = x / L
        M = M * K
        by_lengths = M.sum(axis=0) @ A**2 - np.sum(A * (M @ A), axis=0)
        slopes = np.concatenate([[0.5 * M.sum()], by_lengths, by_noise])
        # log p(η) = -½ (η - c)ᵀ diag(precision) (η - c) + const
        penalty = self.precision * away
        return float(value - 0.5 * penalty @ away), slopes - penalty


def linear_trend(
    X: Array, spread: float, chosen: list[int], intercept: bool, variance: float | None
) -> Linear | None:
    """Return the kernel of a linear mean, for outputs of variance `spread`; None without a mean."""
    if not chosen and not intercept:
        return None
    offset = WIDE**2 * spread if variance is None else variance
    slopes = np.zeros(X.shape[1])
    slopes[chosen] = offset / X.var(axis=0)[chosen] if variance is None else variance
    if not intercept:
        return Linear(tuple(slopes))
    return Linear(tuple(slopes), offset, tuple(X.mean(axis=0)) if variance is None else 0.0)


def density_of(
    X: Array,
    y: Array,
    trend: sk.Kernel | None,
    variance: ArrayLike | None,
    hyperprior: bool,
    basis: Array | None = None,
    slope_deviation: float = 1.0,
) -> HyperparameterDensity:
    """Return the density of the hyper-parameters of one output, with σ² if the variance is None.

    A known variance is a number, or one for each of the data, (N,). With a basis (N, p) the noise
    has slopes, of a prior standard deviation.
    """
    n = X.shape[1] + 1
    if variance is None:
        n += 1
    spread = y.var()
    medians = [MEDIANS[0] * spread, *(MEDIANS[1] * np.ptp(X, axis=0)), MEDIANS[2] * spread]
    deviations = [DEVIATIONS[0], *[DEVIATIONS[1]] * X.shape[1], DEVIATIONS[2]]
    known = 0.0 if variance is None else np.asarray(variance)
    fixed = known * np.eye(len(X)) + (0.0 if trend is None else trend(X, X))
    precision = np.array(deviations[:n]) ** -2.0 if hyperprior else np.zeros(n)
    basis = np.zeros((len(X), 0)) if basis is None else basis
    slopes = np.zeros(basis.shape[1])
    centre = np.append(np.log(medians[:n]), slopes)
    precision = np.append(precision, slopes + slope_deviation**-2.0)
    return HyperparameterDensity(X, y, fixed, centre, precision, basis)


def maximise(density: HyperparameterDensity, restarts: int, seed: int | None) -> Array:
    """Return the η of largest density, from the hyperprior's median and from random starts."""
    spread = density.y.var()
    width = np.ptp(density.X, axis=0)
    ends = []
    for v, scale, noise in zip(VARIANCES, LENGTHSCALES, NOISES, strict=True):
        values = np.log([v * spread, *(scale * width), noise * spread])
        ends.append(values[: len(density.centre)])
    slopes = FARTHEST / np.sqrt(density.precision[len(width) + 2 :])
    low, high = np.append(ends[0], -slopes), np.append(ends[1], slopes)
    check_count("restarts", restarts, 0)
    starts = generator(seed).uniform(low, high, (restarts, len(low)))

    def negative(eta: Array) -> tuple[float, Array]:
        value, gradient = density(eta)
        return -value, -gradient

    box = {"method": "L-BFGS-B", "jac": True, "bounds": np.column_stack([low, high])}
    found = [minimize(negative, start, **box) for start in (density.centre, *starts)]
    best = min(found, key=lambda result: result.fun)
    if not np.isfinite(best.fun):
        raise ValueError("noise: too small for data at these X in double precision")
    # "ABNORMAL" says that rounding errors hide any further gain along the last direction.
    if not best.success and "ABNORMAL" not in best.message:
        warnings.warn(f"the search did not end: {best.message}", ConvergenceWarning, stacklevel=3)
    return np.asarray(best.x)


def cubature(density: HyperparameterDensity, best: Array, seed: int | None) -> tuple[Array, Array]:
    """Return points η (S, m) around the best, and the logarithms of their prior weights (S,).

    Σ_s w_s p(y | η_s) is the evidence.
    """
    m = len(best)
    steps = STEP * np.eye(len(best))
    # H = -∂² log p / ∂η², by central differences of the gradient
    rows = [density(best - step)[1] - density(best + step)[1] for step in steps]
    hessian = np.array(rows) / (2.0 * STEP)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    # R Rᵀ = H⁻¹, with H = V diag(λ) Vᵀ. λ is at least the hyperprior's precision, so that the
    # points stay within its width where the density is nearly flat or curved upwards.
    values = np.maximum(values, density.precision.min())
    root = vectors / np.sqrt(values)
    # η = best + R z, with z on two spheres, where orthogonal axes through the centre meet them.
    halves, shell_weights = roots_genlaguerre(2, m / 2.0 - 1.0)
    axes = ortho_group.rvs(m, size=2, random_state=seed)
    z = np.concatenate([np.sqrt(2.0 * h) * Q for h, Q in zip(halves, axes, strict=True)])
    points = best + np.concatenate([z, -z]) @ root.T
    # w = (weight of the sphere) |R| p(η) / N(z; 0, I), with -log N(z; 0, I) = ½ |z|² + const, and
    # the same const in -log p(η) = ½ (η - c)ᵀ diag(precision) (η - c) - ½ log |precision| + const
    shares = shell_weights / (2 * m * shell_weights.sum())
    logs = np.tile(np.repeat(np.log(shares) + halves, m), 2)
    logs -= 0.5 * (points - density.centre) ** 2 @ density.precision
    return points, logs + 0.5 * np.sum(np.log(density.precision) - np.log(values))
