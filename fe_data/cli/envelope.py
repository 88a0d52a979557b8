"""The command `envelope`: its simulations, its files and its figure."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fe_data.cli.options import require_writable
from fe_data.cli.sampling import Sampling
from fe_data.composite.strengths import EnvelopePoint, in_a_cell, sample_envelope
from fe_data.settings import require_integer
from safe_files import writing
from safe_files.writing import replacing, require_own, write_atomic

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
    require_writable(out)
    for name, beginning in _BEGINNINGS.items():
        require_own(out / name, beginning)
    for name in _BEGINNINGS:
        (out / name).unlink(missing_ok=True)
    angles = np.linspace(0.0, 180.0, points).tolist()
    samples: list[EnvelopePoint] = []
    try:
        for sample in sampling.simulated(sample_envelope, angles, replicates, "envelope"):
            samples.append(sample)  # noqa: PERF402 (an interruption keeps what is there)
    finally:
        if samples:
            _write_rows(samples, out)
    means = _means(samples)
    n_fibres = sampling.settings.n_fibres
    summary = {**means, "vf": sampling.vf, "replicates": replicates, "n_fibres": n_fibres}
    text = json.dumps(summary, indent=1) + "\n"
    write_atomic(out / SUMMARY, text.encode(), _BEGINNINGS[SUMMARY])
    with replacing(out / PICTURE, writing.PICTURE) as picture:
        plot_envelope(samples, means).savefig(picture, format="png", dpi=150)
    return samples, _table(means)


def _write_rows(samples: list[EnvelopePoint], out: Path) -> None:
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


def plot_envelope(samples: list[EnvelopePoint], means: dict[str, list[Any]]) -> Figure:
    """Draw the points of all RVEs, and the means of the directions of stress.

    Args:
        samples: Simulated points.
        means: Means of each direction; None if no RVE was reached.

    Returns:
        The figure.
    """
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.subplots()
    reached = [sample for sample in samples if sample.is_reached]
    across = [sample.transverse_MPa for sample in reached]
    along = [sample.shear_MPa for sample in reached]
    ax.plot(across, along, "o", ms=4, alpha=0.5, mew=0, label="RVEs")
    pairs = zip(means["transverse_MPa"], means["shear_MPa"], strict=True)
    line = np.array([pair for pair in pairs if pair[0] is not None], dtype=float).reshape(-1, 2)
    ax.plot(*line.T, "k-", lw=1.4, label="mean")
    ax.axhline(0.0, color="grey", lw=0.6)
    ax.axvline(0.0, color="grey", lw=0.6)
    ax.set(xlabel="transverse stress [MPa]", ylabel="longitudinal shear stress [MPa]")
    ax.set(aspect="equal", title="Failure envelope")
    ax.legend(frameon=False)
    return figure
