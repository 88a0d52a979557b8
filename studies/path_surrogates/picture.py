"""The figure of errors and coverage over the number of training paths."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.style import STYLE, WIDTH, with_legend
from studies.path_surrogates.data import REFERENCES
from studies.path_surrogates.study import DRAWS
from studies.path_surrogates.summary import COVERED, LABELS, MEAN_FIELDS, TITLES, Summary

COLOURS = {"ours": "C1", "gru": "C0", "gru_long": "C5", "prn": "C2"}
MARKERS = {"ours": "o", "gru": "s", "gru_long": "D", "prn": "^"}


@plt.style.context(STYLE)
def picture(summary: Summary) -> Figure:
    """Plot errors above and coverage of means below, with one column per set."""
    cases = summary.cases()
    figure, grid = plt.subplots(
        2, len(REFERENCES), figsize=(WIDTH, 5.2), sharex=True, sharey="row", height_ratios=(1.3, 1)
    )
    for (errors, covered), problem in zip(grid.T, REFERENCES, strict=True):
        errors.set_title(TITLES[problem])
        _lines(errors, summary, problem, "nmse")
        _lines(covered, summary, problem, "coverage")
        alone = summary.mean(problem, MEAN_FIELDS, 0, "nmse")
        if alone:
            errors.axhline(alone.mean, color="0.4", ls="--", label=LABELS[MEAN_FIELDS])
        covered.axhspan(*COVERED, color="0.9", lw=0, label="goal of the coverage")
        covered.axhline(0.95, color="0.6", lw=0.6)
        errors.set_xscale("log")
        errors.set_yscale("log")
        covered.set_xticks(list(DRAWS), list(map(str, DRAWS)))
        covered.set_xticks([], minor=True)
        covered.set_xlabel("training paths [–]")
    means = [summary.mean(problem, *case, "coverage") for case in cases for problem in REFERENCES]
    lowest = min([mean.mean for mean in means if mean] + [COVERED[0]])
    grid[1, 0].set_ylim(lowest - 0.05, 1.01)
    grid[0, 0].set_ylabel("normalised mean square error [–]")
    grid[1, 0].set_ylabel("coverage of 95 % bands [–]")
    return with_legend(figure, 6)


def _lines(axes: Axes, summary: Summary, problem: str, score: str) -> None:
    """Plot a score of each estimator over the number of paths, with 95 % intervals."""
    for name, colour in COLOURS.items():
        means = {n: summary.mean(problem, name, n, score) for n in summary.sizes(name)}
        points = np.array([(n, *mean) for n, mean in means.items() if mean])
        if len(points):
            n, mean, error = points.T
            bars = axes.errorbar(n, mean, np.nan_to_num(error), color=colour, capsize=2)
            bars.lines[0].set_marker(MARKERS[name])
            bars.set_label(LABELS[name].strip("`"))
