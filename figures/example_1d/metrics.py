"""Numbers of the one-dimensional example: what section 3.1 of the paper says in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bnn.evaluation.metrics import rmse
from figures.claims import Claim
from figures.example_1d.ensembles import GRID, LENGTHSCALES, SLOPE, Prediction, load_data
from figures.scores import is_below, over_repeats
from prior_study.reconstruction import Moments, distance

# Data lie in [-0.6, 0.1] and [0.6, 0.65].
REGIONS = {"left": (-1.0, -0.6), "gap": (0.1, 0.6), "right": (0.65, 1.0)}
EDGE = (0.9, 1.0)  # "values of x close to 1"


def inside(bounds: tuple[float, float]) -> np.ndarray:
    """Which points of GRID lie between two bounds, (n,) bool."""
    x = GRID[:, 0]
    return (x > bounds[0]) & (x <= bounds[1])


def row(prediction: Prediction, exact: Prediction | None = None) -> dict[str, Any]:
    """Numbers of one method.

    Args:
        prediction: Of the method.
        exact: The posterior that it approximates; None where there is none.

    Returns:
        RMSE at the data; mean and standard deviation averaged over interpolation ("gap") and
        extrapolation regions; mean minus prior mean near x = 1; distances from the exact
        posterior on GRID: root mean squares of mean and standard deviation, and that of
        `prior_study.distance`.
    """
    _, y = load_data()
    drift = prediction.mean - SLOPE * GRID[:, 0]
    numbers: dict[str, Any] = {
        "rmse": rmse(y, prediction.at_data),
        "mean": {name: float(prediction.mean[inside(b)].mean()) for name, b in REGIONS.items()},
        "std": {name: float(prediction.std[inside(b)].mean()) for name, b in REGIONS.items()},
        "drift": float(drift[inside(EDGE)].mean()),
    }
    if exact is not None:
        numbers["to_exact"] = {
            "mean": float(np.sqrt(np.mean((prediction.mean - exact.mean) ** 2))),
            "std": float(np.sqrt(np.mean((prediction.std - exact.std) ** 2))),
            "wasserstein": distance(_moments(prediction), _moments(exact)).wasserstein,
        }
    return numbers


def _moments(prediction: Prediction) -> Moments:
    return Moments(prediction.mean, prediction.covariance)


def rows(repeats: Sequence[Mapping[str, Prediction]]) -> dict[str, dict[str, Any]]:
    """Numbers of every method, see `row`, each as its spread over repeats."""
    return over_repeats([_rows(found) for found in repeats])


def _rows(found: Mapping[str, Prediction]) -> dict[str, dict[str, Any]]:
    table = {}
    for name, prediction in found.items():
        method, _, scale = name.partition(" ")
        reference = None if method in ("vanilla", "prior", "exact") else found[f"exact {scale}"]
        table[name] = row(prediction, reference)
    return table


def claims(table: Mapping[str, dict[str, Any]]) -> list[Claim]:
    """What section 3.1 says in words, as comparisons of two numbers.

    Args:
        table: From `rows`.

    Returns:
        Each claim with both numbers and whether the first is smaller; None where repeats leave
        that open.
    """
    flexible, constrained = (f"{scale:g}" for scale in LENGTHSCALES)
    compared = [
        _claim(
            "Fig. 6",
            f"Vanilla predicts less uncertainty than anchored with L = {scale} ({region})",
            table, ("vanilla", f"anchored {scale}"), "std", region,
        )
        for scale in (flexible, constrained) for region in REGIONS
    ]  # fmt: skip
    compared.append(
        _claim(
            "Fig. 6",
            "The constrained prior leaves less uncertainty between the data than the flexible one",
            table, (f"anchored {constrained}", f"anchored {flexible}"), "std", "gap",
        )
    )  # fmt: skip
    for kind in ("factorised", "published"):
        compared += _factorised_claims(table, kind, flexible, constrained)
    return compared


def _factorised_claims(table, kind: str, flexible: str, constrained: str) -> list[Claim]:
    how = {"factorised": "own anchors", "published": "anchored to the first layer"}[kind]

    def pair(scale: str) -> tuple[str, str]:
        return f"anchored {scale}", f"{kind} {scale}"

    forgets = f"The factorised prior ({how}) forgets the prior mean near x = 1, L = "
    return [
        _claim("Fig. 7", f"The factorised prior ({how}) fits the data worse, L = {constrained}",
               table, pair(constrained), "rmse"),
        _claim("Fig. 7", f"The factorised prior ({how}) under-estimates uncertainty between the "
               f"data, L = {flexible}", table, pair(flexible)[::-1], "std", "gap"),
        _claim("Fig. 7", forgets + flexible, table, pair(flexible), "drift"),
        _claim("Fig. 7", forgets + constrained, table, pair(constrained), "drift"),
    ]  # fmt: skip


def _claim(
    about: str,
    text: str,
    table,
    methods: tuple[str, str],
    measure: str,
    region: str | None = None,
) -> Claim:
    """The claim that a number, by size, is smaller for the first of two methods."""
    cells = [table[name][measure] for name in methods]
    cells = cells if region is None else [cell[region] for cell in cells]
    first, second = map(abs, cells)
    ours = dict(zip(methods, cells, strict=True))
    return Claim(about, text, ours, is_below(first, second))
