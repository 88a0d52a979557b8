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
from prior_study.statistics import WeightStatistics
from prior_study.study import SOURCES

SHOWN = ("B", "D")  # the priors of Figs. 2 and 3
TITLES = {
    "realisations": "draws from the prior",
    "pretrained": "pre-trained networks",
    "isotropic": "isotropic Gaussian",
    "factorised": "factorised Gaussian",
    "generalised_normal": "generalised normal",
    "low_rank": "multivariate Gaussian",
}
LIMIT = {"A": 6.0, "B": 6.0, "C": 6.0, "D": 8.0}  # of the ordinate
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
        axes.set(xlim=(-1, 1), ylim=(-LIMIT[name], LIMIT[name]))
    panels[0, 0].set_ylabel("$y$")
    return with_legend(figure, 4)


def _kernels(study: Study, panels: np.ndarray) -> Iterator[tuple[Axes, WeightStatistics, int, str]]:
    """Yield panel, statistics, index and title of each kernel; each prior has a row of panels."""
    for row, name in zip(panels, SHOWN, strict=True):
        for layer, axes in enumerate(row):
            title = f"prior {name}, $W^{{({layer})}}$"
            yield axes, study.results[name].statistics, layer, title


@plt.style.context(STYLE)
def histograms(study: Study) -> Figure:
    """Plot Fig. 2: demeaned weights of each kernel with Gaussian and generalised normal fits."""
    figure, panels = plt.subplots(len(SHOWN), 5, figsize=(WIDTH, 5.0))
    for axes, found, layer, title in _kernels(study, panels):
        edges = found.bin_edges[layer]
        density = found.density[layer]
        x = np.linspace(edges[0], edges[-1], 400)
        alpha = found.alpha[layer + 1]
        beta = found.beta[layer + 1]
        gaussian = norm.pdf(x, scale=np.sqrt(found.variance[layer + 1]))
        axes.stairs(density, edges, fill=True, color="0.8", label="weights")
        axes.plot(x, gaussian, color="C0", label="Gaussian")
        axes.plot(x, gennorm.pdf(x, beta, scale=alpha), "C1--", label="generalised normal")
        axes.set(xlim=(edges[0], edges[-1]), ylim=(0, 1.3 * density.max()))
        axes.set(title=f"{title}, $β_0$ = {beta:.2f}", xlabel=r"$\omega - \mu_0$")
    plt.setp(panels[:, 0], ylabel="probability density")
    return with_legend(figure, 3)


@plt.style.context(STYLE)
def correlations(study: Study) -> Figure:
    """Plot Fig. 3: correlations between some weights of each kernel."""
    figure, panels = plt.subplots(len(SHOWN), 5, figsize=(WIDTH, 5.4))
    for axes, found, layer, title in _kernels(study, panels):
        image = axes.imshow(found.correlation[layer], cmap="RdBu_r", vmin=-1, vmax=1)
        size = found.mean_correlation[layer]
        level = found.null_correlation[layer]
        axes.set(title=f"{title}\nmean $|r|$ {size:.3f}\nchance {level:.3f}")
        axes.set(xlabel="weight", xticks=(0, 24, 49), yticks=(0, 24, 49))
        axes.set(xticklabels=(1, 25, 50), yticklabels=(1, 25, 50))
    plt.setp(panels[:, 0], ylabel="weight")
    figure.colorbar(image, ax=panels, label="correlation $r$", shrink=0.7)
    return figure


@plt.style.context(STYLE)
def reconstructed(study: Study) -> Figure:
    """Plot Fig. 4 a-d: functions of networks drawn from four densities of the weights."""
    shape = len(WEIGHT_PRIOR_NAMES), len(study.results)
    figure, panels = plt.subplots(*shape, figsize=(WIDTH, 8.6), sharex=True, squeeze=False)
    x = study.config.grid[:, 0]
    for row, source, letter in zip(panels, WEIGHT_PRIOR_NAMES, "abcd", strict=True):
        for axes, (name, result) in zip(row, study.results.items(), strict=True):
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
            axes.set(xlim=(-1, 1), ylim=(-LIMIT[name], LIMIT[name]))
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
            found = [study.results[name] for study in studies if name in study.results]
            values = np.stack([each.comparison[measure].to_numpy() for each in found])
            y = rows + 0.17 * (index - 1.5)
            axes.hlines(y, values.min(axis=0), values.max(axis=0), color=f"C{index}", lw=1.2)
            label = f"prior {name}, {len(found)} sets of initial weights"
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
    axes.set_xlabel("index")
    _plain_ticks(axes.yaxis)
    axes.legend()
    return figure


def _plain_ticks(axis: Axis) -> None:
    """Set ticks of a logarithmic axis at 1, 2, 5, 10, ..., without powers in their labels."""
    axis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}")
    axis.set_minor_formatter(NullFormatter())
