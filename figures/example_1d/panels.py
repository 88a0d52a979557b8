"""Figures of the one-dimensional example (Figs. 6 and 7 of the paper)."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.example_1d.ensembles import GRID, SLOPE, Prediction, load_data, truth
from figures.style import STYLE, legend

LIMITS = (-4.5, 4.5)


def band(axes: Axes, shown: Any, label: str = "ensemble", color: str = "C0") -> None:
    """Mean ± 2 standard deviations of anything that has a mean and std on GRID."""
    x, mean, std = GRID[:, 0], shown.mean, shown.std
    axes.fill_between(x, mean - 2 * std, mean + 2 * std, color=color, alpha=0.25, lw=0,
                      label=f"{label}, mean ± 2 std")  # fmt: skip
    axes.plot(x, mean, color=color, label=f"{label}, mean")


def _exact(axes: Axes, prediction: Prediction) -> None:
    x, mean, std = GRID[:, 0], prediction.mean, prediction.std
    axes.plot(x, mean, color="C1", lw=1, label="exact posterior, mean")
    for sign in (-2, 2):
        axes.plot(x, mean + sign * std, "--", color="C1", lw=1, label="exact, mean ± 2 std")


def _context(axes: Axes, data: bool = True) -> None:
    x = GRID[:, 0]
    axes.plot(x, truth(x), color="0.45", lw=1, ls="-.", label="truth")
    if data:
        X, y = load_data()
        axes.plot(X[:, 0], y, "o", color="k", ms=2.5, label="data")
    axes.set(xlabel="$x$", ylabel="$y$", xlim=(-1, 1), ylim=LIMITS)
    axes.set_xticks((-1, -0.5, 0, 0.5, 1))


@plt.style.context(STYLE)
def vanilla(found: Mapping[str, Prediction]) -> Figure:
    """Fig. 6 a: the vanilla ensemble, which knows no prior."""
    figure, axes = plt.subplots(figsize=(4.2, 3.6))
    band(axes, found["vanilla"])
    _context(axes)
    axes.set_title("vanilla ensemble")
    legend(figure, 2)
    return figure


@plt.style.context(STYLE)
def anchored(found: Mapping[str, Prediction], lengthscales: Sequence[float]) -> Figure:
    """Fig. 6 b: pre-trained networks and anchored ensembles beside the exact posterior."""
    count = len(lengthscales)
    figure, panels = plt.subplots(count, 2, figsize=(7.6, 2.8 * count + 0.6))
    for (left, right), scale in zip(panels, lengthscales, strict=True):
        band(left, found[f"prior {scale:g}"])
        left.plot(GRID[:, 0], SLOPE * GRID[:, 0], "k:", lw=1, label="prior mean")
        _context(left, data=False)
        left.set_title(f"prior, $L = {scale:g}$")
        band(right, found[f"anchored {scale:g}"])
        _exact(right, found[f"exact {scale:g}"])
        _context(right)
        right.set_title(f"anchored ensemble, $L = {scale:g}$")
    legend(figure, 4)
    return figure


@plt.style.context(STYLE)
def factorised(found: Mapping[str, Prediction], lengthscales: Sequence[float]) -> Figure:
    """Fig. 7: ensembles anchored by a factorised Gaussian, correctly and as published."""
    rows = {"factorised": "own anchors", "published": "hidden kernels anchored to the first"}
    figure, panels = plt.subplots(len(rows), len(lengthscales), figsize=(7.6, 6.2))
    for row, (name, how) in zip(panels, rows.items(), strict=True):
        for axes, scale in zip(row, lengthscales, strict=True):
            band(axes, found[f"{name} {scale:g}"])
            _exact(axes, found[f"exact {scale:g}"])
            _context(axes)
            axes.set_title(f"factorised, $L = {scale:g}$: {how}")
    legend(figure, 3)
    return figure
