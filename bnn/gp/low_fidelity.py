"""A fitted Gaussian process as the low-fidelity model of another one, including its uncertainty.

With the posterior mean m_j and covariance S_j of output j given many cheap runs, and a factor ρ_j,
the expensive function is

    f_j(x) = ρ_j g_j(x) + d_j(x),   g_j ~ GP(m_j, S_j),

where the discrepancy d_j is a Gaussian process with kernel k_j. So the prior of f_j has the mean
ρ_j m_j(x) and the covariance ρ_j² S_j(x, x') + k_j(x, x').

Source: Kennedy & O'Hagan (2000), Biometrika 87; Le Gratiet & Garnier (2014), International Journal
for Uncertainty Quantification 4, for the recursive formulation.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils import gen_batches

from bnn._validation import Array
from bnn.gp.gradients import between_gradients, moment_gradients
from bnn.gp.kernel import Gradient, Kernel, seen_points
from bnn.gp.means import ModelMean
from bnn.storage import register, storable
from safe_files.text import Short, short

CACHED_ARRAYS = 6  # arrays that a ProcessModel caches
PAIRS = 64  # pairs of points whose gradients are computed at a time


class ProcessModel(ModelMean):
    """A fitted GPRegressor as a model, with a cache of its latest values for the kernels.

    Args:
        fitted: The GPRegressor. Fitting it again later does not change the model.
    """

    def __init__(self, fitted: Any) -> None:
        # A search of scikit-learn copies a frozen model with its fit; files do not accept it.
        if isinstance(fitted, FrozenEstimator):
            fitted = fitted.estimator
        if not hasattr(fitted, "posterior_"):
            needed = "must be fitted to the cheap runs first, and in a search be a FrozenEstimator"
            raise ValueError(f"mean = {short(fitted)}: {needed}")
        self.fitted = copy.copy(fitted)
        self.posterior = fitted.posterior_
        super().__init__(self.posterior.mean)
        self._latest: list[tuple[tuple[bytes, ...], Array]] = []

    def __call__(self, X: Array) -> Array:
        """Return m(X), (n, n_out)."""
        n_inputs = self.fitted.n_features_in_
        if X.shape[1] != n_inputs:
            raise ValueError(
                f"mean was fitted to {n_inputs} inputs: must be {X.shape[1]}, as X has"
            )
        return super().__call__(X)

    def between(self, A: Array, B: Array, output: int) -> Array:
        """Return the posterior covariance of one output between points A and B, (n, m)."""

        def compute() -> Array:
            batches = self.posterior.batches(len(A))
            return np.concatenate(
                [self.posterior.between(A[batch], B) for batch in batches], axis=1
            )

        return np.asarray(self._cached((A.tobytes(), B.tobytes()), compute)[output])

    def variances(self, X: Array, output: int) -> Array:
        """Return the posterior variance of one output at X (n, n_in), (n,)."""

        def compute() -> Array:
            batches = self.posterior.batches(len(X))
            parts = [self.posterior.moments(X[batch])[1] for batch in batches]
            return np.asarray(np.einsum("njj->jn", np.concatenate(parts)))

        return np.asarray(self._cached((X.tobytes(),), compute)[output])

    def slopes(self, X: Array) -> Array:
        """Return the gradient of m at X (n, n_in), (n, n_out, n_in)."""
        key = X.tobytes(), b"slopes"
        return self._cached(key, lambda: moment_gradients(self.posterior, X)[0])

    def between_slopes(self, A: Array, B: Array, output: int) -> Array:
        """Return the gradient of `between` with respect to A, (n, m, n_in)."""
        key = A.tobytes(), B.tobytes(), b"slopes"
        slopes = self._cached(key, lambda: between_gradients(self.posterior, A, B))
        return np.asarray(slopes[output])

    def forget(self) -> None:
        """Empty the caches."""
        self._latest = []
        self._latest_values = []

    def _cached(self, key: tuple[bytes, ...], compute: Callable[[], Array]) -> Array:
        """Return the cached values of a key; if there are none, compute and cache them."""
        for cached_key, values in self._latest:
            if cached_key == key:
                return values
        values = compute()
        self._latest = [*self._latest[1 - CACHED_ARRAYS :], (key, values)]
        return values


register(ProcessModel, lambda model: {"fitted": model.fitted}, ProcessModel, shared=True)


@storable
@dataclass(frozen=True, repr=False)
class MultipleMean(Short):
    """Mean of a fitted process whose outputs are multiplied by factors, ρ_j m_j(x).

    Attributes:
        model: The process.
        factors: ρ, (n_out,).
    """

    model: ProcessModel
    factors: tuple[float, ...]

    def __call__(self, X: Array) -> Array:
        """Return the mean at X (n, n_in), (n, n_out)."""
        return np.asarray(self.model(seen_points("X", X)) * np.array(self.factors))

    def gradient(self, X: Array) -> Array:
        """Return the gradient of the mean at X (n, n_in), (n, n_out, n_in)."""
        return np.asarray(self.model.slopes(X) * np.array(self.factors)[:, None])


@dataclass(repr=False)
class MultipleProcess(Kernel):
    """Covariance of one output of a fitted process, times a factor: ρ² S_j(x, x').

    Attributes:
        model: The process.
        output: j, the index of the output.
        factor: ρ.
    """

    model: ProcessModel
    output: int
    factor: float

    def _evaluate(self, A: Array, B: Array) -> Array:
        return np.asarray(self.factor**2 * self.model.between(A, B, self.output))

    def diag(self, X: Array) -> Array:
        """Return k(x, x), (n,), at the points X (n, n_in)."""
        return np.asarray(self.factor**2 * self.model.variances(X, self.output))

    def gradient(self, a: Array, b: Array) -> Gradient:
        """Return k(a, b), (...), and ∂k/∂a, (..., n_in), at points (..., n_in) that broadcast."""
        A, B = (points.reshape(-1, points.shape[-1]) for points in (a, b))
        if a.shape == b.shape:
            # The pairs are the diagonals of small grids.
            parts = [self._grid(A[pairs], B[pairs]) for pairs in gen_batches(len(A), PAIRS)]
            values = np.concatenate([np.diagonal(k) for k, _ in parts])
            slopes = np.concatenate([np.einsum("nni->ni", by_a) for _, by_a in parts])
            return values.reshape(a.shape[:-1]), slopes.reshape(a.shape)
        numbers = np.broadcast_arrays(
            np.arange(len(A)).reshape(a.shape[:-1]), np.arange(len(B)).reshape(b.shape[:-1])
        )
        values, slopes = self._grid(A, B)
        return values[tuple(numbers)], slopes[tuple(numbers)]

    def _grid(self, A: Array, B: Array) -> Gradient:
        """Return k(A, B), (n, m), and its gradient with respect to A, (n, m, n_in)."""
        square = self.factor**2
        slopes = self.model.between_slopes(A, B, self.output)
        return square * self.model.between(A, B, self.output), square * slopes
