"""What section 3.2 of the paper says about the surrogates in words, as comparisons of numbers."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from fe_data.settings import OUTPUT_NAMES
from figures.claims import Claim
from figures.materials.problem import Samples, by_output
from figures.scores import Interval, all_hold, is_below, is_better

SIZES = ("ind25", "ind50", "ind100")
SCORES = {"rmse": "RMSE", "miscalibration": "miscalibration", "elppd": "ELPPD"}
WORSE_CALIBRATED = "c_eff"  # the one output for which the paper finds anchoring slightly worse


def prior_mean_table(test_set: Samples, theta: np.ndarray) -> dict[str, float]:
    """Fig. 11 a in numbers: output → share of its variance that m(x) = θ v_f explains, R²."""
    residual = test_set.y - test_set.X[:, :1] * theta
    return by_output(1 - (residual**2).mean(axis=0) / test_set.y.var(axis=0))


def claims(
    rows: Mapping[str, Any], explained: Mapping[str, float], n_train: Mapping[str, int]
) -> list[Claim]:
    """Claims that the rows allow; None where repeats leave the sign of a difference open."""
    # From `surrogate.score_rows` and `prior_mean_table`; n_train: cells of each training set.
    prior = Claim(
        "Fig. 11",
        "The prior mean is highly informative for ν_eff and less so for c_eff: R² on the test "
        "set, the largest and below one half",
        explained,
        max(explained, key=lambda name: explained[name]) == "nu_eff" and explained["c_eff"] < 0.5,
    )
    by_size = _size_claims(rows, n_train) if {f"{s}_anchored" for s in SIZES} <= set(rows) else []
    return [prior, *by_size, *_comparison_claims(rows["outd_anchored"], rows["outd_vanilla"])]


def _claim(about: str, claim: str, cells: Mapping[str, Interval], holds: bool | None) -> Claim:
    """A claim about numbers of trainings, whose means are shown."""
    return Claim(about, claim, {name: cell.mean for name, cell in cells.items()}, holds)


def _size_claims(rows: Mapping[str, Any], n_train: Mapping[str, int]) -> list[Claim]:
    """Claims on the size of the training set, and on one of that size out of distribution."""
    counts = " to ".join(str(n_train[size]) for size in SIZES)
    compared = " and ".join(dict.fromkeys(str(n_train[case]) for case in ("ind50", "outd")))
    found = []
    for score, label in SCORES.items():
        cells = {size: rows[f"{size}_anchored"][score] for size in SIZES}
        steps = [is_better(second, first, score) for first, second in pairwise(cells.values())]
        text = f"{label} improves from {counts} training cells"
        found.append(_claim("Fig. 12", text, cells, all_hold(steps)))
    rmse, miscalibration = (
        {case: rows[f"{case}_anchored"][score] for case in ("ind50", "outd")}
        for score in ("rmse", "miscalibration")
    )
    return [
        *found,
        _claim(
            "Table 3",
            f"For {compared} training cells the mean is less accurate out of distribution: RMSE",
            rmse,
            is_below(rmse["ind50"], rmse["outd"]),
        ),
        _claim(
            "Table 3",
            "… while the quality of the uncertainty is comparable: miscalibration within 0.03",
            miscalibration,
            abs(miscalibration["ind50"].mean - miscalibration["outd"].mean) < 0.03,
        ),
    ]


def _comparison_claims(anchored: Mapping[str, Any], vanilla: Mapping[str, Any]) -> list[Claim]:
    """Claims on the anchored and the vanilla ensemble out of distribution."""
    rmse = {"anchored": anchored["by_output"]["rmse"], "vanilla": vanilla["by_output"]["rmse"]}
    gains = {
        name: 1 - rmse["anchored"][name].mean / rmse["vanilla"][name].mean for name in OUTPUT_NAMES
    }
    leading = sorted(gains, key=lambda name: -gains[name])[:2]
    found = [
        _claim(
            "Fig. 13",
            "Vanilla under-estimates uncertainty: less of the test values within ± 2 standard "
            "deviations than with anchoring (95 % would be right)",
            {"vanilla": vanilla["coverage"], "anchored": anchored["coverage"]},
            is_below(vanilla["coverage"], anchored["coverage"]),
        )
    ]
    for score, label in SCORES.items():
        cells = {"anchored": anchored[score], "vanilla": vanilla[score]}
        text = f"Out of distribution, anchored is better than vanilla: {label}"
        holds = is_better(anchored[score], vanilla[score], score)
        found.append(_claim("Table 3", text, cells, holds))
    for name in OUTPUT_NAMES:
        cells = {
            "anchored": anchored["by_output"]["miscalibration"][name],
            "vanilla": vanilla["by_output"]["miscalibration"][name],
        }
        holds, words = is_below(cells["anchored"], cells["vanilla"]), "better"
        if name == WORSE_CALIBRATED:
            holds, words = None if holds is None else not holds, "slightly worse"
        text = f"{name}: anchored is {words} calibrated than vanilla"
        found.append(_claim("Fig. 14", text, cells, holds))
    largest = (
        "The outputs whose RMSE gains most are ν_eff and E_eff, where the prior mean says most"
    )
    return [*found, Claim("Table 4", largest, gains, set(leading) == {"nu_eff", "E_eff_GPa"})]
