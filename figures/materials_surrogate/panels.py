"""Figures of the materials surrogates, one panel per output (Figs. 11 to 14 of the paper)."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from bnn.evaluation.metrics import calibration_curve
from figures.composite import problem
from figures.composite.problem import (
    INPUT_LABELS,
    LABELS,
    LOWEST_OUTPUT,
    OUTPUT_NAMES,
    OUTPUT_SCALING,
    Samples,
)
from figures.materials_surrogate.surrogate import Prediction, RepeatedScores, Rows
from figures.style import STYLE, WIDTH, band, with_legend

BAND = 2  # half length of error bars in predicted standard deviations
SHOWN_PRIOR = ("nu_eff", "p_sigma")  # outputs of Fig. 11 b
PAPER_LAWS = [16, 5, 6, 7]  # test points whose behaviour law the paper shows, counted from 0
PLASTIC_STRAIN = 0.05 * np.linspace(0.0, 1.0, 60) ** 3  # fine where the law is steep
LINES = {"prior": ":", "anchored": "-", "vanilla": "--"}


@plt.style.context(STYLE)
def prior_mean(test_set: Samples, theta: np.ndarray, explained: Mapping[str, float]) -> Figure:
    """Plot Fig. 11 a: the prior mean m(x) = θ v_f over the simulated value, in physical units."""
    observed, mean = map(OUTPUT_SCALING.inverse_transform, (test_set.y, test_set.X[:, :1] * theta))
    figure, panels = plt.subplots(1, len(LABELS), figsize=(WIDTH, 2.7))
    both = np.concatenate([observed, mean])
    ends = np.array([both.min(axis=0), both.max(axis=0)])
    for j, (axes, name) in enumerate(zip(panels, OUTPUT_NAMES, strict=True)):
        axes.plot(ends[:, j], ends[:, j], "k--", lw=1)
        axes.plot(observed[:, j], mean[:, j], "o", ms=3, color="C0")
        axes.set(title=f"{LABELS[name]}, $R^2$ = {explained[name]:.2f}", xlabel="simulated")
    panels[0].set_ylabel("prior mean $m(x)$")
    return figure


@plt.style.context(STYLE)
def prior_functions(theta: np.ndarray, seed: int) -> Figure:
    """Plot Fig. 11 b: realisations of the functional prior along each input."""
    figure, panels = plt.subplots(
        len(SHOWN_PRIOR), len(INPUT_LABELS), figsize=(WIDTH, 5), sharey="row"
    )
    diagonal = np.outer(problem.ALONG, np.ones(len(INPUT_LABELS)))
    inputs = problem.INPUT_SCALING.inverse_transform(diagonal)
    for i, (name, realisations) in enumerate(problem.prior_along_inputs(theta, seed).items()):
        samples = OUTPUT_SCALING.inverse_transform(realisations)
        across = inputs[:, i]
        for axes, output in zip(panels[:, i], SHOWN_PRIOR, strict=True):
            functions = samples[:, :, OUTPUT_NAMES.index(output)]
            axes.plot(across, functions[:25].T, color="0.55", lw=0.6, label="realisations")
            band(axes, across, functions.mean(axis=0), functions.std(axis=0), "mean", alpha=0.2)
            axes.set(xlabel=INPUT_LABELS[name], xlim=(across[0], across[-1]))
            if output == "p_sigma":
                axes.axhline(LOWEST_OUTPUT, color="C1", lw=1, ls=":", label="bound")
    for axes, output in zip(panels[:, 0], SHOWN_PRIOR, strict=True):
        axes.set_ylabel(LABELS[output])
    return with_legend(figure, 4)


@plt.style.context(STYLE)
def predictions(
    prediction: Prediction,
    row: RepeatedScores,
    laws: Sequence[int],
    limits: np.ndarray | None = None,
) -> Figure:
    """Plot Figs. 12 and 13: parity of each output, and the behaviour law of four test points.

    Args:
        prediction: Prediction of one ensemble.
        row: Scores of the method over repeats.
        laws: Test points whose behaviour law is shown.
        limits: Axis limits of the parity plots, (2, n_out); None computes them.

    Returns:
        The figure.
    """
    figure = plt.figure(figsize=(WIDTH, 5.4))
    (top,), (bottom,) = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.15, 1))
    panels = top.subplots(1, len(LABELS))
    limits = parity_limits([prediction]) if limits is None else limits  # (2, n_out)
    observed, mean = map(OUTPUT_SCALING.inverse_transform, (prediction.observed, prediction.mean))
    bars = BAND * prediction.std * OUTPUT_SCALING.half_range
    for j, (axes, name) in enumerate(zip(panels, OUTPUT_NAMES, strict=True)):
        axes.plot(limits[:, j], limits[:, j], "k--", lw=1)
        axes.errorbar(observed[:, j], mean[:, j], bars[:, j], fmt="o", ms=3, lw=0.8, color="C0")
        score = row.by_output["rmse"][name]
        spread = "" if score.std is None else f" ± {score.std:.2f}"
        axes.set_title(f"{LABELS[name]}\nscaled RMSE {score.mean:.2f}{spread}")
        axes.set(xlabel="simulated", xlim=limits[:, j], ylim=limits[:, j], aspect="equal")
    panels[0].set_ylabel("predicted, ± 2 std")
    _laws(bottom, prediction, laws)
    for letter, axes in zip(ascii_lowercase, figure.axes, strict=False):
        axes.set_title(f"({letter}) {axes.get_title()}")
    return figure


def _laws(figure, prediction: Prediction, laws: Sequence[int]) -> None:
    """Plot mean ± 2 standard deviations of σ = a + b pᶜ, computed with b and c of each network."""
    physical = np.maximum(OUTPUT_SCALING.inverse_transform(prediction.samples), LOWEST_OUTPUT)
    observed = OUTPUT_SCALING.inverse_transform(prediction.observed)
    panels = figure.subplots(1, len(laws), sharey=True)
    for axes, i in zip(panels, laws, strict=True):
        curves = behaviour_law(physical[:, i, 0], physical[:, i, 1])
        band(axes, PLASTIC_STRAIN, curves.mean(axis=0), curves.std(axis=0), "predicted, mean")
        (simulated,) = behaviour_law(observed[i, :1], observed[i, 1:2])
        axes.plot(PLASTIC_STRAIN, simulated, "--", color="C1", label="simulated")
        axes.set(title=f"test point {i}", xlabel=r"plastic strain $\varepsilon_{pl}$ [–]")
        axes.set(xlim=(0, PLASTIC_STRAIN[-1]))
    panels[0].set_ylabel(r"$\sigma = a + b_\mathrm{eff}\,\varepsilon_{pl}^{c_\mathrm{eff}}$ [MPa]")
    with_legend(figure, 3)


def law_points(test_set: Samples, published: bool) -> list[int]:
    """Return the test points whose behaviour law is shown: the paper's, or spread over b_eff."""
    if published:
        return PAPER_LAWS
    places = np.linspace(0, len(test_set) - 1, len(PAPER_LAWS)).round().astype(int)
    return np.argsort(test_set.y[:, 0])[places].tolist()


def behaviour_law(b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return σ = 400 + b pᶜ [MPa] at PLASTIC_STRAIN, (K, n), for K values of b [MPa] and c."""
    return 400.0 + b[:, None] * PLASTIC_STRAIN ** c[:, None]


def parity_limits(predictions: Sequence[Prediction]) -> np.ndarray:
    """Return axis limits that include every point and error bar, (2, n_out), physical."""
    values = [p.mean + sign * BAND * p.std for p in predictions for sign in (-1, 1)]
    values += [p.observed for p in predictions]
    low = np.min(values, axis=(0, 1))
    high = np.max(values, axis=(0, 1))
    margin = 0.05 * (high - low)
    return OUTPUT_SCALING.inverse_transform(np.array([low - margin, high + margin]))


@plt.style.context(STYLE)
def calibration(
    repeats: Sequence[Mapping[str, Prediction]], rows: Rows, methods: Mapping[str, str]
) -> Figure:
    """Plot Fig. 14: observed over expected probability of each method, mean ± std over repeats."""
    figure, panels = plt.subplots(1, len(LABELS), figsize=(WIDTH, 2.9))
    for label, method in methods.items():
        own = [repeat[method] for repeat in repeats]
        found = [calibration_curve(p.observed, p.mean, p.std) for p in own]
        levels = found[0][0]
        curves = [curve for _, curve in found]
        mean = np.mean(curves, axis=0)
        std = np.std(curves, axis=0)
        areas = rows[method].by_output["miscalibration"]
        for axes, name, m, s in zip(panels, OUTPUT_NAMES, mean.T, std.T, strict=True):
            text = f"{label}, area {areas[name].mean:.2f}"
            (line,) = axes.plot(levels, m, LINES.get(label, "-"), label=text)
            axes.fill_between(levels, m - s, m + s, color=line.get_color(), alpha=0.2, lw=0)
    for axes, label in zip(panels, LABELS.values(), strict=True):
        axes.plot([0, 1], [0, 1], "k-", lw=0.6)
        axes.set(title=label, xlabel="expected proportion", xlim=(0, 1), ylim=(0, 1))
        axes.set_aspect("equal")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    panels[0].set_ylabel("observed proportion")
    return figure
