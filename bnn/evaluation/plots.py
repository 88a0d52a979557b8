"""Plots of predictions, calibration, prior checks, sensitivity and singular values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from bnn._validation import Array, as_array, as_columns, as_finite, as_points
from bnn.evaluation.metrics import calibration_curve, miscalibration_area
from bnn.evaluation.prior_check import PriorCheck
from bnn.evaluation.sensitivity import Sensitivity
from bnn.noise import Noise

SLICE_POINTS = 100
# Creates a figure and an array (rows, columns) of panels.
_panels: Callable[..., tuple[Figure, Any]] = partial(
    plt.subplots, squeeze=False, layout="constrained"
)


def _band(axes: Axes, x: Array, mean: Array, std: Array) -> None:
    low = mean - 2 * std
    high = mean + 2 * std
    axes.fill_between(x, low, high, color="C0", alpha=0.25, lw=0, label="mean ± 2 std")
    axes.plot(x, mean, color="C0", label="mean")


def _numbers(name: str, values: ArrayLike, call: str, *, gaps: bool = False) -> Array:
    """Return finite values as float64, or NaN in gaps; for a model, ValueError with the call."""
    if hasattr(values, "predict"):
        raise ValueError(f"{name} is a {type(values).__name__}: must be numbers, as in {call}")
    array = as_array(name, values)
    as_finite(name, np.where(np.isnan(array) & gaps, 0.0, array))
    return array


def _labels(argument: str, names: Sequence[str] | None, n: int, what: str) -> list[str]:
    """Return the names; None stands for numbers of inputs or outputs. Check that there are n."""
    if names is None:
        return [f"{what} {i}" for i in range(n)]
    if len(names) != n:
        raise ValueError(f"{argument} has {len(names)} entries: must be {n}, one for each")
    return list(names)


def plot_1d(
    X: Array,
    samples: Array,
    *,
    data: tuple[Array, Array] | None = None,
    reference: Array | None = None,
    members: int = 0,
    output: int = 0,
    axes: Axes | None = None,
) -> Axes:
    """Draw mean ± 2 standard deviations of an ensemble over one input.

    Args:
        X: Inputs, (n, 1), in increasing order.
        samples: Values of the members at X, (K, n, n_out).
        data: Training inputs (N, 1) and outputs (N,) or (N, n_out).
        reference: Reference values at X, (n,).
        members: Number of members to draw as thin lines.
        output: Index of the output.
        axes: Axes to draw into; None creates a figure.

    Returns:
        The axes.

    Raises:
        ValueError: If X does not have one value per point of the samples, or the output does not
            exist.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> model = bnn.GPRegressor(noise=0.05).fit(X, y)
        >>> samples = model.sample(X, n_samples=20, random_state=0)
        >>> axes = bnn.plots.plot_1d(X, samples, data=(X, y))
        >>> len(axes.lines) > 0
        True
    """
    x = _numbers("X", X, "plot_1d(X, model.sample(X))").ravel()
    drawn = _numbers("samples", samples, "plot_1d(X, model.sample(X))")
    if drawn.ndim != 3 or not 0 <= output < drawn.shape[2]:
        needed = f"(K, n, n_out) with the output {output}, as model.sample(X) returns"
        raise ValueError(f"samples has shape {drawn.shape}: must be {needed}")
    values = drawn[:, :, output]
    if len(x) != values.shape[1]:
        raise ValueError(f"X has shape {np.shape(X)}: must be ({values.shape[1]}, 1)")
    axes = axes or plt.subplots(figsize=(4.5, 3.2), layout="constrained")[1]
    _band(axes, x, values.mean(axis=0), values.std(axis=0, ddof=1))
    axes.plot(x, values[:members].T, color="0.6", lw=0.5, zorder=1)
    if reference is not None:
        axes.plot(x, np.ravel(reference), "k--", lw=1, label="reference")
    if data is not None:
        y = np.reshape(data[1], (len(data[0]), -1))[:, output]
        axes.plot(np.ravel(data[0]), y, "o", color="C3", ms=3, label="data")
    axes.set(xlabel="input", ylabel="output")
    axes.legend(frameon=False, fontsize="small")
    return axes


def plot_rounds(rounds: Sequence[Any], input_names: Sequence[str] | None = None) -> Figure:
    """Draw the inputs of the runs, round by round.

    Args:
        rounds: Inputs of the runs of each round, (n, n_in) each.
        input_names: Labels of the inputs; None uses the column names of the first round if it is a
            table.

    Returns:
        The figure. Each column shows a round, with the runs of earlier rounds in grey. Each row
        shows two inputs; if the number of inputs is odd, the last one is shown with the first.

    Raises:
        ValueError: If there is no round, the rounds do not have the same inputs, or there is not
            one name per input.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> rounds = [np.zeros((3, 2)), np.ones((2, 2))]
        >>> len(bnn.plots.plot_rounds(rounds, ["a", "b"]).axes)
        2
    """
    points = [as_points(f"rounds[{k}]", X) for k, X in enumerate(rounds)]
    if not points:
        raise ValueError("rounds: must have at least one round")
    numbers = [X.shape[1] for X in points]
    n_in = numbers[0]
    if any(number != n_in for number in numbers):
        raise ValueError(f"rounds have {numbers} inputs: must be equal")
    if input_names is None:
        input_names = getattr(rounds[0], "columns", None)
    names = _labels("input_names", input_names, n_in, "input")
    pairs = [(i, (i + 1) % n_in) for i in range(0, n_in, 2)]
    size = 1.7 * len(points) + 0.6, 1.7 * len(pairs) + 0.5
    figure, panels = _panels(len(pairs), len(points), figsize=size, sharex="row", sharey="row")
    for (row, k), axes in np.ndenumerate(panels):
        i, j = pairs[row]
        for earlier in points[:k]:
            axes.scatter(earlier[:, i], earlier[:, j], s=9, color="0.7", lw=0)
        axes.scatter(points[k][:, i], points[k][:, j], s=14, color="C3", lw=0)
        axes.set(xlabel=names[i], ylabel=names[j] if k == 0 else "")
        words = f"{sum(map(len, points[: k + 1]))} runs" if row == 0 else ""
        axes.set_title(words, fontsize="medium")
    return figure


def plot_slices(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    at: ArrayLike | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Figure:
    """Draw mean ± 2 standard deviations along each input, with the other inputs held at a point.

    Args:
        model: Any object with predict(X, return_std=True), from this package or another.
        X: Training inputs, (N, n_in). The slices cover their ranges.
        y: Training outputs, (N,) or (N, n_out); None draws no data. A point has the opacity
            exp(-d²/2), where d is the distance of its other inputs from `at`, in standard
            deviations of X.
        at: Point at which the other inputs are held, (n_in,); None uses the median of X.
        input_names: Labels of the columns; None uses the column names of X if it is a table.
        output_names: Labels of the rows, with units.

    Returns:
        The figure, a row of panels per output and a column per input.

    Raises:
        ValueError: If shapes or the numbers of names do not match.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> model = bnn.GPRegressor(noise=0.05).fit(X, y)
        >>> len(bnn.plots.plot_slices(model, X, y).axes)
        1
    """
    points = as_points("X", X)
    columns = list(getattr(X, "columns", ()))
    n_in = points.shape[1]
    spread = points.std(axis=0)
    centre = np.median(points, axis=0) if at is None else as_finite("at", at)
    if centre.shape != (n_in,):
        raise ValueError(f"at has shape {centre.shape}: must be ({n_in},)")
    lines = np.linspace(points.min(axis=0), points.max(axis=0), SLICE_POINTS).T
    on_slices = _on_slices(centre, lines)
    # A model that was fitted to a table expects a table with the same column names.
    requested = type(X)(on_slices, columns=columns) if columns else on_slices
    predicted = model.predict(requested, return_std=True)
    mean, std = (np.reshape(values, (*lines.shape, -1)) for values in predicted)
    n_out = mean.shape[2]
    data = None if y is None else as_columns("y", y, len(points))
    if data is not None and data.shape[1] != n_out:
        raise ValueError(f"y has {data.shape[1]} outputs: must be {n_out}")
    # d_i² of each input; the opacity ignores the input that varies
    away = ((points - centre) / np.where(spread > 0, spread, 1.0)) ** 2
    size = 2.3 * n_in + 0.6, 1.9 * n_out + 0.5
    figure, panels = _panels(n_out, n_in, figsize=size, sharex="col", sharey="row")
    for (j, i), axes in np.ndenumerate(panels):
        _band(axes, lines[i], mean[i, :, j], std[i, :, j])
        axes.axvline(centre[i], color="0.6", lw=0.8, ls=":", zorder=0)
        if data is not None:
            shown = np.exp(-0.5 * (away.sum(axis=1) - away[:, i]))
            axes.scatter(points[:, i], data[:, j], s=9, color="C3", lw=0, alpha=shown)
    named = columns or None if input_names is None else input_names
    inputs = _labels("input_names", named, n_in, "input")
    outputs = _labels("output_names", output_names, n_out, "output")
    for axes, name in zip(panels[-1], inputs, strict=True):
        axes.set_xlabel(name)
    for axes, name in zip(panels[:, 0], outputs, strict=True):
        axes.set_ylabel(name)
    return figure


def _on_slices(centre: Array, lines: Array) -> Array:
    """Return points (n_in n, n_in): input i takes its n values in lines (n_in, n), others rest."""
    n_in, n = lines.shape
    points = np.tile(centre, (n_in, n, 1))
    points[range(n_in), :, range(n_in)] = lines
    return points.reshape(-1, n_in)


def plot_parity(y: Array, mean: Array, std: Array, names: Sequence[str] | None = None) -> Figure:
    """Draw predicted mean ± 2 standard deviations against the true values, one panel per output.

    Args:
        y: True values, (n,) or (n, n_out), NaN for missing values.
        mean: Predicted mean, of the same shape.
        std: Predicted standard deviation, of the same shape.
        names: Names of the outputs, with units.

    Returns:
        The figure.

    Raises:
        ValueError: If the three do not have the same shape, or there is not one name per output.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> y = np.array([1.0, 2.0, 3.0])
        >>> len(bnn.plots.plot_parity(y, mean=y + 0.1, std=np.full(3, 0.1), names=["E [GPa]"]).axes)
        1
    """
    call = "plot_parity(y, *model.predict(X, return_std=True))"
    named = {"y": y, "mean": mean, "std": std}
    arrays = [_numbers(name, values, call, gaps=name == "y") for name, values in named.items()]
    if len({array.shape for array in arrays}) > 1:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"y, mean and std have shapes {shapes}: must be equal")
    y, mean, std = (as_columns("y", array, len(array)) for array in arrays)
    n = y.shape[1]
    titles = _labels("names", names, n, "output")
    figure, panels = _panels(1, n, figsize=(2.6 * n + 0.4, 2.8))
    for j, axes in enumerate(panels[0]):
        axes.errorbar(y[:, j], mean[:, j], 2 * std[:, j], fmt="o", ms=3, lw=0.8, color="C0")
        both = np.concatenate([y[:, j], mean[:, j]])
        ends = [np.nanmin(both), np.nanmax(both)]
        axes.plot(ends, ends, "k--", lw=1)
        axes.set(title=titles[j], xlabel="true")
    panels[0, 0].set_ylabel("predicted, ± 2 std")
    return figure


def plot_calibration(
    y: Array,
    predictions: Mapping[str, tuple[Array, Array]],
    *,
    noise: Noise | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw calibration curves, averaged over the outputs, with the miscalibration area.

    Args:
        y: True values, (n,) or (n, n_out).
        predictions: Name → (mean, std), each of the shape of y.
        noise: Noise whose variance is added to std², see bnn.evaluation.metrics.
        axes: Axes to draw into; None creates a figure.

    Returns:
        The axes.

    Raises:
        ValueError: If shapes differ, or a standard deviation is not positive.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> y = np.array([1.0, 2.0, 3.0])
        >>> axes = bnn.plots.plot_calibration(y, {"exact": (y + 0.1, np.full(3, 0.1))})
        >>> len(axes.lines) > 0
        True
    """
    axes = axes or plt.subplots(figsize=(3.6, 3.4), layout="constrained")[1]
    axes.plot([0, 1], [0, 1], "k--", lw=1, label="ideal")
    for name, (mean, std) in predictions.items():
        levels, observed = calibration_curve(y, mean, std, noise)
        area = miscalibration_area(y, mean, std, noise)
        axes.plot(levels, observed.mean(axis=1), label=f"{name}, area {area:.2f}")
    axes.set(xlabel="expected proportion", ylabel="observed proportion", xlim=(0, 1), ylim=(0, 1))
    axes.set_aspect("equal")
    axes.legend(frameon=False, fontsize="small")
    return axes


def plot_prior_check(check: PriorCheck, names: Sequence[str] | None = None) -> Figure:
    """Draw data over their 95 % intervals under prior and noise, one panel per output.

    Args:
        check: Result of `bnn.check_prior`.
        names: Names of the outputs, with units.

    Returns:
        The figure.

    Raises:
        ValueError: If there is not one name per output.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
        >>> check = bnn.check_prior(prior, X, y, noise=0.05, random_state=0)
        >>> len(bnn.plots.plot_prior_check(check, ["f"]).axes)
        1
    """
    n = check.y.shape[1]
    labels = _labels("names", names, n, "output")
    figure, panels = _panels(1, n, figsize=(2.6 * n + 0.4, 2.8))
    for j, axes in enumerate(panels[0]):
        order = np.argsort(check.quantiles[1, :, j])
        numbers = np.arange(1, len(check.y) + 1)
        low, median, high, data = np.stack([*check.quantiles, check.y])[:, order, j]
        axes.fill_between(numbers, low, high, color="C0", alpha=0.25, lw=0, label="prior, 95 %")
        axes.plot(numbers, median, color="C0", label="prior, median")
        axes.plot(numbers, data, "o", color="C3", ms=3, label="data")
        axes.set_title(f"distance {check.distance[j]:.2g}, p = {check.p_value[j]:.2g}", fontsize=9)
        axes.set(xlabel="data, sorted by median", ylabel=labels[j])
    panels[0, 0].legend(frameon=False, fontsize="small")
    return figure


def plot_sensitivity(
    result: Sensitivity,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Figure:
    """Draw main effects and Sobol indices, one row of panels per output.

    Args:
        result: Result of `bnn.sensitivity`.
        input_names: Names of the inputs; None uses the names in the result.
        output_names: Names of the outputs, with units.

    Returns:
        The figure. The left panels show the mean of the output over each input, from its lower to
        its upper bound. The right panels show the share of the variance that each input explains
        alone (full bars) and with its interactions (open bars).

    Raises:
        ValueError: If the numbers of names do not match.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.random.default_rng(0).uniform(0.0, 1.0, (20, 2))
        >>> model = bnn.GPRegressor(noise=0.01).fit(X, X[:, 0] * X[:, 1])
        >>> result = bnn.sensitivity(model, [(0.0, 1.0)] * 2, n=64)
        >>> len(bnn.plots.plot_sensitivity(result, ["a", "b"], ["y"]).axes)
        2
    """
    n_out, n_in = result.first.shape
    named = result.inputs or None if input_names is None else input_names
    inputs = _labels("input_names", named, n_in, "input")
    outputs = _labels("output_names", output_names, n_out, "output")
    figure, panels = _panels(n_out, 2, figsize=(7.5, 2.0 * n_out + 0.6), sharex="col")
    places = np.arange(n_in)
    for j, (left, right) in enumerate(panels):
        for i, name in enumerate(inputs):
            share = np.linspace(0.0, 1.0, result.levels.shape[1])
            left.plot(share, result.effects[j, i], color=f"C{i}", label=name)
            right.bar(places[i], result.total[j, i], 0.7, color="none", edgecolor=f"C{i}")
            right.bar(places[i], result.first[j, i], 0.7, color=f"C{i}")
        left.set_ylabel(outputs[j])
        right.set(xticks=places, xticklabels=inputs, ylim=(0.0, 1.05), ylabel="share of variance")
    panels[0, 0].set_title("main effects", fontsize="medium")
    panels[0, 1].set_title("alone (full), with interactions (open)", fontsize="medium")
    panels[-1, 0].set(xlabel="input", xticks=[0.0, 1.0], xticklabels=["lower", "upper bound"])
    panels[0, 0].legend(frameon=False, fontsize="small")
    return figure


def plot_singular_values(priors: Mapping[str, object], *, axes: Axes | None = None) -> Axes:
    """Draw the decay of the singular values of W0, the centred pre-trained weights.

    Args:
        priors: Name → LowRankGaussian, or its singular values.
        axes: Axes to draw into; None creates a figure.

    Returns:
        The axes.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> axes = bnn.plots.plot_singular_values({"prior": np.array([3.0, 2.0, 1.0])})
        >>> len(axes.lines)
        1
    """
    axes = axes or plt.subplots(figsize=(4.0, 3.0), layout="constrained")[1]
    for name, prior in priors.items():
        values = np.asarray(getattr(prior, "singular_values", prior))
        axes.semilogy(np.arange(1, len(values) + 1), values, label=name)
    axes.set(xlabel="number", ylabel="singular value of $\\mathbb{W}_0$")
    axes.legend(frameon=False, fontsize="small")
    return axes
