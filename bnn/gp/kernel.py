"""The base of covariance functions k(x, x') of Gaussian process priors.

One class per kernel holds its values, its gradient and, if it is stationary, its correlation in C.
`predict_gradient` uses nothing else of a kernel. The search for hyperparameters and the exports to
C and ONNX treat `Linear` and `Warped` apart. What a kernel lacks is an error that names the kernel.

Every kernel is a scikit-learn kernel without free parameters. Sums and products may mix kernels of
bnn and scikit-learn. A parameter that is None is open: a fit estimates it, see
`bnn.gp.open_parameters`.
"""

import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as sk

from bnn._validation import LARGEST, Array, as_array, as_points
from bnn.storage import storable
from safe_files.text import Short

# Values k(a, b) of a kernel, and ∂k/∂a.
Gradient: TypeAlias = tuple[Array, Array]
Open: TypeAlias = Any  # None, for a number that a fit estimates
Place: TypeAlias = tuple[str, int | None]  # the name of a field, and the index of its entry

LEAST_LENGTH = 1.0 / LARGEST  # least length scale or period
FARTHEST = 1e75  # larger distances are reduced to it, so that their fourth powers are finite
QUANTITIES = ("variance", "slope", "length", "ratio", "period", "number")  # of `quantities`
UNLISTED = ""  # the kind of an open field that `quantities` does not list
STEP = 1e-4  # step of differences of fourth order, relative to the parameter that is changed


def is_open(value: Any) -> bool:
    """Return whether a parameter, or an entry of it, is None."""
    return value is None or (isinstance(value, tuple | list) and any(v is None for v in value))


def set_entries(value: Any) -> Any:
    """Return the entries of a parameter that are not open, () for None."""
    return tuple(v for v in value or () if v is not None) if is_open(value) else value


def check_parameter(
    name: str,
    value: Any,
    number: bool = False,
    least: float = 0.0,
    most: float = sys.float_info.max,
    or_open: bool = False,
) -> None:
    """Raise ValueError unless a parameter is valid.

    Args:
        name: Name of the parameter.
        value: Its value, which must be > 0: one number or (n_in,).
        number: Whether it must be one number.
        least: Least value.
        most: Largest value.
        or_open: Whether the value, or an entry of it, may be None.

    Raises:
        ValueError: If the value is of another kind, or outside the limits.
    """
    if or_open and is_open(value) and (value is None or not number):
        value = set_entries(value)
        if not value:
            return
    values = as_array(name, value)
    positive = values.size and np.all((values > 0) & (values <= most))
    if values.ndim > (0 if number else 1) or not positive:
        raise ValueError(f"{name} = {value!s}: must be {'one number ' if number else ''}> 0")
    if values.min() < least:
        raise ValueError(f"{name} = {value!s}: must be at least {least:g}")


def comparable(value: Any) -> Any:
    """Return a list or an array as a tuple, or as a number, so that kernels can be compared."""
    if value is None or isinstance(value, int | float | tuple):
        return value
    if is_open(value):
        return tuple(value)
    values = np.asarray(value, dtype=float).tolist()
    return tuple(values) if isinstance(values, list) else values


def differences(at: Callable[[float], Array]) -> Array:
    """Return the derivative at zero of a function of a number of steps, by central differences."""
    # (8 (f(1) - f(-1)) - (f(2) - f(-2))) / 12
    return (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / 12.0


def seen_points(name: str, X: ArrayLike) -> Array:
    """Return points, checked as by `as_points`, but without a copy if possible.

    A search calls kernels and means thousands of times, and they do not keep the points.
    """
    if isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray):
        ready = X.dtype == np.float64 and X.ndim == 2 and X.size > 0
        if ready and np.abs(X).max() <= LARGEST:  # False for NaN
            return np.asarray(X)
    return as_points(name, X)


def of_each_input(name: str, value: ArrayLike, n: int) -> Array:
    """Return a parameter as an array of one or n entries; other sizes raise ValueError."""
    values = np.asarray(value, dtype=float)
    if values.size not in (1, n):
        raise ValueError(f"{name} has {values.size} entries: must be one, or {n} as the inputs")
    return values


def check_finite(
    kernel: sk.Kernel, values: Array, A: Array, B: Array | None = None, what: str = ""
) -> None:
    """Raise ValueError if values of a kernel are not finite.

    Args:
        kernel: The kernel.
        values: Values at points A, (n, ...), or between A and B, (n, m, ...).
        A: The inputs of the kernel, (n, n_in).
        B: (m, n_in); None if the values belong to A alone.
        what: What the values are if they are not those of k, such as "the gradient of ".

    Raises:
        ValueError: If a value is not finite; the message has a point where it is not.
    """
    if np.isfinite(values).all():
        return
    wrong = ~np.isfinite(values)
    pairs = wrong.reshape(len(A), 1 if B is None else len(B), -1).any(axis=-1)
    shares = pairs.mean(axis=1)  # of the pairs of each point that are not finite
    points = A
    if B is not None:
        points = np.vstack([A, B])
        shares = np.concatenate([shares, pairs.mean(axis=0)])
    # If k(x, x) is not finite either, the other point of a pair is not to blame.
    shares += ~np.isfinite(kernel.diag(points))
    first = shares.argmax()
    name = _faulty(kernel, points[[first]])
    raise ValueError(f"{what}the kernel {name} is not finite at X = {points[first].tolist()}")


def _faulty(kernel: sk.Kernel, x: Array) -> str:
    """Return the name of a kernel, or of its part that is not finite at x (1, n_in)."""
    parts = [kernel.k1, kernel.k2] if isinstance(kernel, sk.Sum | sk.Product) else []
    if isinstance(kernel, sk.Exponentiation):
        parts = [kernel.kernel]
    for inner in parts:
        if not np.isfinite(inner.diag(x)).all():
            return _faulty(inner, x)
    return type(kernel).__name__


def without_gradient(kernel: sk.Kernel) -> str:
    """Return the error message for a kernel without a gradient with respect to its points."""
    return f"the kernel {type(kernel).__name__} has no gradient"


class Kernel(Short, sk.Kernel):  # type: ignore[misc, unused-ignore]
    """Base of all kernels, including custom ones: scikit-learn kernels with fixed parameters.

    A subclass implements `_evaluate(A, B)`, which returns k(A, B), (n, m), at points A (n, n_in)
    and B (m, n_in). It also implements `diag(X)`, which returns k(x, x), (n,), at the points X (n,
    n_in). Points are finite float64 arrays in the units of the inputs, and have only the inputs
    that `active_dims` of the prior selects. The unit of k is that of the output squared. Every
    matrix k(X, X) must be positive semi-definite. Fits and predictions raise ValueError at points
    where k is not finite. Parameters are fields of a dataclass, numbers or tuples of numbers, so
    that equal kernels are recognised. If k depends only on |(x - x') / L|, derive from
    `Stationary`.

    `GaussianProcessPrior` accepts such a kernel, also in sums and products with others.
    `GPRegressor`, ensembles and `select_runs` then work with this prior. For `predict_gradient` add
    a method `gradient(a, b)` that returns k, (...), and ∂k/∂a, (..., n_in), at points a and b,
    (..., n_in), that broadcast. A saved model stores the fields of the kernel; define its class
    before loading. The C export supports custom kernels only if they are stationary with `c_code`.

    Set a field that has a positive default to None to estimate it (an open field): `GPRegressor`
    and `evidence.fit_prior` then find its value, which is positive. Its hyperprior is log-normal,
    and the logarithm has a standard deviation of two. If the formula shows that the field has a
    unit, the data set the median. Otherwise the median is the default. If the formula does not show
    the unit, the class lists it in `quantities`, a dict from names to kinds. Each kind has a
    median. For "variance" it is the variance of the output, for "length" the range of each input.
    For "slope" (a variance over a squared length) it comes from both. It is 1 for "ratio" (a length
    without unit), 0.3 of the range for "period", and the default for "number". Always list a
    period, because its search needs more starts. With several inputs a length, slope or ratio that
    is None becomes a tuple. In a tuple each None is open. The search needs derivatives of k with
    respect to open fields. It uses differences, unless the class has a method `parameter_gradient`.

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

    __array_ufunc__ = None  # makes NumPy numbers leave their product with a kernel to the kernel
    _scaled: ClassVar[tuple[str, ...]] = ()  # fields that a product with a number multiplies
    # The kind of each field: a "variance", the variance of a "slope", a "length", a "ratio" (a
    # length without unit) or a "period". Slopes, lengths and ratios have an entry for each input.
    # A "number" has its default as the median. The kind of any other field that has a positive
    # default is UNLISTED, and its unit follows from the formula.
    quantities: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        """Register a class for storage; a new formula removes inherited gradients and C code."""
        super().__init_subclass__()
        storable(cls)
        inherited = super(cls, cls).quantities
        cls.quantities = {**inherited, **vars(cls).get("quantities", {})}
        for name, kind in cls.quantities.items():
            if kind not in QUANTITIES:
                needed = f"must be one of {', '.join(QUANTITIES)}"
                raise ValueError(f"quantities[{name!r}] of {cls.__name__} = {kind!r:.60}: {needed}")
        if "_evaluate" in vars(cls) and "parameter_gradient" not in vars(cls):
            cls.parameter_gradient = Kernel.parameter_gradient  # type: ignore[method-assign]
        pairs = ("_evaluate", "gradient"), ("_evaluate", "c_code"), ("_correlation", "c_code")
        for formula, follows in pairs:
            if formula in vars(cls) and follows not in vars(cls):
                setattr(cls, follows, None)

    def __mul__(self, other: Any) -> sk.Kernel:
        """Return the product with a kernel, or this kernel with its variances times a number."""
        if isinstance(other, sk.Kernel):
            return sk.Product(self, other)
        check_parameter("factor", other, number=True)
        factor = float(other)
        parameters = self.get_params(deep=False)
        if not self._scaled or any(is_open(parameters[name]) for name in self._scaled):
            return sk.Product(sk.ConstantKernel(factor, "fixed"), self)
        scaled = {name: np.multiply(factor, parameters[name]).tolist() for name in self._scaled}
        return type(self)(**parameters | scaled)

    __rmul__ = __mul__

    def __call__(
        self, X: Array, Y: Array | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]:
        """Return k(X, Y), (n, m); with eval_gradient also (n, m, 0), as no parameter is free."""
        self.check_set()
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

    def open_fields(self) -> dict[str, str]:
        """Return the names of open fields with their kinds, see `quantities`."""
        if not is_dataclass(self):
            return {}
        kinds = {}
        for field in fields(self):
            entries = field.default if isinstance(field.default, tuple) else (field.default,)
            positive = all(isinstance(v, int | float) and 0.0 < v < np.inf for v in entries)
            kind = self.quantities.get(field.name, UNLISTED if entries and positive else None)
            if kind is not None and is_open(getattr(self, field.name)):
                kinds[field.name] = kind
        return kinds

    def check_set(self) -> None:
        """Raise ValueError if a parameter is open."""
        for name in self.open_fields():
            value = getattr(self, name)
            needed = "only GPRegressor and evidence.fit_prior estimate it, give a value"
            raise ValueError(f"{name} = {value} of the kernel {type(self).__name__}: {needed}")

    def parameter_gradient(self, X: Array, name: str, entry: int | None) -> Array:
        """Return the derivative of k(X, X) with respect to a parameter, by differences.

        A class may replace this method by one with a formula.

        Args:
            X: (n, n_in).
            name: Name of the field, which is a positive number or a tuple of positive numbers.
            entry: Index of the entry if the field is a tuple, else None.

        Returns:
            ∂k/∂θ, (n, n).
        """
        value = getattr(self, name) if entry is None else getattr(self, name)[entry]
        step = STEP * float(value)

        def at(steps: float) -> Array:
            return np.asarray(with_parameters(self, {(name, entry): value + steps * step})(X))

        return differences(at) / step

    @abstractmethod
    def _evaluate(self, A: Array, B: Array) -> Array:
        """Return k(A, B), (n, m), at points that have been checked."""


def with_parameters(kernel: Kernel, values: Mapping[Place, float]) -> Any:
    """Return a kernel whose open parameters, or others, have values."""
    changed: dict[str, Any] = {field.name: getattr(kernel, field.name) for field in fields(kernel)}
    for (name, entry), value in values.items():
        if entry is None:
            changed[name] = float(value)
        else:
            entries = list(changed[name])
            entries[entry] = float(value)
            changed[name] = comparable(entries)
    return type(kernel)(**changed)


@dataclass(repr=False)
class Stationary(Kernel):
    """Base of the kernels k0 φ(r), including custom ones, with r = |(x - x') / L| and φ(0) = 1.

    A subclass implements `_correlation(q, derivative)`, where q = r² >= 0, (...), are squared
    distances without a unit. It returns φ and dφ/dq, (...) each, if `derivative` is True, else φ
    and None. It may overwrite q. φ must be positive semi-definite for the number of inputs; not
    every function that falls from one to zero is. Declare further parameters as fields of the
    dataclass, see `Kernel`.

    At q = 0, φ must be one. There dφ/dq may be infinite or NaN: its factor q or x - x' is zero, and
    their product is taken as zero. At q > 0 it must be finite.

    If dφ/dq is always None, only `predict_gradient` rejects the kernel. For `export.to_c` add
    `c_code`: statements in C that set `phi` and `slope` (dφ/dq) from `q` and from the further
    fields, by their names. They may declare `double` variables.

    Attributes:
        variance: k0, in the unit of the output squared. None is open.
        lengthscale: L, in the units of the inputs: one number, or one per input that the kernel
            uses; infinite for an input without effect. None is open, with a length scale for each
            input. Each None in a tuple is open.

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
    quantities: ClassVar[Mapping[str, str]] = {"variance": "variance", "lengthscale": "length"}
    c_code: ClassVar[str | None] = None
    variance: float | Open = 1.0
    lengthscale: float | tuple[float | Open, ...] | Open = 1.0

    def __post_init__(self) -> None:
        check_parameter("variance", self.variance, number=True, or_open=True)
        check_parameter(
            "lengthscale", self.lengthscale, least=LEAST_LENGTH, most=np.inf, or_open=True
        )
        self.variance = comparable(self.variance)
        self.lengthscale = comparable(self.lengthscale)

    def _evaluate(self, A: Array, B: Array) -> Array:
        scale = of_each_input("lengthscale", self.lengthscale, A.shape[1])
        # k = k0 φ(r), r = |(x - x') / L|
        r = cdist(A / scale, B / scale)
        q = np.square(np.minimum(r, FARTHEST, out=r), out=r)
        correlation = np.asarray(self.correlation(q))
        # Reuse the memory of r: allocating new memory takes longer than the product.
        out = r if correlation.shape == r.shape else None
        return np.asarray(np.multiply(self.variance, correlation, out=out))

    def diag(self, X: Array) -> Array:
        """Return the variance k(x, x), (n,), at the points X (n, n_in)."""
        self.check_set()
        return np.full(len(seen_points("X", X)), self.variance, dtype=float)

    def gradient(self, a: Array, b: Array) -> Gradient:
        """Return the kernel and its gradient with respect to the first point.

        Args:
            a: Points x, (..., n_in), in the units of the inputs.
            b: Points x', (..., n_in), broadcastable against a.

        Returns:
            k(x, x'), (...), and ∂k/∂x, (..., n_in).

        Raises:
            ValueError: If the class has no derivative of its correlation, or dφ/dq is not finite at
                q > 0.
        """
        scale = np.asarray(self.lengthscale, dtype=float)
        away = a - b
        # q = Σ_i (a_i - b_i)² / L_i² and ∂q/∂a_i = 2 (a_i - b_i) / L_i²
        distances = np.clip(away / scale, -FARTHEST, FARTHEST)
        squares = np.asarray(np.sum(distances**2, axis=-1))
        values, slope = self.correlation_and_slope(squares)
        by_q = 2.0 * self.variance * slope
        return self.variance * values, by_q[..., None] * away / scale**2

    def parameter_gradient(self, X: Array, name: str, entry: int | None) -> Array:
        """Return ∂k/∂θ, (n, n), of k(X, X) for one parameter, see `Kernel.parameter_gradient`."""
        if name == "variance":
            return np.asarray(self(X)) / self.variance
        if name != "lengthscale":
            return super().parameter_gradient(X, name, entry)
        scale = of_each_input("lengthscale", self.lengthscale, X.shape[1])
        q = np.minimum(cdist(X / scale, X / scale), FARTHEST) ** 2
        # ∂q/∂L_i = -2 (x_i - x'_i)² / L_i³, and -2 q / L for a single L of all inputs
        if entry is None:
            by_scale = -2.0 * q / scale
        else:
            away = (X[:, entry, None] - X[None, :, entry]) / scale[entry]
            by_scale = -2.0 * np.clip(away, -FARTHEST, FARTHEST) ** 2 / scale[entry]
        slope = self._with_slope(q)[1]
        if slope is None:
            return super().parameter_gradient(X, name, entry)
        return np.asarray(self.variance * slope * by_scale)

    def correlation(self, q: Array) -> Array:
        """Return φ.

        Args:
            q: Squared distances r² >= 0, (...), which may be overwritten.

        Returns:
            φ, (...).
        """
        return self._correlation(q, derivative=False)[0]

    def correlation_and_slope(self, q: Array) -> tuple[Array, Array]:
        """Return φ and its derivative.

        Args:
            q: Squared distances r² >= 0, (...), which may be overwritten.

        Returns:
            φ and dφ/dq, (...) each.

        Raises:
            ValueError: If the class has no derivative of its correlation.
        """
        values, slope = self._with_slope(q)
        if slope is None:
            raise ValueError(without_gradient(self))
        return values, slope

    def _with_slope(self, q: Array) -> tuple[Array, Array | None]:
        """Return φ and dφ/dq, which is finite, or None if the class has no derivative.

        At q = 0 a derivative that is not finite becomes zero, because its factor is zero.

        Raises:
            ValueError: If dφ/dq is not finite at q > 0.
        """
        with np.errstate(divide="ignore", invalid="ignore"):  # at q = 0
            values, slope = self._correlation(q, derivative=True)
        if slope is None or np.isfinite(slope).all():
            return values, slope
        infinite = ~np.isfinite(slope)
        # `_correlation` may have overwritten q, but only at q = 0 is φ = 1.
        for value in values[infinite & (values != 1.0)][:1]:
            name = type(self).__name__
            raise ValueError(f"dφ/dq of the kernel {name} is not finite where φ = {value:.6g}")
        return values, np.where(infinite, 0.0, slope)

    def _correlation(self, q: Array, derivative: bool) -> tuple[Array, Array | None]:
        """Return φ, and dφ/dq if `derivative` is True, else None, at squared distances q (...)."""
        raise NotImplementedError(
            f"{type(self).__name__} needs a method _correlation(q, derivative)"
        )
