"""Pictures of what the gain of anchoring rests on."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.scores import Interval
from figures.style import STYLE, WIDTH, with_legend
from figures.why.alike import TUNED, Rows, row_name
from figures.why.ensembles import CHOICES, METHODS, Judged
from figures.why.reasons import Experiments
from figures.why.tables import in_words

SHOWN = {"rmse": "RMSE (scaled)", "elppd_normal": "ELPPD, normal density [nats]"}
MARKERS = {METHODS[0]: ("C3", "s"), METHODS[1]: ("C0", "o")}  # colour and marker of a method
TICKS = [
    "as published",
    "likelihood",
    "scaled by data",
    "likelihood,\nscaled by data",
    "chosen by\nheld-out cells",
]


@plt.style.context(STYLE)
def alike(rows: Rows, n_train: Mapping[str, int]) -> Figure:
    """Both ensembles with equal choices, a column for each training set."""
    figure, axes = plt.subplots(
        len(SHOWN), len(rows), figsize=(WIDTH, 5.6), sharex=True, sharey="row", squeeze=False
    )
    for column, (case, methods) in zip(axes.T, rows.items(), strict=True):
        column[0].set_title(in_words(case, n_train).replace(", ", ",\n"))
        for panel, score in zip(column, SHOWN, strict=True):
            for shift, method in zip((-0.12, 0.12), METHODS, strict=True):
                values = [
                    getattr(methods[row_name(method, choice)], score)
                    for choice in (*CHOICES, TUNED)
                ]
                _points(panel, np.arange(len(values)) + shift, values, method)
        column[-1].set_xticks(range(len(TICKS)), TICKS, rotation=60, ha="right", fontsize="small")
    for panel, label in zip(axes[:, 0], SHOWN.values(), strict=True):
        panel.set_ylabel(label)
    return with_legend(figure, 2)


def _points(axes: Axes, x: np.ndarray, values: list[Interval], method: str) -> None:
    """Means with the half width of their intervals."""
    color, marker = MARKERS[method]
    means = [value.mean for value in values]
    margins = [value.margin for value in values]
    axes.errorbar(x, means, margins, fmt=marker, ms=4, color=color, capsize=2, label=method)


@plt.style.context(STYLE)
def reasons(found: Experiments) -> Figure:
    """Scores over epochs, and what is lost by wrong priors and poorer starts."""
    figure, axes = plt.subplots(
        2, 2, figsize=(WIDTH, 7.2), gridspec_kw={"height_ratios": (1, 1.15)}
    )
    for panel, (score, label) in zip(axes[0], SHOWN.items(), strict=True):
        for method, path in found.epochs.items():
            numbers = np.array([int(n) for n in path])
            values = [getattr(row, score) for row in path.values()]
            _points(panel, numbers, values, method)
            panel.plot(numbers, [value.mean for value in values], color=MARKERS[method][0])
        panel.set(xscale="log", xlabel="epochs", ylabel=label)
        panel.minorticks_off()
        panel.set_xticks(numbers, [str(n) for n in numbers], rotation=45)
    for panel, rows, title in (
        (axes[1, 0], found.priors, "functional prior of the anchored ensemble"),
        (axes[1, 1], found.starts, "start, without a regulariser"),
    ):
        _list(panel, rows, title)
    axes[1, 0].axvline(
        found.starts["neither: their common start"].rmse.mean, color="C3", lw=1, ls="--"
    )
    return with_legend(figure, 3)


def _list(axes: Axes, rows: Mapping[str, Judged], title: str) -> None:
    """RMSE of named rows, from the top down."""
    places = -np.arange(len(rows))
    values = [row.rmse for row in rows.values()]
    means = [value.mean for value in values]
    margins = [value.margin for value in values]
    axes.errorbar(means, places, xerr=margins, fmt="o", ms=4, color="C0", capsize=2)
    axes.set_yticks(places, list(rows))
    axes.set(title=title, xlabel="RMSE (scaled), out of distribution")
    axes.axvline(means[0], color="0.6", lw=0.8)
