"""Figures of notebook 06: predictions compared with reference data, errors, and curves."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from figures.composite.problem import LABELS, OUTPUT_NAMES
from figures.pipeline.settings import TRAINING_CASE
from figures.style import STYLE, WIDTH, band, with_legend
from studies.prior_knowledge.study import MODELS, Rows, counts_of

COLOURS = dict(zip(MODELS, ("0.45", "C0", "C4", "C2", "C5", "C1", "C3", "C6", "C7"), strict=True))
SHOWN = {  # panel: number → models
    "reference_rmse_fields": ("paper", "evidence", "by_input", "own", "fitted"),
    "elppd": ("paper", "evidence", "covariance", "by_input", "fitted"),
}
SHORT = {
    "paper": "paper",
    "evidence": "evidence",
    "covariance": "covariance",
    "by_input": "input-dep. noise",
    "fitted": "mean-field model",
    "own": "mean-field, own noise",
}
STRAIN = r"$\varepsilon_{xx}$ [%]"
HEADINGS = {
    "reference_rmse_fields": "RMSE against the reference data,\nwithout $p_\\sigma$ (scaled)",
    "elppd": "ELPPD of 50 single RVEs",
}


@plt.style.context(STYLE)
def against_reference(
    reference: np.ndarray,
    predicted: np.ndarray,
    colours: np.ndarray,
    words: Sequence[str],
    tolerance: float = 0.0,
    log: bool = False,
) -> Figure:
    """Plot predictions over reference data, one panel per output.

    Args:
        reference: Reference data, (n, n_out).
        predicted: Predictions, (n, n_out).
        colours: Volume fractions, which give the colours, (n,).
        words: Labels of both axes.
        tolerance: Relative half width of the grey band.
        log: Whether axes are logarithmic.

    Returns:
        The figure.
    """
    figure, panels = plt.subplots(1, len(OUTPUT_NAMES), figsize=(WIDTH, 2.7))
    for axes, name, x, y in zip(panels, OUTPUT_NAMES, reference.T, predicted.T, strict=True):
        points = axes.scatter(x, y, c=colours, s=8, cmap="viridis", rasterized=True)
        if log:
            axes.loglog()
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_minor_formatter(NullFormatter())
        low = min(x.min(), y.min())
        high = max(x.max(), y.max())
        ends = np.array([low, high])
        axes.plot(ends, ends, color="0.3", lw=0.8)
        if tolerance:
            low_ends = ends * (1 - tolerance)
            high_ends = ends * (1 + tolerance)
            axes.fill_between(ends, low_ends, high_ends, color="0.85", zorder=0)
        axes.set_title(LABELS[name])
    panels[0].set_ylabel(words[1])
    figure.supxlabel(words[0], fontsize="medium")
    figure.colorbar(points, ax=panels, label=r"$v_f$ [–]", pad=0.01)
    return figure


@plt.style.context(STYLE)
def worth(rows: Rows, alone: float, textbook: float) -> Figure:
    """Plot scores over the number of training RVEs, and out of distribution, as means over draws.

    Args:
        rows: Scores by training set and model.
        alone: RMSE of the mean-field model without training RVEs.
        textbook: RMSE of the mean-field model without fitted parameters.

    Returns:
        The figure.
    """
    figure = plt.figure(figsize=(WIDTH, 4.8))
    (parts,) = figure.subfigures(1, len(SHOWN), squeeze=False, width_ratios=(1.12, 1))
    for column, (score, models) in zip(parts, SHOWN.items(), strict=True):
        inside, outside = column.subplots(1, 2, width_ratios=(3, 1), sharey=True)
        _over_counts(inside, rows, score, models)
        _out_of_distribution(outside, rows, score, models)
        inside.set_ylabel(HEADINGS[score])
        with_legend(column, 1)  # each half has its own models
    errors = parts[0].axes[0]
    for error, style, words in (
        (alone, ":", "mean-field model, no RVEs"),
        (textbook, "--", "mean-field model, not fitted"),
    ):
        errors.axhline(error, color="0.2", lw=0.8, ls=style)
        errors.annotate(
            words,
            (1, error),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=7,
        )
    errors.set_yscale("log")
    return figure


def _over_counts(axes: Axes, rows: Rows, score: str, models: Sequence[str]) -> None:
    counts = counts_of(rows)
    for model in models:
        numbers = [getattr(rows[f"ind{count}"][model], score) for count in counts]
        axes.errorbar(
            counts,
            [n.mean for n in numbers],
            yerr=[n.margin for n in numbers],
            marker="o",
            ms=3,
            capsize=2,
            color=COLOURS[model],
            label=MODELS[model].label,
        )
    axes.set(xscale="log", xlabel="training RVEs, in distribution")
    axes.set_xticks(counts, map(str, counts))
    axes.xaxis.set_minor_locator(NullLocator())


def _out_of_distribution(axes: Axes, rows: Rows, score: str, models: Sequence[str]) -> None:
    for i, model in enumerate(models):
        number = getattr(rows[TRAINING_CASE][model], score)
        axes.errorbar(
            i, number.mean, yerr=number.margin, fmt="o", ms=4, capsize=2, color=COLOURS[model]
        )
        axes.plot(
            np.full(len(number.values), i + 0.25),
            number.values,
            "_",
            ms=4,
            alpha=0.35,
            color=COLOURS[model],
        )
    axes.set(xlim=(-0.7, len(models) - 0.3), xlabel="50 RVEs, out\nof distribution")
    labels = [SHORT[model] for model in models]
    axes.set_xticks(range(len(models)), labels, rotation=90, fontsize=7)


@plt.style.context(STYLE)
def curve_fans(
    strain: np.ndarray,
    titles: Sequence[str],
    mean: np.ndarray,
    spread: np.ndarray,
    total: np.ndarray,
    simulated: Sequence[np.ndarray],
) -> Figure:
    """Plot predicted curves with bands of f and of a single RVE, and simulated curves.

    The lower panels show everything relative to the predicted mean.

    Args:
        strain: Mean strain, (increments,).
        titles: Titles of the m columns.
        mean: Predicted mean curves, (m, increments) [MPa].
        spread: Standard deviations of f, relative to the mean, (m, increments).
        total: Standard deviations of single RVEs, relative to the mean, (m, increments).
        simulated: Simulated curves of each column, (RVEs, increments) [MPa].

    Returns:
        The figure.
    """
    figure, panels = plt.subplots(
        2, len(titles), figsize=(WIDTH, 4.6), sharex=True, sharey="row", squeeze=False
    )
    x = 100 * strain
    hundred = np.full(len(strain), 100.0)
    for i, title in enumerate(titles):
        for axes, scale, shift in zip(panels[:, i], (mean[i], hundred), (0, 100), strict=True):
            centre = scale - shift
            band(axes, x, centre, scale * total[i], "single RVE", "0.5")
            band(axes, x, centre, scale * spread[i], "f", "C0", 0.5)
            lines = axes.plot(x, (scale * simulated[i] / mean[i] - shift).T, "k", lw=0.6, alpha=0.6)
            lines[0].set_label("new simulations")
        panels[0, i].set_title(title, fontsize=8)
        panels[1, i].set_xlabel(STRAIN)
    panels[0, 0].set_ylabel(r"$\sigma_{xx}$ [MPa]")
    panels[1, 0].set_ylabel("minus the predicted mean [%]")
    return with_legend(figure, 5)


@plt.style.context(STYLE)
def curve_errors(
    strain: np.ndarray, errors: Mapping[str, np.ndarray], scatter: np.ndarray
) -> Figure:
    """Plot relative errors of mean curves, (increments,), and the relative scatter of RVEs."""
    figure, axes = plt.subplots(figsize=(WIDTH / 2, 3.6))
    label = "standard deviation between microstructures"
    axes.fill_between(100 * strain, 0, 100 * scatter, color="0.85", lw=0, label=label)
    for (name, error), style in zip(errors.items(), ("-", "--", "-.", ":"), strict=False):
        axes.plot(100 * strain, 100 * error, style, label=f"error, {name}")
    axes.set(xlabel=STRAIN, ylabel=r"relative to $\sigma_{xx}$ [%]", ylim=(0, None))
    return with_legend(figure, 1)
