"""Figures of the materials data (Figs. 8 to 10 of the paper)."""

from collections.abc import Mapping
from string import ascii_lowercase

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
from figures.pipeline.paths import TEST, TRAINING
from figures.style import STYLE, WIDTH, with_legend

COLOURED_INPUTS = 7  # of Fig. 10
COLOURS = 6  # of the style; the seventh is black
HISTOGRAM_BINS = 10
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
    """Plot Fig. 9: numbers of RVEs over inputs and outputs, of test set and second training set.

    Two further rows show the test set and the first training set.
    """
    shown = {design: words for design, words in SETS.items() if design in designs}
    tables = {design: columns(designs[design]) for design in shown}
    further = [design for design in shown if design not in (TEST, TRAINING)]
    compared = [TRAINING, *further]  # with the test set
    everything = pd.concat(tables.values())
    figure = plt.figure(figsize=(WIDTH, 4.4 * len(compared)))
    parts = iter(figure.subfigures(2 * len(compared), 1, squeeze=False)[:, 0])
    letters = iter(ascii_lowercase)
    for second in compared:
        for names, what in ((INPUT_LABELS, "inputs"), (LABELS, "outputs")):
            band = next(parts)
            panels = band.subplots(1, len(names), sharey=True)
            for axes, (name, label) in zip(panels, names.items(), strict=True):
                values = everything[name]
                low, high = INPUT_BOUNDS.get(name, (values.min(), values.max()))
                edges = np.linspace(low, high, HISTOGRAM_BINS + 1)
                for design in (TEST, second):
                    text = f"{shown[design]}, {len(tables[design])} RVEs"
                    colour = f"C{[*shown].index(design)}"
                    axes.hist(tables[design][name], edges, color=colour, alpha=0.5, label=text)
                axes.set(xlabel=label, xlim=(low, high))
            panels[0].set_ylabel("number of RVEs")
            beginning = "further: " if second in further else ""
            band.suptitle(f"({next(letters)}) {beginning}{what}", fontsize="medium")
            with_legend(band, 2)
    return figure


@plt.style.context(STYLE)
def scatter(replicates: Mapping[str, Table]) -> Figure:
    """Plot Fig. 10: RVEs that differ only in their random microstructure, seven inputs in colours.

    A further row per study shows every input, with the scatter.
    """
    height = 2.9 * (1 + len(replicates))
    figure, panels = plt.subplots(
        1 + len(replicates), len(OUTPUT_NAMES), figsize=(WIDTH, height), squeeze=False, sharex=True
    )
    _coloured(panels[0], next(iter(replicates.values())))
    studies = load_published()["Fig. 10"].rows
    for row, (design, table) in zip(panels[1:], replicates.items(), strict=True):
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
        what = f"further: {groups.ngroups} inputs, {len(rves)} RVEs"
        row[0].set_title(f"{what}\n{row[0].get_title()}", fontsize="small")
    for axes in panels[-1]:
        axes.set_xlabel(INPUT_LABELS["vf"])
    return with_legend(figure, 2)


def _coloured(row: np.ndarray, table: Table) -> None:
    """Plot the outputs of the first inputs that have all their RVEs, one colour per input."""
    rves = columns(table).assign(group=table.group)
    sizes = rves.groupby("group").size()
    complete = sizes.index[sizes == sizes.max()][:COLOURED_INPUTS]
    for axes, name in zip(row, OUTPUT_NAMES, strict=True):
        for number, group in enumerate(complete):
            replicates = rves[rves["group"] == group]
            colour = f"C{number}" if number < COLOURS else "k"
            axes.plot(replicates["vf"], replicates[name], ".", ms=5, color=colour)
        axes.set_ylabel(LABELS[name])
    text = f"{len(complete)} inputs in colours,\n{sizes.max()} RVEs each"
    row[0].set_title(text, fontsize="small")
