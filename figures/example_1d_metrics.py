"""Numbers of the one-dimensional example: what section 3.1 of the paper says in words."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bnn.metrics import rmse
from figures.example_1d import GRID, LENGTHSCALES, SLOPE, Prediction, load_data
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
        posterior, see `prior_study.distance`.
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
        found = distance(_moments(prediction), _moments(exact))
        numbers["to_exact"] = {
            "mean": float(np.sqrt(np.mean((prediction.mean - exact.mean) ** 2))),
            "std": float(np.sqrt(np.mean((prediction.std - exact.std) ** 2))),
            "wasserstein": found.wasserstein,
        }
    return numbers


def _moments(prediction: Prediction) -> Moments:
    return Moments(prediction.mean, prediction.covariance)


def rows(found: Mapping[str, Prediction]) -> dict[str, dict[str, Any]]:
    """Numbers of every method; see `row`."""
    table = {}
    for name, prediction in found.items():
        method, _, scale = name.partition(" ")
        reference = None if method in ("vanilla", "prior", "exact") else found[f"exact {scale}"]
        table[name] = row(prediction, reference)
    return table


def claims(table: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What section 3.1 says in words, with our numbers.

    Args:
        table: From `rows`.

    Returns:
        Each claim with its numbers and whether they bear it out.
    """
    flexible, constrained = (f"{scale:g}" for scale in LENGTHSCALES)
    stds = {name: numbers["std"] for name, numbers in table.items()}
    chosen = [f"anchored {flexible}", f"anchored {constrained}"]
    smaller = all(
        stds["vanilla"][region] < stds[name][region] for name in chosen for region in REGIONS
    )
    gap = {name: stds[name]["gap"] for name in chosen}
    return [
        _claim(
            "The vanilla ensemble predicts less uncertainty than either anchored ensemble, in "
            "interpolation and in extrapolation",
            {name: stds[name] for name in ("vanilla", *chosen)},
            smaller,
        ),
        _claim(
            "The flexible prior leaves more uncertainty between the data than the constrained one",
            gap,
            gap[chosen[0]] > gap[chosen[1]],
        ),
        *(_factorised_claims(table, kind, flexible, constrained)
          for kind in ("factorised", "published")),
    ]  # fmt: skip


def _factorised_claims(table, kind: str, flexible: str, constrained: str) -> dict[str, Any]:
    how = {"factorised": "anchored correctly", "published": "anchored to the first layer"}[kind]
    pairs = {
        "rmse, constrained prior": ("rmse", constrained),
        "std between the data, flexible prior": ("std", flexible),
        "drift from the prior mean near x = 1, flexible prior": ("drift", flexible),
        "drift from the prior mean near x = 1, constrained prior": ("drift", constrained),
    }
    ours, parts = {}, {}
    for text, (measure, scale) in pairs.items():
        values = [table[f"{name} {scale}"][measure] for name in (kind, "anchored")]
        values = [value["gap"] if measure == "std" else value for value in values]
        ours[text] = {kind: values[0], "anchored": values[1]}
        smaller = abs(values[0]) < abs(values[1])
        parts[text] = smaller if measure == "std" else not smaller
    text = (
        f"The factorised prior ({how}) fits the data worse, under-estimates uncertainty and "
        "forgets the prior mean, beside the correlated one"
    )
    return _claim(text, ours, all(parts.values())) | {"parts": parts}


def _claim(text: str, ours: Mapping[str, Any], holds: bool) -> dict[str, Any]:
    return {"claim": text, "ours": dict(ours), "holds": bool(holds)}
