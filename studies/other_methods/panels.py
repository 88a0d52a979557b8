"""Figures of notebook 05: methods compared with the exact posterior."""

import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from figures.composite.scores import MethodScores, WeightSpaceScores
from figures.example_1d.ensembles import GRID, load_data
from figures.example_1d.panels import WIDE_LIMIT
from figures.scores import Interval
from figures.style import STYLE, WIDTH, band, with_legend
from studies.other_methods.example_1d import Curves
from studies.other_methods.methods import LABELS
from studies.other_methods.tables import COMPARED, HEADINGS

SHOWN_1D = ("vanilla", "low_rank", "none", "low_rank_converged", "function", "sampled")
UNITS = {"rmse": " (scaled)", "elppd": ", sum over test RVEs"}
COLOURS = {
    "C0": "weight-space ensemble",
    "C2": "function-space anchoring",
    "0.45": "samples of the exact posterior",
}


def _colour(method: str) -> str:
    if method.startswith("function"):
        return "C2"
    return "0.45" if method.startswith("sampled") else "C0"


@plt.style.context(STYLE)
def methods(
    rows: Mapping[str, MethodScores[Interval]], exact: Mapping[str, MethodScores[float]]
) -> Figure:
    """Plot scores of every method: means with 95 % intervals, seeds as ticks, exact as lines."""
    figure, panels = plt.subplots(1, 3, figsize=(WIDTH, 0.32 * len(rows) + 1.3), sharey=True)
    for axes, score in zip(panels, COMPARED, strict=True):
        for y, (method, row) in enumerate(rows.items()):
            number = getattr(row, score)
            color = _colour(method)
            # Only the ELPPD can be negative.
            below = number.margin if score == "elppd" else min(number.margin, number.mean)
            axes.errorbar(
                number.mean,
                y,
                xerr=[[below], [number.margin]],
                fmt="o",
                color=color,
                ms=4,
                capsize=2,
                label=COLOURS[color],
            )
            ticks = np.full(len(number.values), y)
            axes.plot(number.values, ticks, "|", color=color, ms=4, alpha=0.35)
        for (name, best), style in zip(exact.items(), ("--", ":", "-."), strict=True):
            axes.axvline(getattr(best, score), color="C1", ls=style, lw=1, label=LABELS[name])
        axes.set_xlabel(HEADINGS[score][0] + UNITS.get(score, ""))
        axes.grid(axis="y", lw=0.3)
    colours = [_colour(method) for method in rows]
    for y in range(1, len(rows)):
        if colours[y] != colours[y - 1]:  # another kind of method begins
            for axes in panels:
                axes.axhline(y - 0.5, color="0.3", lw=0.8)
    words = [textwrap.fill(LABELS[method], 36) for method in rows]
    panels[0].set_yticks(range(len(rows)), words, fontsize="small")
    panels[0].invert_yaxis()
    return with_legend(figure, 3)


@plt.style.context(STYLE)
def span(
    rows: Mapping[str, MethodScores[Interval]], spans: Mapping[str, WeightSpaceScores[Interval]]
) -> Figure:
    """Plot the share of the gradient on which the low-rank regulariser acts, and the ELPPD."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.4))
    counts = [int(count) for count in spans]
    seen = [row.gradient_in_span.mean for row in spans.values()]
    random = [row.dimension.mean for row in spans.values()]
    left.plot(counts, seen, "o-", label="gradient of the data term")
    left.plot(counts, random, "s--", color="0.45", label="random direction, $(K-1)/d$")
    left.set(ylabel="share in the span of the networks", ylim=(0, 1))
    for count, elppd in zip(counts, (row.elppd for row in spans.values()), strict=True):
        right.errorbar(count, elppd.mean, yerr=elppd.margin, fmt="o", color="C0", capsize=2)
    none = rows["none"].elppd
    right.axhspan(
        none.mean - none.margin,
        none.mean + none.margin,
        color="0.45",
        alpha=0.25,
        lw=0,
        label="no regulariser",
    )
    right.axhline(rows["vanilla"].elppd.mean, color="k", ls=":", lw=1, label="vanilla")
    right.set(ylabel="ELPPD")
    for axes in (left, right):
        axes.set(xlabel="pre-trained networks $K$", xscale="log")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)  # above the curves
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
    return figure


@plt.style.context(STYLE)
def example(cases: Mapping[str, Mapping[str, Curves]]) -> Figure:
    """Plot one-dimensional posteriors of some methods over the exact posterior."""
    size = (WIDTH, 2.5 * len(cases) + 0.4)
    figure, panels = plt.subplots(len(cases), len(SHOWN_1D), figsize=size, sharex=True, sharey=True)
    x = GRID[:, 0]
    X, y = load_data()
    for row, (name, curves) in zip(panels, cases.items(), strict=True):
        exact = curves["exact"]
        for axes, method in zip(row, SHOWN_1D, strict=True):
            shown = curves[method]
            band(axes, x, shown.mean, shown.std, COLOURS[_colour(method)], _colour(method))
            for shift in (-2, 0, 2):
                label = f"exact posterior{', mean ± 2 std' if shift else ', mean'}"
                axes.plot(
                    x,
                    exact.mean + shift * exact.std,
                    color="C1",
                    lw=0.9,
                    ls="--" if shift else "-",
                    label=label,
                )
            axes.plot(X[:, 0], y, "o", color="k", ms=1.8, label="data")
            axes.set(xlim=(-1, 1), ylim=(-WIDE_LIMIT, WIDE_LIMIT))
            axes.set_title(f"mean off by {shown.distance.mean:.2f}", fontsize=8)
        row[0].set_ylabel(f"${name}$\n$y$")
    for axes, method in zip(panels[0], SHOWN_1D, strict=True):
        words = textwrap.fill(LABELS[method], 22)
        axes.set_title(f"{words}\n{axes.get_title()}", fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("$x$")
    return with_legend(figure, 3)


@plt.style.context(STYLE)
def noise(correlation: np.ndarray, names: Sequence[str]) -> Figure:
    """Plot the correlations of the outputs within groups of replicates."""
    figure, axes = plt.subplots(figsize=(WIDTH / 2, 4.2))
    image = axes.imshow(correlation, cmap="RdBu_r", vmin=-1, vmax=1)
    for (i, j), value in np.ndenumerate(correlation):
        colour = "w" if abs(value) > 0.6 else "k"
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
    ticks = range(len(names))
    axes.set(xticks=ticks, yticks=ticks, xticklabels=names, yticklabels=names)
    axes.spines[:].set_visible(False)
    figure.colorbar(image, label="correlation")
    return figure
