"""Figures of the materials surrogates, one panel per output (Figs. 11 to 14 of the paper)."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from bnn import Pretrained
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
from figures.scores import written
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
    margin = 0.05 * np.ptp(both, axis=0)
    ends = np.array([both.min(axis=0) - margin, both.max(axis=0) + margin])
    for j, (axes, name) in enumerate(zip(panels, OUTPUT_NAMES, strict=True)):
        axes.plot(ends[:, j], ends[:, j], "k--", lw=1)
        axes.plot(observed[:, j], mean[:, j], "o", ms=3, color="C0")
        axes.set(title=f"{LABELS[name]}, $R^2$ = {written(explained[name], 2)}", xlabel="simulated")
        axes.set(xlim=ends[:, j], ylim=ends[:, j], aspect="equal")
    panels[0].set_ylabel("prior mean $m(x)$")
    return figure


@plt.style.context(STYLE)
def prior_functions(theta: np.ndarray, seed: int, networks: Pretrained) -> Figure:
    """Plot Fig. 11 b: pre-trained networks along each input, the others at mid-range.

    Further rows show realisations of the functional prior, to which networks are fitted.

    Args:
        theta: Slopes of the prior means, (n_out,).
        seed: Seed of the realisations.
        networks: Networks pre-trained to the functional prior.

    Returns:
        The figure.
    """
    inputs = problem.along_inputs()
    realisations = problem.prior_along_inputs(theta, seed)
    sources = (
        ("networks", {name: networks.sample(X) for name, X in inputs.items()}),
        ("further: realisations", realisations),
    )
    rows = [(output, *source) for source in sources for output in SHOWN_PRIOR]
    figure, panels = plt.subplots(len(rows), len(inputs), figsize=(WIDTH, 9.6))
    for row, (output, what, samples) in zip(panels, rows, strict=True):
        j = OUTPUT_NAMES.index(output)
        for i, (axes, name) in enumerate(zip(row, inputs, strict=True)):
            across = problem.INPUT_SCALING.inverse_transform(inputs[name])[:, i]
            functions = OUTPUT_SCALING.inverse_transform(samples[name])[:, :, j]
            shown = functions[:25].T
            axes.plot(across, shown, color="0.55", lw=0.6, rasterized=True, label="functions")
            band(axes, across, functions.mean(axis=0), functions.std(axis=0), "mean", alpha=0.2)
            axes.set(xlabel=INPUT_LABELS[name], xlim=(across[0], across[-1]))
            if output == "p_sigma":
                axes.axhline(LOWEST_OUTPUT, color="C1", lw=1, ls=":", label="bound")
            axes.sharey(panels[SHOWN_PRIOR.index(output), 0])
        row[0].set_ylabel(f"{what}\n{LABELS[output]}")
    return with_legend(figure, 4)


@plt.style.context(STYLE)
def predictions(
    prediction: Prediction,
    row: RepeatedScores,
    laws: Sequence[int],
    compared: Sequence[Prediction] = (),
) -> Figure:
    """Plot Figs. 12 and 13: parity of each output, and the behaviour law of four test points.

    Args:
        prediction: Prediction of one ensemble.
        row: Scores of the method over repeats.
        laws: Test points whose behaviour law is shown.
        compared: Predictions whose figures have the same axis limits; () means this one alone.

    Returns:
        The figure.
    """
    figure = plt.figure(figsize=(WIDTH, 5.4))
    (top,), (bottom,) = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.15, 1))
    panels = top.subplots(1, len(LABELS))
    compared = compared or [prediction]
    limits = _parity_limits(compared)  # (2, n_out)
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
    _laws(bottom, prediction, laws, compared)
    for letter, axes in zip(ascii_lowercase, figure.axes, strict=False):
        axes.set_title(f"({letter}) {axes.get_title()}")
    return figure


def _laws(
    figure, prediction: Prediction, laws: Sequence[int], compared: Sequence[Prediction]
) -> None:
    """Plot mean ± 2 standard deviations of σ = a + b pᶜ, computed with b and c of each network."""
    panels = figure.subplots(1, len(laws), sharey=True)
    for axes, i in zip(panels, laws, strict=True):
        mean, std, simulated = _behaviour_laws(prediction, i)
        band(axes, PLASTIC_STRAIN, mean, std, "predicted, mean")
        axes.plot(PLASTIC_STRAIN, simulated, "--", color="C1", label="simulated")
        axes.set(title=f"test point {i}", xlabel=r"plastic strain $\varepsilon_{pl}$ [–]")
        axes.set(xlim=(0, PLASTIC_STRAIN[-1]))
    shown = [_behaviour_laws(other, i) for other in compared for i in laws]
    low = min((mean - BAND * std).min() for mean, std, _ in shown)
    high = max(max((mean + BAND * std).max(), law.max()) for mean, std, law in shown)
    margin = 0.05 * (high - low)
    panels[0].set_ylim(low - margin, high + margin)
    panels[0].set_ylabel(r"$\sigma = a + b_\mathrm{eff}\,\varepsilon_{pl}^{c_\mathrm{eff}}$ [MPa]")
    with_legend(figure, 3)


def _behaviour_laws(prediction: Prediction, i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean and standard deviation over networks of the law of test point i, and the law."""
    physical = np.maximum(OUTPUT_SCALING.inverse_transform(prediction.samples[:, i]), LOWEST_OUTPUT)
    observed = OUTPUT_SCALING.inverse_transform(prediction.observed[i])
    curves = behaviour_law(physical[:, 0], physical[:, 1])
    (simulated,) = behaviour_law(observed[:1], observed[1:2])
    return curves.mean(axis=0), curves.std(axis=0), simulated


def law_points(test_set: Samples, published: bool) -> list[int]:
    """Return the test points whose behaviour law is shown: the paper's, or spread over b_eff."""
    if published:
        return PAPER_LAWS
    places = np.linspace(0, len(test_set) - 1, len(PAPER_LAWS)).round().astype(int)
    return np.argsort(test_set.y[:, 0])[places].tolist()


def behaviour_law(b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return σ = 400 + b pᶜ [MPa] at PLASTIC_STRAIN, (K, n), for K values of b [MPa] and c."""
    return 400.0 + b[:, None] * PLASTIC_STRAIN ** c[:, None]


def _parity_limits(predictions: Sequence[Prediction]) -> np.ndarray:
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
    """Plot Fig. 14: observed over expected probability, one panel per method, one line per output.

    A further row has one panel per output, with the standard deviation over repeats as a band.
    """
    figure = plt.figure(figsize=(WIDTH, 8.2))
    (top,), (bottom,) = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.45, 1))
    by_method = top.subplots(1, len(methods), sharey=True)
    by_output = bottom.subplots(1, len(LABELS), sharey=True)
    for axes, (label, method) in zip(by_method, methods.items(), strict=True):
        predictions = [repeat[method] for repeat in repeats]
        calibrations = [calibration_curve(p.observed, p.mean, p.std) for p in predictions]
        levels = calibrations[0][0]
        curves = np.array([curve for _, curve in calibrations])  # (n_repeats, n_levels, n_out)
        mean = curves.mean(axis=0)
        std = curves.std(axis=0)
        areas = rows[method].by_output["miscalibration"]
        axes.set_title(f"{label}, average area {rows[method].miscalibration.mean:.2f}")
        axes.set_xlabel("expected proportion")
        for j, (name, output) in enumerate(LABELS.items()):
            axes.plot(levels, mean[:, j], f"C{j}", label=output.split(" [")[0])
            text = f"{label}, area {areas[name].mean:.2f}"
            (line,) = by_output[j].plot(levels, mean[:, j], LINES.get(label, "-"), label=text)
            low = mean[:, j] - std[:, j]
            high = mean[:, j] + std[:, j]
            by_output[j].fill_between(levels, low, high, color=line.get_color(), alpha=0.2, lw=0)
    for axes, output in zip(by_output, LABELS.values(), strict=True):
        axes.set(title=f"further: {output.split(' [')[0]}", xlabel="expected proportion")
    for axes in (*by_method, *by_output):
        axes.plot([0, 1], [0, 1], "k-", lw=0.6)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    for axes in by_output:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    by_method[0].set_ylabel("observed proportion")
    by_output[0].set_ylabel("observed proportion")
    with_legend(top, len(LABELS))
    return figure
