"""Numbers and claims of the one-dimensional example (section 3.1 of the paper)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from bnn.evaluation.metrics import rmse
from figures.claims import Claim
from figures.example_1d.ensembles import GRID, LENGTHSCALES, SLOPE, Prediction, load_data
from figures.scores import Interval, Number, is_below, is_below_clearly, less, over_repeats
from prior_study import distance

# Data lie in [-0.6, 0.1] and [0.6, 0.65].
REGIONS = {"left": (-1.0, -0.6), "gap": (0.1, 0.6), "right": (0.65, 1.0)}
IN_WORDS = {"left": "left of the data", "gap": "in the gap", "right": "right of the data"}
EDGE = (0.9, 1.0)  # "values of x close to 1"
ANCHORED = ("anchored", "factorised", "published")  # compared with the exact posterior


def inside(bounds: tuple[float, float]) -> np.ndarray:
    """Return which points of GRID lie between two bounds, (n,) bool."""
    return (GRID[:, 0] > bounds[0]) & (GRID[:, 0] <= bounds[1])


@dataclass(frozen=True)
class RegionMetrics(Generic[Number]):
    """Numbers of one method."""

    rmse: Number  # at the data
    mean: Mapping[str, Number]  # average of the mean over each region
    std: Mapping[str, Number]  # average of the standard deviation over each region
    drift: Number  # mean minus prior mean, averaged over EDGE
    to_exact: Mapping[str, Number] | None = None  # distances from the exact posterior on GRID


def row(name: str, predictions: Mapping[str, Prediction]) -> RegionMetrics[float]:
    """Return the numbers of one method in the result of `ensembles.run`."""
    prediction = predictions[name]
    distances = None
    method, _, scale = name.partition(" ")
    if method in ANCHORED:
        exact = predictions[f"exact {scale}"]
        distances = {
            "mean": rmse(exact.mean, prediction.mean),
            "std": rmse(exact.std, prediction.std),
            "wasserstein": distance(prediction, exact).wasserstein,
        }
    return RegionMetrics(
        rmse=rmse(load_data()[1], prediction.at_data),
        mean={region: float(prediction.mean[inside(b)].mean()) for region, b in REGIONS.items()},
        std={region: float(prediction.std[inside(b)].mean()) for region, b in REGIONS.items()},
        drift=float((prediction.mean - SLOPE * GRID[:, 0])[inside(EDGE)].mean()),
        to_exact=distances,
    )


def rows(repeats: Sequence[Mapping[str, Prediction]]) -> dict[str, RegionMetrics[Interval]]:
    """Return the numbers of every method over the repeats."""
    return over_repeats(
        [{name: row(name, predictions) for name in predictions} for predictions in repeats]
    )


def claims(table: Mapping[str, RegionMetrics[Interval]]) -> list[Claim]:
    """Return the claims of section 3.1, each of which compares two numbers of `rows`."""
    return [
        *_uncertainty_claims(table),
        *_factorised_claims(table, "factorised", "correct anchors"),
        *_factorised_claims(table, "published", "published anchors"),
    ]


def _smaller(
    table: Mapping[str, RegionMetrics[Interval]],
    identifier: str,
    about: str,
    claim: str,
    name: str,
    *methods: str,
    key: str = "",
    of_paper: bool = True,
) -> Claim:
    """Return the claim that a number has a smaller absolute value for the first of two methods."""
    numbers = {method: getattr(table[method], name) for method in methods}
    ours = {method: number[key] if key else number for method, number in numbers.items()}
    first, second = map(abs, ours.values())
    # The paper's claims about standard deviations are not supported by negligible differences.
    holds = is_below_clearly(first, second) if name == "std" else is_below(first, second)
    return Claim(identifier, about, claim, ours, holds, of_paper)


def _uncertainty_claims(table: Mapping[str, RegionMetrics[Interval]]) -> list[Claim]:
    """Return the claims on Fig. 6: vanilla against anchored, and the two length scales."""
    flexible, constrained = (f"{scale:g}" for scale in LENGTHSCALES)
    surer = [
        _smaller(
            table,
            f"vanilla_surer/{scale}/{region}",
            "Fig. 6",
            "The vanilla ensemble predicts less uncertainty than the anchored ensemble with "
            f"L = {scale}, {IN_WORDS[region]}",
            "std",
            "vanilla",
            f"anchored {scale}",
            key=region,
        )
        for scale in (flexible, constrained)
        for region in REGIONS
    ]
    of_scales = _smaller(
        table,
        "constrained_surer",
        "Fig. 6",
        "The constrained prior leaves less uncertainty between the data than the flexible prior",
        "std",
        f"anchored {constrained}",
        f"anchored {flexible}",
        key="gap",
    )
    return [*surer, of_scales, *guidance_claims(table)]


def guidance_claims(table: Mapping[str, RegionMetrics[Interval]]) -> list[Claim]:
    """Return the claims of the introduction that the prior guides predictions far from the data.

    With L = 0.1 the mean of the exact posterior is near the prior mean on both sides of the data.
    """
    scale = f"{LENGTHSCALES[0]:g}"
    methods = ("vanilla", f"anchored {scale}", f"exact {scale}")
    below = float((SLOPE * GRID[inside(REGIONS["left"]), 0]).mean())  # prior mean
    sides = {
        "left": {name: less(table[name].mean["left"], below) for name in methods},
        "right": {name: table[name].drift for name in methods},
    }
    judged = []
    for side, where in (("left", IN_WORDS["left"]), ("right", "near x = 1")):
        vanilla, anchored, _ = map(abs, sides[side].values())
        claim = (
            f"Predictions are guided by the prior where there are no data (introduction): {where}, "
            f"L = {scale}, the mean of the anchored ensemble is less than half as far from the "
            "prior mean as the mean of the vanilla ensemble"
        )
        holds = is_below(anchored, vanilla - anchored)
        judged.append(Claim(f"guided/{side}", "Fig. 6", claim, sides[side], holds))
    return judged


def _factorised_claims(
    table: Mapping[str, RegionMetrics[Interval]], kind: str, how: str
) -> list[Claim]:
    """Return the claims on Fig. 7: fit, standard deviation and mean with the factorised prior."""
    prior = f"The factorised prior ({how})"
    # The paper makes these six claims for its own run, which has the published anchors.
    printed = kind == "published"
    flexible, constrained = (f"{scale:g}" for scale in LENGTHSCALES)
    surer = [
        _smaller(
            table,
            f"{kind}/surer/{region}",
            "Fig. 7",
            f"{prior} under-estimates uncertainty, L = {flexible}, {IN_WORDS[region]}",
            "std",
            f"{kind} {flexible}",
            f"anchored {flexible}",
            key=region,
            of_paper=printed,
        )
        for region in REGIONS
    ]
    forgets = [
        _smaller(
            table,
            f"{kind}/forgets/{scale}",
            "Fig. 7",
            f"{prior} forgets the prior mean near x = 1, L = {scale}",
            "drift",
            f"anchored {scale}",
            f"{kind} {scale}",
            of_paper=printed,
        )
        for scale in (flexible, constrained)
    ]
    return [
        *_fit_claims(table, kind, prior),
        *surer,
        *forgets,
        *_exact_posterior_claims(table, kind, prior),
    ]


def _fit_claims(table: Mapping[str, RegionMetrics[Interval]], kind: str, prior: str) -> list[Claim]:
    """Compare the fit with the factorised prior to anchoring and to the exact posterior."""
    constrained = LENGTHSCALES[1]
    return [
        _smaller(
            table,
            f"{kind}/fits_worse",
            "Fig. 7",
            f"{prior} fits the data worse, L = {constrained:g}",
            "rmse",
            f"anchored {constrained:g}",
            f"{kind} {constrained:g}",
            of_paper=kind == "published",
        ),
        _smaller(
            table,
            f"{kind}/defect",
            "Fig. 7",
            f"{prior}: the functional prior does not explain the imperfect fit, since the exact "
            f"posterior fits the data better, L = {constrained:g}",
            "rmse",
            f"exact {constrained:g}",
            f"{kind} {constrained:g}",
            of_paper=False,
        ),
    ]


def _exact_posterior_claims(
    table: Mapping[str, RegionMetrics[Interval]], kind: str, prior: str
) -> list[Claim]:
    """Return our claims that the factorised prior leads farther from the exact posterior."""
    return [
        _smaller(
            table,
            f"{kind}/conveys_worse/{scale:g}/{moment}",
            "Fig. 7",
            f"{prior} conveys the functional prior worse: its {words} is farther from the {words} "
            f"of the exact posterior, L = {scale:g}",
            "to_exact",
            f"anchored {scale:g}",
            f"{kind} {scale:g}",
            key=moment,
            of_paper=False,
        )
        for scale in LENGTHSCALES
        for moment, words in (("mean", "mean"), ("std", "standard deviation"))
    ]
