"""Gaussian process priors: means, kernels by output, bounds, safe sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bnn._seeding import RandomState, generator, member_generators, seed_sequence, spawn
from bnn._validation import as_columns, as_points
from bnn.function_priors.kernels import RBF, Kernel

# Relative to the variance: what keeps conditioning on neighbouring points solvable.
JITTER = 1e-8


@dataclass(frozen=True)
class LinearMean:
    """A mean linear in the inputs, m(x) = A x + a.

    Attributes:
        coefficients: A, (n_out, n_in); a vector (n_out,) means θ_j x[0].
        intercept: a, one number or (n_out,).
    """

    coefficients: np.ndarray
    intercept: np.ndarray | float = 0.0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Evaluate at X (n, n_in): (n, n_out)."""
        A = np.asarray(self.coefficients, dtype=float)
        if A.ndim < 2:
            return X[:, :1] * np.atleast_1d(A) + self.intercept
        if A.shape[1] != X.shape[1]:
            raise ValueError(f"coefficients have shape {A.shape}: must be (n_out, {X.shape[1]})")
        return X @ A.T + self.intercept

    @classmethod
    def fit(
        cls, X: np.ndarray, y: np.ndarray, features: Sequence[int], intercept: bool = False
    ) -> LinearMean:
        """Fit by least squares, the same inputs for every output.

        Args:
            X: (n, n_in).
            y: (n,) or (n, n_out).
            features: The inputs used, by number.
            intercept: Whether a is fitted too.

        Returns:
            The mean.
        """
        y = as_columns("y", y, len(X))
        columns = [X[:, i] for i in features] + ([np.ones(len(X))] if intercept else [])
        solution = np.linalg.lstsq(np.column_stack(columns), y, rcond=None)[0]
        coefficients = np.zeros((y.shape[1], X.shape[1]))
        coefficients[:, list(features)] = solution[: len(features)].T
        return cls(coefficients, solution[-1] if intercept else 0.0)


@dataclass(frozen=True)
class RandomMean:
    """A mean with random parameters, drawn anew for every realisation.

    Attributes:
        function: (X (n, n_in), rng) → (n,) or (n, n_out); prior D of the paper is
            ``lambda X, rng: 5 * rng.uniform(-1, 1) * X[:, 0] ** 3``.
    """

    function: Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class GaussianProcessPrior:
    """Independent Gaussian processes, one an output.

    Attributes:
        mean: A number, X → (n,) or (n, n_out), a LinearMean or a RandomMean.
        kernel: One kernel for all outputs, or one an output.
        n_outputs: Number of outputs.
        features: The inputs that the kernel sees: None (all), numbers, or numbers an output.
        bounds: (low, high), each None, a number or (n_out,); realisations are clipped to them.
    """

    mean: float | Callable | RandomMean = 0.0
    kernel: Kernel | Sequence[Kernel] = field(default_factory=RBF)
    n_outputs: int = 1
    features: Sequence | None = None
    bounds: tuple = (None, None)

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ValueError: If a field does not fit n_outputs.
        """
        if self.n_outputs < 1:
            raise ValueError(f"n_outputs = {self.n_outputs}: must be >= 1")
        if not isinstance(self.kernel, Kernel) and len(self.kernel) != self.n_outputs:
            raise ValueError(f"kernel has {len(self.kernel)} entries: must be {self.n_outputs}")
        if self.features is not None and self._per_output and len(self.features) != self.n_outputs:
            raise ValueError(f"features has {len(self.features)} lists: must be {self.n_outputs}")
        if len(self.bounds) != 2:
            raise ValueError(f"bounds = {self.bounds}: must be (low, high)")
        low, high = self._limits
        for limit in (low, high):
            if limit.shape not in {(), (self.n_outputs,)}:
                raise ValueError(f"bounds = {self.bounds}: one a side, or {self.n_outputs}")
        if not np.all(low < high):
            raise ValueError(f"bounds = {self.bounds}: low must be below high")

    @property
    def _per_output(self) -> bool:
        return (
            self.features is not None and len(self.features) > 0 and np.ndim(self.features[0]) > 0
        )

    def features_of(self, output: int, n_features: int) -> list[int]:
        """Return the inputs that the kernel of one output sees.

        Args:
            output: Number of the output.
            n_features: Number of inputs.

        Returns:
            Their numbers.

        Raises:
            ValueError: If a number is outside the inputs.
        """
        if self.features is None:
            return list(range(n_features))
        chosen = list(self.features[output] if self._per_output else self.features)
        if not chosen or min(chosen) < 0 or max(chosen) >= n_features:
            raise ValueError(f"features = {chosen}: must be among 0 to {n_features - 1}")
        return chosen

    def covariance(self, A: np.ndarray, B: np.ndarray, output: int = 0) -> np.ndarray:
        """Evaluate the kernel of one output on its features.

        Args:
            A: (n, n_in).
            B: (m, n_in).
            output: Number of the output.

        Returns:
            k(A, B), (n, m).
        """
        kernel = self.kernel if isinstance(self.kernel, Kernel) else self.kernel[output]
        chosen = self.features_of(output, A.shape[1])
        return kernel(A[:, chosen], B[:, chosen])

    def mean_values(self, X: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """Evaluate the mean.

        Args:
            X: (n, n_in).
            rng: Source of a random mean's parameters.

        Returns:
            m(X), (n, n_out).

        Raises:
            ValueError: If the mean returned another shape, or is random and rng is missing.
        """
        if isinstance(self.mean, RandomMean):
            if rng is None:
                raise ValueError("mean: a random mean has no single value")
            values = self.mean.function(X, rng)
        else:
            values = self.mean(X) if callable(self.mean) else np.full(len(X), float(self.mean))
        values = np.asarray(values, dtype=float)
        values = values[:, None] if values.ndim == 1 else values
        if values.shape not in {(len(X), 1), (len(X), self.n_outputs)}:
            raise ValueError(
                f"mean returned shape {values.shape}: must be ({len(X)}, {self.n_outputs})"
            )
        return np.broadcast_to(values, (len(X), self.n_outputs))

    def sample(self, X: np.ndarray, n_samples: int, random_state: RandomState = None) -> np.ndarray:
        """Draw realisations.

        Args:
            X: (n, n_in).
            n_samples: How many.
            random_state: Seed; realisation k does not depend on n_samples.

        Returns:
            Realisations, (n_samples, n, n_out).
        """
        X = as_points("X", X)
        seeds = seed_sequence(random_state)
        return self.clip(self._means(X, n_samples, seeds) + self._fluctuations(X, n_samples, seeds))

    def extend(
        self, X: np.ndarray, known: np.ndarray, n_samples: int, random_state: RandomState
    ) -> np.ndarray:
        """Continue realisations to other points.

        Args:
            X: Where, (n, n_in).
            known: Where sample has drawn them, (m, n_in).
            n_samples: As there.
            random_state: The seed used there.

        Returns:
            The same realisations at X, (n_samples, n, n_out), drawn given what sample drew.
        """
        X, known = as_points("X", X), as_points("known", known)
        seeds = seed_sequence(random_state)
        drawn = self._fluctuations(known, n_samples, seeds)
        values = np.empty((n_samples, len(X), self.n_outputs))
        for j in range(self.n_outputs):
            own, cross = self.covariance(X, X, j), self.covariance(known, X, j)
            jitter = JITTER * np.diag(own).mean()
            factor = cho_factor(self.covariance(known, known, j) + jitter * np.eye(len(known)))
            gain = cho_solve(factor, cross)
            eigenvalues, vectors = np.linalg.eigh(own - cross.T @ gain)
            noise = generator(spawn(seeds, 2, j)).standard_normal((n_samples, len(X)))
            root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
            values[:, :, j] = drawn[:, :, j] @ gain + noise @ root.T
        return self.clip(values + self._means(X, n_samples, seeds))

    def _fluctuations(
        self, X: np.ndarray, n_samples: int, seeds: np.random.SeedSequence
    ) -> np.ndarray:
        """Draw realisations without mean and bounds, (n_samples, n, n_out)."""
        values = np.empty((n_samples, len(X), self.n_outputs))
        for j in range(self.n_outputs):
            noise = generator(spawn(seeds, 1, j)).standard_normal((n_samples, len(X)))
            values[:, :, j] = noise @ covariance_root(self.covariance(X, X, j)).T
        return values

    def _means(self, X: np.ndarray, n_samples: int, seeds: np.random.SeedSequence) -> np.ndarray:
        """Evaluate the mean of every realisation, (n_samples or 1, n, n_out)."""
        if not isinstance(self.mean, RandomMean):
            return self.mean_values(X)[None]
        generators = member_generators(spawn(seeds, 0), n_samples)
        return np.stack([self.mean_values(X, rng) for rng in generators])

    def clip(self, values: np.ndarray) -> np.ndarray:
        """Map values (..., n_out) back to the admissible region."""
        return np.clip(values, *self._limits)

    @property
    def _limits(self) -> list[np.ndarray]:
        pairs = zip(self.bounds, (-np.inf, np.inf), strict=True)
        return [np.asarray(d if b is None else b, dtype=float) for b, d in pairs]


def covariance_root(covariance: np.ndarray, scale: float = 0.0) -> np.ndarray:
    """Return R with R Rᵀ = K for a semi-definite K, however close to singular.

    Args:
        covariance: K, (n, n).
        scale: Of the numbers that K is a difference of, where these are larger than K.

    Returns:
        R, (n, n), from the eigenvalues with rounding errors below zero removed.

    Raises:
        ValueError: If an eigenvalue is negative beyond rounding.
    """
    values, vectors = np.linalg.eigh(covariance)
    if values[0] < -1e-8 * max(values[-1], scale) or not np.isfinite(values).all():
        raise ValueError(f"the covariance has eigenvalue {values[0]:.3g}: must be >= 0")
    return vectors * np.sqrt(np.maximum(values, 0.0))
