"""What section 3.2 of the paper says about the surrogates in words, as comparisons of numbers."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from fe_data.settings import OUTPUT_NAMES
from figures.claims import Claim
from figures.materials.problem import Samples, by_output
from figures.scores import Spread, all_hold, is_below, is_better

SIZES = ("ind25", "ind50", "ind100")
SCORES = {"rmse": "RMSE", "miscalibration": "miscalibration", "elppd": "ELPPD"}
WORSE_CALIBRATED = "c_eff"  # the one output for which the paper finds anchoring slightly worse


def prior_mean_table(test_set: Samples, theta: np.ndarray) -> dict[str, float]:
    """Fig. 11 a in numbers: output → share of its variance that m(x) = θ v_f explains, R²."""
    residual = test_set.y - test_set.X[:, :1] * theta
    explained = 1 - (residual**2).mean(axis=0) / test_set.y.var(axis=0)
    return by_output(explained)


def claims(
    rows: Mapping[str, Any], explained: Mapping[str, float], n_train: Mapping[str, int]
) -> list[Claim]:
    """Claims that the rows allow, with our numbers.

    Args:
        rows: From `figures.materials.surrogate.score_rows`.
        explained: From `prior_mean_table`.
        n_train: Training set → cells.

    Returns:
        The claims; whether they hold is None where repeats leave the sign of a difference open.
    """
    informative = max(explained, key=lambda name: explained[name]) == "nu_eff"
    prior = Claim(
        "Fig. 11",
        "The prior mean is highly informative for ν_eff and less so for c_eff: R² on the test "
        "set, the largest and below one half",
        explained,
        informative and explained["c_eff"] < 0.5,
    )
    by_size = _size_claims(rows, n_train) if {f"{s}_anchored" for s in SIZES} <= set(rows) else []
    return [prior, *by_size, *_comparison_claims(rows["outd_anchored"], rows["outd_vanilla"])]


def _size_claims(rows: Mapping[str, Any], n_train: Mapping[str, int]) -> list[Claim]:
    counts = " to ".join(str(n_train[size]) for size in SIZES)
    compared = " and ".join(dict.fromkeys(str(n_train[case]) for case in ("ind50", "outd")))
    rmse, miscalibration = (
        {case: rows[f"{case}_anchored"][score] for case in ("ind50", "outd")}
        for score in ("rmse", "miscalibration")
    )
    return [
        *(_improves(rows, score, f"{SCORES[score]} improves from {counts} training cells")
          for score in SCORES),
        Claim(
            "Table 3",
            f"For {compared} training cells the mean is less accurate out of distribution: RMSE",
            _means(rmse),
            is_below(rmse["ind50"], rmse["outd"]),
        ),
        Claim(
            "Table 3",
            "… while the quality of the uncertainty is comparable: miscalibration within 0.03",
            _means(miscalibration),
            abs(miscalibration["ind50"].mean - miscalibration["outd"].mean) < 0.03,
        ),
    ]  # fmt: skip


def _improves(rows: Mapping[str, Any], score: str, claim: str) -> Claim:
    """The claim that a score becomes better from each size of the training set to the next."""
    cells = {size: rows[f"{size}_anchored"][score] for size in SIZES}
    steps = [is_better(second, first, score) for first, second in pairwise(cells.values())]
    return Claim("Fig. 12", claim, _means(cells), all_hold(steps))


def _comparison_claims(anchored: Mapping[str, Any], vanilla: Mapping[str, Any]) -> list[Claim]:
    """Claims on the anchored and the vanilla ensemble out of distribution."""
    rmse = {"anchored": anchored["by_output"]["rmse"], "vanilla": vanilla["by_output"]["rmse"]}
    gains = {
        name: 1 - rmse["anchored"][name].mean / rmse["vanilla"][name].mean for name in OUTPUT_NAMES
    }
    leading = sorted(gains, key=lambda name: -gains[name])[:2]
    return [
        Claim(
            "Fig. 13",
            "Vanilla under-estimates uncertainty: less of the test values within ± 2 standard "
            "deviations than with anchoring (95 % would be right)",
            _means({"vanilla": vanilla["coverage"], "anchored": anchored["coverage"]}),
            is_below(vanilla["coverage"], anchored["coverage"]),
        ),
        *(
            Claim(
                "Table 3",
                f"Out of distribution, anchored is better than vanilla: {label}",
                _means({"anchored": anchored[score], "vanilla": vanilla[score]}),
                is_better(anchored[score], vanilla[score], score),
            )
            for score, label in SCORES.items()
        ),
        *(_calibration_claim(name, anchored, vanilla) for name in OUTPUT_NAMES),
        Claim(
            "Table 4",
            "The outputs whose RMSE gains most are ν_eff and E_eff, where the prior mean says most",
            gains,
            set(leading) == {"nu_eff", "E_eff_GPa"},
        ),
    ]


def _calibration_claim(name: str, anchored: Mapping, vanilla: Mapping) -> Claim:
    """The claim on the calibration of one output."""
    first, second = (row["by_output"]["miscalibration"][name] for row in (anchored, vanilla))
    better = is_below(first, second)
    worse = name == WORSE_CALIBRATED
    return Claim(
        "Fig. 14",
        f"{name}: anchored is {'slightly worse' if worse else 'better'} calibrated than vanilla",
        _means({"anchored": first, "vanilla": second}),
        not better if worse and better is not None else better,
    )


def _means(cells: Mapping[str, Spread]) -> dict[str, float]:
    return {name: cell.mean for name, cell in cells.items()}
