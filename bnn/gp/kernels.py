"""Covariance functions k(x, x') of Gaussian process priors.

A kernel is one class with its values, its gradient and, if it is stationary, its correlation in C.
The search for hyper-parameters, `predict_gradient` and the C export use only this class. They
reject a kernel, by name, that lacks what they need.

Every kernel is a scikit-learn kernel without free parameters. Sums and products may mix both kinds.
The RBF and Matérn kernels of scikit-learn round differently, which would change the networks of a
given seed. The rational quadratic and periodic kernels of scikit-learn have a single length scale.
"""

import sys
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as sk

from bnn._text import Short
from bnn._validation import LARGEST, Array, as_array, as_finite, seen_points
from bnn.storage import register, storable

# Of a kernel: k(a, b) and ∂k/∂a.
Gradient: TypeAlias = tuple[Array, Array]

LEAST_LENGTH = 1.0 / LARGEST  # of length scales and periods
FARTHEST = 1e75  # distance at which larger ones are seen, so that their fourth powers are finite


def _check_positive(
    name: str,
    value: ArrayLike,
    number: bool = False,
    least: float = 0.0,
    most: float = sys.float_info.max,
) -> None:
    values = as_array(name, value)
    positive = values.size and np.all((values > 0) & (values <= most))
    if values.ndim > (0 if number else 1) or not positive:
        raise ValueError(f"{name} = {value!s}: must be {'one number ' if number else ''}> 0")
    if values.min() < least:
        raise ValueError(f"{name} = {value!s}: must be at least {least:g}")


def _comparable(value: ArrayLike) -> Any:
    """Return a list or an array as a tuple, or as a number, so that kernels can be compared."""
    if isinstance(value, int | float | tuple):
        return value
    values = np.asarray(value, dtype=float).tolist()
    return tuple(values) if isinstance(values, list) else values


def _per_input(name: str, value: ArrayLike, X: Array) -> Array:
    """Return a parameter as an array, () or (n_in,)."""
    values = np.asarray(value, dtype=float)
    n = X.shape[1]
    if values.size not in (1, n):
        raise ValueError(f"{name} has {values.size} entries: must be one, or {n} as the inputs")
    return values


class Kernel(Short, sk.Kernel):  # type: ignore[misc, unused-ignore]
    """Base of all kernels, custom ones too: scikit-learn kernels with fixed parameters.

    A subclass implements `_evaluate(A, B)`, which returns k(A, B), (n, m), at points A (n, n_in)
    and B (m, n_in), and `diag(X)`, which returns k(x, x) at the points X (n, n_in), (n,). Points
    are finite float64 in the units of the inputs, with only the `features` of the prior; k has the
    unit of the output squared. Every matrix k(X, X) must be positive semi-definite. Parameters
    are fields of a dataclass, numbers or tuples of numbers, so that equal kernels are recognised.
    If k depends only on |(x - x') / L|, derive from `Stationary`.

    `GaussianProcessPrior` accepts such a kernel, also in sums and products with others.
    `GPRegressor`, ensembles and `select_runs` then work with this prior. The parameters are not
    estimated: set them, or compare values by `GPRegressor.log_evidence`. For `predict_gradient` add
    a method `gradient(a, b)` that returns k, (...), and ∂k/∂a, (..., n_in), at points a and b,
    (..., n_in), that broadcast. A saved model stores the fields of the kernel; define its class
    before loading. The C export supports only stationary kernels.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> from dataclasses import dataclass
        >>> @dataclass(repr=False)
        ... class Walk(bnn.Kernel):  # random walks from zero at x = 0, for one input x >= 0
        ...     variance: float = 1.0
        ...
        ...     def _evaluate(self, A, B):
        ...         return self.variance * np.minimum(A, B.T)
        ...
        ...     def diag(self, X):
        ...         return self.variance * X[:, 0]
        >>> prior = bnn.GaussianProcessPrior(0.0, Walk(2.0) + bnn.RBF(0.5, 1.0))
        >>> model = bnn.GPRegressor(prior, noise=0.1).fit([[1.0], [2.0]], [0.3, 0.5])
        >>> model.predict([[1.5]]).round(2)
        array([0.4])
    """

    __array_ufunc__ = None  # a number of NumPy leaves its product with a kernel to the kernel
    _scaled: ClassVar[tuple[str, ...]] = ()  # fields that the product with a number multiplies

    def __init_subclass__(cls) -> None:
        """Let files hold the kernels of a class, and drop what belongs to a formula it replaces."""
        super().__init_subclass__()
        storable(cls)
        pairs = ("_evaluate", "gradient"), ("_evaluate", "c_code"), ("_correlation", "c_code")
        for formula, follows in pairs:
            if formula in vars(cls) and follows not in vars(cls):
                setattr(cls, follows, None)

    def __mul__(self, other: Any) -> sk.Kernel:
        """Return the product with a kernel, or this kernel with its variances times a number."""
        if isinstance(other, sk.Kernel):
            return sk.Product(self, other)
        _check_positive("factor", other, number=True)
        factor = float(other)
        if not self._scaled:
            return sk.Product(sk.ConstantKernel(factor, "fixed"), self)
        own = self.get_params(deep=False)
        scaled = {name: np.multiply(factor, own[name]).tolist() for name in self._scaled}
        return type(self)(**own | scaled)

    __rmul__ = __mul__

    def __call__(
        self, X: Array, Y: Array | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return k(X, Y), (n, m); the gradient by free parameters is empty, (n, m, 0)."""
        A = seen_points("X", X)
        B = A if Y is None else seen_points("Y", Y)
        if A.shape[1] != B.shape[1]:
            raise ValueError(f"X has {A.shape[1]} inputs and Y {B.shape[1]}: must be equal")
        values = self._evaluate(A, B)
        if np.shape(values) != (len(A), len(B)):
            returned = f"{type(self).__name__} returned shape {np.shape(values)}"
            raise ValueError(f"{returned} for k(A, B): must be {len(A), len(B)}")
        return (values, np.empty((*values.shape, 0))) if eval_gradient else values

    def is_stationary(self) -> bool:
        """Return whether k depends on x - x' only."""
        return isinstance(self, Stationary)

    @abstractmethod
    def _evaluate(self, A: Array, B: Array) -> Array:
        """Return k(A, B), (n, m), at points that have been checked."""


@dataclass(repr=False)
class Stationary(Kernel):
    """Base of the kernels k0 φ(r), custom ones too, with r = |(x - x') / L| and φ(0) = 1.

    A subclass implements `_correlation(q, derivative)` of squared distances q = r² >= 0, (...),
    without a unit. It returns φ and, if the flag says so, dφ/dq, each (...), else φ and None. It
    may overwrite q. φ must be positive semi-definite for this number of inputs; some functions that
    fall from one to zero are not. Further fields are dataclass fields, see `Kernel`.

    If dφ/dq is always None, only `predict_gradient` rejects the kernel. For `export.to_c` add
    `c_code`: statements in C that set `phi` and `slope` (dφ/dq) from `q` and from the further
    fields, by their names. They may declare `double` variables.

    Attributes:
        variance: k0, in the unit of the output squared.
        lengthscale: L, one number, or one for each (used) input, in the units of the inputs;
            infinite for an input that does not count.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> class Wendland(bnn.Stationary):  # zero from r = 1 on, for at most three inputs
        ...     c_code = (
        ...         "double s = q < 1.0 ? 1.0 - sqrt(q) : 0.0;"
        ...         "phi = s * s * s * s * (5.0 - 4.0 * s); slope = -10.0 * s * s * s;"
        ...     )
        ...
        ...     def _correlation(self, q, derivative):
        ...         s = np.maximum(1.0 - np.sqrt(q), 0.0)
        ...         return s**4 * (5.0 - 4.0 * s), -10.0 * s**3 if derivative else None
        >>> kernel = Wendland(variance=2.0, lengthscale=0.5)
        >>> kernel(np.array([[0.0]]), np.array([[0.0], [0.25], [0.6]]))
        array([[2.   , 0.375, 0.   ]])
        >>> prior = bnn.GaussianProcessPrior(0.0, kernel)
        >>> prior.sample([[0.0]], 3, random_state=0).shape
        (3, 1, 1)
        >>> model = bnn.GPRegressor(prior, noise=0.1).fit([[0.0], [0.4]], [0.0, 1.0])
        >>> model.predict_gradient([[0.2]])[0].round(2)
        array([[3.46]])
    """

    _scaled: ClassVar[tuple[str, ...]] = ("variance",)
    c_code: ClassVar[str | None] = None
    variance: float = 1.0
    lengthscale: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        _check_positive("variance", self.variance, number=True)
        _check_positive("lengthscale", self.lengthscale, least=LEAST_LENGTH, most=np.inf)
        self.variance = _comparable(self.variance)
        self.lengthscale = _comparable(self.lengthscale)

    def _evaluate(self, A: Array, B: Array) -> Array:
        scale = _per_input("lengthscale", self.lengthscale, A)
        # k = k0 φ(r), r = |(x - x') / L|
        r = cdist(A / scale, B / scale)
        q = np.square(np.minimum(r, FARTHEST, out=r), out=r)
        correlation = np.asarray(self._correlation(q, derivative=False)[0])
        # In the memory of r, since new memory takes longer than the product.
        out = r if correlation.shape == r.shape else None
        return np.asarray(np.multiply(self.variance, correlation, out=out))

    def diag(self, X: Array) -> Array:
        """Return the diagonal of k(X, X), the variance.

        Args:
            X: (n, n_in).

        Returns:
            k(x, x) at each point, (n,).
        """
        return np.full(len(seen_points("X", X)), float(self.variance))

    def gradient(self, a: Array, b: Array) -> Gradient:
        """Return the kernel and its gradient with respect to the first point.

        Args:
            a: points x, (..., n_in), in the units of the inputs.
            b: points x', (..., n_in), which broadcast with those of a.

        Returns:
            k(x, x'), (...), and ∂k/∂x, (..., n_in).

        Raises:
            ValueError: the class has no derivative of its correlation.
        """
        scale = np.asarray(self.lengthscale, dtype=float)
        away = a - b
        # q = Σ_i (a_i - b_i)² / L_i² and ∂q/∂a_i = 2 (a_i - b_i) / L_i²
        distances = np.clip(away / scale, -FARTHEST, FARTHEST)
        squares = np.asarray(np.sum(distances**2, axis=-1))
        values, slope = self._correlation(squares, derivative=True)
        if slope is None:
            raise ValueError(_unknown(self))
        by_q = 2.0 * self.variance * slope
        return self.variance * values, by_q[..., None] * away / scale**2

    def _correlation(self, q: Array, derivative: bool) -> tuple[Array, Array | None]:
        """Return φ and, if asked for, dφ/dq, of squared distances q, each (...)."""
        raise NotImplementedError(
            f"{type(self).__name__} needs a method _correlation(q, derivative)"
        )


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
        # dφ/dq = -exp(-r) / 2r is infinite at r = 0, where x - x', by which it is multiplied, is 0.
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
        s = np.sqrt(3.0 * q)
        decay = np.exp(-s)
        return (1.0 + s) * decay, -1.5 * decay if derivative else None


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
        s = np.sqrt(5.0 * q)
        decay = np.exp(-s)
        value = (1.0 + s + s**2 / 3.0) * decay
        return value, -5.0 / 6.0 * (1.0 + s) * decay if derivative else None


@dataclass(repr=False)
class RationalQuadratic(Stationary):
    """Mixture of squared exponentials, φ = (1 + r² / 2α)^-α.

    Attributes:
        alpha: α, the spread of the length scales.

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

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("alpha", self.alpha, number=True)
        self.alpha = _comparable(self.alpha)

    def _correlation(self, q: Array, derivative: bool) -> tuple[Array, Array | None]:
        base = 1.0 + q / (2.0 * self.alpha)
        value = base**-self.alpha
        return value, -0.5 * value / base if derivative else None


@dataclass(repr=False)
class Periodic(Stationary):
    """Periodic in each input, k0 exp(-2 Σ_i sin²(π (x_i - x'_i) / period) / L_i²).

    Attributes:
        period: Period, the same in every input.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.Periodic(1.0, 0.5, period=2.0)(X[:1], X).round(3)
        array([[1., 0.]])
    """

    period: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive("period", self.period, number=True, least=LEAST_LENGTH)
        self.period = _comparable(self.period)

    def _evaluate(self, A: Array, B: Array) -> Array:
        # k = k0 exp(-2 Σ_i sin²(π (x_i - x'_i) / period) / L_i²)
        angles = np.pi * (A[:, None, :] - B[None, :, :]) / self.period
        sines = np.sin(angles) / _per_input("lengthscale", self.lengthscale, A)
        return np.asarray(self.variance * np.exp(-2.0 * np.sum(sines**2, axis=-1)))

    def gradient(self, a: Array, b: Array) -> Gradient:
        """Return the kernel and its gradient with respect to the first point.

        Args:
            a: points x, (..., n_in), in the units of the inputs.
            b: points x', (..., n_in), which broadcast with those of a.

        Returns:
            k(x, x'), (...), and ∂k/∂x, (..., n_in).
        """
        scale = np.asarray(self.lengthscale, dtype=float)
        angle = np.pi * (a - b) / self.period
        values = self.variance * np.exp(-2.0 * np.sum((np.sin(angle) / scale) ** 2, axis=-1))
        # ∂/∂a_i (-2 sin² u_i / L_i²) = -2 π sin(2 u_i) / (period L_i²)
        slopes = -2.0 * np.pi * np.sin(2.0 * angle) / (self.period * scale**2)
        return values, values[..., None] * slopes


@dataclass(repr=False)
class Linear(Kernel):
    """Linear functions with Gaussian coefficients, Σ_i k0_i (x_i - o_i) (x'_i - o_i) + offset.

    Attributes:
        variance: k0 of the slopes, one number or one for each (used) input; 0 leaves it out.
        offset: Variance of the value at the origin.
        origin: o, one number or one for each (used) input.
        reach: Largest size of x_i - o_i, one number or one for each (used) input: beyond that
            distance from the origin the functions are constant.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0]])
        >>> bnn.Linear(variance=2.0, offset=1.0)(X[:1], X).round(3)
        array([[1., 1.]])
    """

    _scaled: ClassVar[tuple[str, ...]] = ("variance", "offset")
    variance: float | tuple[float, ...] = 1.0
    offset: float = 0.0
    origin: float | tuple[float, ...] = 0.0
    reach: float | tuple[float, ...] = np.inf

    def __post_init__(self) -> None:
        _check_positive("reach", self.reach, most=np.inf)
        self.reach = _comparable(self.reach)
        for name, most in (("variance", 1), ("offset", 0), ("origin", 1)):
            array = as_finite(name, getattr(self, name), sys.float_info.max)
            if array.ndim > most or not array.size:
                raise ValueError(f"{name} has shape {array.shape}: must be a number or (n_in,)")
        self.variance = _comparable(self.variance)
        self.offset = _comparable(self.offset)
        self.origin = _comparable(self.origin)
        values = np.append(self.variance, self.offset)
        if not np.all(values >= 0) or not values.any():
            given = f"variance = {self.variance}, offset = {self.offset}"
            raise ValueError(f"{given}: must be >= 0, not all 0")

    def _evaluate(self, A: Array, B: Array) -> Array:
        variance = _per_input("variance", self.variance, A)
        _per_input("origin", self.origin, A)
        _per_input("reach", self.reach, A)
        # k = (x - o)ᵀ diag(k0) (x' - o) + offset
        return (self.away(A) * variance) @ self.away(B).T + self.offset

    def away(self, X: Array) -> Array:
        """Return x - o, no larger than the reach.

        Args:
            X: Points, (..., n_in).

        Returns:
            (..., n_in).
        """
        reach = np.asarray(self.reach)
        return np.asarray(np.clip(X - np.asarray(self.origin), -reach, reach))

    def diag(self, X: Array) -> Array:
        """Return the diagonal of k(X, X).

        Args:
            X: (n, n_in).

        Returns:
            k(x, x) at each point, (n,).
        """
        X = seen_points("X", X)
        # k(x, x) = Σ_i k0_i (x_i - o_i)² + offset
        away = self.away(X) ** 2
        variance = _per_input("variance", self.variance, X)
        return np.asarray(np.sum(variance * away, axis=1) + self.offset)

    def gradient(self, a: Array, b: Array) -> Gradient:
        """Return the kernel and its gradient with respect to the first point.

        Args:
            a: points x, (..., n_in), in the units of the inputs.
            b: points x', (..., n_in), which broadcast with those of a.

        Returns:
            k(x, x'), (...), and ∂k/∂x, (..., n_in).
        """
        slope = np.asarray(self.variance) * self.away(b)
        values = np.sum(self.away(a) * slope, axis=-1) + self.offset
        # The functions are constant beyond their reach.
        inside = np.abs(a - np.asarray(self.origin)) <= np.asarray(self.reach)
        return values, slope * inside * np.ones(np.broadcast_shapes(a.shape, b.shape))


@dataclass(repr=False)
class Multiple(Kernel):
    """Multiples of one output of a model, with a Gaussian factor, k0 m_j(x) m_j(x').

    Attributes:
        model: X (n, n_in) → (n, n_out).
        output: j.
        variance: k0 of the factor.
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
        """Return k(x, x) at each point of X (n, n_in), (n,)."""
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
    sk.WhiteKernel,
)
for _kind in STORED:
    register(_kind, lambda kernel: kernel.get_params(deep=False), _kind)


def _unknown(kernel: sk.Kernel) -> str:
    return f"the kernel {type(kernel).__name__} has no gradient"


def kernel_gradient(kernel: sk.Kernel, a: Array, b: Array) -> Gradient:
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
    own = getattr(kernel, "gradient", None)
    if own is not None:
        found: Gradient = own(a, b)
        return found
    shape = np.broadcast_shapes(a.shape, b.shape)
    if isinstance(kernel, sk.Sum | sk.Product):
        first, by_first = kernel_gradient(kernel.k1, a, b)
        second, by_second = kernel_gradient(kernel.k2, a, b)
        if isinstance(kernel, sk.Sum):
            return first + second, by_first + by_second
        return first * second, first[..., None] * by_second + second[..., None] * by_first
    if isinstance(kernel, sk.ConstantKernel):
        return np.full(shape[:-1], kernel.constant_value), np.zeros(shape)
    if isinstance(kernel, sk.WhiteKernel):
        return np.zeros(shape[:-1]), np.zeros(shape)
    raise ValueError(_unknown(kernel))
