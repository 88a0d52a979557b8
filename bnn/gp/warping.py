"""Kernels of inputs that are warped one by one and then mixed linearly."""

from dataclasses import dataclass
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, as_finite, check_kind
from bnn.gp.kernel import Gradient, Kernel, seen_points
from bnn.gp.kernels import kernel_gradient

STRAIGHT = 1e-4  # replaces smaller warps; w then differs from u by at most 1.3e-5
STEEPEST = 20.0  # largest absolute warp


def straightened(warps: ArrayLike) -> Array:
    """Replace warps close to zero by STRAIGHT, because `warped` divides by them."""
    return np.where(np.abs(warps) < STRAIGHT, STRAIGHT, warps)


def warped(u: Array, warps: Array) -> tuple[Array, Array]:
    """Return w(u) and ∂w/∂λ, (n, n_in) each, for u (n, n_in) in [0, 1] and warps λ (n_in,)."""
    warps = straightened(warps)
    # w = log(1 + (e^λ - 1) u) / λ
    slope = np.expm1(warps)
    logs = np.log1p(slope * u)
    w = logs / warps
    # ∂w/∂λ = (e^λ u / (1 + (e^λ - 1) u) - w) / λ
    return w, (np.exp(warps) * u / (1.0 + slope * u) - w) / warps


def _row(entries: ArrayLike, values: Array) -> tuple[float, ...]:
    """Return values as a tuple: the entries themselves if they are one, which clones need."""
    if isinstance(entries, tuple) and {*map(type, entries)} == {float}:
        return entries
    return tuple(values.tolist())


@dataclass
class Warped(Kernel):
    """A kernel of warped and mixed inputs, k(z(x), z(x')).

    With u = (x - low) / width each input is warped by w_i = log(1 + (e^λ_i - 1) u_i) / λ_i. This
    maps [0, 1] onto itself, and continues as a straight line outside. A positive λ_i stretches the
    lower end, as a logarithm does, a negative λ_i the upper end, and λ_i = 0 changes nothing. Then
    z = w (I + C), where the matrix C mixes the inputs.

    Attributes:
        kernel: k, a kernel of z.
        low: Lower ends of the ranges of the inputs, (n_in,).
        width: Widths of these ranges, (n_in,), > 0.
        warps: λ, (n_in,), from -20 to 20.
        mixing: C by rows, (n_in, n_in); None for zeros.

    Source: warps of one parameter after Snoek, Swersky, Zemel & Adams (2014), Proceedings of
    Machine Learning Research 32; mixing after Vivarelli & Williams (1999), Advances in Neural
    Information Processing Systems 11.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[1.0], [10.0], [100.0]])
        >>> kernel = bnn.Warped(bnn.RBF(1.0, 0.5), (1.0,), (99.0,), warps=(np.log(100.0),))
        >>> kernel(X).round(3)
        array([[1.   , 0.607, 0.135],
               [0.607, 1.   , 0.607],
               [0.135, 0.607, 1.   ]])
    """

    kernel: sk.Kernel
    low: tuple[float, ...]
    width: tuple[float, ...]
    warps: tuple[float, ...]
    mixing: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        check_kind("kernel", self.kernel, sk.Kernel)
        for name in ("low", "width", "warps"):
            values = as_finite(name, getattr(self, name))
            if values.ndim != 1 or values.shape != np.shape(self.low) or not values.size:
                raise ValueError(f"{name} has shape {values.shape}: must be (n_in,), as low")
            setattr(self, name, _row(getattr(self, name), values))
        if min(self.width) <= 0.0:
            raise ValueError(f"width = {self.width}: must be > 0")
        if max(map(abs, self.warps)) > STEEPEST:
            raise ValueError(f"warps = {self.warps}: must be at most {STEEPEST:g} in size")
        if self.mixing is not None:
            C = as_finite("mixing", self.mixing)
            n = len(self.low)
            if C.shape != (n, n):
                raise ValueError(f"mixing has shape {C.shape}: must be ({n}, {n})")
            rows = tuple(map(_row, self.mixing, C))
            same = isinstance(self.mixing, tuple) and all(map(is_, rows, self.mixing))
            self.mixing = self.mixing if same else rows

    def __mul__(self, other: Any) -> sk.Kernel:
        """Return the product with a kernel, or this kernel with its variances times a number."""
        if isinstance(other, sk.Kernel):
            return sk.Product(self, other)
        return Warped(other * self.kernel, self.low, self.width, self.warps, self.mixing)

    __rmul__ = __mul__

    def coordinates(self, X: Array) -> Array:
        """Return warped and mixed inputs, (n, n_in), at X (n, n_in), or raise a ValueError."""
        if X.shape[1] != len(self.low):
            raise ValueError(f"X has {X.shape[1]} inputs: must be {len(self.low)}")
        return self.turned(self.bent(X)[0])

    def bent(self, X: Array) -> tuple[Array, Array]:
        """Return the warped inputs w and ∂w_i/∂x_i, (..., n_in) each, at X (..., n_in)."""
        warps = straightened(self.warps)
        width = np.asarray(self.width)
        u = (X - np.asarray(self.low)) / width
        inside = np.clip(u, 0.0, 1.0)
        # w' = (e^λ - 1) / λ / (1 + (e^λ - 1) u). Outside [0, 1] w continues with its slope at the
        # end.
        growth = np.expm1(warps)
        slopes = growth / warps / (1.0 + growth * inside)
        return warped(inside, warps)[0] + (u - inside) * slopes, slopes / width

    def turned(self, w: Array, transposed: bool = False) -> Array:
        """Mix warped inputs, or convert gradients with respect to z to those with respect to w.

        Args:
            w: Warped inputs or gradients, (..., n_in).
            transposed: Whether to return w (I + C)ᵀ, for gradients.

        Returns:
            w (I + C), or w (I + C)ᵀ, (..., n_in).
        """
        if self.mixing is None:
            return w
        C = np.asarray(self.mixing)
        return np.asarray(w + w @ (C.T if transposed else C))

    def _evaluate(self, A: Array, B: Array) -> Array:
        return np.asarray(self.kernel(self.coordinates(A), self.coordinates(B)))

    def diag(self, X: Array) -> Array:
        """Return k(x, x), (n,), at the points X (n, n_in)."""
        return np.asarray(self.kernel.diag(self.coordinates(seen_points("X", X))))

    def gradient(self, a: Array, b: Array) -> Gradient:
        """Return k(a, b), (...), and ∂k/∂a, (..., n_in), at points (..., n_in) that broadcast."""
        w, slopes = self.bent(a)
        z = self.turned(self.bent(b)[0])
        values, by_z = kernel_gradient(self.kernel, self.turned(w), z)
        # ∂k/∂x_i = w'_i Σ_j (I + C)_ij ∂k/∂z_j
        return values, self.turned(by_z, transposed=True) * slopes
