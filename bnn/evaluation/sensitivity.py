"""Global sensitivity analysis: Sobol indices and main effects of the inputs of a model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import qmc

from bnn._progress import counted
from bnn._seeding import RandomState, generator
from bnn._text import Short, table
from bnn._validation import Array, as_finite, check_count, varies
from bnn.scaling import BoundsScaler

LEVELS = 25  # values of an input at which its main effect is computed
POINTS = 256  # largest number of points of the other inputs for the average of a main effect
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

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.random.default_rng(0).uniform(0.0, 1.0, (40, 2))
        >>> model = bnn.GPRegressor(noise=0.01).fit(X, X[:, 0] * X[:, 1] + X[:, 0])
        >>> print(bnn.sensitivity(model, [(0.0, 1.0)] * 2))
        Share of the variance that an input explains alone (with its interactions)
                     y0
        x0  0.87 (0.90)
        x1  0.10 (0.13)
    """

    first: Array
    total: Array
    levels: Array
    effects: Array
    inputs: tuple[str, ...] = ()

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
        head = "Share of the variance that an input explains alone (with its interactions)"
        if n_out > SHOWN_OUTPUTS:
            head = f"{head}, {SHOWN_OUTPUTS} of {n_out} outputs"
        lines = [head, *table([f"y{j}" for j in outputs], rows)]
        if n_in > SHOWN_INPUTS:
            lines.append(f"and {n_in - SHOWN_INPUTS} more inputs, none with a larger share")
        return "\n".join(lines)


def sensitivity(
    model: Any, bounds: ArrayLike, n: int = 1024, random_state: RandomState = 0
) -> Sensitivity:
    """Compute Sobol indices and main effects of the predictive mean.

    Args:
        model: Any object with predict(X), from this package or another.
        bounds: (low, high) of each input, (n_in, 2). The inputs are independent and uniform within
            these bounds.
        n: Number of base points, a power of two. The model predicts at n (n_in + 2) points for the
            indices, and at 25 n_in min(n, 256) points for the main effects.
        random_state: Seed of the points.

    Returns:
        Indices and effects. The errors of the indices are about 1 / n for smooth functions. If an
        output does not vary, its indices are NaN.

    Raises:
        TypeError: If the model has no method predict.
        ValueError: If the bounds are not (n_in, 2) and increasing, or n is not a power of two.

    Source: Saltelli et al. (2010), Computer Physics Communications 181; for the total indices,
    Jansen (1999).

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
    pairs = as_finite("bounds", bounds)
    needed = getattr(model, "n_features_in_", len(pairs) if pairs.ndim else "n_in")
    if pairs.shape != (needed, 2):
        raise ValueError(f"bounds has shape {pairs.shape}: must be ({needed}, 2)")
    box = BoundsScaler(pairs[:, 0], pairs[:, 1])
    check_count("n", n, 2)
    if n & (n - 1):
        raise ValueError(f"n = {n}: must be a power of two")
    n_in = len(pairs)
    unit = qmc.Sobol(2 * n_in, seed=generator(random_state)).random_base2(n.bit_length() - 1)
    A = np.asarray(box.inverse_transform(2.0 * unit[:, :n_in] - 1.0))
    B = np.asarray(box.inverse_transform(2.0 * unit[:, n_in:] - 1.0))
    f = _predicted(model, A)
    g = _predicted(model, B)
    centre = 0.5 * (f.mean(axis=0) + g.mean(axis=0))
    both = np.vstack([f, g])
    variance = np.where(varies(both), np.var(both, axis=0), np.nan)
    levels = np.linspace(box.low, box.high, LEVELS).T
    first = []
    total = []
    effects = []
    for i in counted(range(n_in), "sensitivity", "input"):
        mixed = A.copy()
        mixed[:, i] = B[:, i]
        h = _predicted(model, mixed)
        # V_i = E (g - c)(h - f) and V_Ti = ½ E (f - h)²
        first.append(np.mean((g - centre) * (h - f), axis=0))
        total.append(0.5 * np.mean((f - h) ** 2, axis=0))
        effects.append(_effect(model, A[:POINTS], i, levels[i]))
    return Sensitivity(
        np.transpose(first / variance),
        np.transpose(total / variance),
        levels,
        np.transpose(effects, (2, 0, 1)),
        tuple(map(str, getattr(model, "feature_names_in_", ()))),
    )


def _rounded(share: float) -> str:
    """Format a share with two decimals, and zero without a sign."""
    return f"{round(share, 2) + 0.0:.2f}"


def _predicted(model: Any, X: Array) -> Array:
    """Return the predicted means, (n, n_out), at X (n, n_in)."""
    with warnings.catch_warnings():
        # A model that was fitted to a table would warn that column names are missing.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return np.reshape(np.asarray(model.predict(X), dtype=float), (len(X), -1))


def _effect(model: Any, X: Array, i: int, levels: Array) -> Array:
    """Return the mean of f over X (n, n_in) with input i at each of its levels, (LEVELS, n_out)."""
    points = np.repeat(X[None], len(levels), axis=0)
    points[:, :, i] = levels[:, None]
    found = _predicted(model, points.reshape(-1, X.shape[1]))
    return np.asarray(found.reshape(len(levels), len(X), -1).mean(axis=1))
