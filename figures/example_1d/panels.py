"""Figures of the one-dimensional example (Figs. 6 and 7 of the paper)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.example_1d.ensembles import (
    GRID,
    LENGTHSCALES,
    SLOPE,
    Prediction,
    load_data,
    true_function,
)
from figures.style import STYLE, WIDTH, band, with_legend
from prior_study import Moments

LIMITS = (-4.5, 4.5)


def _panel(
    axes: Axes, title: str, shown: Moments, exact: Moments | None = None, prior: bool = False
) -> None:
    """Plot an ensemble, the true function and the data; for a prior, its mean instead of data."""
    x = GRID[:, 0]
    band(axes, x, shown.mean, shown.std, "ensemble, mean")
    if exact:
        axes.plot(x, exact.mean, color="C1", lw=1, label="exact posterior, mean")
        for sign in (-2, 2):
            bound = exact.mean + sign * exact.std
            axes.plot(x, bound, "--", color="C1", lw=1, label="exact posterior, mean ± 2 std")
    if prior:
        axes.plot(x, SLOPE * x, "k:", lw=1, label="prior mean")
    axes.plot(x, true_function(x), color="0.45", lw=1, ls="-.", label="true function")
    if not prior:
        axes.plot(*load_data(), "o", color="k", ms=2.5, label="data")
    axes.set(title=title, xlabel="$x$", ylabel="$y$", xlim=(-1, 1), ylim=LIMITS)
    axes.set_xticks((-1, -0.5, 0, 0.5, 1))


@plt.style.context(STYLE)
def vanilla(found: Mapping[str, Prediction]) -> Figure:
    """Plot Fig. 6 a: the vanilla ensemble, without a prior."""
    figure, axes = plt.subplots(figsize=(WIDTH / 2, 3.6))
    _panel(axes, "vanilla ensemble", found["vanilla"])
    return with_legend(figure, 2)


@plt.style.context(STYLE)
def anchored(found: Mapping[str, Prediction]) -> Figure:
    """Plot Fig. 6 b: pre-trained networks, and anchored ensembles with the exact posterior."""
    figure, panels = plt.subplots(len(LENGTHSCALES), 2, figsize=(WIDTH, 6.2))
    for (left, right), scale in zip(panels, LENGTHSCALES, strict=True):
        title = f"anchored ensemble, $L = {scale:g}$"
        name = f"anchored {scale:g}"
        _panel(left, f"prior, $L = {scale:g}$", found[f"prior {scale:g}"], prior=True)
        _panel(right, title, found[name], found[f"exact {scale:g}"])
    return with_legend(figure, 4)


@plt.style.context(STYLE)
def method(functions: Mapping[str, np.ndarray], exact: tuple[np.ndarray, np.ndarray]) -> Figure:
    """Plot ensembles by name, each with the exact posterior.

    Args:
        functions: Name → functions of an ensemble on GRID, (K, n).
        exact: Mean and standard deviation of the exact posterior on GRID, (n,) each.

    Returns:
        The figure.
    """
    figure, panels = plt.subplots(1, len(functions), figsize=(WIDTH, 3.8))
    posterior = Moments(exact[0], np.diag(exact[1] ** 2))
    for axes, (name, values) in zip(panels, functions.items(), strict=True):
        prior = name == "functional prior"
        _panel(axes, name, Moments.of(values), None if prior else posterior, prior)
    return with_legend(figure, 4)


@plt.style.context(STYLE)
def factorised(found: Mapping[str, Prediction]) -> Figure:
    """Plot Fig. 7: ensembles anchored by a factorised Gaussian, correctly and as published."""
    rows = {
        "factorised": "each weight anchored to its pre-trained value",
        "published": "hidden kernels anchored to the first (as published)",
    }
    figure, panels = plt.subplots(len(rows), len(LENGTHSCALES), figsize=(WIDTH, 6.2))
    for row, (name, how) in zip(panels, rows.items(), strict=True):
        for axes, scale in zip(row, LENGTHSCALES, strict=True):
            title = f"factorised weight prior, $L = {scale:g}$\n{how}"
            _panel(axes, title, found[f"{name} {scale:g}"], found[f"exact {scale:g}"])
    return with_legend(figure, 3)
