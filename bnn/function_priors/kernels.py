"""Covariance functions k(x, x') of Gaussian process priors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist


def _check_positive(name: str, value) -> None:
    values = np.asarray(value, dtype=float)
    if values.ndim > 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} = {value}: must be > 0")


def _check_positive_number(name: str, value) -> None:
    if np.ndim(value) or not 0.0 < value < np.inf:
        raise ValueError(f"{name} = {value}: must be one number > 0")


class Kernel:
    """A covariance function; kernels add and multiply."""

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Evaluate k.

        Args:
            A: (n, n_in).
            B: (m, n_in).

        Returns:
            k(A, B), (n, m).
        """
        raise NotImplementedError

    def __add__(self, other: Kernel) -> Kernel:
        """Return the sum of two kernels."""
        return Combination(self, other, np.add)

    def __mul__(self, other: Kernel) -> Kernel:
        """Return the product of two kernels."""
        return Combination(self, other, np.multiply)


@dataclass(frozen=True)
class Combination(Kernel):
    """Sum or product of two kernels."""

    first: Kernel
    second: Kernel
    operation: np.ufunc

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Evaluate, see Kernel."""
        return self.operation(self.first(A, B), self.second(A, B))


@dataclass(frozen=True)
class Stationary(Kernel):
    """Base of the kernels k0 φ(r), r = |(x - x') / L|.

    Attributes:
        variance: k0.
        lengthscale: L, one number, or one for each (used) input.
    """

    variance: float = 1.0
    lengthscale: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If the variance or a length scale is not positive.
        """
        _check_positive_number("variance", self.variance)
        _check_positive("lengthscale", self.lengthscale)
        if np.ndim(self.lengthscale):
            object.__setattr__(self, "lengthscale", tuple(np.asarray(self.lengthscale).tolist()))

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Evaluate, see Kernel."""
        scale = np.asarray(self.lengthscale)
        if scale.ndim and scale.size != A.shape[1]:
            raise ValueError(
                f"lengthscale has {scale.size} entries: must be one, or {A.shape[1]} as the inputs"
            )
        return self.variance * self.correlation(cdist(A / scale, B / scale))

    def correlation(self, r: np.ndarray) -> np.ndarray:
        """Return φ(r) with φ(0) = 1."""
        raise NotImplementedError


class RBF(Stationary):
    """Squared exponential, φ = exp(-r² / 2)."""

    def correlation(self, r: np.ndarray) -> np.ndarray:
        """Return φ(r)."""
        return np.exp(-0.5 * r**2)


class Matern12(Stationary):
    """Matérn ν = 1/2 (exponential), φ = exp(-r)."""

    def correlation(self, r: np.ndarray) -> np.ndarray:
        """Return φ(r)."""
        return np.exp(-r)


class Matern32(Stationary):
    """Matérn ν = 3/2."""

    def correlation(self, r: np.ndarray) -> np.ndarray:
        """Return φ(r)."""
        s = np.sqrt(3.0) * r
        return (1.0 + s) * np.exp(-s)


class Matern52(Stationary):
    """Matérn ν = 5/2."""

    def correlation(self, r: np.ndarray) -> np.ndarray:
        """Return φ(r)."""
        s = np.sqrt(5.0) * r
        return (1.0 + s + s**2 / 3.0) * np.exp(-s)


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """Mixture of squared exponentials, φ = (1 + r² / 2α)^-α.

    Attributes:
        alpha: α, the spread of the length scales.
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If a field is not positive.
        """
        super().__post_init__()
        _check_positive_number("alpha", self.alpha)

    def correlation(self, r: np.ndarray) -> np.ndarray:
        """Return φ(r)."""
        return (1.0 + r**2 / (2.0 * self.alpha)) ** -self.alpha


@dataclass(frozen=True)
class Periodic(Stationary):
    """Periodic in each input, k0 exp(-2 Σ sin²(π (x - x') / period) / L²).

    Attributes:
        period: Of every input.
    """

    period: float = 1.0

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If a field is not positive.
        """
        super().__post_init__()
        _check_positive_number("period", self.period)

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Evaluate, see Kernel."""
        difference = A[:, None, :] - B[None, :, :]
        sines = np.sin(np.pi * difference / self.period) / np.asarray(self.lengthscale)
        return self.variance * np.exp(-2.0 * np.sum(sines**2, axis=-1))


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear functions with Gaussian coefficients, Σ_i k0_i (x_i - o_i) (x'_i - o_i) + offset.

    Attributes:
        variance: k0, of the slopes, one or one for each (used) input; 0 leaves an input out.
        offset: Variance of the value at the origin.
        origin: o, one number or one for each (used) input.
    """

    variance: float | tuple[float, ...] = 1.0
    offset: float = 0.0
    origin: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If a variance is negative, or all are zero.
        """
        values = np.append(np.asarray(self.variance, dtype=float), self.offset)
        if not np.all(np.isfinite(values) & (values >= 0)) or not values.any():
            raise ValueError(
                f"variance = {self.variance}, offset = {self.offset}: must be >= 0, not all 0"
            )
        if not np.isfinite(np.asarray(self.origin, dtype=float)).all():
            raise ValueError(f"origin = {self.origin}: must be finite")
        for name in ("variance", "origin"):
            value = getattr(self, name)
            if np.ndim(value):
                object.__setattr__(self, name, tuple(np.asarray(value).tolist()))

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Evaluate, see Kernel."""
        for name in ("variance", "origin"):
            size = np.size(getattr(self, name))
            if size not in (1, A.shape[1]):
                raise ValueError(
                    f"{name} has {size} entries: must be one, or {A.shape[1]} as the inputs"
                )
        origin = np.asarray(self.origin)
        return ((A - origin) * np.asarray(self.variance)) @ (B - origin).T + self.offset
