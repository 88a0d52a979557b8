"""Figures of the study of functional priors (Figs. 1 to 5 of the paper)."""

from collections.abc import Iterator, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from scipy.stats import gennorm, norm

from bnn.evaluation.plots import plot_singular_values
from figures.style import STYLE, WIDTH, with_legend
from prior_study import STUDY_PRIORS, Study
from prior_study.reconstruction import WEIGHT_PRIOR_NAMES
from prior_study.study import SOURCES, PriorResult

SHOWN = ("B", "D")  # the priors of Figs. 2 and 3
TITLES = {
    "realisations": "draws from the prior",
    "pretrained": "pre-trained networks",
    "isotropic": "isotropic Gaussian",
    "factorised": "factorised Gaussian",
    "generalised_normal": "generalised normal",
    "low_rank": "multivariate Gaussian",
}
LIMIT = 4.0  # of the ordinate of functions
WEIGHT_LIMIT = 0.4  # of demeaned weights in the histograms
DENSITY_LIMIT = 15.0  # of their densities
BINS = 80
SHOWN_WEIGHTS = 250  # first weights of a kernel: to the 50 units of a layer from five units below
CORRELATION_LIMIT = 0.5  # of the colours, so that blocks of weights can be seen
MARKERS = "osD^"


@plt.style.context(STYLE)
def priors(study: Study) -> Figure:
    """Plot Fig. 1: realisations of each prior, and two networks with their realisations."""
    figure, panels = plt.subplots(1, len(study.results), figsize=(WIDTH, 2.9), squeeze=False)
    for axes, (name, result) in zip(panels[0], study.results.items(), strict=True):
        inside = np.abs(result.inputs) <= 1.05
        x = result.inputs[inside]
        values = result.realisations[:, inside]
        axes.plot(x, values.T, color="0.55", lw=0.5, rasterized=True, label="realisations")
        for member, colour in ((0, "C0"), (1, "C1")):
            axes.plot(x, result.fitted[member, inside], color=colour, label=f"network {member + 1}")
        axes.plot(x, values[:2].T, color="k", lw=0.8, ls=":", label="their realisations")
        axes.set(title=f"prior {name}: {STUDY_PRIORS[name].label}", xlabel="$x$")
        axes.set(xlim=(-1, 1), ylim=(-LIMIT, LIMIT))
    panels[0, 0].set_ylabel("$y$")
    return with_legend(figure, 4)


def _kernels(
    study: Study, panels: np.ndarray, layers: Sequence[int]
) -> Iterator[tuple[Axes, PriorResult, int, str]]:
    """Yield panel, result, layer and title of each kernel; each prior has a row of panels."""
    for row, name in zip(panels, SHOWN, strict=True):
        for layer, axes in zip(layers, row, strict=True):
            yield axes, study.results[name], layer, f"prior {name}, $W^{{({layer})}}$"


@plt.style.context(STYLE)
def histograms(study: Study) -> Figure:
    """Plot Fig. 2: demeaned weights of each kernel with Gaussian and generalised normal fits."""
    figure, panels = plt.subplots(len(SHOWN), 5, figsize=(WIDTH, 5.0), sharex=True, sharey=True)
    edges = np.linspace(-WEIGHT_LIMIT, WEIGHT_LIMIT, BINS + 1)
    x = np.linspace(-WEIGHT_LIMIT, WEIGHT_LIMIT, 801)
    for axes, result, layer, title in _kernels(study, panels, range(5)):
        statistics = result.statistics
        weights = result.kernel(layer)
        counts, _ = np.histogram(weights, edges)
        density = counts / (weights.size * np.diff(edges))  # weights outside count too
        sigma = np.sqrt(statistics.variance[layer + 1])
        alpha = statistics.alpha[layer + 1]
        beta = statistics.beta[layer + 1]
        axes.stairs(density, edges, fill=True, color="0.8", label="weights")
        axes.plot(x, norm.pdf(x, scale=sigma), color="C0", label="Gaussian, $σ_0$")
        label = "generalised normal, $α_0$, $β_0$"
        axes.plot(x, gennorm.pdf(x, beta, scale=alpha), "C1--", label=label)
        fitted = f"$σ_0$ = {sigma:.3f}\n$α_0$ = {alpha:.3f}\n$β_0$ = {beta:.2f}"
        axes.text(0.97, 0.95, fitted, transform=axes.transAxes, ha="right", va="top")
        axes.set(title=title, xlim=(-WEIGHT_LIMIT, WEIGHT_LIMIT), ylim=(0, DENSITY_LIMIT))
    plt.setp(panels[:, 0], ylabel="probability density")
    plt.setp(panels[-1], xlabel=r"$\omega - \mu_0$")
    return with_legend(figure, 3)


@plt.style.context(STYLE)
def correlations(study: Study) -> Figure:
    """Plot Fig. 3: correlations between the first weights of W1 to W3, then of W0 and W4."""
    figure, panels = plt.subplots(len(SHOWN), 5, figsize=(WIDTH, 5.4))
    for axes, result, layer, title in _kernels(study, panels, (1, 2, 3, 0, 4)):
        correlation = np.corrcoef(result.kernel(layer)[:, :SHOWN_WEIGHTS], rowvar=False)
        image = axes.imshow(
            correlation, cmap="RdBu_r", vmin=-CORRELATION_LIMIT, vmax=CORRELATION_LIMIT
        )
        size = result.statistics.mean_correlation[layer]
        level = result.statistics.null_correlation[layer]
        axes.set(title=f"{title}\nmean $|r|$ {size:.3f}\nchance {level:.3f}", xlabel="weight")
        # The weights from one unit to the next layer form a block of 50.
        ends = np.arange(0, len(correlation) + 1, 50 if len(correlation) > 50 else 10)
        axes.set(xticks=ends - 0.5, yticks=ends - 0.5, xticklabels=ends, yticklabels=ends)
    plt.setp(panels[:, 0], ylabel="weight")
    figure.colorbar(image, ax=panels, label="correlation $r$", shrink=0.7, extend="both")
    return figure


@plt.style.context(STYLE)
def reconstructed(study: Study) -> Figure:
    """Plot Fig. 4 a-d: functions of networks drawn from four densities of the weights."""
    shape = len(WEIGHT_PRIOR_NAMES), len(study.results)
    figure, panels = plt.subplots(*shape, figsize=(WIDTH, 8.6), sharex=True, squeeze=False)
    x = study.config.grid[:, 0]
    for row, source, letter in zip(panels, WEIGHT_PRIOR_NAMES, "abcd", strict=True):
        for axes, result in zip(row, study.results.values(), strict=True):
            values = result.functions[SOURCES.index(source)]
            (mean, std) = result.exact
            axes.plot(
                x,
                values.T,
                color="C0",
                lw=0.5,
                alpha=0.35,
                rasterized=True,
                label="networks drawn from the weight prior",
            )
            axes.plot(x, mean, color="k", label="functional prior, mean")
            for sign in (-2, 2):
                axes.plot(x, mean + sign * std, "k--", lw=1, label="functional prior, mean ± 2 std")
            title = "distance {wasserstein:.2f}, error of width {width:.2f}"
            axes.set_title(title.format(**result.comparison.loc[source]), fontsize=8)
            axes.set(xlim=(-1, 1), ylim=(-LIMIT, LIMIT))
        row[0].set_ylabel(f"({letter}) {TITLES[source]}\n$y$")
    for axes, name in zip(panels[0], study.results, strict=True):
        axes.set_title(f"prior {name}\n{axes.get_title()}")
    plt.setp(panels[-1], xlabel="$x$")
    return with_legend(figure, 3)


@plt.style.context(STYLE)
def distances(studies: Sequence[Study]) -> Figure:
    """Plot the distance of each source of functions from each functional prior.

    Points are means over the initialisations of a prior. Lines extend from the smallest to the
    largest distance.
    """
    figure, panels = plt.subplots(1, 2, figsize=(0.7 * WIDTH, 3.8), sharey=True)
    rows = np.arange(len(SOURCES))
    measures = {
        "wasserstein": "Wasserstein distance [units of $y$]",
        "width": "error of width, RMS of $\\log(w/w_0)$",
    }
    for axes, (measure, words) in zip(panels, measures.items(), strict=True):
        for index, name in enumerate(studies[0].results):
            results = [study.results[name] for study in studies if name in study.results]
            values = np.stack([result.comparison[measure].to_numpy() for result in results])
            y = rows + 0.17 * (index - 1.5)
            axes.hlines(y, values.min(axis=0), values.max(axis=0), color=f"C{index}", lw=1.2)
            label = f"prior {name}, {len(results)} sets of initial weights"
            axes.plot(values.mean(axis=0), y, MARKERS[index], color=f"C{index}", label=label)
        axes.set(xscale="log", xlabel=words)
        _plain_ticks(axes.xaxis)
        axes.grid(axis="x", lw=0.4)
        for between in rows[1:] - 0.5:
            axes.axhline(between, color="0.85", lw=0.6)
    panels[0].set_yticks(rows, [TITLES[source] for source in SOURCES])
    panels[0].set_ylim(len(SOURCES) - 0.5, -0.5)
    return with_legend(figure, 2)


@plt.style.context(STYLE)
def singular_values(study: Study) -> Figure:
    """Plot Fig. 5: decay of the singular values of the centred weights."""
    figure, axes = plt.subplots(figsize=(WIDTH / 2, 3.4))
    decays = {f"prior {n}": r.statistics.singular_values for n, r in study.results.items()}
    plot_singular_values(decays, axes=axes)
    plt.setp(axes.get_lines()[1::2], linestyle="--")
    axes.set(xlabel="index", yscale="linear", ylim=(0, None))
    axes.legend()
    return figure


def _plain_ticks(axis: Axis) -> None:
    """Set ticks of a logarithmic axis at 1, 2, 5, 10, ..., without powers in their labels."""
    axis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}")
    axis.set_minor_formatter(NullFormatter())
