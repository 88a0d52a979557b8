"""Global sensitivity analysis: Sobol indices and main effects of the inputs of a model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning

from bnn._seeding import RandomState, generator
from bnn._validation import Array, as_finite, check_count, power_of_two, varies
from bnn.scaling import BoundsScaler
from safe_files.help_page import see
from safe_files.progress import counted
from safe_files.text import Short, table

EFFECT_LEVELS = 25  # values of an input at which its main effect is computed
BLOCKS = 16  # blocks of consecutive base points that the bootstrap resamples
FEWEST_POINTS = (
    2 * BLOCKS
)  # base points; with fewer, 95 % intervals contain 40 to 85 % of the indices
RESAMPLES = 500  # of the bootstrap
LARGEST_HALF_WIDTH = 0.1  # of an interval; if one is wider, a warning says that n is too small
EFFECT_POINTS = 256  # largest number of points of the other inputs for the average of a main effect
# Limits of the printed result, so that it has at most ten lines of 100 characters.
SHOWN_INPUTS = 7
SHOWN_OUTPUTS = 5
SHOWN_LETTERS = 24  # of the name of an input


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Short):
    """Sobol indices and main effects for independent uniform inputs, see `sensitivity`.

    Attributes:
        first: First-order indices: share of the variance of an output that an input explains alone,
            (n_out, n_in).
        total: Total indices: share that an input explains together with its interactions,
            (n_out, n_in).
        levels: Values of each input, (n_in, 25).
        effects: Mean of an output at each of these values, (n_out, n_in, 25).
        inputs: Names of the inputs, (n_in,), or () if the model has none.
        first_interval: 95 % interval of each first-order index, (n_out, n_in, 2).
        total_interval: 95 % interval of each total index, (n_out, n_in, 2).

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.random.default_rng(0).uniform(0.0, 1.0, (40, 2))
        >>> model = bnn.GPRegressor(noise=0.01).fit(X, X[:, 0] * X[:, 1] + X[:, 0])
        >>> print(bnn.sensitivity(model, [(0.0, 1.0)] * 2))
        Share of variance that an input explains alone (with its interactions), ± at most 0.007
                     y0
        x0  0.87 (0.90)
        x1  0.10 (0.13)
    """

    first: Array
    total: Array
    levels: Array
    effects: Array
    inputs: tuple[str, ...] = ()
    first_interval: Array | None = None
    total_interval: Array | None = None

    def __str__(self) -> str:
        """Return a table of the Sobol indices; if there are many inputs, of the largest indices."""
        n_out, n_in = self.first.shape
        names = self.inputs or [f"x{i}" for i in range(n_in)]
        largest = np.max(np.nan_to_num(self.total), axis=0)
        chosen = np.sort(np.argsort(-largest, kind="stable")[:SHOWN_INPUTS])
        outputs = range(min(n_out, SHOWN_OUTPUTS))
        rows = [
            (
                names[i][:SHOWN_LETTERS],
                [f"{_rounded(self.first[j, i])} ({_rounded(self.total[j, i])})" for j in outputs],
            )
            for i in chosen
        ]
        head = "Share of variance that an input explains alone (with its interactions)"
        if self.half_width:
            head = f"{head}, ± at most {self.half_width:.1g}"
        if n_out > SHOWN_OUTPUTS:
            head = f"{head}, {SHOWN_OUTPUTS} of {n_out} outputs"
        lines = [head, *table([f"y{j}" for j in outputs], rows)]
        if n_in > SHOWN_INPUTS:
            lines.append(f"and {n_in - SHOWN_INPUTS} more inputs, none with a larger share")
        return "\n".join(lines)

    @property
    def half_width(self) -> float:
        """Half the width of the widest interval; zero if there is none."""
        intervals = [i for i in (self.first_interval, self.total_interval) if i is not None]
        return 0.5 * float(
            np.max([np.nan_to_num(np.ptp(i, axis=-1)) for i in intervals], initial=0)
        )


def sensitivity(
    model: Any, bounds: ArrayLike, n: int = 1024, random_state: RandomState = 0
) -> Sensitivity:
    """Compute Sobol indices and main effects of the predictive mean.

    Args:
        model: Any object with predict(X), from this package or another.
        bounds: (low, high) of each input, (n_in, 2). The inputs are independent and uniform within
            these bounds.
        n: Number of base points, a power of two of at least 32. The model predicts at n (n_in + 2)
            points for the indices, and at 25 n_in min(n, 256) points for the main effects.
        random_state: Seed of the points.

    Returns:
        Indices with intervals, and effects. If an output does not vary, its indices are NaN. The
        intervals are percentiles of a bootstrap of blocks of points. They contain 93 to 100 % of
        the exact indices from n = 256 on, for seven test functions. There the largest error of an
        index is 0.28 for n = 256, 0.08 for n = 1024 and 0.02 for n = 4096. A first-order index may
        exceed the total index of its input by their errors.

    Raises:
        TypeError: If the model has no method predict.
        ValueError: If the bounds are not (n_in, 2) and increasing, n is not a power of two or is
            below 32, or the model predicts a value that is not finite.

    Warns:
        ConvergenceWarning: If an interval is wider than ± 0.1.

    Source: Saltelli et al. (2010), Computer Physics Communications 181; for the total indices,
    Jansen (1999); for the intervals, Archer, Saltelli & Sobol (1997), Journal of Statistical
    Computation and Simulation 58.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.random.default_rng(0).uniform(0.0, 1.0, (40, 2))
        >>> model = bnn.GPRegressor(noise=0.01).fit(X, 2.0 * X[:, 0] + X[:, 1])
        >>> bnn.sensitivity(model, [(0.0, 1.0)] * 2, random_state=0).first.round(2)
        array([[0.8, 0.2]])
    """
    if not callable(getattr(model, "predict", None)) or isinstance(model, type):
        raise TypeError(f"model is an instance of {type(model).__name__}: must have predict(X)")
    box = _checked_box(model, bounds)
    check_count("n", n, FEWEST_POINTS)
    if n & (n - 1):
        raise ValueError(f"n = {n}: must be a power of two")
    n_in = len(box.low)
    A, B = _base_points(box, n, random_state)
    f = _predicted(model, A)
    g = _predicted(model, B)
    both = np.vstack([f, g])
    # A power of two near the size of each output: squares of f / unit neither overflow nor vanish
    unit = power_of_two(np.abs(both).max(axis=0))
    middle = np.mean(both / unit, axis=0)
    f, g = f / unit - middle, g / unit - middle
    levels = np.linspace(box.low, box.high, EFFECT_LEVELS).T
    mixed = []
    effects = []
    for i in counted(range(n_in), "sensitivity", "input"):
        points = A.copy()
        points[:, i] = B[:, i]
        mixed.append(_predicted(model, points) / unit - middle)
        effects.append(_effect(model, A[:EFFECT_POINTS], i, levels[i], unit))
    moments = _Moments(f, g, np.array(mixed))
    constant = ~varies(both)
    once = moments.indices(np.ones((1, moments.blocks)))[0]
    first, total = (np.where(constant, np.nan, index).T for index in once)
    resampled = moments.indices(_resamples(moments.blocks))
    intervals = np.quantile(np.where(constant, 0.0, resampled), [0.025, 0.975], axis=0)
    of_first, of_total = np.where(constant, np.nan, intervals).transpose(1, 3, 2, 0)
    names = tuple(map(str, getattr(model, "feature_names_in_", ())))
    result = Sensitivity(
        first, total, levels, np.transpose(effects, (2, 0, 1)), names, of_first, of_total
    )
    if result.half_width > LARGEST_HALF_WIDTH:
        widest = f"± {result.half_width:.2g}"
        message = f"n = {n}: the 95 % intervals of the indices reach {widest}, use a larger n"
        message += f"; {see('warnings')}"
        warnings.warn(message, ConvergenceWarning, stacklevel=2)
    return result


def _checked_box(model: Any, bounds: ArrayLike) -> BoundsScaler:
    """Check that the bounds are (low, high) of each input of the model, and return them."""
    pairs = as_finite("bounds", bounds)
    needed = getattr(model, "n_features_in_", len(pairs) if pairs.ndim else "n_in")
    if pairs.shape != (needed, 2):
        raise ValueError(f"bounds has shape {pairs.shape}: must be ({needed}, 2)")
    return BoundsScaler(pairs[:, 0], pairs[:, 1])


def _base_points(box: BoundsScaler, n: int, random_state: RandomState) -> tuple[Array, Array]:
    """Return two samples A and B of the box, (n, n_in) each, from one Sobol sequence."""
    n_in = len(box.low)
    unit = qmc.Sobol(2 * n_in, seed=generator(random_state)).random_base2(int(n).bit_length() - 1)
    A = np.asarray(box.inverse_transform(2.0 * unit[:, :n_in] - 1.0))
    B = np.asarray(box.inverse_transform(2.0 * unit[:, n_in:] - 1.0))
    return A, B


class _Moments:
    """Means over blocks of base points, of which the Sobol indices are functions.

    Consecutive points of a scrambled Sobol sequence are a sample of the whole cube, so blocks of
    them vary less than as many random points would.
    """

    def __init__(self, f: Array, g: Array, mixed: Array) -> None:
        n_out = f.shape[1]
        self.blocks = BLOCKS
        # V_i = E (g - c)(h - f) with h = f at the points with input i of g, and V_Ti = ½ E (f - h)²
        away = mixed - f
        self._block_means = [
            values.reshape(*values.shape[:-2], self.blocks, -1, n_out).mean(axis=-2)
            for values in (f, g, f**2 + g**2, away, g * away, 0.5 * away**2)
        ]

    def indices(self, counts: Array) -> Array:
        """Return first-order and total indices of R samples of blocks, (R, 2, n_in, n_out).

        Args:
            counts: How often each block is in each sample, (R, blocks).
        """
        # Means (R, n_out) of f, g and f² + g², and means (R, n_in, n_out) of the others
        shares = counts / self.blocks
        means = [np.einsum("rb,...bj->r...j", shares, values) for values in self._block_means]
        of_f, of_g, squares, away, products, total = means
        centre = 0.5 * (of_f + of_g)
        variance = np.maximum(0.5 * squares - centre**2, np.finfo(float).tiny)
        first = products - centre[:, None] * away
        return np.asarray(np.stack([first, total], axis=1) / variance[:, None, None])


def _resamples(blocks: int) -> Array:
    """Return how often each block is drawn in each resample of a bootstrap, (RESAMPLES, blocks)."""
    shares = np.full(blocks, 1.0 / blocks)
    return np.random.default_rng(0).multinomial(blocks, shares, RESAMPLES).astype(float)


def _rounded(share: float) -> str:
    """Format a share with two decimals, and zero without a sign."""
    return f"{round(share, 2) + 0.0:.2f}"


def _predicted(model: Any, X: Array) -> Array:
    """Return the predicted means, (n, n_out), at X (n, n_in)."""
    with warnings.catch_warnings():
        # A model that was fitted to a table would warn that column names are missing.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        values = np.reshape(np.asarray(model.predict(X), dtype=float), (len(X), -1))
    for i, j in np.argwhere(~np.isfinite(values))[:1]:
        raise ValueError(f"model predicts {values[i, j]} for output {j} at {X[i]}: must be finite")
    return values


def _effect(model: Any, X: Array, i: int, levels: Array, unit: Array) -> Array:
    """Return the mean of f over X (n, n_in) with input i at each of its L levels, (L, n_out).

    Predictions are averaged in units (n_out,).
    """
    points = np.repeat(X[None], len(levels), axis=0)
    points[:, :, i] = levels[:, None]
    values = _predicted(model, points.reshape(-1, X.shape[1])) / unit
    return np.asarray(values.reshape(len(levels), len(X), -1).mean(axis=1) * unit)
