"""Noise whose covariance depends on the input, estimated from repeated runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.stats import chi2

from bnn._validation import (
    LARGEST,
    Array,
    Floats,
    Ints,
    as_array,
    as_data,
    as_finite,
    as_points,
    check_integers,
    check_positive,
    own_copy,
    varies,
)
from bnn.noise.covariances import NOMINAL, deviations, noise_covariance, warn_of_few
from bnn.storage import storable
from safe_files.text import Short

# An estimate from few replicates is tested: BOOTSTRAP sets of replicates are drawn from it, and the
# noise is estimated again from each set. Few means less than ENOUGH degrees of freedom per
# coefficient of an output.
BOOTSTRAP = 20
ENOUGH = 10
LARGEST_LOG = float(np.log(LARGEST))  # of a standard deviation; the smallest is minus this


@storable
@dataclass(frozen=True, eq=False, repr=False)
class HeteroscedasticNoise(Short):
    """Gaussian noise whose covariance depends on the input, Σ(x) = D(x) R D(x).

    The logarithms of the standard deviations, which are the diagonal of D(x), are linear in the
    inputs and in the squares of some inputs. Outside its bounds the noise has the covariance of the
    nearest point inside. Noise that is estimated from data has the ranges of the inputs as bounds.
    Standard deviations are from 1e-100 to 1e100.

    Attributes:
        coefficients: Coefficients of 1, of each input and of each square,
            (1 + n_in + n_squares, n_out).
        correlation: Correlations R of the outputs, (n_out, n_out); None for independent outputs.
        squares: Indices of the inputs whose squares are included.
        bounds: (low, high) of the inputs, (n_in,) each, or (n_in, n_out) each if they differ
            between outputs. None for no bounds.

    Source: Aitkin (1987), Applied Statistics 36, for one output.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> noise = bnn.HeteroscedasticNoise([[-2.0], [1.0]])  # log σ(x) = -2 + x
        >>> np.sqrt(noise([[0.0], [1.0]]))[:, 0, 0].round(3)
        array([0.135, 0.368])
        >>> noise = bnn.HeteroscedasticNoise([[-2.0], [1.0]], bounds=([0.0], [1.0]))
        >>> np.sqrt(noise([[0.0], [9.0]]))[:, 0, 0].round(3)
        array([0.135, 0.368])
    """

    coefficients: Floats
    correlation: ArrayLike | None = None
    squares: Sequence[int] = ()
    bounds: tuple[ArrayLike, ArrayLike] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", as_points("coefficients", self.coefficients))
        check_integers("squares", self.squares, 0)
        object.__setattr__(self, "squares", own_copy(self.squares))
        if any(i >= self.n_inputs for i in self.squares):
            raise ValueError(f"squares = {self.squares}: must be among 0 to {self.n_inputs - 1}")
        n_out = self.coefficients.shape[1]
        R = np.eye(n_out)
        if self.correlation is not None:
            R = as_array("correlation", self.correlation)
        if R.shape != (n_out, n_out) or not np.allclose(np.diag(R), 1.0):
            raise ValueError(f"correlation: must be ({n_out}, {n_out}), of ones on the diagonal")
        object.__setattr__(self, "correlation", noise_covariance(R, n_out))
        if self.bounds is None:
            return
        shapes = (2, self.n_inputs), (2, self.n_inputs, n_out)
        pair: Any = self.bounds
        bounds = as_finite("bounds", pair)
        if bounds.shape not in shapes or not np.all(bounds[0] <= bounds[1]):
            needed = f"must be (low, high) with low <= high, for the {self.n_inputs} inputs of "
            needed += "coefficients and squares"
            raise ValueError(f"bounds = {self.bounds!r:.60}: {needed}")
        object.__setattr__(self, "bounds", tuple(bounds))

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.coefficients) - 1 - len(self.squares)

    @property
    def limits(self) -> Array:
        """The bounds, (2, n_in) or (2, n_in, n_out); infinite if there are none."""
        if self.bounds is None:
            return np.outer([-np.inf, np.inf], np.ones(self.n_inputs))
        return np.array(self.bounds)

    def __call__(self, X: ArrayLike) -> Array:
        """Return the covariance Σ(x) at each point.

        Args:
            X: Points, (n, n_in).

        Returns:
            Covariances, (n, n_out, n_out).

        Raises:
            ValueError: If X has a wrong number of inputs.
        """
        # Σ(x) = D(x) R D(x)
        scale = np.exp(np.clip(self._logs(X), -LARGEST_LOG, LARGEST_LOG))
        return np.asarray(scale[:, :, None] * scale[:, None, :] * self.correlation)

    def log_slopes(self, X: ArrayLike) -> Array:
        """Return the gradients of log σ(x) with respect to the inputs.

        Args:
            X: Points, (n, n_in).

        Returns:
            Gradients, (n, n_out, n_in); zero for an input outside its bounds.

        Raises:
            ValueError: If X has a wrong number of inputs.
        """
        grows = np.abs(self._logs(X)) <= LARGEST_LOG
        X = as_points("X", X)
        n_in = self.n_inputs
        slopes = np.tile(self.coefficients[1 : 1 + n_in].T, (len(X), 1, 1))
        for row, i in zip(self.coefficients[1 + n_in :], self.squares, strict=True):
            slopes[:, :, i] += 2.0 * X[:, i, None] * row
        low, high = (np.atleast_2d(side.T) for side in self.limits)  # (1, n_in) or (n_out, n_in)
        points = X[:, None, :]
        inside = (low <= points) & (high >= points)
        return np.asarray(slopes * inside * grows[:, :, None])

    def _logs(self, X: ArrayLike) -> Array:
        """Return log σ(x) at the points X (n, n_in), as (n, n_out)."""
        X = as_points("X", X)
        if X.shape[1] != self.n_inputs:
            raise ValueError(f"X has {X.shape[1]} inputs: the noise has {self.n_inputs}")
        limits = self.limits
        slopes = self.coefficients[1:]
        if limits.ndim == 2:
            changes = _basis(np.clip(X, *limits), self.squares) @ slopes
        else:
            pairs = zip(np.moveaxis(limits, 2, 0), slopes.T, strict=True)
            columns = [_basis(np.clip(X, *sides), self.squares) @ slope for sides, slope in pairs]
            changes = np.column_stack(columns)
        return np.asarray(self.coefficients[0] + changes)

    @classmethod
    def from_replicates(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        groups: ArrayLike,
        *,
        squares: Sequence[int] = (),
        slope_deviation: float = 1.0,
    ) -> HeteroscedasticNoise:
        """Estimate the noise from repeated runs, by the likelihood of deviations within groups.

        Args:
            X: Inputs, (N, n_in), equal within a group.
            y: Outputs, (N,) or (N, n_out).
            groups: Labels of the groups, (N,).
            squares: Indices of the inputs whose squares are included.
            slope_deviation: Prior standard deviation of the slopes of log σ, with inputs and
                squares in units of their standard deviation over the groups. It matters if there
                are few groups.

        Returns:
            The noise, with correlations between the outputs and with the ranges of X as bounds.

        Raises:
            ValueError: If inputs differ within a group, or there are too few rows for a covariance.

        Warns:
            NoiseWarning: If there are so few groups that the estimated joint 95 % region of the
                outputs contains less than 85 % of new noise, according to a parametric bootstrap.

        Source: restricted likelihood, Patterson & Thompson (1971), Biometrika 58.
        """
        X, y = as_data(X, y)
        check_integers("squares", squares, 0)
        check_positive(slope_deviation=slope_deviation)
        within, group, counts = deviations(y, groups)
        first = np.unique(group, return_index=True)[1]
        if not np.array_equal(X[first][group], X):
            raise ValueError("X: inputs must be equal in a group")
        noise_covariance(within.T @ within, y.shape[1])  # raises an error if it is singular
        points = X[first]
        noise = _noise_of_deviations(points, within, group, counts - 1, squares, slope_deviation)
        freedom = len(y) - len(counts)
        if freedom < ENOUGH * len(noise.coefficients):
            warn_of_few(_held(noise, points, counts - 1, slope_deviation), freedom, stacklevel=2)
        return noise


# Standard deviations, a covariance matrix, or noise that depends on the input.
Noise: TypeAlias = float | Sequence[float] | Floats | HeteroscedasticNoise


def _basis(X: Array, squares: Sequence[int]) -> Array:
    return np.column_stack([X, X[:, list(squares)] ** 2])


class StandardBasis:
    """Inputs and squares at points, standardised to mean 0 and standard deviation 1.

    Attributes:
        values: Standardised inputs and squares, (n, n_in + n_squares).
    """

    def __init__(self, X: Array, squares: Sequence[int]) -> None:
        HeteroscedasticNoise(np.zeros((1 + X.shape[1] + len(squares), 1)), None, squares)  # checks
        self._squares = squares
        self._bounds = X.min(axis=0), X.max(axis=0)
        basis = _basis(X, squares)
        self._centre = basis.mean(axis=0)
        self._width = basis.std(axis=0)
        # The slope of a constant input is zero, because only its prior matters.
        self._width[~varies(basis)] = 1.0
        self.values = (basis - self._centre) / self._width

    def noise(
        self, levels: Array, slopes: Array, correlation: Array | None = None
    ) -> HeteroscedasticNoise:
        """Return the noise whose log σ has means (n_out,) and slopes (p, n_out) in this basis."""
        unscaled = slopes / self._width[:, None]
        coefficients = np.vstack([levels - self._centre @ unscaled, unscaled])
        return HeteroscedasticNoise(coefficients, correlation, self._squares, self._bounds)


def _held(noise: HeteroscedasticNoise, X: Array, freedom: Ints, slope_deviation: float) -> float:
    """Return the share of new noise at X (G, n_in) inside the joint region of an estimate.

    Estimates are made from data drawn from the noise, with degrees of freedom (G,) of the groups.
    """
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(len(X)), freedom)
    roots = np.linalg.cholesky(noise(X))
    shape = len(roots[0]), 1
    shares = []
    for _ in range(BOOTSTRAP):
        drawn = roots[group] @ rng.standard_normal((len(group), *shape))
        arguments = drawn[:, :, 0], group, freedom, noise.squares, slope_deviation
        again = _noise_of_deviations(X, *arguments)(X)
        new = roots @ rng.standard_normal((100, len(X), *shape))
        # eᵀ Σ⁻¹ e with the estimate Σ
        squares = np.sum(new * np.linalg.solve(again, new), axis=(-2, -1))
        shares.append(np.mean(squares < chi2.ppf(NOMINAL, shape[0])))
    return float(np.mean(shares))


def _noise_of_deviations(
    X: Array,
    within: Array,
    group: Ints,
    freedom: Ints,
    squares: Sequence[int],
    slope_deviation: float,
) -> HeteroscedasticNoise:
    """Return the noise of largest posterior density, given deviations within groups at points X.

    Rows of the deviations (N, n_out) belong to groups (N,) with degrees of freedom (G,).
    """
    total = freedom.sum()
    n_out = within.shape[1]
    scatter = np.zeros((len(X), n_out, n_out))
    np.add.at(scatter, group, within[:, :, None] * within[:, None, :])
    standard = StandardBasis(X, squares)
    basis = standard.values

    def whitened(slopes: Array) -> tuple[Array, Array]:
        logs = basis @ slopes.reshape(-1, n_out)
        return logs, scatter * np.exp(-logs[:, :, None] - logs[:, None, :])

    def negative(slopes: Array) -> tuple[float, Array]:
        # With D = diag exp(logs) for given slopes, the likelihood is largest if the covariance of
        # the scaled deviations is C = Σ_g D_g⁻¹ S_g D_g⁻¹ / ν. Then, up to a constant,
        # -log p = Σ_g ν_g log |D_g| + ½ ν log |C| + ½ |slopes|² / slope_deviation².
        logs, alike = whitened(slopes)
        C = alike.sum(axis=0) / total
        penalty = slopes / slope_deviation**2
        value = np.sum(freedom @ logs) + 0.5 * total * np.linalg.slogdet(C)[1]
        # ∂(-log p) / ∂logs_gj = ν_g - (C⁻¹ D_g⁻¹ S_g D_g⁻¹)_jj
        by_logs = freedom[:, None] - np.einsum("jk,gkj->gj", np.linalg.inv(C), alike)
        return value + 0.5 * slopes @ penalty, (basis.T @ by_logs).ravel() + penalty

    best = minimize(negative, np.zeros(basis.shape[1] * n_out), jac=True, method="BFGS").x
    C = whitened(best)[1].sum(axis=0) / total
    scale = np.sqrt(np.diag(C))
    return standard.noise(np.log(scale), best.reshape(-1, n_out), C / np.outer(scale, scale))
