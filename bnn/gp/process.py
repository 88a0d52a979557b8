"""Gaussian process priors: a mean, one kernel for each output, bounds, and sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpstrf
from sklearn.gaussian_process import kernels as sk

from bnn._seeding import RandomState, generator, member_generators, seed_sequence, spawn
from bnn._validation import (
    Array,
    as_array,
    as_columns,
    as_finite,
    check_count,
    check_function,
    check_integers,
    is_row,
    own_copy,
    read_only,
    varies,
)
from bnn.gp.kernel import check_finite, seen_points
from bnn.gp.kernels import RBF
from bnn.gp.means import LinearMean, RandomMean
from bnn.gp.open_parameters import check_others, of_inputs, open_parameters
from bnn.priors.function_prior import FunctionPrior
from safe_files.progress import counted

MOST_ROWS = 10_000  # most rows of a covariance whose root is computed; so many take minutes
ROUNDING_ERROR = 1e-8  # largest error of a covariance that counts as rounding, relative to its size
CHECKED = 5  # most points at which a kernel is checked


@dataclass(frozen=True, repr=False)
class GaussianProcessPrior(FunctionPrior):
    """Independent Gaussian processes, one for each output.

    Attributes:
        mean: A number, a sequence of numbers, one for each output, a function X → (n,) or
            (n, n_out), a LinearMean or a RandomMean.
        kernel: Kernel of bnn or scikit-learn for all outputs, or a sequence, one for each output.
            Parameters that are None are open: `GPRegressor` and `evidence.fit_prior` estimate them.
        n_outputs: Number of outputs. None takes it from the parameters that have an entry for each
            output; without them there is one output.
        active_dims: Indices of the inputs that the kernel uses, or such a list for each
            output; None uses all.
        bounds: (low, high), each None, a number or (n_out,); realisations are clipped to them.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> prior = bnn.GaussianProcessPrior(mean=1.0, kernel=bnn.RBF(2.0, 0.5), n_outputs=2)
        >>> prior.sample(np.zeros((3, 1)), n_samples=4, random_state=0).shape
        (4, 3, 2)
        >>> prior.covariance(np.zeros((1, 1)), np.zeros((1, 1)))
        array([[2.]])
    """

    mean: float | Sequence[float] | Callable[[Array], ArrayLike] | RandomMean = 0.0
    kernel: sk.Kernel | Sequence[sk.Kernel] = field(default_factory=RBF)
    n_outputs: int = None  # type: ignore[assignment]  # an integer once the prior is made
    active_dims: Sequence[int] | Sequence[Sequence[int]] | None = None
    bounds: tuple[ArrayLike | None, ArrayLike | None] = (None, None)

    def __post_init__(self) -> None:
        for item in fields(self):
            object.__setattr__(self, item.name, own_copy(getattr(self, item.name)))
        self._check_mean()
        if not (
            isinstance(self.kernel, sk.Kernel)
            or (
                isinstance(self.kernel, Sequence)
                and len(self.kernel)
                and all(isinstance(kernel, sk.Kernel) for kernel in self.kernel)
            )
        ):
            raise ValueError(f"kernel = {self.kernel!r:.60}: must be a kernel, or one per output")
        self._check_bounds()
        self._count_outputs()
        for kernel in self.kernels:
            check_others(kernel)
        for name, chosen in self._features_by_name().items():
            check_integers(name, chosen, 0)
        low, high = self.limits
        if not np.all(low < high):
            raise ValueError(f"bounds = {self.bounds}: low must be below high")

    def _check_mean(self) -> None:
        """Raise ValueError unless the mean is valid; a sequence becomes a tuple of numbers."""
        if isinstance(self.mean, sk.Kernel):
            raise ValueError(f"mean = {self.mean!r:.60}: is a kernel, give it as kernel=")
        if callable(self.mean):
            check_function("mean", self.mean)
        elif not isinstance(self.mean, RandomMean):
            needed = "must be a number, a number for each output, or a function"
            if is_row(self.mean) and any(callable(value) for value in self.mean):
                raise ValueError(f"mean = {self.mean!r:.60}: {needed}")
            values = as_finite("mean", self.mean)
            if values.ndim > 1 or not values.size:
                raise ValueError(f"mean = {self.mean!r:.60}: {needed}")
            if values.ndim:
                object.__setattr__(self, "mean", tuple(values.tolist()))

    def _features_by_name(self) -> dict[str, Any]:
        """Return the lists of inputs, with the names that error messages use."""
        if self.active_dims is None:
            return {}
        if not self._per_output:
            return {"active_dims": self.active_dims}
        return {f"active_dims[{j}]": chosen for j, chosen in enumerate(self.active_dims)}

    def _check_bounds(self) -> None:
        """Raise ValueError unless the bounds are a pair, each a number or a sequence."""
        if not is_row(self.bounds) or len(self.bounds) != 2:
            raise ValueError(f"bounds = {self.bounds!r:.60}: must be (low, high)")
        for bound in self.bounds:
            if as_array("bounds", () if bound is None else bound).ndim > 1:
                needed = "each side must be a number, or a number for each output"
                raise ValueError(f"bounds = {self.bounds!r:.60}: {needed}")

    def _count_outputs(self) -> None:
        """Set the number of outputs, and raise ValueError if parameters contradict it."""
        counts = {
            name: len(value)
            for name, value in (
                ("mean", self.mean),
                ("kernel", self.kernel),
                ("active_dims", self.active_dims if self._per_output else None),
                ("bounds[0]", self.bounds[0]),
                ("bounds[1]", self.bounds[1]),
            )
            if is_row(value)
        }
        if isinstance(self.mean, LinearMean) and len(np.asarray(self.mean.coefficients)) > 1:
            counts["mean"] = len(np.asarray(self.mean.coefficients))
        if self.n_outputs is None:
            object.__setattr__(self, "n_outputs", next(iter(counts.values()), 1))
        check_count("n_outputs", self.n_outputs, 1)
        for name, count in counts.items():
            if count != self.n_outputs:
                needed = f"must be {self.n_outputs}, one for each output"
                raise ValueError(f"{name} has {count} entries: {needed}")

    @property
    def limits(self) -> Array:
        """The bounds of each output, (2, n_out), infinite where there are none."""
        pairs = zip(self.bounds, (-np.inf, np.inf), strict=True)
        sides = [np.asarray(d if b is None else b, dtype=float) for b, d in pairs]
        return np.stack([np.broadcast_to(side, self.n_outputs) for side in sides])

    @property
    def kernels(self) -> list[sk.Kernel]:
        """The kernel of each output."""
        one = isinstance(self.kernel, sk.Kernel)
        return [self.kernel] * self.n_outputs if one else list(self.kernel)

    @property
    def is_open(self) -> bool:
        """Whether a kernel has parameters that are None, which a fit has to estimate."""
        return any(open_parameters(kernel) for kernel in self.kernels)

    def check_set(self) -> None:
        """Raise ValueError if a parameter of a kernel is open."""
        for kernel in self.kernels:
            for parameter in open_parameters(kernel)[:1]:
                parameter.kernel.check_set()

    @property
    def alike(self) -> list[int]:
        """For each output, the index of the first output with the same kernel and features."""
        features: Any = (
            self.active_dims if self._per_output else [self.active_dims] * self.n_outputs
        )
        pairs = [(np.ravel(f).tolist(), k) for f, k in zip(features, self.kernels, strict=True)]
        return [pairs.index(pair) for pair in pairs]

    @property
    def _per_output(self) -> bool:
        return (
            is_row(self.active_dims) and len(self.active_dims) > 0 and is_row(self.active_dims[0])
        )

    def active_dims_of(self, output: int, n_features: int) -> list[int]:
        """Return the inputs that the kernel of one output uses.

        Args:
            output: Index of the output.
            n_features: Number of inputs.

        Returns:
            Indices of the inputs.

        Raises:
            ValueError: If `active_dims` names an input that does not exist.
        """
        if self.active_dims is None:
            return list(range(n_features))
        features = self.active_dims[output] if self._per_output else self.active_dims
        chosen = [int(i) for i in np.ravel(features)]
        if not chosen or min(chosen) < 0 or max(chosen) >= n_features:
            raise ValueError(f"active_dims = {chosen}: must be among 0 to {n_features - 1}")
        return chosen

    def of_inputs(self, X: Array) -> GaussianProcessPrior:
        """Return the prior with open parameters only for inputs that vary.

        Args:
            X: Inputs of the data, (N, n_in).

        Returns:
            The prior, in which an input that is constant in X has no open parameter.

        Raises:
            ValueError: If a kernel parameter has the wrong number of entries, or open slopes belong
                only to constant inputs.
        """
        features = [self.active_dims_of(j, X.shape[1]) for j in range(self.n_outputs)]
        pairs = zip(self.kernels, features, strict=True)
        return replace(self, kernel=[of_inputs(k, varies(X[:, seen])) for k, seen in pairs])

    def covariance(self, A: Array, B: Array, output: int = 0) -> Array:
        """Evaluate the kernel of one output on its features.

        Args:
            A: (n, n_in).
            B: (m, n_in).
            output: Index of the output.

        Returns:
            k(A, B), (n, m).

        Raises:
            ValueError: If points or values of the kernel are not finite, if A and B differ in their
                number of inputs, or if the output or an input of `active_dims` does not exist.
        """
        if not (isinstance(output, int | np.integer) and 0 <= output < self.n_outputs):
            raise ValueError(f"output = {output!r:.60}: must be among 0 to {self.n_outputs - 1}")
        A = seen_points("A", A)
        B = seen_points("B", B)
        if A.shape[1] != B.shape[1]:
            raise ValueError(f"A has {A.shape[1]} inputs and B {B.shape[1]}: must be equal")
        chosen = self.active_dims_of(output, A.shape[1])
        A, B = A[:, chosen], B[:, chosen]
        K = np.asarray(self.kernels[output](A, B))
        check_finite(self.kernels[output], K, A, B)
        return K

    def check_kernels(self, X: Array) -> None:
        """Check that k(X, X) is finite and symmetric, with the diagonal `diag(X)`, for each output.

        Args:
            X: Points, (n, n_in), of which the first five are used.

        Raises:
            ValueError: If one of these conditions is violated.
        """
        for j, kernel in enumerate(self.kernels):
            points = X[:CHECKED, self.active_dims_of(j, X.shape[1])]
            K = np.asarray(kernel(points))
            diagonal = np.asarray(kernel.diag(points))
            largest = ROUNDING_ERROR * np.abs(K).max()
            if diagonal.shape != (len(points),):
                shapes = f"{diagonal.shape}: must be {(len(points),)}"
                raise ValueError(f"the kernel of output {j}: diag(X) has shape {shapes}")
            check_finite(kernel, K, points, points)
            if np.any(np.abs(np.diagonal(K) - diagonal) > largest):
                raise ValueError(
                    f"the kernel of output {j}: diag(X) is not the diagonal of k(X, X)"
                )
            if np.any(np.abs(K - K.T) > largest):
                raise ValueError(f"the kernel of output {j}: k(X, X) is not symmetric")

    def variances(self, X: Array) -> Array:
        """Evaluate the variances of all outputs.

        Args:
            X: (n, n_in).

        Returns:
            k(x, x) of each output at each point, (n_out, n).

        Raises:
            ValueError: If one of them is not finite.
        """
        self.check_set()
        X = seen_points("X", X)
        seen = [X[:, self.active_dims_of(j, X.shape[1])] for j in range(self.n_outputs)]
        variances = []
        for kernel, points in zip(self.kernels, seen, strict=True):
            variances.append(kernel.diag(points))
            check_finite(kernel, variances[-1], points)
        return np.stack(variances)

    def covariances(self, A: Array, B: Array) -> Array:
        """Return k(A, B) of each output, (n_out, n, m), at points A (n, n_in) and B (m, n_in)."""
        return np.stack([self.covariance(A, B, j) for j in range(self.n_outputs)])

    def mean_values(self, X: Array, rng: np.random.Generator | None = None) -> Array:
        """Evaluate the mean.

        Args:
            X: (n, n_in).
            rng: Generator that draws the parameters of a random mean.

        Returns:
            m(X), (n, n_out).

        Raises:
            ValueError: If the mean returned another shape or a value that is not finite, or is
                random and rng is missing.
        """
        X = seen_points("X", X)
        shape = (len(X), self.n_outputs)
        if isinstance(self.mean, RandomMean):
            if not isinstance(rng, np.random.Generator):
                raise ValueError(f"rng = {rng!r:.60}: must be a generator, as the mean is random")
            values = as_columns("mean(X, rng)", self.mean.function(read_only(X), rng), len(X))
        elif callable(self.mean):
            values = as_columns("mean(X)", self.mean(read_only(X)), len(X))
        else:
            values = np.reshape(np.asarray(self.mean, dtype=float), (1, -1))
        if values.shape[1] not in (1, self.n_outputs):
            raise ValueError(f"mean returned shape {values.shape}: must be {shape}")
        for i in np.flatnonzero(~np.isfinite(values).all(axis=1))[:1]:
            raise ValueError(f"mean(X) is not finite at X = {X[i].tolist()}")
        return np.broadcast_to(values, shape)

    def linear_mean(self, n_in: int) -> tuple[Array, Array]:
        """Return A and a of a mean A x + a, which is constant or linear.

        Args:
            n_in: Number of inputs.

        Returns:
            A, (n_out, n_in), and a, (n_out,).

        Raises:
            ValueError: If the mean is a function without a method `linear(n_in)`.
        """
        slopes = np.zeros((self.n_outputs, n_in))
        mean: Any = self.mean
        is_function = callable(mean) or isinstance(mean, RandomMean)
        if is_function and not hasattr(mean, "linear"):
            needed = "must be a number, a number for each output, or a LinearMean"
            raise ValueError(f"the mean of the prior is a {type(mean).__name__}: {needed}")
        A, a = mean.linear(n_in) if is_function else (0.0, np.asarray(mean, dtype=float))
        return A + slopes, a + slopes[:, 0]

    def mean_slopes(self, X: Array) -> Array:
        """Return the gradient of a mean that is a number, linear, or has a method `gradient(X)`.

        Args:
            X: (n, n_in).

        Returns:
            ∂m/∂x, (n, n_out, n_in), or (n_out, n_in) if it is the same everywhere.

        Raises:
            ValueError: If the mean is a function of another kind.
        """
        gradient = getattr(self.mean, "gradient", None)
        return self.linear_mean(X.shape[1])[0] if gradient is None else np.asarray(gradient(X))

    def _draw(self, X: Array, n_samples: int, random_state: RandomState) -> Array:
        """Draw realisations; realisation k does not depend on n_samples."""
        seeds = seed_sequence(random_state)
        values = self.means(X, n_samples, seeds) + self.fluctuations(X, n_samples, seeds)
        return np.clip(values, *self.limits)

    def fluctuations(self, X: Array, n_samples: int, seeds: np.random.SeedSequence) -> Array:
        """Draw realisations without mean and bounds.

        Args:
            X: (n, n_in).
            n_samples: Number of realisations.
            seeds: Seed; realisation k does not depend on n_samples.

        Returns:
            g - m, (n_samples, n, n_out).

        Raises:
            ValueError: If there are more than 10,000 points, or a kernel is invalid.
        """
        if len(X) > MOST_ROWS:
            rows = f"the covariance between them must have at most {MOST_ROWS} rows"
            raise ValueError(f"X has {len(X)} points: {rows}")
        self.check_kernels(X)
        values = np.empty((n_samples, len(X), self.n_outputs))
        for j in counted(range(self.n_outputs), "realisations", "output"):
            # g_j = R z, with R Rᵀ = K_j and z ~ N(0, I)
            noise = generator(spawn(seeds, 1, j)).standard_normal((n_samples, len(X)))
            values[:, :, j] = noise @ covariance_root(self.covariance(X, X, j)).T
        return values

    def means(self, X: Array, n_samples: int, seeds: np.random.SeedSequence) -> Array:
        """Evaluate the mean of every realisation.

        Args:
            X: (n, n_in).
            n_samples: Number of realisations.
            seeds: Seed of a random mean.

        Returns:
            m, (n_samples, n, n_out) if the mean is random, else (1, n, n_out).
        """
        if not isinstance(self.mean, RandomMean):
            return self.mean_values(X)[None]
        generators = member_generators(spawn(seeds, 0), n_samples)
        return np.stack([self.mean_values(X, rng) for rng in generators])


def covariance_root(covariance: Array, scale: float = 0.0) -> Array:
    """Return R with R Rᵀ = K, (n, n), for a positive semi-definite K.

    Pivoted Cholesky gives R = P L, with columns of zeros beyond the rank. It takes a tenth of the
    time of an eigendecomposition. Unlike signs of eigenvectors, or eigenvectors of multiple
    eigenvalues, its result does not depend on the library.

    Args:
        covariance: K, (n, n).
        scale: Size of the numbers whose difference is K, and whose rounding errors K has; 0 if K is
            not a difference.

    Raises:
        ValueError: If K is not finite, or has a negative eigenvalue beyond rounding errors.

    Source: Lucas (2004), LAPACK Working Note 161.
    """
    n = len(covariance)
    if not np.isfinite(covariance).all():
        raise ValueError("the covariance has values that are not finite")
    largest = max(np.abs(covariance).max(), scale)
    # Pᵀ K P = L Lᵀ + a remainder, whose diagonal is below the rounding errors of K.
    factor, pivots, rank, _ = dpstrf(covariance, tol=n * np.finfo(float).eps * largest, lower=1)
    order = pivots - 1
    L = np.tril(factor)
    L[:, rank:] = 0.0
    left = order[rank:]
    rest = covariance[np.ix_(left, left)] - L[rank:] @ L[rank:].T
    if np.abs(rest).max(initial=0.0) > ROUNDING_ERROR * largest:
        smallest = np.linalg.eigvalsh(covariance)[0]
        raise ValueError(f"the covariance has eigenvalue {smallest:.3g}: must be >= 0")
    root = np.empty_like(L)
    root[order] = L
    return root
