"""The style of all figures, and how they are saved."""

import io
from pathlib import Path
from typing import TypeVar

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from PIL import Image

from figures.pipeline.clean import note
from safe_files.writing import PICTURE, write_atomic

STYLE = Path(__file__).with_name("paper.mplstyle")
Drawn = TypeVar("Drawn", Figure, SubFigure)
BEGINNING = PICTURE + rb"|\x89PNG.{20}[\x01-\x08]\x03"  # also of PNGs with a palette
WIDTH = 11.0  # of a figure [in]; a figure with a single panel has half of it


@plt.style.context(STYLE)
def save(figure: Figure, path: Path, colours: int | None = None) -> None:
    """Save a figure; equal figures give identical files.

    Args:
        figure: The figure.
        path: Path of the file; its suffix is the format.
        colours: Limit of the number of colours of a PNG, or None. With a limit, a PNG of lines
            takes a third of the space.

    Raises:
        ValueError: If a panel is empty.
        FileExistsError: If another file exists that is neither a figure by matplotlib nor a PNG
            with a palette.
    """
    shown = [axes for axes in figure.axes if axes.axison]
    empty = [number for number, axes in enumerate(shown, start=1) if not shows_something(axes)]
    if empty or not shown:
        raise ValueError(f"{path.name}: panel {empty[0] if empty else 1} shows nothing")
    kind = path.suffix[1:]
    content = io.BytesIO()
    figure.savefig(content, format=kind, metadata={"Date": None} if kind == "svg" else None)
    if colours is not None:
        with Image.open(content) as picture:
            reduced = picture.convert("RGB").quantize(colours, dither=Image.Dither.NONE)
        content = io.BytesIO()
        reduced.save(content, kind, optimize=True)
    write_atomic(path, content.getvalue(), BEGINNING)
    note(path)
    if plt.isinteractive():  # in a notebook; the metadata of the output name the figure
        from IPython.display import display

        display(figure, metadata={"picture": path.name})
        plt.close(figure)


def band(
    axes: Axes,
    x: np.ndarray,
    mean: np.ndarray,
    std: np.ndarray,
    label: str,
    color: str = "C0",
    alpha: float = 0.25,
) -> None:
    """Draw a mean and the band of ± 2 standard deviations around it, (n,) each."""
    low = mean - 2 * std
    high = mean + 2 * std
    axes.fill_between(x, low, high, color=color, alpha=alpha, lw=0, label=f"{label} ± 2 std")
    axes.plot(x, mean, color=color, label=label)


def with_legend(figure: Drawn, columns: int) -> Drawn:
    """Add one legend below a figure or a part of it, with each label once, and return it."""
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)
    return figure


def shows_something(axes: Axes) -> bool:
    """Return whether a panel has an image, a patch, a collection, or a line with finite points."""
    lines = any(np.isfinite(line.get_xydata()).all(axis=1).any() for line in axes.lines)
    return bool(lines or axes.images or axes.patches or axes.collections)
