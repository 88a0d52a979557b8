"""Figures of notebook 08: stress along strain paths, with bands."""

from collections.abc import Mapping
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fe_data import Paths
from figures.style import STYLE, WIDTH, with_legend
from studies.strain_paths.study import (
    ALLOWED,
    HALF_WIDTH,
    LABELS,
    TENSION,
    Rows,
)

AXES = ("xx", "yy", "xy")
FEW = 5  # number of microstructures that are drawn for a loop
SHOWN = 12  # number of members that are drawn
FIELDS = {"color": "C1", "ls": "--", "label": "mean-field model"}
SIMULATED = {"color": "k", "lw": 1.0, "label": "simulated, mean over microstructures"}


class Said(NamedTuple):
    """Predictions of a posterior for paths, (n, T, 3) each [MPa]."""

    mean: np.ndarray
    std: np.ndarray  # standard deviation of the mean over microstructures
    total: np.ndarray  # standard deviation of single RVEs


@plt.style.context(STYLE)
def loops(rves: Mapping[str, tuple[Paths, np.ndarray]]) -> Figure:
    """Plot three stress components over strain, of simulated RVEs and the mean-field model.

    Args:
        rves: Title → one simulated path, and its mean-field stress (1, T, 3) [MPa].

    Returns:
        The figure.
    """
    figure, panels = plt.subplots(len(rves), 3, figsize=(WIDTH, 3.1 * len(rves)), squeeze=False)
    for row, (words, (rve, fields)) in zip(panels, rves.items(), strict=True):
        strain = _from_rest(100 * rve.strain[0])
        for j, axes in enumerate(row):
            some = rve.stress[0, :FEW, :, j].T
            lines = axes.plot(strain[:, j], _from_rest(some), color="0.6", lw=0.6)
            lines[0].set_label(f"{FEW} of the simulated microstructures")
            axes.plot(strain[:, j], _from_rest(fields[0, :, j]), **FIELDS)
            axes.set(xlabel=rf"$\varepsilon_{{{AXES[j]}}}$ [%]", ylabel=_stress(j), title=words)
    return with_legend(figure, 2)


@plt.style.context(STYLE)
def prior(rve: Paths, points: np.ndarray, fields: np.ndarray, drawn: np.ndarray, j: int) -> Figure:
    """Plot one component of the stresses of material points, and of prior samples, for one RVE.

    Args:
        rve: One simulated path.
        points: Stresses ψ of the points of the basis, (T, R, 3) [MPa].
        fields: Stress of the mean-field model, (T, 3) [MPa].
        drawn: Samples from the prior, (K, T, 3) [MPa].
        j: Index of the component.

    Returns:
        The figure.
    """
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(WIDTH, 3.4))
    strain = _from_rest(100 * rve.strain[0, :, j])
    left.plot(strain, _from_rest(points[:, :, j]), color="C2", lw=0.7, alpha=0.7)
    left.lines[0].set_label("points of the basis")
    middle.plot(strain, _from_rest(fields[:, j]), **FIELDS)
    middle.plot(strain, _from_rest(drawn[:, :, j].T), color="C0", lw=0.7, alpha=0.7)
    middle.lines[1].set_label("samples of the prior")
    middle.plot(strain, _from_rest(rve.mean_stress[0, :, j]), **SIMULATED)
    steps = np.arange(len(strain))
    right.plot(steps, _from_rest((drawn - fields)[:, :, j].T), color="C0", lw=0.7, alpha=0.7)
    right.plot(steps, _from_rest(rve.mean_stress[0, :, j] - fields[:, j]), **SIMULATED)
    right.axhline(0.0, color="C1", ls="--")
    of_point = rf"$\psi_{{{AXES[j]}}}$ [MPa]"
    for axes, words in ((left, of_point), (middle, _stress(j))):
        axes.set(xlabel=rf"$\varepsilon_{{{AXES[j]}}}$ [%]", ylabel=words)
    right.set(xlabel="increment", ylabel=f"{_stress(j)} minus mean-field model")
    return with_legend(figure, 4)


@plt.style.context(STYLE)
def bands(
    rves: Mapping[str, Paths],
    fields: Mapping[str, np.ndarray],
    said: Mapping[int, Mapping[str, Said]],
) -> Figure:
    """Plot the stress of one RVE of each set, then predictions minus the simulated mean.

    The shear component is shown, in which the plastic strain is largest. In tension it is xx, the
    only component that is not zero.

    Args:
        rves: One path of each set.
        fields: Their stresses of the mean-field model, (1, T, 3) [MPa].
        said: Number of training paths → set → prediction of the posterior.

    Returns:
        The figure.
    """
    figure, panels = plt.subplots(
        1 + len(said), len(rves), figsize=(WIDTH, 2.6 * (1 + len(said))), squeeze=False
    )
    for column, (name, rve) in zip(panels.T, rves.items(), strict=True):
        j = AXES.index("xx" if name == TENSION else "xy")
        reference = rve.mean_stress[0, :, j]
        steps = 1 + np.arange(len(reference))
        strain = _from_rest(100 * rve.strain[0, :, j])
        column[0].plot(strain, _from_rest(fields[name][0, :, j]), **FIELDS)
        last = [*said.values()][-1][name]
        column[0].plot(strain, _from_rest(last.mean[0, :, j]), color="C0", label="posterior mean")
        column[0].plot(strain, _from_rest(reference), **(SIMULATED | {"ls": ":"}))
        column[0].set(
            title=LABELS[name], xlabel=rf"$\varepsilon_{{{AXES[j]}}}$ [%]", ylabel=_stress(j)
        )
        for axes, (n, band) in zip(column[1:], said.items(), strict=True):
            _less_reference(axes, steps, reference, rve.stress[0, :, :, j], band[name], j)
            axes.plot(steps, fields[name][0, :, j] - reference, **FIELDS)
            axes.set(title=f"from {n} training paths", xlabel="increment")
        if len(said) > 1:
            low, high = np.transpose([axes.get_ylim() for axes in column[1:]])
            plt.setp(column[1:], ylim=(low.min(), high.max()))
    for axes in panels[1:, 0]:
        axes.set_ylabel("minus the simulated mean [MPa]")
    return with_legend(figure, 3)


def _less_reference(
    axes: Axes, steps: np.ndarray, reference: np.ndarray, rves: np.ndarray, said: Said, j: int
) -> None:
    """Plot bands of a posterior and the microstructures (R, T), all minus the simulated mean."""
    centre = said.mean[0, :, j] - reference
    for std, colour, alpha, words in (
        (said.total, "0.5", 0.3, "95 % band of a single RVE"),
        (said.std, "C0", 0.4, "95 % band of the mean"),
    ):
        width = HALF_WIDTH * std[0, :, j]
        axes.fill_between(
            steps, centre - width, centre + width, color=colour, alpha=alpha, lw=0, label=words
        )
    for end in (rves.min(axis=0), rves.max(axis=0)):
        axes.plot(
            steps,
            end - reference,
            color="0.3",
            lw=0.6,
            label="extremes of the simulated microstructures",
        )
    axes.plot(steps, centre, color="C0", label="posterior mean")
    axes.axhline(0.0, color="k", lw=1.0, ls=":")


@plt.style.context(STYLE)
def learning(rows: Rows, alone: Mapping[str, float]) -> Figure:
    """Plot errors and coverages over the number of training paths, means ± 95 % half-widths."""
    figure, panels = plt.subplots(1, 3, figsize=(WIDTH, 3.9))
    headings = {
        "error": "mean square error over variance",
        "coverage": "coverage of the mean, 95 % bands",
        "single": "coverage of single RVEs, 95 % bands",
    }
    colours = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    for axes, (score, words) in zip(panels, headings.items(), strict=True):
        for i, (name, errors) in enumerate(rows.items()):
            numbers = [getattr(scored, score) for scored in errors.values()]
            axes.errorbar(
                [n * 1.04 ** (i - 1.5) for n in errors],  # shifted, so that they do not overlap
                [number.mean for number in numbers],
                yerr=[number.margin for number in numbers],
                marker="o",
                ms=3,
                capsize=2,
                color=colours[i],
                label=LABELS[name],
            )
            if score == "error":
                axes.axhline(alone[name], color=colours[i], lw=0.8, ls="--")
        counts = list(next(iter(rows.values())))
        axes.set(xscale="log", xlabel="training paths", ylabel=words)
        axes.set_xticks(counts, map(str, counts))
        axes.minorticks_off()
    panels[0].set_yscale("log")
    panels[0].plot([], [], color="0.3", lw=0.8, ls="--", label="mean-field model alone")
    for axes in panels[1:]:
        axes.axhspan(*ALLOWED, color="0.9", zorder=0)
        axes.axhline(0.95, color="0.4", lw=0.8, ls=":")
        axes.set_ylim(min(axes.get_ylim()[0], ALLOWED[0] - 0.02), 1.005)
    return with_legend(figure, 5)


@plt.style.context(STYLE)
def members(
    rve: Paths,
    curves: Mapping[int, np.ndarray],
    said: Mapping[int, Said],
    theta: Mapping[int, np.ndarray],
    j: int = 0,
) -> Figure:
    """Plot members of one RVE minus the closed-form mean, by number of training paths.

    Args:
        rve: One simulated path.
        curves: Stress of the members, (K, T, 3) [MPa].
        said: Predictions in closed form.
        theta: Standard deviation in closed form without the model error δ, (T, 3) [MPa]. The
            members estimate it.
        j: Index of the stress component.

    Returns:
        The figure.
    """
    figure, panels = plt.subplots(1, len(curves), figsize=(WIDTH, 3.6), sharey=True, squeeze=False)
    for axes, (n, drawn) in zip(panels[0], curves.items(), strict=True):
        mean = said[n].mean[0, :, j]
        steps = 1 + np.arange(len(mean))
        for std, colour, words in (
            (said[n].std[0, :, j], "0.75", r"closed form with the model error $\delta$, 95 %"),
            (theta[n][:, j], "C0", r"closed form of $\theta$ only, 95 %"),
        ):
            width = HALF_WIDTH * std
            axes.fill_between(steps, -width, width, color=colour, alpha=0.4, lw=0, label=words)
        lines = axes.plot(steps, (drawn[:SHOWN, :, j] - mean).T, color="C2", lw=0.5, alpha=0.7)
        lines[0].set_label(f"{SHOWN} of the members")
        whole = drawn[:, :, j].mean(axis=0) - mean
        axes.plot(steps, whole, color="C1", label=f"mean of all {len(drawn)}")
        axes.plot(steps, rve.mean_stress[0, :, j] - mean, **SIMULATED)
        axes.set(title=f"from {n} training paths", xlabel="increment")
    panels[0, 0].set_ylabel(f"{_stress(j)} minus the closed-form mean")
    return with_legend(figure, 3)


def _from_rest(values: np.ndarray) -> np.ndarray:
    """Return values along a path, (T, ...), with zero added before the first increment."""
    return np.concatenate([np.zeros_like(values[:1]), values])


def _stress(j: int) -> str:
    return rf"$\sigma_{{{AXES[j]}}}$ [MPa]"
