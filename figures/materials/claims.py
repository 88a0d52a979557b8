"""What section 3.2 of the paper says about the surrogates in words, as comparisons of numbers."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from fe_data.settings import OUTPUT_NAMES
from figures.materials.problem import Samples
from figures.scores import Spread, all_hold, is_below

SIZES = ("ind25", "ind50", "ind100")
SCORES = {"rmse": "RMSE", "miscalibration": "miscalibration", "elppd": "ELPPD"}
LARGER_IS_BETTER = ("elppd",)


def prior_mean_table(test_set: Samples, theta: np.ndarray) -> dict[str, float]:
    """Fig. 11 a in numbers: output → share of its variance that m(x) = θ v_f explains, R²."""
    residual = test_set.y - test_set.X[:, :1] * theta
    explained = 1 - (residual**2).mean(axis=0) / test_set.y.var(axis=0)
    return dict(zip(OUTPUT_NAMES, map(float, explained), strict=True))


def claims(
    rows: Mapping[str, Any], explained: Mapping[str, float], n_train: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Claims that the rows allow, with our numbers.

    Args:
        rows: From `metrics.score_rows`.
        explained: From `prior_mean_table`.
        n_train: Training set → cells.

    Returns:
        Each claim with its figure or table, our numbers and whether they bear it out; None where
        repeats leave the sign of a difference open.
    """
    found = [
        _claim(
            "Fig. 11",
            "The prior mean is highly informative for ν_eff and less so for c_eff: R² on the test "
            "set, the largest and below one half",
            dict(explained),
            max(explained, key=lambda name: explained[name]) == "nu_eff"
            and explained["c_eff"] < 0.5,
        )
    ]
    if all(f"{size}_anchored" in rows for size in SIZES):
        found += _size_claims(rows, n_train)
    return found + _comparison_claims(rows)


def _size_claims(rows: Mapping[str, Any], n_train: Mapping[str, int]) -> list[dict[str, Any]]:
    found = []
    counts = " to ".join(str(n_train[size]) for size in SIZES)
    for score, label in SCORES.items():
        cells = [rows[f"{size}_anchored"][score] for size in SIZES]
        steps = [_better(b, a, score) for a, b in pairwise(cells)]
        ours = {size: cell.mean for size, cell in zip(SIZES, cells, strict=True)}
        text = f"{label} improves from {counts} training cells"
        found.append(_claim("Fig. 12", text, ours, all_hold(steps)))
    inside, outside = (rows[f"{case}_anchored"] for case in ("ind50", "outd"))
    compared = " and ".join(dict.fromkeys(str(n_train[case]) for case in ("ind50", "outd")))
    text = f"For {compared} training cells the mean is less accurate out of distribution: RMSE"
    pair = {case: rows[f"{case}_anchored"]["rmse"].mean for case in ("ind50", "outd")}
    holds = is_below(inside["rmse"], outside["rmse"])
    found.append(_claim("Table 3", text, pair, holds))
    text = "… while the quality of the uncertainty is comparable: miscalibration within 0.03"
    pair = {case: rows[f"{case}_anchored"]["miscalibration"].mean for case in ("ind50", "outd")}
    found.append(_claim("Table 3", text, pair, abs(pair["ind50"] - pair["outd"]) < 0.03))
    return found


def _comparison_claims(rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    anchored, vanilla = rows["outd_anchored"], rows["outd_vanilla"]
    text = (
        "Vanilla under-estimates uncertainty: less of the test values within ± 2 standard "
        "deviations than with anchoring (95 % would be right)"
    )
    found = [
        _claim(
            "Fig. 13",
            text,
            {"vanilla": vanilla["coverage"].mean, "anchored": anchored["coverage"].mean},
            is_below(vanilla["coverage"], anchored["coverage"]),
        )
    ]
    for score, label in SCORES.items():
        pair = anchored[score], vanilla[score]
        ours = {"anchored": pair[0].mean, "vanilla": pair[1].mean}
        text = f"Out of distribution, anchored is better than vanilla: {label}"
        found.append(_claim("Table 3", text, ours, _better(*pair, score)))
    for name in OUTPUT_NAMES:
        cells = [row["by_output"]["miscalibration"][name] for row in (anchored, vanilla)]
        better = is_below(*cells)
        found.append(
            _claim(
                "Fig. 14",
                f"{name}: anchored is {'slightly worse' if name == 'c_eff' else 'better'} "
                "calibrated than vanilla",
                {"anchored": cells[0].mean, "vanilla": cells[1].mean},
                better if name != "c_eff" or better is None else not better,
            )
        )
    gains = {
        name: 1 - anchored["by_output"]["rmse"][name].mean / vanilla["by_output"]["rmse"][name].mean
        for name in OUTPUT_NAMES
    }
    leading = sorted(gains, key=lambda name: -gains[name])[:2]
    text = "The outputs whose RMSE gains most are ν_eff and E_eff, where the prior mean says most"
    found.append(_claim("Table 4", text, gains, set(leading) == {"nu_eff", "E_eff_GPa"}))
    return found


def _better(first: Spread, second: Spread, score: str) -> bool | None:
    """Whether the first has the better score; None where the repeats leave it open."""
    return is_below(second, first) if score in LARGER_IS_BETTER else is_below(first, second)


def _claim(about: str, text: str, ours: dict[str, Any], holds: bool | None) -> dict[str, Any]:
    return {"about": about, "claim": text, "ours": ours, "holds": holds}
