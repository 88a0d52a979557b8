"""The command `envelope`: its simulations, its files and its figure."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fe_data.arrays import Floats
from fe_data.cli.options import remove_earlier
from fe_data.cli.sampling import Sampling
from fe_data.composite.formulas import puck
from fe_data.composite.measured import Measured
from fe_data.composite.strengths import EnvelopePoint, in_a_cell, sample_envelope
from fe_data.settings import require_integer
from safe_files import writing
from safe_files.writing import save_picture, write_atomic

TABLE, SUMMARY, PICTURE = "envelope.csv", "envelope.json", "envelope.png"
_COLUMNS = "angle_deg,seed,transverse_MPa,shear_MPa,is_reached,reason"
_BEGINNINGS = {
    TABLE: _COLUMNS.encode(),
    SUMMARY: rb'\{\s*"angle_deg"',
    PICTURE: writing.PICTURE,
}
_FEWEST, _MOST = 2, 1000  # directions of stress


def write_envelope(
    sampling: Sampling, points: int, replicates: int, out: Path
) -> tuple[list[EnvelopePoint], str]:
    """Simulate a failure envelope, and write its table, its summary and its figure.

    Args:
        sampling: Material, microstructures and number of processes.
        points: Number of directions of stress, from transverse tension to compression.
        replicates: Number of microstructures per direction.
        out: Folder.

    Returns:
        All simulated points, and a table of their means.
    """
    require_integer("points", points, _FEWEST, _MOST)
    sampling.require_valid(replicates)
    out.mkdir(parents=True, exist_ok=True)
    remove_earlier(out, _BEGINNINGS)
    angles = np.linspace(0.0, 180.0, points).tolist()
    write = functools.partial(_write_rows, out)
    samples = sampling.simulate(sample_envelope, angles, replicates, "envelope", write)
    means = _means(samples)
    n_fibres = sampling.settings.n_fibres
    summary = {**means, "vf": sampling.vf, "replicates": replicates, "n_fibres": n_fibres}
    text = json.dumps(summary, indent=1) + "\n"
    write_atomic(out / SUMMARY, text.encode(), _BEGINNINGS[SUMMARY])
    title = f"$v_f$ = {sampling.vf:g}, {n_fibres} fibres, {replicates} RVEs per direction of stress"
    figure = plot_envelope(samples, means, title, sampling.phases.measured)
    save_picture(figure, out / PICTURE, dpi=150, bbox_inches="tight")
    return samples, _table(means)


def _write_rows(out: Path, samples: list[EnvelopePoint]) -> None:
    """Write one row per simulated point."""
    rows = [
        f"{s.angle_deg!r},{s.seed},{s.transverse_MPa!r},{s.shear_MPa!r},{s.is_reached},"
        f"{in_a_cell(s.reason)}"
        for s in samples
    ]
    text = "\n".join([_COLUMNS, *rows])
    write_atomic(out / TABLE, f"{text}\n".encode(), _BEGINNINGS[TABLE])


def _means(samples: list[EnvelopePoint]) -> dict[str, list[Any]]:
    """Return means and standard deviations of each direction over the points that were reached."""
    columns: dict[str, list[Any]] = {"angle_deg": [], "reached": []}
    names = ("transverse_MPa", "shear_MPa")
    for name in names:
        columns |= {name: [], f"{name}_std": []}
    for angle in dict.fromkeys(sample.angle_deg for sample in samples):
        reached = [s for s in samples if s.angle_deg == angle and s.is_reached]
        columns["angle_deg"].append(angle)
        columns["reached"].append(len(reached))
        for name in names:
            values = [getattr(sample, name) for sample in reached]
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
            columns[name].append(float(np.mean(values)) if values else None)
            columns[f"{name}_std"].append(spread)
    return columns


def _table(means: dict[str, list[Any]]) -> str:
    """Return the table of the means, one line per direction."""
    lines = [f"{'angle':>7}{'transverse':>13}{'shear':>10}   RVEs"]
    lines.append(f"{'deg':>7}{'MPa':>13}{'MPa':>10}")
    names = ("angle_deg", "transverse_MPa", "shear_MPa", "reached")
    for angle, transverse, shear, count in zip(*(means[name] for name in names), strict=True):
        stresses = f"{'not reached':>23}"
        if transverse is not None:
            stresses = f"{transverse:13.2f}{shear:10.2f}"
        lines.append(f"{angle:7.1f}{stresses}   {count}")
    return "\n".join(lines)


def plot_envelope(
    samples: list[EnvelopePoint],
    means: dict[str, list[Any]],
    title: str,
    measured: Measured | None = None,
) -> Figure:
    """Draw the RVEs, the mean and its scatter, Puck's criterion, and measured strengths of a ply.

    Args:
        samples: Simulated points.
        means: Means of each direction of stress; None if no RVE reached its strength.
        title: Title.
        measured: Measured strengths; None if there are none.

    Returns:
        The figure. Puck's criterion goes through the means of tension, compression and shear.
    """
    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    ax = figure.subplots()
    ax.axhline(0.0, color="grey", lw=0.6)
    ax.axvline(0.0, color="grey", lw=0.6)
    angles = np.radians(means["angle_deg"])
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    columns = [means["transverse_MPa"], means["shear_MPa"]]
    # (n, 2) stresses, NaN in directions without a strength
    stress = np.array(columns, dtype=float).T
    deviations = [means["transverse_MPa_std"], means["shear_MPa_std"]]
    along = np.linalg.norm(np.array(deviations, dtype=float), axis=0)[:, None] * directions
    _fill_between(ax, stress - along, stress + along)
    markers = (True, "C0", "RVEs"), (False, "none", "RVEs that ended before a peak")
    for reached, marker, label in markers:
        points = [s for s in samples if s.is_reached == reached and np.isfinite(s.shear_MPa)]
        if points:
            x, y = np.array([(s.transverse_MPa, s.shear_MPa) for s in points]).T
            ax.plot(x, y, "o", ms=4, mfc=marker, mec="C0", alpha=0.6, label=label)
    ax.plot(*stress.T, "C0o-", ms=3, lw=1.4, label="mean ± standard deviation")
    at = dict(zip(means["angle_deg"], np.linalg.norm(stress, axis=1).tolist(), strict=True))
    strengths = [at.get(angle, np.nan) for angle in (0.0, 180.0, 90.0)]
    if np.isfinite(strengths).all():
        ax.plot(*puck(*strengths), "k--", lw=1.0, label="Puck, through 0, 90 and 180°")
    _draw_measured(ax, measured)
    ax.set(xlabel=r"transverse stress $\sigma_{xx}$ [MPa]", aspect="equal", title=title)
    ax.set_ylabel(r"longitudinal shear $\sigma_{xz}$ [MPa]")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def _fill_between(ax: Axes, inner: Floats, outer: Floats) -> None:
    """Fill the band between two lines (n, 2), except next to points that are NaN."""
    corners = np.stack([inner[:-1], outer[:-1], outer[1:], inner[1:]], axis=1)
    for quadrilateral in corners[np.isfinite(corners).all(axis=(1, 2))]:
        ax.fill(*quadrilateral.T, color="C0", alpha=0.2, lw=0)


def _draw_measured(ax: Axes, measured: Measured | None) -> None:
    """Draw the measured strengths in transverse tension and compression, and in shear."""
    if measured is None:
        return
    tension, compression, shear = (
        measured.get(f"{name}_MPa") or np.nan
        for name in ("transverse_tension", "transverse_compression", "longitudinal_shear")
    )
    points = np.array([[tension, 0.0], [-compression, 0.0], [0.0, shear]])
    if np.isfinite(points).any():
        label = f"measured, $v_f$ = {measured.vf:g}"
        ax.plot(*points.T, "C1*", ms=11, clip_on=False, label=label)
