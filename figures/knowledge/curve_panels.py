"""Pictures of predicted stress-strain curves, in notebook 06."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from figures.style import STYLE, WIDTH, band, with_legend

STRAIN = r"$\varepsilon_{xx}$ [%]"


@plt.style.context(STYLE)
def curve_fans(
    strain: np.ndarray, titles: Sequence[str], mean: np.ndarray, spread: np.ndarray,
    total: np.ndarray, simulated: Sequence[np.ndarray],
) -> Figure:  # fmt: skip
    """Predicted curves (m, increments) with bands of f and of a cell, beside simulated ones.

    Standard deviations are relative, and below the curves everything is: to the predicted mean.
    """
    figure, panels = plt.subplots(2, len(titles), figsize=(WIDTH, 4.6), sharex=True, sharey="row",
                                  squeeze=False)  # fmt: skip
    x, hundred = 100 * strain, np.full(len(strain), 100.0)
    for i, title in enumerate(titles):
        for axes, scale, shift in zip(panels[:, i], (mean[i], hundred), (0, 100), strict=True):
            centre = scale - shift
            band(axes, x, centre, scale * total[i], "f and arrangement", "0.5")
            band(axes, x, centre, scale * spread[i], "f", "C0", 0.5)
            lines = axes.plot(x, (scale * simulated[i] / mean[i] - shift).T, "k", lw=0.6, alpha=0.6)
            lines[0].set_label("new simulations")
        panels[0, i].set_title(title, fontsize=8)
        panels[1, i].set_xlabel(STRAIN)
    panels[0, 0].set_ylabel(r"$\sigma_{xx}$ [MPa]")
    panels[1, 0].set_ylabel("off the predicted mean [%]")
    return with_legend(figure, 5)


@plt.style.context(STYLE)
def curve_errors(
    strain: np.ndarray, errors: Mapping[str, np.ndarray], scatter: np.ndarray
) -> Figure:
    """Relative errors of mean curves (increments,) beside the relative scatter of single cells."""
    figure, axes = plt.subplots(figsize=(WIDTH / 2, 3.6))
    label = "scatter of the arrangement, standard deviation"
    axes.fill_between(100 * strain, 0, 100 * scatter, color="0.85", lw=0, label=label)
    for (name, error), style in zip(errors.items(), ("-", "--", "-.", ":"), strict=False):
        axes.plot(100 * strain, 100 * error, style, label=f"error, {name}")
    axes.set(xlabel=STRAIN, ylabel=r"of $\sigma_{xx}$ [%]", ylim=(0, None))
    return with_legend(figure, 1)
