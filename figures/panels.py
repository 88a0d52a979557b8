"""Figures of the materials surrogates, one panel an output (Figs. 12 to 14 of the paper)."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from bnn.plots import plot_calibration, plot_parity
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
    truth, mean = map(OUTPUT_SCALING.inverse_transform, (prediction.observed, prediction.mean))
    figure = plot_parity(
        truth, mean, prediction.std * OUTPUT_SCALING.half_range, list(LABELS.values())
    )
    limits = parity_limits([prediction]) if limits is None else limits
    for axes, (low, high) in zip(figure.axes, limits.T, strict=True):
        axes.set(xlabel="simulated", xlim=(low, high), ylim=(low, high), aspect="equal")
    return figure


def parity_limits(predictions: Iterable[Prediction]) -> np.ndarray:
    """Axis limits that hold every point and error bar, (2, 5) physical."""
    values = [
        v for p in predictions for v in (p.observed, p.mean - BAND * p.std, p.mean + BAND * p.std)
    ]
    low, high = np.min(values, axis=(0, 1)), np.max(values, axis=(0, 1))
    margin = 0.05 * (high - low)
    return OUTPUT_SCALING.inverse_transform(np.array([low - margin, high + margin]))


@plt.style.context(STYLE)
def calibration(predictions: Mapping[str, Prediction]) -> Figure:
    """Observed against expected cumulative probability, one panel an output.

    Args:
        predictions: legend entry and prediction, all of the same test set.

    Returns:
        The figure; a well calibrated prediction lies on the diagonal.
    """
    figure, panels = plt.subplots(1, len(LABELS), figsize=(13.4, 3.4))
    observed = next(iter(predictions.values())).observed
    for j, (axes, label) in enumerate(zip(panels, LABELS.values(), strict=True)):
        columns = {name: (p.mean[:, j], p.std[:, j]) for name, p in predictions.items()}
        plot_calibration(observed[:, j], columns, axes=axes)
        axes.set(title=label, ylabel="observed proportion" if j == 0 else "")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return figure


@plt.style.context(STYLE)
def save(figure: Figure, path: Path) -> None:
    """Write a figure in the common style; equal figures give equal files."""
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
