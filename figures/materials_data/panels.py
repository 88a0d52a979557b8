"""Figures of the materials data (Figs. 8 to 10 of the paper)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from fe_data.dataset.table import Table
from fe_data.mechanics import plots
from fe_data.mechanics.rve import RVESolution
from fe_data.schema import INPUT_BOUNDS
from figures.claims import load_published
from figures.composite.problem import INPUT_LABELS, LABELS, NOISE_COV, OUTPUT_NAMES, columns
from figures.materials_data.data import SETS, noise_table
from figures.style import STYLE, WIDTH, with_legend

MAGNIFICATION = 4  # of the mean deformation in the sketch of the loading


@plt.style.context(STYLE)
def overview(solution: RVESolution) -> Figure:
    """Plot Fig. 8: from the microstructure to the averaged curve of one simulated RVE."""
    figure, axes = plt.subplot_mosaic(
        "AABBCC;DDDEEE", figsize=(WIDTH, 6.8), height_ratios=(1.0, 0.95)
    )
    draw = (
        plots.draw_microstructure,
        plots.draw_mesh,
        draw_loading,
        plots.draw_mises,
        plots.draw_curve,
    )
    for number, (ax, function) in enumerate(zip(axes.values(), draw, strict=True), start=1):
        function(ax, solution)
        ax.set_title(f"({number}) {ax.get_title()}")
        ax.spines[:].set_visible(True)
    return figure


def draw_loading(ax: Axes, solution: RVESolution) -> None:
    """Draw the RVE before the simulation, and with its final mean deformation."""
    *before, strain = solution.history["strain"]
    exx, eyy, _, gxy = MAGNIFICATION * strain
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    deformed = corners + corners @ np.array([[exx, gxy], [gxy, eyy]])
    ax.add_patch(Polygon(corners, fill=False, ls="--", ec="0.5", label="before"))
    ax.add_patch(
        Polygon(deformed, fc="C0", ec="C0", alpha=0.25, label=f"after, {MAGNIFICATION} × magnified")
    )
    middle = deformed[2, 1] / 2
    for start, end in ((deformed[1, 0] + 0.02, deformed[1, 0] + 0.2), (-0.02, -0.2)):
        ax.annotate("", (end, middle), (start, middle), arrowprops={"arrowstyle": "-|>", "lw": 2})
    ax.text(
        0.5,
        middle,
        rf"mean $\varepsilon_{{xx}}$ = 0 … {strain[0]:.3g}" + f"\nin {len(before)} increments\n"
        r"mean $\sigma_{yy} = \sigma_{xy} = 0$" + "\n" + r"$\varepsilon_{zz} = 0$, periodic",
        ha="center",
        va="center",
    )
    ax.set(xlim=(-0.25, 1.45), ylim=(-0.25, 1.3), aspect="equal", xlabel="$x$", ylabel="$y$")
    ax.set(title="Loading: uniaxial tension", xticks=(0, 1), yticks=(0, 1))
    ax.legend(loc="upper center", ncols=2)


@plt.style.context(STYLE)
def histograms(designs: Mapping[str, Table]) -> Figure:
    """Plot Fig. 9: inputs (top) and outputs (bottom) of the sets that are available."""
    shown = {design: words for design, words in SETS.items() if design in designs}
    tables = {design: columns(designs[design]) for design in shown}
    everything = pd.concat(tables.values())
    figure = plt.figure(figsize=(WIDTH, 5.6))
    (above,), (below,) = figure.subfigures(2, 1, squeeze=False)
    top = above.subplots(1, len(INPUT_LABELS), sharey=True)
    bottom = below.subplots(1, len(LABELS), sharey=True)
    for axes, (name, label) in zip([*top, *bottom], (INPUT_LABELS | LABELS).items(), strict=True):
        low, high = INPUT_BOUNDS.get(name, (everything[name].min(), everything[name].max()))
        edges = np.linspace(low, high, 11)
        for row, design in enumerate(reversed(shown)):
            counts, _ = np.histogram(tables[design][name], edges)
            shares = counts / len(tables[design])
            color = f"C{[*shown].index(design)}"
            # Sets are stacked; the highest bin of a set has 0.9 of the height of a row.
            heights = row + 0.9 * shares / shares.max()
            axes.stairs(heights, edges, baseline=row, fill=True, color=color, alpha=0.6)
            axes.axhline(row, color="0.6", lw=0.5)
        axes.set(xlabel=label, xlim=(low, high), ylim=(0, len(shown)))
    words = [f"{shown[design]}\n({len(tables[design])} RVEs)" for design in reversed(shown)]
    for axes in (top[0], bottom[0]):
        axes.set_yticks(np.arange(len(shown)) + 0.45, words)
        axes.tick_params(axis="y", length=0)
    above.suptitle("(a) inputs", fontsize="medium")
    below.suptitle("(b) outputs", fontsize="medium")
    return figure


@plt.style.context(STYLE)
def scatter(replicates: Mapping[str, Table]) -> Figure:
    """Plot Fig. 10: RVEs that differ only in their random microstructure, one row per study."""
    height = 2.9 * len(replicates)
    figure, panels = plt.subplots(
        len(replicates), len(OUTPUT_NAMES), figsize=(WIDTH, height), squeeze=False, sharex=True
    )
    studies = load_published()["Fig. 10"].rows
    for row, (design, table) in zip(panels, replicates.items(), strict=True):
        noise = noise_table(table)
        rves = columns(table)
        groups = rves.groupby(table.group)
        published = studies[design].printed
        for axes, name, theirs, assumed in zip(
            row, OUTPUT_NAMES, published, NOISE_COV, strict=True
        ):
            axes.plot(rves["vf"], rves[name], ".", color="0.6", ms=3, label="one RVE")
            axes.errorbar(
                groups["vf"].first(),
                groups[name].mean(),
                yerr=2 * groups[name].std(),
                fmt="_",
                color="C0",
                lw=1.2,
                label="mean of the RVEs with equal inputs ± 2 standard deviations",
            )
            ours = f"scatter {noise[name]['mean']:.3g} % of mid-range"
            others = f"published {theirs}, assumed {100 * assumed:.2g}"
            axes.set_title(f"{ours},\n{others}", fontsize="small")
            axes.set_ylabel(LABELS[name])
        row[0].annotate(
            f"{groups.ngroups} inputs, {len(rves)} RVEs",
            (0.03, 0.97),
            xycoords="axes fraction",
            va="top",
            fontsize="small",
        )
    for axes in panels[-1]:
        axes.set_xlabel(INPUT_LABELS["vf"])
    return with_legend(figure, 2)
