"""Choice of runs by the expected reduction of the predictive variance, averaged over a region."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import qmc

from bnn._seeding import RandomState, generator
from bnn._validation import Array, Ints, as_columns, as_finite, check_count, check_flags
from bnn.estimators.ensemble import EnsembleRegressor
from bnn.estimators.exact_posterior import ExactPosterior
from bnn.noise import Covariance, StudentNoise, covariance_at
from bnn.priors.conditioning import JointColumns, output_vectors
from bnn.scaling import BoundsScaler

LEAST = 200  # fewest members of an ensemble: the error of a correlation is about 1 / √K
POINTS = 64  # points of the default region


def choose(
    model: ExactPosterior | EnsembleRegressor,
    candidates: ArrayLike,
    n: int,
    *,
    region: ArrayLike | None = None,
    pending: ArrayLike | None = None,
    replicates: bool = False,
    output_ranges: ArrayLike | None = None,
    random_state: RandomState = 0,
) -> tuple[Ints, Array]:
    """Choose the runs that are expected to reduce the predictive variance in a region most.

    The variance is that of f, without noise. It is averaged over the region and over the outputs,
    each in units of half its range. Runs are chosen one by one, and earlier choices count as done.
    A run at x with noise Σ(x) changes the covariance to C - C(., x) (C(x, x) + Σ(x))⁻¹ C(x, .),
    independently of its result. This is exact for a Gaussian process. For a mixture or an ensemble
    it is the variance of the best linear prediction, an upper bound of the expected variance.

    Args:
        model: A fitted ExactPosterior, or a fitted ensemble of at least 200 members.
        candidates: Inputs to choose from, (m, n_in).
        n: Number of runs to choose.
        region: Inputs where predictions are wanted, (r, n_in); None takes a Latin hypercube of 64
            points in the box around the candidates.
        pending: Inputs of runs that have no results yet, (p, n_in); they count as done.
        replicates: Whether a candidate may be chosen again, which helps where noise is large.
        output_ranges: Ranges of the outputs, (n_out,). None takes those of the data for an
            ExactPosterior, and those of scaling.outputs for an ensemble.
        random_state: Seed of the default region.

    Returns:
        Indices of the chosen candidates in the order of choice, (n,), and the mean variance over
        the region, (n + 1,): with the data and pending runs, then after each chosen run.

    Raises:
        TypeError: If the model is neither.
        ValueError: If the model has too few members, or another argument does not fit.

    Source: Cohn (1996), Neural Networks 9, for one run; Gramacy & Lee (2009), Technometrics 51,
    and Binois et al. (2019), Technometrics 61, for replicates under noise that depends on x.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> model = bnn.ExactPosterior(noise=0.05).fit(X[:6], y[:6])
        >>> chosen, variances = bnn.choose(model, X, 2)
        >>> len(chosen), bool(variances[2] < variances[0])
        (2, True)
    """
    check_flags(replicates=replicates)
    check_count("n", n, 1)
    if not isinstance(model, ExactPosterior | EnsembleRegressor):
        needed = "an ExactPosterior or an ensemble, which have covariances between points"
        raise TypeError(f"model = {model!r:.60}: must be {needed}")
    asked = model.checked_inputs(candidates, "candidates")
    if n > len(asked) and not replicates:
        raise ValueError(f"n = {n}: must be at most {len(asked)}, the number of candidates")
    if region is None:
        unit = qmc.LatinHypercube(asked.shape[1], seed=generator(random_state)).random(POINTS)
        wanted = asked.min(axis=0) + unit * np.ptp(asked, axis=0)
    else:
        wanted = model.checked_inputs(region, "region")
    waiting = asked[:0]
    if pending is not None:
        waiting = model.checked_inputs(pending, "pending")
    runs = np.concatenate([asked, waiting])
    (_, spread, columns), half_ranges, noise = _joint(model, np.concatenate([runs, wanted]))
    if output_ranges is not None:
        values = as_finite("output_ranges", output_ranges)
        half_ranges = as_columns("output_ranges", values, len(half_ranges))[:, 0] / 2.0
        if np.any(half_ranges <= 0.0):
            raise ValueError(f"output_ranges = {values}: must be > 0")
    scales = half_ranges * np.sqrt(len(half_ranges) * len(wanted))
    # tr S over the region, scaled so that it is a mean over points and outputs
    before = np.sum(np.einsum("njj->nj", spread[len(runs) :]) / scales**2)
    # D = C(x, x) + Σ(x)
    results = spread[: len(runs)] + covariance_at(noise, runs)
    greedy = _Greedy(columns, results, len(wanted), scales)
    done = [greedy.run(row) for row in range(len(asked), len(runs))]
    chosen: list[int] = []
    for _ in range(n):
        gains = greedy.gains()[: len(asked)]
        if not replicates:
            gains[chosen] = -np.inf
        chosen.append(int(gains.argmax()))
        done.append(greedy.run(chosen[-1]))
    variances = before - np.cumsum([0.0, *done])
    return np.array(chosen), variances[len(waiting) :]


def _joint(
    model: ExactPosterior | EnsembleRegressor, X: Array
) -> tuple[JointColumns, Array, Covariance | StudentNoise]:
    """Return the covariances of f at X, half ranges of the outputs, and the noise."""
    if isinstance(model, ExactPosterior):
        half_ranges = BoundsScaler.fit(model.y_).half_range
        return model.posterior_.joint_columns(X), half_ranges, model.noise_
    members = model.fitted_members()
    samples = members.sample(X)
    K, _, n_out = samples.shape
    if K < LEAST:
        why = "the covariances between points that they tell are too noisy"
        raise ValueError(f"model has {K} members: must be at least {LEAST}, {why}")
    mean = samples.mean(axis=0)
    away = (samples - mean) / np.sqrt(K - 1)
    draws = output_vectors(away)
    starts = len(X) * np.arange(n_out)

    def at(rows: Ints) -> Array:
        # C = Aᵀ A, where a row of A is (f^[k] - mean) / √(K - 1)
        return np.asarray((draws.T @ draws[:, np.add.outer(starts, rows).ravel()])[None])

    at_points = np.einsum("knj,kni->nji", away, away, optimize=True)
    return (mean, at_points, at), members.output_scaler.half_range, members.noise_covariance


class _Greedy:
    """Covariances V between P possible runs and a region, updated after each run that is made.

    The covariance has one block for all outputs, or one for each; q is the number of outputs in a
    block. A run changes V by a matrix of rank q. The changes are kept as factors: V = V0 - L T,
    where V0 is the covariance before any run, `left` is L and `right` is T. For each possible run,
    `squares` is the sum of V Vᵀ over the region, and `D` the covariance of its result, with noise.
    Arrays are (blocks, P q, ...); entry i q + j is output j of run i.
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
        of_each = V.reshape(g, P, q, -1)
        self.V0 = V.reshape(g, P * q, -1)
        self.squares = of_each @ of_each.swapaxes(2, 3)
        self.left = np.zeros((g, P * q, 0))
        self.right = np.zeros((g, 0, self.V0.shape[2]))
        kept = np.einsum("pjj->jp", results)[:, :, None, None] if g > 1 else results[None]
        self.D = kept.copy()

    def _by_runs(self, blocks: Array, m: int) -> Array:
        """Arrange columns of m points as (blocks, P q, outputs of the columns, m)."""
        g, P, q = self._shape
        laid = blocks.reshape(g, q, -1, q, m)[:, :, :P].swapaxes(1, 2)
        return laid.reshape(g, P * q, q, m)

    def gains(self) -> Array:
        """Return the reduction of the mean variance over the region by each possible run, (P,)."""
        # Σ_region V_pᵀ D_p⁻¹ V_p = tr(D_p⁻¹ V_p V_pᵀ)
        return np.asarray(np.einsum("gpjj->p", np.linalg.solve(self.D, self.squares)))

    def run(self, row: int) -> float:
        """Make a run and return the reduction of the mean variance over the region."""
        g, P, q = self._shape
        own = slice(row * q, (row + 1) * q)
        # D_row = R Rᵀ
        root = np.linalg.cholesky(self.D[:, row])
        V = self.V0[:, own]
        left = self.left[:, own]
        column = self._by_runs(self._columns(np.array([row])), 1)[:, :, :, 0]
        # Lnew = (C(runs, row) - L L_rowᵀ) R⁻ᵀ and Tnew = R⁻¹ (V0_row - L_row T)
        new = np.linalg.solve(root, (column - self.left @ left.swapaxes(1, 2)).swapaxes(1, 2))
        right = np.linalg.solve(root, V - left @ self.right)
        new = new.swapaxes(1, 2)
        across = right.swapaxes(1, 2)
        # V Tnewᵀ = V0 Tnewᵀ - L (T Tnewᵀ), with V before this run; the gain is tr(Tnew Tnewᵀ)
        shared = self.V0 @ across - self.left @ (self.right @ across)
        reduced = right @ across
        self.left = np.concatenate([self.left, new], axis=2)
        self.right = np.concatenate([self.right, right], axis=1)
        L = new.reshape(g, P, q, q)
        H = shared.reshape(g, P, q, q)
        turned = L.swapaxes(2, 3)
        # V Vᵀ changes by -H Lᵀ - L Hᵀ + L (T Tᵀ) Lᵀ, with L, T of this run and H = V Tᵀ; D by -L Lᵀ
        product = H @ turned
        self.squares -= product + product.swapaxes(2, 3) - L @ reduced[:, None] @ turned
        self.D -= L @ turned
        return float(np.einsum("gjj->", reduced))
