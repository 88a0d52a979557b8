"""Figures of the causes of the gain by anchoring."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from figures.pipeline.settings import Ablation
from figures.scores import CONFIDENCE, Interval
from figures.style import STYLE, WIDTH, with_legend
from studies.ablation.alike import LABELS as CHOICE_LABELS
from studies.ablation.alike import Rows, row_name
from studies.ablation.ensembles import ANCHORED, METHODS, PUBLISHED, VANILLA, EnsembleScores
from studies.ablation.reasons import LABELS, Experiments
from studies.ablation.tables import case_label

SHOWN = {"rmse": "RMSE (scaled)", "elppd_normal": "ELPPD, normal density [nats]"}
MARKERS = {VANILLA: ("C3", "s"), ANCHORED: ("C0", "o")}  # colour and marker of a method
TICKS = [
    "as published",
    "likelihood",
    "scaled by data",
    "likelihood,\nscaled by data",
    "selected on\nheld-out RVEs",
    "initial weights\nselected too",
]


@plt.style.context(STYLE)
def alike(rows: Rows, n_train: Mapping[str, int]) -> Figure:
    """Plot both ensembles with equal choices, one column per training set."""
    figure, axes = plt.subplots(
        len(SHOWN), len(rows), figsize=(WIDTH, 5.6), sharex=True, sharey="row", squeeze=False
    )
    for column, (case, methods) in zip(axes.T, rows.items(), strict=True):
        column[0].set_title(case_label(case, n_train).replace(", ", ",\n"))
        for panel, score in zip(column, SHOWN, strict=True):
            for shift, method in zip((-0.12, 0.12), METHODS, strict=True):
                values = [
                    getattr(methods[row_name(method, choice)], score) for choice in CHOICE_LABELS
                ]
                _points(panel, np.arange(len(values)) + shift, values, method)
        column[-1].set_xticks(range(len(TICKS)), TICKS, rotation=60, ha="right", fontsize="small")
    for panel, label in zip(axes[:, 0], SHOWN.values(), strict=True):
        panel.set_ylabel(label)
    return with_legend(figure, 2)


def _points(axes: Axes, x: np.ndarray, values: list[Interval], method: str) -> None:
    """Plot means with the half-widths of their intervals."""
    color, marker = MARKERS[method]
    means = [value.mean for value in values]
    margins = [value.margin for value in values]
    axes.errorbar(x, means, margins, fmt=marker, ms=4, color=color, capsize=2, label=method)


@plt.style.context(STYLE)
def reasons(
    experiments: Experiments, rows: Rows, n_train: Mapping[str, int], settings: Ablation
) -> Figure:
    """Plot the causes of the gain, (a) to (d), and (e) standard deviation and coverage of f."""
    figure = plt.figure(figsize=(WIDTH, 10.4))
    parts = figure.subfigures(3, 1, squeeze=False, height_ratios=(1, 1.3, 1.1))
    top, middle, bottom = parts[:, 0]
    _over_epochs(top.subplots(1, 3), experiments.epochs)
    _priors_and_starts(middle, experiments, settings.n_members)
    members, width, spread, coverage = bottom.subplots(1, 4)
    _over_sizes(members, experiments.sizes, "members")
    _over_sizes(width, experiments.sizes, "width")
    members.set(xlabel="(c) networks", ylabel=SHOWN["rmse"])
    width.set(xlabel="(c) neurons per layer", ylabel=SHOWN["rmse"])
    _over_cases(spread, rows, n_train, "spread")
    _over_cases(coverage, rows, n_train, "reference_coverage")
    spread.set(title="(e) resampling and scaling\nas published", ylabel="std of f (scaled)")
    coverage.set(
        title="(e) resampling and scaling\nas published", ylabel="coverage of f, 95 % intervals"
    )
    coverage.axhline(CONFIDENCE, color="0.6", lw=0.8)
    return with_legend(figure, 3)


def _priors_and_starts(figure: SubFigure, experiments: Experiments, n_members: int) -> None:
    """Plot the RMSE with other priors, other initial weights, and other RVEs for θ."""
    ((left, right),) = figure.subfigures(1, 2, squeeze=False)
    priors = left.subplots()
    starts, theta = right.subplots(2, 1, height_ratios=(5, 2))
    _differences(priors, experiments.priors, "published")
    _differences(starts, experiments.starts, "networks_pretrained")
    _differences(theta, experiments.theta, "theta_of_beta")
    vanilla = experiments.sizes[VANILLA][f"members_{n_members}"].rmse
    _band(priors, vanilla - experiments.priors["published"].rmse)
    _band(starts, vanilla - experiments.starts["networks_pretrained"].rmse)
    priors.set_title("(b) functional prior")
    starts.set_title("(c) initial weights, without a regulariser")
    theta.set_title("(d) RVEs to which θ is fitted, 25 RVEs in distribution")


def _over_epochs(
    panels: Sequence[Axes], epochs: Mapping[str, Mapping[str, EnsembleScores]]
) -> None:
    """Plot both scores of both methods, and the gain in RMSE, over the epochs."""
    numbers = np.array([int(n) for n in epochs[VANILLA]])
    for panel, (score, label) in zip(panels, SHOWN.items(), strict=False):
        for method, path in epochs.items():
            values = [getattr(row, score) for row in path.values()]
            _points(panel, numbers, values, method)
            panel.plot(numbers, [value.mean for value in values], color=MARKERS[method][0])
        panel.set_ylabel(label)
    gains = [
        plain.rmse - anchored.rmse
        for plain, anchored in zip(*(epochs[m].values() for m in METHODS), strict=True)
    ]
    means = [gain.mean for gain in gains]
    margins = [gain.margin for gain in gains]
    panels[-1].errorbar(numbers, means, margins, fmt="o-", color="0.2", capsize=2)
    panels[-1].set_ylabel("RMSE, vanilla minus anchored")
    panels[-1].set_ylim(bottom=0)
    for panel in panels:
        panel.set(xscale="log", xlabel="(a) epochs")
        panel.minorticks_off()
        panel.set_xticks(numbers, [str(n) for n in numbers], rotation=45)


def _differences(axes: Axes, rows: Mapping[str, EnsembleScores], reference: str) -> None:
    """Plot paired differences in RMSE from one of the rows, from top to bottom."""
    places = -np.arange(len(rows))
    differences = [row.rmse - rows[reference].rmse for row in rows.values()]
    means = [difference.mean for difference in differences]
    margins = [difference.margin for difference in differences]
    axes.axvline(0, color="0.6", lw=0.8)
    axes.errorbar(means, places, xerr=margins, fmt="o", ms=4, color=MARKERS[ANCHORED][0], capsize=2)
    axes.set_yticks(places, [LABELS[name] for name in rows])
    axes.set_ylim(places[-1] - 0.6, 0.6)
    axes.locator_params(axis="x", nbins=6)
    axes.set_xlabel(f"RMSE (scaled) minus RMSE of ‘{LABELS[reference]}’")


def _band(axes: Axes, vanilla: Interval) -> None:
    """Plot the paired difference of the vanilla ensemble with its interval."""
    color, _ = MARKERS[VANILLA]
    ends = vanilla.mean - vanilla.margin, vanilla.mean + vanilla.margin
    axes.axvspan(*ends, color=color, alpha=0.15, lw=0)
    axes.axvline(vanilla.mean, color=color, ls="--", lw=1, label="vanilla, as published")


def _over_sizes(axes: Axes, sizes: Mapping[str, Mapping[str, EnsembleScores]], kind: str) -> None:
    """Plot the RMSE of both methods over the sizes of a kind."""
    for shift, method in zip((0.97, 1.03), METHODS, strict=True):
        counted = {n: row for n, row in sizes[method].items() if n.startswith(kind)}
        numbers = np.array([int(name.removeprefix(f"{kind}_")) for name in counted])
        _points(axes, shift * numbers, [row.rmse for row in counted.values()], method)
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(numbers, [str(n) for n in numbers])


def _over_cases(axes: Axes, rows: Rows, n_train: Mapping[str, int], score: str) -> None:
    """Plot a score of both methods as published, for each training set."""
    for shift, method in zip((-0.1, 0.1), METHODS, strict=True):
        name = row_name(method, PUBLISHED.name)
        values = [getattr(methods[name], score) for methods in rows.values()]
        _points(axes, np.arange(len(values)) + shift, values, method)
    words = [case_label(case, n_train).replace(", ", ",\n") for case in rows]
    axes.set_xticks(range(len(words)), words, rotation=60, ha="right", fontsize="small")
