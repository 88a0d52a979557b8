"""Figures of the materials surrogates, one panel an output (Figs. 12 to 14 of the paper)."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from fe_data.settings import OUTPUT_NAMES
from figures.materials import LABELS, OUTPUT_SCALING
from figures.surrogate import Prediction

STYLE = Path(__file__).with_name("paper.mplstyle")
BAND = 2  # predicted standard deviations drawn as error bars


@plt.style.context(STYLE)
def parity(prediction: Prediction, limits: np.ndarray | None = None) -> Figure:
    """Predicted mean ± 2 standard deviations against the simulated value, physical units.

    Args:
        prediction: for the test set.
        limits: of both axes, (2, 5); None takes those of the prediction.

    Returns:
        One panel an output.
    """
    truth, mean = (OUTPUT_SCALING.unscale(v) for v in (prediction.observed, prediction.mean))
    spread = BAND * prediction.std * OUTPUT_SCALING.half_range
    limits = parity_limits([prediction]) if limits is None else limits
    figure, axes = _row()
    for j, (axis, name) in enumerate(zip(axes, OUTPUT_NAMES, strict=True)):
        axis.errorbar(truth[:, j], mean[:, j], spread[:, j], fmt="o", elinewidth=0.8, capsize=1.5)
        axis.plot(limits[:, j], limits[:, j], color="0.6", linewidth=0.8, zorder=0)
        axis.set(title=LABELS[name], xlabel="simulated", xlim=limits[:, j], ylim=limits[:, j])
        axis.set_aspect("equal")
    axes[0].set_ylabel("predicted mean ± 2 std")
    return figure


def parity_limits(predictions: Iterable[Prediction]) -> np.ndarray:
    """Axis limits that hold every point and error bar, (2, 5) physical."""
    values = [
        v for p in predictions for v in (p.observed, p.mean - BAND * p.std, p.mean + BAND * p.std)
    ]
    low, high = np.min(values, axis=(0, 1)), np.max(values, axis=(0, 1))
    margin = 0.05 * (high - low)
    return OUTPUT_SCALING.unscale(np.array([low - margin, high + margin]))


@plt.style.context(STYLE)
def calibration(predictions: Mapping[str, Prediction]) -> Figure:
    """Observed against expected cumulative probability, one panel an output.

    Args:
        predictions: legend entry and prediction.

    Returns:
        The figure; a well calibrated prediction lies on the diagonal.
    """
    figure, axes = _row()
    for style, (label, prediction) in zip(("-", "--", "-."), predictions.items(), strict=False):
        expected, observed = prediction.calibration()
        for axis, column in zip(axes, observed.T, strict=True):
            axis.plot(expected, column, style, label=label)
    for axis, name in zip(axes, OUTPUT_NAMES, strict=True):
        axis.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, zorder=0)
        axis.set(title=LABELS[name], xlabel="expected probability", xlim=(0, 1), ylim=(0, 1))
        axis.set_aspect("equal")
    axes[0].set_ylabel("observed probability")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@plt.style.context(STYLE)
def save(figure: Figure, path: Path) -> None:
    """Write a figure in the common style; equal figures give equal files."""
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _row() -> tuple[Figure, np.ndarray]:
    return plt.subplots(1, len(OUTPUT_NAMES), figsize=(11, 2.7))
