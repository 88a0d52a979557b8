"""Kernels k(x, x') of Gaussian process priors; `bnn.gp.kernel` has their base classes.

They replace kernels of scikit-learn for two reasons. The RBF and Matérn kernels of scikit-learn
round differently, which would change the networks of a given seed. Its rational quadratic and
periodic kernels have a single length scale.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, as_finite
from bnn.gp.kernel import (
    LEAST_LENGTH,
    Gradient,
    Kernel,
    Open,
    Stationary,
    check_parameter,
    comparable,
    is_open,
    of_each_input,
    seen_points,
    set_entries,
    without_gradient,
)
from bnn.storage import register


class RBF(Stationary):
    """Squared exponential, φ = exp(-r² / 2).

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.RBF(variance=2.0, lengthscale=0.5)(X[:1], X).round(3)
        array([[2.   , 0.271]])
    """

    c_code = "phi = exp(-0.5 * q); slope = -0.5 * phi;"

    def _correlation(self, q: Array, derivative: bool) -> tuple[Array, Array | None]:
        value = np.exp(np.multiply(-0.5, q, out=q), out=q)
        return value, -0.5 * value if derivative else None


class Matern12(Stationary):
    """Matérn ν = 1/2 (exponential), φ = exp(-r).

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.Matern12(1.0, 0.5)(X[:1], X).round(3)
        array([[1.   , 0.135]])
    """

    c_code = "double r = sqrt(q); phi = exp(-r); slope = r > 0.0 ? -0.5 * phi / r : 0.0;"

    def _correlation(self, q: Array, derivative: bool) -> tuple[Array, Array | None]:
        r = np.sqrt(q)
        value = np.exp(-r)
        # dφ/dq = -exp(-r) / 2r is infinite at r = 0. Any finite value does there, because it is
        # multiplied by x - x' = 0.
        return value, -0.5 * value / np.where(r > 0.0, r, 1.0) if derivative else None


class Matern32(Stationary):
    """Matérn ν = 3/2, φ = (1 + s) exp(-s) with s = √3 r.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.Matern32(1.0, 0.5)(X[:1], X).round(3)
        array([[1.  , 0.14]])
    """

    c_code = "double s = sqrt(3.0 * q), e = exp(-s); phi = (1.0 + s) * e; slope = -1.5 * e;"

    def _correlation(self, q: Array, derivative: bool) -> tuple[Array, Array | None]:
        s = np.sqrt(np.multiply(3.0, q, out=q), out=q)
        decay = _decay(s)
        slope = -1.5 * decay if derivative else None
        # φ in the memory of s: new memory takes longer than a product.
        value = np.multiply(np.add(1.0, s, out=s), decay, out=s)
        return value, slope


class Matern52(Stationary):
    """Matérn ν = 5/2, φ = (1 + s + s² / 3) exp(-s) with s = √5 r.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.Matern52(1.0, 0.5)(X[:1], X).round(3)
        array([[1.   , 0.139]])
    """

    c_code = (
        "double s = sqrt(5.0 * q), e = exp(-s); phi = (1.0 + s + s * s / 3.0) * e; "
        "slope = -5.0 / 6.0 * (1.0 + s) * e;"
    )

    def _correlation(self, q: Array, derivative: bool) -> tuple[Array, Array | None]:
        s = np.sqrt(np.multiply(5.0, q, out=q), out=q)
        decay = _decay(s)
        slope = -5.0 / 6.0 * (1.0 + s) * decay if derivative else None
        # φ = (1 + s + s² / 3) exp(-s) in the memory of s: new memory takes longer than a product.
        third = np.square(s)
        third /= 3.0
        value = np.add(np.add(1.0, s, out=s), third, out=s)
        return np.multiply(value, decay, out=s), slope


def _decay(s: Array) -> Array:
    """Return exp(-s), (...), of s (...)."""
    negative = np.negative(s)
    # Only arrays have memory to reuse: not single numbers, nor the symbols of exports.
    decay: Array = np.exp(negative, out=negative if isinstance(negative, np.ndarray) else None)
    return decay


@dataclass(repr=False)
class RationalQuadratic(Stationary):
    """Mixture of squared exponentials, φ = (1 + r² / 2α)^-α.

    Attributes:
        alpha: α. The smaller it is, the wider is the spread of the length scales. None is open.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.RationalQuadratic(1.0, 0.5, alpha=2.0)(X[:1], X).round(3)
        array([[1.  , 0.25]])
    """

    c_code = (
        "double base = 1.0 + q / (2.0 * alpha); phi = pow(base, -alpha); slope = -0.5 * phi / base;"
    )

    quantities: ClassVar[Mapping[str, str]] = {"alpha": "number"}
    alpha: float | Open = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameter("alpha", self.alpha, number=True, or_open=True)
        self.alpha = comparable(self.alpha)

    def _correlation(self, q: Array, derivative: bool) -> tuple[Array, Array | None]:
        base = 1.0 + q / (2.0 * self.alpha)
        value = base**-self.alpha
        return value, -0.5 * value / base if derivative else None


@dataclass(repr=False)
class Periodic(Stationary):
    """Periodic in each input, k0 exp(-2 Σ_i sin²(π (x_i - x'_i) / period) / L_i²).

    The length scales L_i have no unit.

    Attributes:
        period: Period, the same for all inputs, in their units. None is open.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.Periodic(1.0, 0.5, period=2.0)(X[:1], X).round(3)
        array([[1., 0.]])

        For an angle in degrees and another input multiply two kernels. The period is 180 if a turn
        of the specimen by 180° changes nothing, as for a modulus.

        >>> of_angle = bnn.Periodic(1.0, (None, np.inf), 360.0)
        >>> of_others = bnn.Matern52(None, (np.inf, None))
        >>> prior = bnn.GaussianProcessPrior(0.0, of_angle * of_others)
    """

    quantities: ClassVar[Mapping[str, str]] = {
        "variance": "variance",
        "lengthscale": "ratio",
        "period": "period",
    }
    period: float | Open = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parameter("period", self.period, number=True, least=LEAST_LENGTH, or_open=True)
        self.period = comparable(self.period)

    def _evaluate(self, A: Array, B: Array) -> Array:
        # k = k0 exp(-2 Σ_i sin²(π (x_i - x'_i) / period) / L_i²)
        angles = np.pi * (A[:, None, :] - B[None, :, :]) / self.period
        sines = np.sin(angles) / of_each_input("lengthscale", self.lengthscale, A.shape[1])
        return np.asarray(self.variance * np.exp(-2.0 * np.sum(sines**2, axis=-1)))

    def gradient(self, a: Array, b: Array) -> Gradient:
        """Return k(a, b), (...), and ∂k/∂a, (..., n_in), at points (..., n_in) that broadcast."""
        scale = np.asarray(self.lengthscale, dtype=float)
        angle = np.pi * (a - b) / self.period
        values = self.variance * np.exp(-2.0 * np.sum((np.sin(angle) / scale) ** 2, axis=-1))
        # ∂/∂a_i (-2 sin² u_i / L_i²) = -2 π sin(2 u_i) / (period L_i²)
        slopes = -2.0 * np.pi * np.sin(2.0 * angle) / (self.period * scale**2)
        return values, values[..., None] * slopes

    def parameter_gradient(self, X: Array, name: str, entry: int | None) -> Array:
        """Return ∂k/∂θ, (n, n), of k(X, X) for one parameter, see `Kernel.parameter_gradient`."""
        values = np.asarray(self(X))
        if name == "variance":
            return values / self.variance
        scale = of_each_input("lengthscale", self.lengthscale, X.shape[1]) * np.ones(X.shape[1])
        away = np.pi * (X[:, None, :] - X[None, :, :]) / self.period
        if name == "period":
            # With u = π (x - x') / p, ∂/∂p (-2 sin² u_i / L_i²) = 2 u_i sin(2 u_i) / (L_i² p)
            slopes = 2.0 * away * np.sin(2.0 * away) / (scale**2 * self.period)
            return np.asarray(values * slopes.sum(-1))
        # ∂/∂L_i (-2 sin² u_i / L_i²) = 4 sin² u_i / L_i³
        slopes = 4.0 * np.sin(away) ** 2 / scale**3
        return np.asarray(values * (slopes.sum(-1) if entry is None else slopes[..., entry]))


@dataclass(repr=False)
class Linear(Kernel):
    """Linear functions with Gaussian coefficients, Σ_i k0_i (x_i - o_i) (x'_i - o_i) + offset.

    From the distance `ends` from the origin on the functions may bend, with an independent Gaussian
    curvature on either side. The parts beyond the ends are h₊ = max(x_i - o_i - e_i, 0) and
    h₋ = max(o_i - x_i - e_i, 0). This adds Σ_i b_i (g₊ g₊' + g₋ g₋') for g = h² / 2 e_i.

    At the distance `reach` these functions become constant. There others begin, with independent
    slopes of the same variance, of which data within the reach say nothing.

    Attributes:
        variance: k0, the variance of the slopes: one number, or one per input that the kernel uses.
            0 removes the slope, None is open.
        offset: Variance of the value at the origin. None is open.
        origin: o, one number, or one per input that the kernel uses.
        reach: Distance |x_i - o_i| beyond which the slope is an independent one: one number, or one
            per input that the kernel uses.
        bends: b, the variance of the change of slope from |x_i - o_i| = e to 2 e: one number, or
            one per input that the kernel uses. 0 leaves the functions straight.
        ends: e, the distance |x_i - o_i| beyond which the functions bend: one number, or one per
            input that the kernel uses.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.Linear(variance=2.0, offset=1.0)(X[:1], X).round(3)
        array([[1., 1.]])
    """

    _scaled: ClassVar[tuple[str, ...]] = ("variance", "offset", "bends")
    quantities: ClassVar[Mapping[str, str]] = {"variance": "slope", "offset": "variance"}
    variance: float | tuple[float | Open, ...] | Open = 1.0
    offset: float | Open = 0.0
    origin: float | tuple[float, ...] = 0.0
    reach: float | tuple[float, ...] = np.inf
    bends: float | tuple[float, ...] = 0.0
    ends: float | tuple[float, ...] = np.inf

    def __post_init__(self) -> None:
        for name in ("reach", "ends"):
            check_parameter(name, getattr(self, name), most=np.inf)
            setattr(self, name, comparable(getattr(self, name)))
        for name, most in (("variance", 1), ("offset", 0), ("origin", 1), ("bends", 1)):
            value = getattr(self, name)
            if is_open(value) and name in self.quantities and (most or value is None):
                value = set_entries(value) or 1.0
            array = as_finite(name, value, sys.float_info.max)
            if array.ndim > most or not array.size:
                raise ValueError(f"{name} has shape {array.shape}: must be a number or (n_in,)")
        self.variance = comparable(self.variance)
        self.offset = comparable(self.offset)
        self.origin = comparable(self.origin)
        self.bends = comparable(self.bends)
        if np.min(self.bends) < 0:
            raise ValueError(f"bends = {self.bends}: must be >= 0")
        entries = set_entries(self.variance), set_entries(self.offset)
        values = np.append(*entries)
        bent = np.min(self.ends) < np.inf and np.any(self.bends)
        if not np.all(values >= 0) or not (values.any() or bent or self.open_fields()):
            shown = f"variance = {self.variance}, offset = {self.offset}"
            raise ValueError(f"{shown}: must be >= 0, not all 0")

    def _evaluate(self, A: Array, B: Array) -> Array:
        variance = of_each_input("variance", self.variance, A.shape[1])
        of_each_input("origin", self.origin, A.shape[1])
        for name in ("reach", "ends"):
            of_each_input(name, getattr(self, name), A.shape[1])
        bends = of_each_input("bends", self.bends, A.shape[1])
        # k = (x - o)ᵀ diag(k0) (x' - o) + offset
        of_a, of_b = self.away(A), self.away(B)
        slopes = of_a * variance
        values = np.full((len(A), len(B)), float(self.offset))
        if slopes.any():
            values += slopes @ of_b.T
        past_a, past_b = self.past(A), self.past(B)
        if past_a.any() and past_b.any():
            values += (past_a * variance) @ past_b.T
        if not bends.any():
            return values
        # Σ_i b_i (g₊ g₊' + g₋ g₋')
        for a, b in zip(self.bent(of_a), self.bent(of_b), strict=True):
            if a.any() and b.any():  # within the ends all g are zero
                values += (a * bends) @ b.T
        return values

    def away(self, X: Array) -> Array:
        """Return x - o, clipped to the interval from -reach to reach, for X (..., n_in)."""
        reach = np.asarray(self.reach, dtype=float)
        return np.asarray(np.clip(X - np.asarray(self.origin, dtype=float), -reach, reach))

    def past(self, X: Array) -> Array:
        """Return what x - o has beyond the reach, for X (..., n_in)."""
        if np.min(self.reach) == np.inf:
            return np.zeros_like(X)
        return np.asarray(X - np.asarray(self.origin, dtype=float) - self.away(X))

    def overhangs(self, away: Array) -> tuple[Array, Array]:
        """Return h₊ and -h₋, what `away` = x - o (..., n_in) has beyond the ends on each side."""
        ends = np.asarray(self.ends, dtype=float)
        return np.maximum(away - ends, 0.0), np.minimum(away + ends, 0.0)

    def bent(self, away: Array) -> tuple[Array, Array]:
        """Return g₊ and g₋ = h² / 2 e, bent beyond the ends, at `away` = x - o (..., n_in)."""
        twice = 2.0 * np.asarray(self.ends, dtype=float)
        upper, lower = (h * (h / twice) for h in self.overhangs(away))
        return upper, lower

    def diag(self, X: Array) -> Array:
        """Return k(x, x), (n,), at the points X (n, n_in)."""
        values = self.diag_within_reach(X)
        past = self.past(np.asarray(X))
        return values + np.sum(self.variance * past**2, axis=1) if past.any() else values

    def diag_within_reach(self, X: Array) -> Array:
        """Return k(x, x), (n,), of the functions that are constant beyond the reach, at X."""
        self.check_set()
        X = seen_points("X", X)
        # k(x, x) = Σ_i k0_i (x_i - o_i)² + offset + Σ_i b_i (g₊² + g₋²), with x within the reach
        away = self.away(X)
        variance = of_each_input("variance", self.variance, X.shape[1])
        values = np.sum(variance * away**2, axis=1) + self.offset
        if not np.any(self.bends):
            return np.asarray(values)
        bends = of_each_input("bends", self.bends, X.shape[1])
        return np.asarray(values + sum(np.sum(bends * g**2, axis=1) for g in self.bent(away)))

    def gradient(self, a: Array, b: Array) -> Gradient:
        """Return k(a, b), (...), and ∂k/∂a, (..., n_in), at points (..., n_in) that broadcast."""
        of_a, of_b = self.away(a), self.away(b)
        slope = np.asarray(self.variance) * of_b
        values = np.sum(of_a * slope, axis=-1) + self.offset
        if np.any(self.bends):
            sides = zip(self.overhangs(of_a), self.bent(of_a), self.bent(of_b), strict=True)
            for h, g, g_b in sides:
                values = values + np.sum(g * self.bends * g_b, axis=-1)
                # ∂g/∂x = h / e
                slope = slope + h / np.asarray(self.ends) * self.bends * g_b
        # Beyond the reach another slope counts.
        beyond = np.asarray(self.variance) * self.past(b)
        values = values + np.sum(self.past(a) * beyond, axis=-1)
        inside = np.abs(a - np.asarray(self.origin)) <= np.asarray(self.reach)
        shape = np.broadcast_shapes(a.shape, b.shape)
        return values, np.where(inside, slope, beyond) * np.ones(shape)

    def parameter_gradient(self, X: Array, name: str, entry: int | None) -> Array:
        """Return ∂k/∂θ, (n, n), of k(X, X) for one parameter, see `Kernel.parameter_gradient`."""
        if name == "offset":
            return np.ones((len(X), len(X)))
        values = np.zeros((len(X), len(X)))
        for away in (self.away(X), self.past(X)):
            if away.any():
                of_entry = away if entry is None else away[:, [entry]]
                values += of_entry @ of_entry.T
        return values


@dataclass(repr=False)
class Multiple(Kernel):
    """One output of a model, times a Gaussian factor of mean zero: k0 m_j(x) m_j(x').

    Attributes:
        model: Function of X (n, n_in) that returns (n, n_out).
        output: j, the index of the output.
        variance: k0, the variance of the factor.
    """

    _scaled: ClassVar[tuple[str, ...]] = ("variance",)
    model: Callable[[Array], Array]
    output: int = 0
    variance: float = 1.0

    def _evaluate(self, A: Array, B: Array) -> Array:
        return self.variance * np.outer(
            self.model(A)[:, self.output], self.model(B)[:, self.output]
        )

    def diag(self, X: Array) -> Array:
        """Return k(x, x), (n,), at the points X (n, n_in)."""
        return np.asarray(self.variance * self.model(X)[:, self.output] ** 2)


STORED = (
    sk.ConstantKernel,
    sk.DotProduct,
    sk.Exponentiation,
    sk.ExpSineSquared,
    sk.Matern,
    sk.Product,
    sk.RBF,
    sk.RationalQuadratic,
    sk.Sum,
)
for _kind in STORED:
    register(_kind, lambda kernel: kernel.get_params(deep=False), _kind)


def kernel_gradient(kernel: sk.Kernel, a: Array, b: Array) -> Gradient:
    """Return the values of a kernel and their gradient with respect to the first point.

    Args:
        kernel: A kernel of bnn, a ConstantKernel of scikit-learn, or a sum or product of these.
        a: Points, (..., n_in).
        b: Points, (..., n_in), broadcastable against a.

    Returns:
        k(a, b), (...), and ∂k/∂a, (..., n_in).

    Raises:
        ValueError: If a kernel has no gradient.
    """
    gradient = getattr(kernel, "gradient", None)
    if gradient is not None:
        pair: Gradient = gradient(a, b)
        return pair
    shape = np.broadcast_shapes(a.shape, b.shape)
    if isinstance(kernel, sk.Sum | sk.Product):
        first, by_first = kernel_gradient(kernel.k1, a, b)
        second, by_second = kernel_gradient(kernel.k2, a, b)
        if isinstance(kernel, sk.Sum):
            return first + second, by_first + by_second
        return first * second, first[..., None] * by_second + second[..., None] * by_first
    if isinstance(kernel, sk.ConstantKernel):
        return np.full(shape[:-1], kernel.constant_value), np.zeros(shape)
    raise ValueError(without_gradient(kernel))
