"""Derivatives of kernels and means of Gaussian processes by the inputs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array
from bnn.gp import kernels
from bnn.gp.means import LinearMean
from bnn.gp.process import GaussianProcessPrior
from bnn.gp.warping import Warped


def _matern12(q: Array) -> tuple[Array, Array]:
    r = np.sqrt(q)
    # dφ / dq = -exp(-r) / 2r, and x - x' is zero where r is
    return np.exp(-r), -0.5 * np.exp(-r) / np.where(r > 0.0, r, 1.0)


def _matern32(q: Array) -> tuple[Array, Array]:
    s = np.sqrt(3.0 * q)
    return (1.0 + s) * np.exp(-s), -1.5 * np.exp(-s)


def _matern52(q: Array) -> tuple[Array, Array]:
    s = np.sqrt(5.0 * q)
    return (1.0 + s + s**2 / 3.0) * np.exp(-s), -5.0 / 6.0 * (1.0 + s) * np.exp(-s)


# φ and dφ / dq of stationary kernels, with q = r².
CORRELATIONS: dict[type, Callable[[Array], tuple[Array, Array]]] = {
    kernels.RBF: lambda q: (np.exp(-0.5 * q), -0.5 * np.exp(-0.5 * q)),
    kernels.Matern12: _matern12,
    kernels.Matern32: _matern32,
    kernels.Matern52: _matern52,
}


def kernel_gradient(kernel: sk.Kernel, a: Array, b: Array) -> tuple[Array, Array]:
    """Return a kernel and its gradient by its first point.

    Args:
        kernel: A kernel of bnn, a constant or white one of scikit-learn, or sums and products of
            these.
        a: Points, (..., n_in).
        b: Points, (..., n_in), broadcastable against a.

    Returns:
        k(a, b), (...), and ∂k/∂a, (..., n_in).

    Raises:
        ValueError: If the gradient of the kernel is not known.
    """
    # Kernels are known by their very type: one that derives from a kernel has a formula of its own.
    away = a - b
    if isinstance(kernel, sk.Sum | sk.Product):
        first, by_first = kernel_gradient(kernel.k1, a, b)
        second, by_second = kernel_gradient(kernel.k2, a, b)
        if isinstance(kernel, sk.Sum):
            return first + second, by_first + by_second
        return first * second, first[..., None] * by_second + second[..., None] * by_first
    if isinstance(kernel, sk.ConstantKernel):
        return np.full(away.shape[:-1], kernel.constant_value), np.zeros(away.shape)
    if isinstance(kernel, sk.WhiteKernel):
        return np.zeros(away.shape[:-1]), np.zeros(away.shape)
    if type(kernel) is kernels.Linear:
        slope = np.asarray(kernel.variance) * kernel.away(b)
        values = np.sum(kernel.away(a) * slope, axis=-1) + kernel.offset
        # The functions are constant beyond their reach.
        inside = np.abs(a - np.asarray(kernel.origin)) <= np.asarray(kernel.reach)
        return values, slope * inside * np.ones(away.shape)
    if type(kernel) is kernels.Periodic:
        return _periodic(kernel, away)
    if type(kernel) is Warped:
        w, slopes = kernel.bent(a)
        z = kernel.turned(kernel.bent(b)[0])
        values, by_z = kernel_gradient(kernel.kernel, kernel.turned(w), z)
        # ∂k/∂x_i = w'_i Σ_j (I + C)_ij ∂k/∂z_j
        return values, kernel.turned(by_z, transposed=True) * slopes
    if isinstance(kernel, kernels.Stationary):
        scale = np.asarray(kernel.lengthscale, dtype=float)
        # q = Σ_i (a_i - b_i)² / L_i² and ∂q/∂a_i = 2 (a_i - b_i) / L_i²
        distances = np.clip(away / scale, -kernels.FARTHEST, kernels.FARTHEST)
        q = np.sum(distances**2, axis=-1)
        values, slope = _correlation(kernel, q)
        by_q = 2.0 * kernel.variance * slope
        return kernel.variance * values, by_q[..., None] * away / scale**2
    raise ValueError(f"the gradient of the kernel {type(kernel).__name__} is not known")


def _correlation(kernel: kernels.Stationary, q: Array) -> tuple[Array, Array]:
    """Return φ and dφ / dq."""
    if type(kernel) is kernels.RationalQuadratic:
        base = 1.0 + q / (2.0 * kernel.alpha)
        values = base**-kernel.alpha
        return values, -0.5 * values / base
    if type(kernel) not in CORRELATIONS:
        raise ValueError(f"the gradient of the kernel {type(kernel).__name__} is not known")
    return CORRELATIONS[type(kernel)](q)


def _periodic(kernel: kernels.Periodic, away: Array) -> tuple[Array, Array]:
    scale = np.asarray(kernel.lengthscale, dtype=float)
    angle = np.pi * away / kernel.period
    values = kernel.variance * np.exp(-2.0 * np.sum((np.sin(angle) / scale) ** 2, axis=-1))
    # ∂/∂a_i (-2 sin² u_i / L_i²) = -2 π sin(2 u_i) / (period L_i²)
    slopes = -2.0 * np.pi * np.sin(2.0 * angle) / (kernel.period * scale**2)
    return values, values[..., None] * slopes


def prior_gradient(prior: GaussianProcessPrior, output: int, A: Array, B: Array) -> Array:
    """Return the gradient of the kernel of an output by its first point.

    Args:
        prior: The prior.
        output: j.
        A: Points, (..., n_in).
        B: Points, (..., n_in), broadcastable against A.

    Returns:
        ∂k_j(a, b)/∂a, (..., n_in), zero for inputs that the kernel does not see.
    """
    n_in = A.shape[-1]
    seen = prior.features_of(output, n_in)
    shape = np.broadcast_shapes(A.shape, B.shape)
    gradient = np.zeros(shape)
    gradient[..., seen] = kernel_gradient(prior.kernels[output], A[..., seen], B[..., seen])[1]
    return gradient


def mean_gradient(prior: GaussianProcessPrior, n_in: int) -> Array:
    """Return the gradient of the mean of a prior, which is a number or linear, (n_out, n_in)."""
    mean: Any = prior.mean
    zeros = np.zeros((prior.n_outputs, n_in))
    if isinstance(mean, LinearMean):
        # The columns of A are the values at the unit vectors without the intercept.
        return np.asarray(LinearMean(mean.coefficients)(np.eye(n_in)).T + zeros)
    if callable(mean):
        raise ValueError(f"the gradient of the mean {type(mean).__name__} is not known")
    return zeros
