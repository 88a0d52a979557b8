"""Numbers of the one-dimensional example: what section 3.1 of the paper says in words."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np

from bnn.evaluation.metrics import rmse
from figures.claims import Claim
from figures.example_1d.ensembles import GRID, LENGTHSCALES, SLOPE, Prediction, load_data
from figures.scores import is_below, over_repeats
from prior_study import distance

# Data lie in [-0.6, 0.1] and [0.6, 0.65].
REGIONS = {"left": (-1.0, -0.6), "gap": (0.1, 0.6), "right": (0.65, 1.0)}
EDGE = (0.9, 1.0)  # "values of x close to 1"


def inside(bounds: tuple[float, float]) -> np.ndarray:
    """Which points of GRID lie between two bounds, (n,) bool."""
    x = GRID[:, 0]
    return (x > bounds[0]) & (x <= bounds[1])


def row(prediction: Prediction, exact: Prediction | None = None) -> dict[str, Any]:
    """Numbers of one method, with distances from the exact posterior on GRID where one is given."""
    _, y = load_data()
    drift = prediction.mean - SLOPE * GRID[:, 0]  # from the prior mean
    numbers: dict[str, Any] = {
        "rmse": rmse(y, prediction.at_data),
        "mean": {name: float(prediction.mean[inside(b)].mean()) for name, b in REGIONS.items()},
        "std": {name: float(prediction.std[inside(b)].mean()) for name, b in REGIONS.items()},
        "drift": float(drift[inside(EDGE)].mean()),
    }
    if exact is not None:
        numbers["to_exact"] = {
            "mean": rmse(exact.mean, prediction.mean),
            "std": rmse(exact.std, prediction.std),
            "wasserstein": distance(prediction, exact).wasserstein,
        }
    return numbers


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


def claims(table: Mapping[str, Any]) -> list[Claim]:
    """What section 3.1 says in words, as comparisons of two numbers of `rows`."""
    flexible, constrained = (f"{scale:g}" for scale in LENGTHSCALES)

    def smaller(about: str, claim: str, first: str, second: str, *place: str) -> Claim:
        """The claim that a number is smaller in size for the first of two methods."""
        ours = {method: reduce(getitem, place, table[method]) for method in (first, second)}
        return Claim(about, claim, ours, is_below(abs(ours[first]), abs(ours[second])))

    found = [
        smaller("Fig. 6",
                f"Vanilla predicts less uncertainty than anchored with L = {scale} ({region})",
                "vanilla", f"anchored {scale}", "std", region)
        for scale in (flexible, constrained) for region in REGIONS
    ]  # fmt: skip
    found.append(
        smaller("Fig. 6",
                "The constrained prior leaves less uncertainty between the data than the flexible "
                "one", f"anchored {constrained}", f"anchored {flexible}", "std", "gap")
    )  # fmt: skip
    for kind, how in (("factorised", "own anchors"), ("published", "anchored to the first layer")):
        prior = f"The factorised prior ({how})"
        found += [
            smaller("Fig. 7", f"{prior} fits the data worse, L = {constrained}",
                    f"anchored {constrained}", f"{kind} {constrained}", "rmse"),
            smaller("Fig. 7", f"{prior} under-estimates uncertainty between the data, "
                    f"L = {flexible}", f"{kind} {flexible}", f"anchored {flexible}", "std", "gap"),
            *(smaller("Fig. 7", f"{prior} forgets the prior mean near x = 1, L = {scale}",
                      f"anchored {scale}", f"{kind} {scale}", "drift")
              for scale in (flexible, constrained)),
        ]  # fmt: skip
    return found
