"""The figure of docs/strength.md: predictions, 5 % quantile, size effect and distribution."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from figures.style import STYLE, WIDTH
from studies.strength_scatter.simulation import INPUTS, VF
from studies.strength_scatter.summary import Prediction, Study

Z90 = stats.norm.ppf(0.95)  # half width of a 90 % interval in standard deviations
SHOWN = {"vf": 0.45, "normal_strength_MPa": 50.0}  # inputs of the second panel


@plt.style.context(STYLE)
def picture(study: Study) -> Figure:
    """Draw the four panels."""
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 7.2), layout="constrained")
    _predicted(axes[0, 0], study)
    _over_toughness(axes[0, 1], study)
    _by_size(axes[1, 0], study)
    _distribution(axes[1, 1], study)
    return figure


def _predicted(axes: Axes, study: Study) -> None:
    """Plot strengths of the test set over predicted means, with 90 % intervals."""
    X, strength = study.data("test")
    at = study.prediction
    axes.errorbar(
        at.mean, at.mean, Z90 * at.std, fmt="none", color="0.8", label="predicted, 90 % interval"
    )
    points = axes.scatter(at.mean, strength, c=X[:, 0], s=12, zorder=3, label="simulated RVE")
    axes.figure.colorbar(points, ax=axes, label="volume fraction $v_f$ [–]")
    axes.set(xlabel="predicted mean strength [MPa]", ylabel="strength [MPa]")
    axes.legend(loc="upper left")


def _over_toughness(axes: Axes, study: Study) -> None:
    """Plot mean, 90 % band and 5 % quantile over the toughness of the interface."""
    toughness = np.linspace(*INPUTS["toughness_I_J_m2"], 60)
    X = np.column_stack([*(np.full(60, value) for value in SHOWN.values()), toughness])
    at = Prediction(*study.model.predict(X, return_std=True, include_noise=True))
    half = Z90 * at.std
    axes.fill_between(toughness, at.mean - half, at.mean + half, alpha=0.25, label="90 % of RVEs")
    axes.plot(toughness, at.mean, label="mean")
    axes.plot(toughness, at.low, "C3--", label="5 % quantile")
    axes.set(xlabel="toughness of the interface in mode I [J/m²]", ylabel="strength [MPa]")
    axes.set_title(
        f"$v_f$ = {SHOWN['vf']:g}, interface strength {SHOWN['normal_strength_MPa']:g} MPa"
    )
    axes.legend(loc="lower right")


def _by_size(axes: Axes, study: Study) -> None:
    """Plot the strengths of RVEs with equal inputs over their number of fibres."""
    strengths = study.by_size()
    for number, (size, values) in enumerate(strengths.items()):
        label = "RVE" if number == 0 else None
        axes.plot(np.full(len(values), size), values, "C0.", alpha=0.5, label=label)
        label = "mean ± standard deviation" if number == 0 else None
        axes.errorbar(
            size * 1.08, values.mean(), values.std(ddof=1), fmt="C1o", capsize=3, label=label
        )
    axes.set_xscale("log")
    axes.set_xticks(list(strengths), list(map(str, strengths)))
    axes.set_xticks([], minor=True)
    axes.set(xlabel="number of fibres in the RVE", ylabel="strength [MPa]")
    axes.set_title(f"equal inputs, $v_f$ = {VF:g}")
    axes.legend(loc="upper right")


def _distribution(axes: Axes, study: Study) -> None:
    """Plot standardised errors over the quantiles of a normal distribution."""
    errors = np.sort(study.standardised)
    quantiles = stats.norm.ppf((np.arange(len(errors)) + 0.5) / len(errors))
    axes.plot(quantiles, errors, "C0.", label="RVEs of the test set")
    axes.axline((0, 0), slope=1, color="0.5", lw=0.8, label="normal distribution")
    axes.set(xlabel="quantile of the normal distribution [–]", ylabel="error / predicted std [–]")
    axes.legend(loc="upper left")
