"""Figure of the scores on independently simulated datasets."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.materials_surrogate.surrogate import SCORES, Rows
from figures.repeated_datasets.draws import ALL, ANCHORED, VANILLA, Gain, printed_scores
from figures.scores import LARGER_IS_BETTER
from figures.style import STYLE, WIDTH, with_legend

PAPER_SHARE = 0.40  # test RVEs outside the training range in the published tables
DRAW: dict = {"marker": "o", "ls": "", "ms": 4, "color": "C0", "label": "one simulated dataset"}
PAPER: dict = {"marker": "*", "ls": "", "ms": 11, "color": "C1", "label": "dataset of the paper"}
UNITS = {"rmse": " (scaled)"}


@plt.style.context(STYLE)
def draws(rows: Rows, gains: Mapping[str, Mapping[str, Gain]], outside: Sequence[float]) -> Figure:
    """Plot anchored over vanilla (top), and the gain over the share of RVEs outside (bottom)."""
    figure, panels = plt.subplots(2, len(SCORES), figsize=(WIDTH, 6.6))
    for (top, bottom), (score, label) in zip(panels.T, SCORES.items(), strict=True):
        _pairs(top, rows, score)
        top.set(xlabel=f"{label}, vanilla{UNITS.get(score, '')}", ylabel=f"{label}, anchored")
        _gains(bottom, gains[score][ALL], np.array(outside))
        bottom.set(ylabel=f"gain in {label}")
    return with_legend(figure, 5)


def _pairs(axes: Axes, rows: Rows, score: str) -> None:
    """Plot scores of both ensembles, one point per dataset, with equal axis ranges."""
    names = (VANILLA, ANCHORED)
    points = np.transpose([getattr(rows[name], score).values for name in names])
    paper = [printed_scores(name)[score] for name in names]
    everything = np.vstack([points, paper])
    margin = 0.06 * np.ptp(everything)
    ends = [everything.min() - margin, everything.max() + margin]
    axes.plot(ends, ends, "k--", lw=1)
    axes.plot(*points.T, **DRAW)
    axes.plot(*paper, **PAPER)
    low = (0.72, 0.06)
    high = (0.06, 0.9)
    better, worse = (high, low) if score in LARGER_IS_BETTER else (low, high)
    for place, words in ((better, "anchored\nbetter"), (worse, "vanilla\nbetter")):
        axes.text(
            *place,
            words,
            transform=axes.transAxes,
            color="0.4",
            fontsize="small",
            va="top" if place is high else "bottom",
        )
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.locator_params(nbins=5)


def _gains(axes: Axes, gain: Gain, outside: np.ndarray) -> None:
    """Plot the gain on every dataset, its mean with the 95 % interval, and the regression."""
    mean = gain.gain.mean
    margin = gain.gain.margin
    percent = 100 * outside
    axes.axhline(0, color="k", lw=0.8)
    axes.axhspan(
        mean - margin,
        mean + margin,
        color="C2",
        alpha=0.25,
        lw=0,
        label="mean gain, 95 %",
    )
    axes.axhline(mean, color="C2")
    axes.plot(percent, gain.gain.values, **DRAW)
    ends = np.array([outside.min(), outside.max()])
    line = mean + gain.slope * (ends - outside.mean())
    axes.plot(100 * ends, line, "-", color="0.5", lw=1, label="regression")
    if gain.printed is not None:
        axes.plot(100 * PAPER_SHARE, gain.printed, **PAPER)
    axes.set_xlabel("test RVEs outside the training range of $v_f$ [%]")
