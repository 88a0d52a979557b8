"""Figures of the one-dimensional example (Figs. 6 and 7 of the paper)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.example_1d.ensembles import (
    GRID,
    LENGTHSCALES,
    SHOWN_FUNCTIONS,
    SLOPE,
    Prediction,
    functional_prior,
    load_data,
    true_function,
)
from figures.style import STYLE, WIDTH, band, with_legend
from prior_study import Moments

LIMIT = 3.5  # of the ordinate, as in the paper
WIDE_LIMIT = 4.5  # of figures that the paper does not have


def _panel(
    axes: Axes,
    title: str,
    shown: Moments,
    exact: Moments | None = None,
    prior: bool = False,
    limit: float = LIMIT,
) -> None:
    """Plot an ensemble, the true function and the data; for a prior, its mean instead of data."""
    x = GRID[:, 0]
    band(axes, x, shown.mean, shown.std, "ensemble, mean")
    if exact:
        axes.plot(x, exact.mean, color="C1", lw=1, label="exact posterior, mean")
        for sign in (-2, 2):
            bound = exact.mean + sign * exact.std
            axes.plot(x, bound, "--", color="C1", lw=1, label="exact posterior, mean ± 2 std")
    _frame(axes, title, prior, limit)


def _frame(axes: Axes, title: str, prior: bool, limit: float) -> None:
    """Plot the true function, and the data or the prior mean; set title, labels and limits."""
    x = GRID[:, 0]
    if prior:
        axes.plot(x, SLOPE * x, "k:", lw=1, label="prior mean")
    axes.plot(x, true_function(x), color="0.45", lw=1, ls="-.", label="true function")
    if not prior:
        axes.plot(*load_data(), "o", color="k", ms=2.5, label="data")
    axes.set(title=title, xlabel="$x$", ylabel="$y$", xlim=(-1, 1), ylim=(-limit, limit))
    axes.set_xticks((-1, -0.5, 0, 0.5, 1))


def _lines(axes: Axes, functions: np.ndarray | None, label: str) -> None:
    """Plot single functions on GRID, (n, 201); None plots nothing."""
    if functions is not None:
        axes.plot(GRID[:, 0], functions.T, color="0.6", lw=0.5, label=label)


def _limit(*shown: Moments) -> float:
    """Return a limit of the ordinate that contains the bands, and is not below LIMIT."""
    return max(LIMIT, *(1.05 * np.max(np.abs(m.mean) + 2 * m.std) for m in shown))


@plt.style.context(STYLE)
def vanilla(predictions: Mapping[str, Prediction]) -> Figure:
    """Plot Fig. 6 a: the vanilla ensemble, without a prior."""
    figure, axes = plt.subplots(figsize=(WIDTH / 2, 3.6))
    _lines(axes, predictions["vanilla"].functions, "networks")
    _panel(axes, "vanilla ensemble", predictions["vanilla"])
    return with_legend(figure, 3)


@plt.style.context(STYLE)
def anchored(predictions: Mapping[str, Prediction]) -> Figure:
    """Plot Fig. 6 b: realisations of the prior and the anchored ensemble.

    Two further columns show the pre-trained networks, and the anchored ensemble with the exact
    posterior.
    """
    figure, panels = plt.subplots(len(LENGTHSCALES), 4, figsize=(WIDTH, 5.8))
    for (prior, ensemble, networks, compared), scale in zip(panels, LENGTHSCALES, strict=True):
        posterior = predictions[f"anchored {scale:g}"]
        exact = predictions[f"exact {scale:g}"]
        pretrained = predictions[f"prior {scale:g}"]
        realisations = functional_prior(scale).sample(GRID, SHOWN_FUNCTIONS, 0)[:, :, 0]
        _lines(prior, realisations, f"{SHOWN_FUNCTIONS} realisations of the prior, or networks")
        _frame(prior, f"prior, $L = {scale:g}$", True, LIMIT)
        _lines(
            ensemble,
            posterior.functions,
            f"{SHOWN_FUNCTIONS} realisations of the prior, or networks",
        )
        _panel(ensemble, f"anchored ensemble, $L = {scale:g}$", posterior)
        _panel(networks, "further: pre-trained networks", pretrained, prior=True)
        title = "further: with the exact posterior"
        _panel(compared, title, posterior, exact, limit=_limit(posterior, exact))
    return with_legend(figure, 4)


@plt.style.context(STYLE)
def method(functions: Mapping[str, np.ndarray], exact: tuple[np.ndarray, np.ndarray]) -> Figure:
    """Plot ensembles by name, each with the exact posterior.

    Args:
        functions: Name → functions of an ensemble on GRID, (K, n).
        exact: Mean and standard deviation of the exact posterior on GRID, (n,) each.

    Returns:
        The figure.
    """
    figure, panels = plt.subplots(1, len(functions), figsize=(WIDTH, 3.8))
    posterior = Moments(exact[0], np.diag(exact[1] ** 2))
    for axes, (name, values) in zip(panels, functions.items(), strict=True):
        prior = name == "functional prior"
        exact_posterior = None if prior else posterior
        _panel(axes, name, Moments.of(values), exact_posterior, prior, WIDE_LIMIT)
    return with_legend(figure, 4)


@plt.style.context(STYLE)
def factorised(predictions: Mapping[str, Prediction]) -> Figure:
    """Plot Fig. 7: ensembles anchored by a factorised Gaussian, with the published anchors.

    Two further rows add the exact posterior, with these anchors and with correct ones. The ordinate
    contains the bands.
    """
    rows = (
        ("published", "hidden kernels anchored to the first (as published)", False),
        ("published", "further: the same with the exact posterior", True),
        ("factorised", "further: each weight anchored to its pre-trained value", True),
    )
    figure, panels = plt.subplots(len(rows), len(LENGTHSCALES), figsize=(WIDTH, 9.0))
    for row, (name, how, compared) in zip(panels, rows, strict=True):
        for axes, scale in zip(row, LENGTHSCALES, strict=True):
            posterior = predictions[f"{name} {scale:g}"]
            exact = predictions[f"exact {scale:g}"] if compared else None
            title = f"factorised weight prior, $L = {scale:g}$\n{how}"
            _panel(axes, title, posterior, exact, limit=_limit(posterior))
    return with_legend(figure, 3)
