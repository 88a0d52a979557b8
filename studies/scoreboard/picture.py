"""The figure of the differences between every estimator and ours."""

import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.style import STYLE, WIDTH
from studies.scoreboard.comparison import Board, Rival, title
from studies.scoreboard.problems import is_composite
from studies.scoreboard.public import HOLDOUT
from studies.scoreboard.registry import DATA, OURS, PEERS

LINEAR = 0.1  # the axis is linear up to this difference, and logarithmic beyond
FARTHEST = 30.0  # end of the axis; an arrow marks larger differences
TICKS = (-10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0)
OURS_COLOUR = "C1"
PUBLISHED_COLOUR = "C2"


def rows_of_panels(board: Board) -> list[list[str]]:
    """Group problems with several splits into rows: by kind of split, or by composite."""
    rows: dict[str, list[str]] = {}
    for problem in board.problems:
        name, _, kind = problem.partition("/")
        if kind != HOLDOUT:
            rows.setdefault(name if is_composite(problem) else kind, []).append(problem)
    return list(rows.values())


@plt.style.context(STYLE)
def picture(board: Board) -> Figure:
    """Plot log-likelihoods minus ours (larger to the right) with 95 % intervals."""
    rows = rows_of_panels(board)
    rivals = [_compared(board, problems) for problems in rows]
    heights = [0.8 + 0.26 * len(names) for names in rivals]
    size = WIDTH, sum(heights) + 0.4
    columns = max(map(len, rows))
    figure, grid = plt.subplots(
        len(rows), columns, figsize=size, squeeze=False, height_ratios=heights
    )
    for axes_row, problems, shown in zip(grid, rows, rivals, strict=True):
        for axes in axes_row[len(problems) :]:
            axes.set_axis_off()
        for axes, problem in zip(axes_row, problems, strict=False):
            _panel(axes, board, problem, shown)
            axes.set_yticks(range(len(shown)), [])
        labels = [textwrap.fill(_short(rival), 50) for rival in shown]
        axes_row[0].set_yticks(range(len(shown)), labels, fontsize=6)
    return figure


def _compared(board: Board, problems: Sequence[str]) -> list[Rival]:
    """Return the rivals in a row of panels, published ones last; ours are the line at zero."""
    everyone = {rival: None for problem in problems for rival in board.rivals(problem)}
    compared = [rival for rival in everyone if rival.peer not in OURS.values()]
    return sorted(compared, key=lambda r: PEERS.index(r.peer) if r.peer else len(PEERS))


def _panel(axes: Axes, board: Board, problem: str, rivals: Sequence[Rival]) -> None:
    axes.axvline(0, color=OURS_COLOUR, lw=1.2)
    for i, rival in enumerate(rivals):
        gap = board.gap(problem, rival)
        if gap is None:
            word = "not run"
            if rival.peer and board.errors(problem, rival.peer):
                late = board.is_late(problem, rival.peer)
                word = "too slow" if late else "failed"
            axes.text(0.03, i, word, transform=axes.get_yaxis_transform(), va="center", fontsize=6)
            continue
        colour = PUBLISHED_COLOUR if rival.peer is None else OURS_COLOUR
        if rival.peer is not None and not rival.peer.ours:
            colour = "C0"
        if abs(gap.mean) > FARTHEST:
            side = np.sign(gap.mean)
            axes.plot(side * FARTHEST, i, "<" if side < 0 else ">", color=colour, clip_on=False)
            continue
        margin = gap.half_width if np.isfinite(gap.half_width) else 0.0
        filled = colour if np.isfinite(gap.half_width) else "none"  # open: one split
        axes.errorbar(gap.mean, i, xerr=margin, fmt="o", ms=4, capsize=2, color=colour, mfc=filled)
    axes.set_title(title(problem).replace("$", r"\$"))
    axes.set_xscale("symlog", linthresh=LINEAR)
    axes.set_xlim(-FARTHEST, FARTHEST)
    axes.set_xticks(TICKS, [f"{tick:g}".replace("-", "−") for tick in TICKS], fontsize=6)
    axes.set_xticks([], minor=True)
    axes.set_ylim(max(len(rivals), 1) - 0.5, -0.5)
    axes.set_xlabel("log-likelihood minus ours")
    axes.grid(axis="y", lw=0.3)


def _short(rival: Rival) -> str:
    """Return a short label, with the data that are given in addition to the training RVEs."""
    more = "" if rival.knows == DATA else f" [{rival.knows.removeprefix(f'{DATA} and ')}]"
    text = rival.label.partition(", the best of")[0] + more
    return text.replace("$", r"\$")  # $ would begin a formula
