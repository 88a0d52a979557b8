"""Mean functions m(x) of Gaussian process priors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bnn._validation import Array, as_columns, as_finite, check_function, own_copy
from bnn.gp.kernel import seen_points
from bnn.storage import storable
from safe_files.text import Short

CACHED_VALUES = 16  # sets of points whose values a ModelMean caches


@storable
@dataclass(frozen=True, repr=False)
class LinearMean(Short):
    """A mean linear in the inputs, m(x) = A x + a.

    Attributes:
        coefficients: A, (n_out, n_in); a vector θ (n_out,) stands for m_j(x) = θ_j x[0] + a_j.
        intercept: a, one number or (n_out,).

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> mean = bnn.LinearMean([[1.0, 2.0]], intercept=0.5)
        >>> mean(np.array([[1.0, 1.0]]))
        array([[3.5]])
    """

    coefficients: ArrayLike
    intercept: ArrayLike = 0.0

    def __post_init__(self) -> None:
        A = as_finite("coefficients", self.coefficients)
        a = as_finite("intercept", self.intercept)
        if A.ndim not in (1, 2) or 0 in A.shape or a.shape not in {(), (1,), (len(A),)}:
            raise ValueError(
                f"coefficients have shape {A.shape} and intercept {a.shape}: must be "
                "(n_out, n_in) or (n_out,), and a number or (n_out,)"
            )
        object.__setattr__(self, "coefficients", own_copy(self.coefficients))
        object.__setattr__(self, "intercept", own_copy(self.intercept))

    def __call__(self, X: Array) -> Array:
        """Return m(X), (n, n_out), at the points X (n, n_in)."""
        X = seen_points("X", X)
        A = np.asarray(self.coefficients, dtype=float)
        a = np.asarray(self.intercept, dtype=float)
        if A.ndim == 2 and A.shape[1] != X.shape[1]:
            raise ValueError(f"coefficients have shape {A.shape}: must be (n_out, {X.shape[1]})")
        return np.asarray((X @ A.T if A.ndim == 2 else X[:, :1] * np.atleast_1d(A)) + a)

    def linear(self, n_in: int) -> tuple[Array, Array]:
        """Return the mean as a matrix and a vector, for gradients and the C export.

        Args:
            n_in: Number of inputs.

        Returns:
            A, (n_out, n_in), and a, (n_out,), of the mean A x + a.
        """
        A = np.asarray(self.coefficients, dtype=float)
        if A.ndim == 1:
            A = np.pad(A[:, None], ((0, 0), (0, n_in - 1)))
        return A, np.asarray(self.intercept, dtype=float) + np.zeros(len(A))


@dataclass(frozen=True, repr=False)
class RandomMean(Short):
    """A mean with random parameters, which are drawn anew for every realisation.

    Attributes:
        function: (X (n, n_in), rng) → (n,) or (n, n_out); prior D of the paper is
            ``lambda X, rng: 5 * rng.uniform(-1, 1) * X[:, 0] ** 3``.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> mean = bnn.RandomMean(lambda X, rng: rng.uniform(-1.0, 1.0) * X[:, 0] ** 3)
        >>> prior = bnn.GaussianProcessPrior(mean, bnn.RBF(0.1, 0.2))
        >>> prior.sample(np.zeros((3, 1)), n_samples=2, random_state=0).shape
        (2, 3, 1)
    """

    function: Callable[[Array, np.random.Generator], Array]

    def __post_init__(self) -> None:
        check_function("function", self.function)


class ModelMean(Short):
    """A low-fidelity model as the mean, with a cache of its latest values for the kernels."""

    def __init__(self, function: Callable[[Array], ArrayLike]) -> None:
        check_function("mean", function)
        self.function = function
        # Pairs, because files of other packages accept no bytes as keys of a dictionary.
        self._latest_values: list[tuple[bytes, Array]] = []

    def __call__(self, X: Array) -> Array:
        """Return m(X), (n, n_out); raise ValueError if a value is not finite."""
        key = X.tobytes()
        for cached_key, values in self._latest_values:
            if cached_key == key:
                return values
        points = np.frombuffer(key).reshape(X.shape)  # read-only
        values = as_columns("mean(X)", self.function(points), len(X))
        beyond = np.flatnonzero(~np.isfinite(values).all(axis=-1))
        if beyond.size:
            point = points[beyond[0]].tolist()
            raise ValueError(
                f"mean(X) is not finite at X = {point}: it must be finite within the ranges of "
                "the data, and at all predictions. Let it return the value at the nearest "
                "valid input instead, or learn logarithms"
            )
        values.flags.writeable = False  # later calls return the same array
        self._latest_values = [*self._latest_values[1 - CACHED_VALUES :], (key, values)]
        return values
