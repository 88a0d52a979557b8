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
from figures.materials.data import SETS, noise_table
from figures.materials.problem import INPUT_LABELS, LABELS, NOISE_COV, OUTPUT_NAMES, columns
from figures.style import STYLE, WIDTH, with_legend

MAGNIFICATION = 4  # of the mean deformation in the sketch of the loading
MARKERS = "osD^vPX<>*"


@plt.style.context(STYLE)
def overview(cell: RVESolution) -> Figure:
    """Fig. 8: from the arrangement to the averaged curve of one simulated cell."""
    figure, axes = plt.subplot_mosaic(
        "AABBCC;DDDEEE", figsize=(WIDTH, 6.8), height_ratios=(1.0, 0.95)
    )
    draw = (
        plots.draw_arrangement,
        plots.draw_mesh,
        draw_loading,
        plots.draw_mises,
        plots.draw_curve,
    )
    for number, (ax, function) in enumerate(zip(axes.values(), draw, strict=True), start=1):
        function(ax, cell)
        ax.set_title(f"({number}) {ax.get_title()}")
        ax.spines[:].set_visible(True)
    return figure


def draw_loading(ax: Axes, cell: RVESolution) -> None:
    """The cell before and after the mean deformation that the simulation ended with."""
    *before, strain = cell.history["strain"]
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
    """Fig. 9: inputs (top) and outputs (bottom) of those of the three sets that are there."""
    figure = plt.figure(figsize=(WIDTH, 4.8))
    (above,), (below,) = figure.subfigures(2, 1, squeeze=False)
    top = above.subplots(1, len(INPUT_LABELS))
    bottom = below.subplots(1, len(LABELS))
    tables = {design: columns(table) for design, table in designs.items()}
    everything = pd.concat(tables.values())
    for axes, (name, label) in zip([*top, *bottom], (INPUT_LABELS | LABELS).items(), strict=True):
        low, high = INPUT_BOUNDS.get(name, (everything[name].min(), everything[name].max()))
        edges = np.linspace(low, high, 11)
        for index, (design, words) in enumerate(SETS.items()):
            if design in tables:
                counts, _ = np.histogram(tables[design][name], edges)
                shares = counts / len(tables[design])
                text = f"{words} ({len(tables[design])})"
                look = {"color": f"C{index}", "ls": ("-", "--", "-.")[index]}
                axes.stairs(shares, edges, lw=1.4, label=text, **look)
        axes.set_xlabel(label)
        if name in INPUT_BOUNDS:
            axes.set_xlim(low, high)
    top[0].set_ylabel("(a) inputs\nshare of cells")
    bottom[0].set_ylabel("(b) outputs\nshare of cells")
    return with_legend(figure, 3)


@plt.style.context(STYLE)
def scatter(table: Table) -> Figure:
    """Fig. 10: outputs of cells that differ in their random arrangement alone, group by group."""
    noise = noise_table(table)
    figure, panels = plt.subplots(1, len(OUTPUT_NAMES), figsize=(WIDTH, 3.0))
    for axes, name, assumed in zip(panels, OUTPUT_NAMES, NOISE_COV, strict=True):
        for index, (_, cells) in enumerate(columns(table).groupby(table.group)):
            look = {"marker": MARKERS[index % len(MARKERS)], "color": f"C{index % 6}", "ls": ""}
            label = f"input {index + 1}"
            axes.plot(cells["vf"], cells[name], **look, alpha=0.7, mew=0, label=label)
        ours = f"scatter {noise[name]['mean']:.2g} % of mid-range"
        axes.set_title(f"{ours},\npaper assumes {100 * assumed:.2g} %")
        axes.set(xlabel=INPUT_LABELS["vf"], ylabel=LABELS[name])
    return with_legend(figure, 10)
