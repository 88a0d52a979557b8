"""Figures of the study of functional priors (Figs. 1 to 5 of the paper)."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from scipy.stats import gennorm, norm

from bnn.evaluation.plots import plot_singular_values
from figures.style import STYLE, legend
from prior_study import STUDY_PRIORS, PriorResult, Study
from prior_study.reconstruction import WEIGHT_PRIOR_NAMES
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
    """Fig. 1: realisations of each prior, and two networks with what they were fitted to."""
    figure, panels = plt.subplots(1, len(study.results), figsize=(11, 2.9), squeeze=False)
    for axes, (name, result) in zip(panels[0], study.results.items(), strict=True):
        inside = np.abs(result.inputs) <= 1.05
        x, values = result.inputs[inside], result.realisations[:, inside]
        axes.plot(x, values.T, color="0.8", lw=0.5, rasterized=True, label="realisations")
        for member, colour in ((0, "C0"), (1, "C1")):
            axes.plot(x, result.fitted[member, inside], color=colour, label=f"network {member + 1}")
        axes.plot(x, values[:2].T, color="k", lw=0.8, ls=":", label="their realisations")
        axes.set(title=f"prior {name}: {STUDY_PRIORS[name].label}", xlabel="$x$")
        axes.set(xlim=(-1, 1), ylim=(-LIMIT[name], LIMIT[name]))
    panels[0, 0].set_ylabel("$y$")
    legend(figure, 4)
    return figure


@plt.style.context(STYLE)
def histograms(study: Study, shown: Sequence[str] = SHOWN) -> Figure:
    """Fig. 2: demeaned weights of each kernel with Gaussian and generalised normal fits."""
    figure, panels = plt.subplots(len(shown), 5, figsize=(11, 2.3 * len(shown) + 0.4))
    for row, name in zip(np.atleast_2d(panels), shown, strict=True):
        statistics = study.results[name].statistics
        for layer, axes in enumerate(row):
            edges, density = statistics.bin_edges[layer], statistics.density[layer]
            x = np.linspace(edges[0], edges[-1], 400)
            alpha, beta = statistics.alpha[layer + 1], statistics.beta[layer + 1]
            deviation = np.sqrt(statistics.variance[layer + 1])
            axes.stairs(density, edges, fill=True, color="0.8", label="weights")
            axes.plot(x, norm.pdf(x, scale=deviation), color="C0", label="Gaussian")
            axes.plot(x, gennorm.pdf(x, beta, scale=alpha), "C1--", label="generalised normal")
            axes.set(xlim=(edges[0], edges[-1]), ylim=(0, 1.3 * density.max()))
            title = f"prior {name}, $W^{{({layer})}}$, $β_0$ = {beta:.2f}"
            axes.set(title=title, xlabel=r"$\omega - \mu_0$")
        row[0].set_ylabel("probability density")
    legend(figure, 3)
    return figure


@plt.style.context(STYLE)
def correlations(study: Study, shown: Sequence[str] = SHOWN) -> Figure:
    """Fig. 3: correlations between some weights of each kernel."""
    figure, panels = plt.subplots(len(shown), 5, figsize=(11, 2.4 * len(shown)))
    for row, name in zip(np.atleast_2d(panels), shown, strict=True):
        statistics = study.results[name].statistics
        for layer, axes in enumerate(row):
            size = statistics.mean_correlation[layer]
            image = axes.imshow(statistics.correlation[layer], cmap="RdBu_r", vmin=-1, vmax=1)
            axes.set(title=f"prior {name}, $W^{{({layer})}}$\nmean $|r|$ = {size:.2f}")
            axes.set(xlabel="weight", xticks=(0, 24, 49), yticks=(0, 24, 49))
            axes.set(xticklabels=(1, 25, 50), yticklabels=(1, 25, 50))
        row[0].set_ylabel("weight")
    figure.colorbar(image, ax=panels, label="correlation $r$", shrink=0.7)
    return figure


@plt.style.context(STYLE)
def reconstructed(study: Study) -> Figure:
    """Fig. 4 a-d: functions of networks drawn from four densities of the weights."""
    shape = len(WEIGHT_PRIOR_NAMES), len(study.results)
    figure, panels = plt.subplots(*shape, figsize=(11, 8.6), sharex=True, squeeze=False)
    for row, source, letter in zip(panels, WEIGHT_PRIOR_NAMES, "abcd", strict=True):
        for axes, (name, result) in zip(row, study.results.items(), strict=True):
            _functions(axes, result, source, study.config.grid[:, 0])
            axes.set(xlim=(-1, 1), ylim=(-LIMIT[name], LIMIT[name]))
        row[0].set_ylabel(f"({letter}) {TITLES[source]}\n$y$")
    for axes, low, name in zip(panels[0], panels[-1], study.results, strict=True):
        axes.set_title(f"prior {name}\n{axes.get_title()}")
        low.set_xlabel("$x$")
    legend(figure, 3)
    return figure


def _functions(axes: Axes, result: PriorResult, source: str, x: np.ndarray) -> None:
    values = result.functions[SOURCES.index(source)]
    axes.plot(x, values.T, color="C0", lw=0.5, alpha=0.35, rasterized=True,
              label="networks drawn from the weight prior")  # fmt: skip
    mean, std = result.exact
    axes.plot(x, mean, color="k", label="functional prior, mean")
    for sign in (-2, 2):
        axes.plot(x, mean + sign * std, "k--", lw=1, label="functional prior, mean ± 2 std")
    found, width = result.distance(source).wasserstein, result.width_error(source)
    axes.set_title(f"distance {found:.2f}, error of width {width:.2f}", fontsize=8)


@plt.style.context(STYLE)
def distances(study: Study) -> Figure:
    """How far each source of functions lies from each functional prior."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.2))
    position = np.arange(len(SOURCES))
    for index, (name, result) in enumerate(study.results.items()):
        aside, marker = 0.12 * (index - 1.5), MARKERS[index % len(MARKERS)]
        wasserstein = [result.distance(source).wasserstein for source in SOURCES]
        for axes, values in zip(panels, (wasserstein, result.width_errors), strict=True):
            axes.semilogy(position + aside, values, marker, label=f"prior {name}")
    panels[0].set_ylabel("Wasserstein distance, in units of $y$")
    panels[1].set_ylabel("error of width, RMS of $\\log(w/w_0)$")
    labels = [TITLES[source].replace(" ", "\n", 1) for source in SOURCES]
    for axes in panels:
        axes.set_xticks(position, labels, fontsize=7)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="y", lw=0.4)
    legend(figure, 4)
    return figure


@plt.style.context(STYLE)
def singular_values(study: Study) -> Figure:
    """Fig. 5: decay of the singular values of the centred weights."""
    figure, axes = plt.subplots(figsize=(4.6, 3.2))
    decays = {f"prior {n}": r.statistics.singular_values for n, r in study.results.items()}
    plot_singular_values(decays, axes=axes)
    plt.setp(axes.get_lines()[1::2], linestyle="--")
    axes.legend()
    return figure
