"""Selection of runs by the expected reduction of the predictive variance over a region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm, qmc

from bnn._seeding import RandomState, generator
from bnn._validation import (
    Array,
    Ints,
    as_array,
    as_finite,
    check_count,
    check_flags,
    check_fraction,
    filled,
    is_row,
)
from bnn.ensembles.conditioning import output_vectors
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.gp.conditioning import JointColumns, least_variance
from bnn.gp.mixture import mixed
from bnn.gp.regressor import GPRegressor
from bnn.noise import Covariance, StudentNoise
from bnn.noise.models import noise_of_new
from bnn.scaling import BoundsScaler
from safe_files.progress import progress_bar, titled
from safe_files.text import short

Flags: TypeAlias = NDArray[np.bool_]
FEWEST_MEMBERS = 200  # K of an ensemble: the error of a correlation is about 1 / √K
POINTS = 64  # points of the default region
LEAST_SHARE = 1e-12  # share that replaces a weight of zero


def select_runs(
    model: GPRegressor | EnsembleRegressor,
    candidates: ArrayLike,
    n: int,
    *,
    region: ArrayLike | None = None,
    pending: ArrayLike | None = None,
    allow_replicates: bool = False,
    output_ranges: ArrayLike | None = None,
    output_weights: ArrayLike | None = None,
    costs: ArrayLike | None = None,
    success: ArrayLike | None = None,
    output_bounds: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    min_feasibility: float = 0.9,
    min_gain: float = 0.0,
    random_state: RandomState = 0,
) -> tuple[Ints, Array]:
    """Select the next runs by integrated variance reduction (ALC, IMSE) over a region.

    The variance of f, without noise, is averaged over the region and over the outputs, each in
    units of half its range. Runs are selected one by one: each reduces the average most, or most
    per cost, given the runs selected before. If runs may fail, the reduction is multiplied by the
    probability that the run succeeds.

    A candidate whose result is already certain has no gain: without noise, a finished run or the
    second of two equal candidates.

    A run at x with noise Σ(x) changes the covariance to C - C(., x) (C(x, x) + Σ(x))⁻¹ C(x, .),
    independently of its result. This is exact for a Gaussian process. For a mixture or an ensemble
    it is the variance of the best linear prediction, which is an upper bound of the expected
    variance.

    Args:
        model: A fitted GPRegressor, or a fitted ensemble of at least 200 members.
        candidates: Inputs to select from, (m, n_in).
        n: Number of runs to select; without `allow_replicates` at most the number of candidates.
        region: Inputs at which the variance is to be reduced, (r, n_in); None means a Latin
            hypercube of 64 points in the box around the candidates.
        pending: Inputs of runs that have no results yet, (p, n_in). The selection treats these runs
            as finished.
        allow_replicates: Whether a candidate may be selected again, which helps if noise is large.
        output_ranges: Ranges of the outputs, (n_out,). None means the ranges of the data for a
            GPRegressor, and scaling.outputs for an ensemble.
        output_weights: Weights of the outputs in the average, >= 0, (n_out,); None means equal
            weights.
        costs: Cost of a run at each candidate, > 0, in any unit, (m,); None means equal costs.
        success: Probability that a run at each candidate succeeds, in (0, 1], (m,); None means that
            all runs succeed.
        output_bounds: (low, high) of f, each None, a number or (n_out,).
        min_feasibility: Least probability that f lies within `output_bounds`; other candidates are
            left out. The outputs are treated as independent normal variables with the predicted
            moments.
        min_gain: Selection stops before the first run that reduces the variance by less than this
            share of the variance before selection.
        random_state: Seed of the default region.

    Returns:
        Indices of the selected candidates in order, (n,), or fewer if the gain falls below
        `min_gain`; and the mean variances over the region, before selection and after each selected
        run, (n + 1,).

    Raises:
        TypeError: If the model is neither a GPRegressor nor an ensemble.
        ValueError: If the model has too few members, no candidate satisfies `output_bounds`, there
            are fewer candidates than runs, the noise is only known at the training data, or another
            argument is invalid.

    Source: Cohn (1996), Neural Networks 9, for one run; Gramacy & Lee (2009), Technometrics 51,
    and Binois et al. (2019), Technometrics 61, for replicates under noise that depends on x.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> model = bnn.GPRegressor(noise=0.05).fit(X[:6], y[:6])
        >>> chosen, variances = bnn.select_runs(model, X, 2)
        >>> len(chosen), bool(variances[2] < variances[0])
        (2, True)
        >>> len(bnn.select_runs(model, X, 12, min_gain=0.1)[0]) < 12
        True
    """
    check_flags(allow_replicates=allow_replicates)
    check_count("n", n, 1)
    check_fraction(min_feasibility=min_feasibility, min_gain=min_gain)
    check_model(model)
    asked = model.checked_inputs(candidates, "candidates")
    prices = _positive("costs", costs, len(asked), "candidates")
    chances = _positive("success", success, len(asked), "candidates")
    if np.any(chances > 1.0):
        raise ValueError(f"success = {chances!r:.60}: must be at most 1")
    admissible = within_limits(model, candidates, output_bounds, min_feasibility)
    _check_enough(admissible, n, allow_replicates)
    if region is None:
        wanted = _region(asked, random_state)
    else:
        wanted = model.checked_inputs(region, "region")
    waiting = asked[:0]
    if pending is not None and as_array("pending", pending).size:
        waiting = model.checked_inputs(pending, "pending")
    runs = np.concatenate([asked, waiting])
    points = np.concatenate([runs, wanted])
    (_, spread, columns), half_ranges, noise = _joint(model, points)
    if output_ranges is not None:
        half_ranges = _positive("output_ranges", output_ranges, len(half_ranges), "outputs") / 2.0
    weights = _of_varying(model, output_weights)
    scales = _scales(half_ranges, weights, len(wanted))
    # Trace of the covariance over the region, scaled to a mean over points and outputs
    before = np.sum(np.einsum("njj->nj", spread[len(runs) :]) / scales**2)
    # D = C(x, x) + Σ(x)
    noise_of_runs = noise_of_new(noise, runs) * np.ones((len(runs), 1, 1))
    errors = _rounding_errors(model, points, spread, len(waiting) + n)
    results = spread[: len(runs)] + _resolved(noise_of_runs, errors)
    greedy = _Greedy(columns, results, len(wanted), scales)
    expected = [greedy.run(row) for row in range(len(asked), len(runs))]
    least = min_gain * (before - sum(expected))
    chosen, reductions = _best_runs(greedy, n, prices, chances, admissible, allow_replicates, least)
    variances = before - np.cumsum([0.0, *expected, *reductions])
    return np.array(chosen, dtype=int), variances[len(waiting) :]


def check_model(model: object) -> None:
    """Raise TypeError unless a model, fitted or not, can have covariances between points."""
    if not isinstance(model, GPRegressor | EnsembleRegressor):
        needed = "a GPRegressor or an ensemble, not a wrapper, which has no covariances"
        raise TypeError(f"model = {short(model)}: must be {needed}")


def check_members(K: int) -> None:
    """Raise ValueError if an ensemble has too few members for covariances between points."""
    if K < FEWEST_MEMBERS:
        why = "their covariances between points are too noisy otherwise"
        raise ValueError(f"model has {K} members: must be at least {FEWEST_MEMBERS}, {why}")


def _check_enough(admissible: Flags, n: int, allow_replicates: bool) -> None:
    """Raise ValueError if fewer candidates than runs are within the limits."""
    most = np.count_nonzero(admissible)
    if most == 0 and len(admissible):
        raise ValueError(
            "no candidate satisfies output_bounds with the probability min_feasibility: widen "
            "output_bounds or lower min_feasibility"
        )
    if most == 0 or (n > most and not allow_replicates):
        within = "" if most == len(admissible) else " within the limits"
        raise ValueError(f"n = {n}: must be at most {most}, the number of candidates{within}")


def _best_runs(
    greedy: _Greedy,
    n: int,
    prices: Array,
    chances: Array,
    admissible: Flags,
    allow_replicates: bool,
    least: float,
) -> tuple[list[int], list[float]]:
    """Select runs one by one, until the best run would gain less than `least`.

    The gain of a run is the reduction of the mean variance times the probability of success.

    Returns:
        Indices of the selected candidates, and the reduction of the mean variance by each.
    """
    chosen: list[int] = []
    reductions: list[float] = []
    with progress_bar(n, titled("choosing", None), "run") as bar:
        for _ in range(n):
            gains = chances * greedy.gains()[: len(prices)]
            gains[~admissible] = -np.inf
            if not allow_replicates:
                gains[chosen] = -np.inf
            best = int((gains / prices).argmax())
            if gains[best] < least:
                break
            chosen.append(best)
            reductions.append(greedy.run(best))
            bar.update()
    return chosen, reductions


def _region(candidates: Array, random_state: RandomState) -> Array:
    """Return a Latin hypercube of POINTS points in the box around the candidates."""
    unit = qmc.LatinHypercube(candidates.shape[1], seed=generator(random_state)).random(POINTS)
    return np.asarray(candidates.min(axis=0) + unit * np.ptp(candidates, axis=0))


def _scales(half_ranges: Array, weights: ArrayLike | None, n_region: int) -> Array:
    """Return scales c_j, (n_out,), such that the mean variance is Σ_region Σ_j (S_jj / c_j²).

    The mean is over the points of the region and over the outputs, each in units of half its range
    h_j, with weights w_j that sum to one: c_j² = n_region h_j² / w_j.
    """
    n_out = len(half_ranges)
    scales = half_ranges * np.sqrt(n_out * n_region)
    if weights is not None:
        scales = scales / np.sqrt(_shares(weights, n_out) * n_out)
    return np.asarray(scales)


def _of_varying(
    model: GPRegressor | EnsembleRegressor, weights: ArrayLike | None
) -> ArrayLike | None:
    """Return the weights of the outputs, with zero for outputs that are predicted as constants."""
    constants = model.constant_outputs_
    if constants is None or np.isnan(constants).all() or not np.isnan(constants).any():
        return weights
    output_weights = np.ones(len(constants))
    if weights is not None:
        output_weights = as_finite("output_weights", weights)
    if output_weights.shape != constants.shape:  # `_shares` rejects this shape
        return output_weights
    if only_constants(model, output_weights):
        needed = "must be > 0 for an output that varies in the data, otherwise no run is better"
        raise ValueError(f"output_weights = {output_weights!r:.60}: {needed}")
    return np.where(np.isnan(constants), output_weights, 0.0)


def only_constants(model: Any, weights: ArrayLike | None) -> bool:
    """Return whether all outputs of positive weight are predicted as constants."""
    constants = getattr(model, "constant_outputs_", None)
    if weights is None or constants is None or np.shape(weights) != constants.shape:
        return False
    weighted = np.asarray(weights) > 0.0
    if not weighted.any() or not np.isnan(constants).any():
        return False
    return bool(not np.isnan(constants[weighted]).any())


def _positive(name: str, values: ArrayLike | None, n: int, units: str) -> Array:
    """Return one number > 0 per candidate or output, (n,); ones if `values` is None."""
    if values is None:
        return np.ones(n)
    array = as_finite(name, values)
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}: must be ({n},), one for each of {units}")
    if np.any(array <= 0.0):
        raise ValueError(f"{name} = {array!r:.60}: must be > 0")
    return array


def _shares(weights: ArrayLike, n_outputs: int) -> Array:
    """Return the weights of the outputs, (n_out,), scaled to a sum of one."""
    values = as_finite("output_weights", weights)
    if values.shape != (n_outputs,) or np.any(values < 0.0) or not values.any():
        raise ValueError(
            f"output_weights = {values!r:.60}: must be ({n_outputs},), >= 0, not all 0"
        )
    # A share of zero would have an infinite scale.
    return np.asarray(np.maximum(values / values.sum(), LEAST_SHARE))


def within_limits(
    model: GPRegressor | EnsembleRegressor,
    candidates: ArrayLike,
    output_bounds: tuple[ArrayLike | None, ArrayLike | None],
    min_feasibility: float,
) -> Flags:
    """Return whether f satisfies `output_bounds` with enough probability at each candidate."""
    if not is_row(output_bounds) or len(output_bounds) != 2:
        raise ValueError(f"output_bounds = {output_bounds!r:.60}: must be (low, high)")
    if all(limit is None for limit in output_bounds):
        return np.ones(np.shape(candidates)[0], dtype=bool)
    moments = model.predict(candidates, return_std=True)
    mean, std = (moment.reshape(len(moment), -1) for moment in moments)
    sides = []
    for limit, none in zip(output_bounds, (-np.inf, np.inf), strict=True):
        values = as_array("output_bounds", none if limit is None else limit)
        if values.shape not in {(), mean.shape[1:]} or np.isnan(values).any():
            raise ValueError(
                f"output_bounds = {output_bounds!r:.60}: "
                f"each must be a number or ({mean.shape[1]},)"
            )
        sides.append(values)
    low, high = sides
    if not np.all(low < high):
        raise ValueError(f"output_bounds = {output_bounds!r:.60}: low must be below high")
    # P(low < f < high) = Π_j Φ((high_j - m_j) / s_j) - Φ((low_j - m_j) / s_j)
    std = np.maximum(std, np.sqrt(np.finfo(float).tiny))
    inside = norm.cdf((high - mean) / std) - norm.cdf((low - mean) / std)
    return np.asarray(inside.prod(axis=1) >= min_feasibility)


def _joint(
    model: GPRegressor | EnsembleRegressor, X: Array
) -> tuple[JointColumns, Array, Covariance | StudentNoise]:
    """Return the covariances of f at X, half ranges of the outputs, and the noise."""
    if isinstance(model, GPRegressor):
        half_ranges = BoundsScaler.fit(filled(model.y_)).half_range
        return model.posterior_.joint_columns(X), half_ranges, model.noise_
    members = model.fitted_members()
    samples = members.sample(X)
    K, _, n_out = samples.shape
    check_members(K)
    mean = samples.mean(axis=0)
    away = (samples - mean) / np.sqrt(K - 1)
    draws = output_vectors(away)
    starts = len(X) * np.arange(n_out)

    def at(rows: Ints) -> Array:
        # C = Aᵀ A, where a row of A is (f^[k] - mean) / √(K - 1)
        return np.asarray((draws.T @ draws[:, np.add.outer(starts, rows).ravel()])[None])

    at_points = np.einsum("knj,kni->nji", away, away, optimize=True)
    return (mean, at_points, at), members.output_scaler.half_range, members.noise_covariance


def _rounding_errors(
    model: GPRegressor | EnsembleRegressor, X: Array, spread: Array, n_runs: int
) -> Array:
    """Return a bound of the rounding errors of the variances at X after n_runs runs, (n_out,)."""
    variances = np.einsum("njj->jn", spread)
    n_data = n_runs
    if isinstance(model, GPRegressor):
        # A posterior variance is a difference of variances as large as those of the prior.
        priors = [posterior.prior.variances(X) for posterior in mixed(model.posterior_)[0]]
        variances = np.max([variances, *priors], axis=0)
        n_data += len(model.X_)
    return least_variance(n_data, variances.max(axis=1))


def _resolved(noise: Array, errors: Array) -> Array:
    """Return noise (n, n_out, n_out) that is at least as large as rounding errors (n_out,)."""
    # Then a candidate whose variance is only a rounding error has no gain.
    # The noise suffices if all eigenvalues of Σ - diag(errors) are >= 0, in units of the errors.
    units = np.sqrt(np.where(errors > 0.0, errors, 1.0))
    least = np.linalg.eigvalsh(noise / units[:, None] / units)[:, :1]
    return noise + np.where(least < 1.0, errors, 0.0)[:, :, None] * np.eye(len(errors))


class _Greedy:
    """Covariances V between P possible runs and a region, updated after each selected run.

    The covariance has one block for all outputs together, or one block per output; q is the number
    of outputs in a block. A run changes the covariance between the runs by -L Lᵀ, with a matrix L
    of rank q, and `left` has the L of all runs. For each possible run, `D` is the covariance of its
    result, noise included. Arrays have the shape (blocks, P q, ...); entry i q + j is output j of
    run i.
    """

    def __init__(
        self, columns: Callable[[Ints], Array], results: Array, n_region: int, scales: Array
    ) -> None:
        P, n_out, _ = results.shape
        blocks = columns(P + np.arange(n_region))
        self._columns = columns
        self._shape = (len(blocks), P, n_out // len(blocks))
        g, _, q = self._shape
        V = self._by_runs(blocks, n_region) / scales.reshape(g, 1, q, 1)
        self.V = V.reshape(g, P * q, -1)
        self.left = np.zeros((g, P * q, 0))
        covariances = np.einsum("pjj->jp", results)[:, :, None, None] if g > 1 else results[None]
        self.D = covariances.copy()

    def _by_runs(self, blocks: Array, m: int) -> Array:
        """Arrange columns of m points as (blocks, P q, outputs of the columns, m)."""
        g, P, q = self._shape
        laid = blocks.reshape(g, q, -1, q, m)[:, :, :P].swapaxes(1, 2)
        return laid.reshape(g, P * q, q, m)

    def gains(self) -> Array:
        """Return the reduction of the mean variance over the region by each possible run, (P,)."""
        # Σ_region V_pᵀ D_p⁻¹ V_p = tr(D_p⁻¹ V_p V_pᵀ)
        g, P, q = self._shape
        of_each = self.V.reshape(g, P, q, -1)
        squares = of_each @ of_each.swapaxes(2, 3)
        return np.asarray(np.einsum("gpjj->p", np.linalg.solve(self.D, squares)))

    def run(self, row: int) -> float:
        """Add a run and return the reduction of the mean variance over the region."""
        g, P, q = self._shape
        outputs = slice(row * q, (row + 1) * q)
        # D_row = R Rᵀ
        root = np.linalg.cholesky(self.D[:, row])
        column = self._by_runs(self._columns(np.array([row])), 1)[:, :, :, 0]
        column = column - self.left @ self.left[:, outputs].swapaxes(1, 2)
        # L = C(runs, row) R⁻ᵀ and T = R⁻¹ V_row
        L = np.linalg.solve(root, column.swapaxes(1, 2)).swapaxes(1, 2)
        T = np.linalg.solve(root, self.V[:, outputs])
        # V changes by -L T, and D by -L Lᵀ; the gain is tr(T Tᵀ)
        self.V -= L @ T
        of_each = L.reshape(g, P, q, q)
        self.D -= of_each @ of_each.swapaxes(2, 3)
        self.left = np.concatenate([self.left, L], axis=2)
        return float(np.sum(T**2))
