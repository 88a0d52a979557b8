"""Figure of notebook 07: errors with selected RVEs and with Latin hypercubes."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from figures.style import STYLE, WIDTH, with_legend
from studies.active_learning.study import BOX, DRAWN, HYPERCUBE, LABELS, WORST, Rows

HEADINGS = {
    "rmse": "RMSE against the reference data,\nwithout $p_\\sigma$ (scaled)",
    "worst": "RMSE over the worst tenth of the inputs",
}


@plt.style.context(STYLE)
def errors(rows: Rows) -> Figure:
    """Plot errors over the number of RVEs, means with 95 % intervals."""
    figure, panels = plt.subplots(1, 2, figsize=(WIDTH, 3.9))
    for axes, (score, words) in zip(panels, HEADINGS.items(), strict=True):
        # Shifted, because the intervals of the two goals overlap.
        for name, colour, shift in (
            (HYPERCUBE, "0.45", 1),
            (BOX, "C0", 0.985),
            (WORST, "C1", 1.015),
        ):
            numbers = {n: getattr(errors, score) for n, errors in rows[name].items()}
            axes.errorbar(
                [shift * count for count in numbers],
                [n.mean for n in numbers.values()],
                yerr=[n.margin for n in numbers.values()],
                marker="o",
                ms=3,
                capsize=2,
                color=colour,
                label=LABELS[name],
            )
        axes.set(xscale="log", yscale="log", xlabel="RVEs", ylabel=words)
        counts = sorted({10, 15, *DRAWN})
        marks = (0.015, 0.02, 0.03, 0.05, 0.1, 0.15)
        axes.set_xticks(counts, map(str, counts))
        axes.set_yticks(marks, map(str, marks))
        axes.minorticks_off()
    return with_legend(figure, 3)
