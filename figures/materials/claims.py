"""What section 3.2 of the paper says about the surrogates in words, as comparisons of numbers."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from fe_data.settings import OUTPUT_NAMES
from figures.claims import Claim
from figures.materials.problem import Samples, by_output
from figures.materials.surrogate import Row, Rows
from figures.scores import Interval, all_hold, is_below

SIZES = ("ind25", "ind50", "ind100")
SCORES = {"rmse": "RMSE", "miscalibration": "miscalibration", "elppd": "ELPPD"}
WORSE_CALIBRATED = "c_eff"  # the one output for which the paper finds anchoring slightly worse


def prior_mean_table(test_set: Samples, theta: np.ndarray) -> dict[str, float]:
    """Fig. 11 a in numbers: output → share of its variance that m(x) = θ v_f explains, R²."""
    residual = test_set.y - test_set.X[:, :1] * theta
    return by_output(1 - (residual**2).mean(axis=0) / test_set.y.var(axis=0))


def claims(rows: Rows, explained: Mapping[str, float], n_train: Mapping[str, int]) -> list[Claim]:
    """Claims that the rows allow; None where repeats leave the sign of a difference open."""
    # From `surrogate.score_rows` and `prior_mean_table`; n_train: cells of each training set.
    most = max(explained, key=lambda name: explained[name])
    prior = Claim(
        "Fig. 11", "The prior mean is highly informative for ν_eff and less so for c_eff: R² on "
        "the test set, the largest and below one half",
        explained, most == "nu_eff" and explained["c_eff"] < 0.5,
    )  # fmt: skip
    anchored = {case: rows[f"{case}_anchored"] for case in n_train}
    by_size = _size_claims(anchored, n_train) if set(SIZES) <= set(anchored) else []
    return [prior, *by_size, *_comparison_claims(rows["outd_anchored"], rows["outd_vanilla"])]


def _claim(about: str, claim: str, cells: Mapping[str, Interval], holds: bool | None) -> Claim:
    """A claim about numbers of trainings, whose means are shown."""
    return Claim(about, claim, {name: cell.mean for name, cell in cells.items()}, holds)


def _size_claims(anchored: Rows, n_train: Mapping[str, int]) -> list[Claim]:
    """Claims on the size of the training set, and on one of that size out of distribution."""
    counts = " to ".join(str(n_train[size]) for size in SIZES)
    compared = " and ".join(dict.fromkeys(str(n_train[case]) for case in ("ind50", "outd")))
    inside, outside = anchored["ind50"], anchored["outd"]
    return [
        *(_claim("Fig. 12", f"{label} improves from {counts} training cells",
                 {size: getattr(anchored[size], score) for size in SIZES},
                 all_hold(anchored[b].is_better(anchored[a], score) for a, b in pairwise(SIZES)))
          for score, label in SCORES.items()),
        _claim("Table 3", f"For {compared} training cells the mean is less accurate out of "
               "distribution: RMSE", {"ind50": inside.rmse, "outd": outside.rmse},
               is_below(inside.rmse, outside.rmse)),
        _claim("Table 3", "… while the quality of the uncertainty is comparable: miscalibration "
               "within 0.03", {"ind50": inside.miscalibration, "outd": outside.miscalibration},
               abs(inside.miscalibration.mean - outside.miscalibration.mean) < 0.03),
    ]  # fmt: skip


def _comparison_claims(anchored: Row, vanilla: Row) -> list[Claim]:
    """Claims on the anchored and the vanilla ensemble out of distribution."""
    rmse, miscalibration = (
        {name: {"anchored": anchored.by_output[score][name],
                "vanilla": vanilla.by_output[score][name]} for name in OUTPUT_NAMES}
        for score in ("rmse", "miscalibration")
    )  # fmt: skip
    gains = {name: 1 - each["anchored"].mean / each["vanilla"].mean for name, each in rmse.items()}
    leading = sorted(gains, key=lambda name: gains[name])[-2:]

    def calibration(name: str) -> Claim:
        cells, worse = miscalibration[name], name == WORSE_CALIBRATED
        words = f"{name}: anchored is {'slightly worse' if worse else 'better'} calibrated"
        order = ("vanilla", "anchored") if worse else ("anchored", "vanilla")
        holds = is_below(*(cells[method] for method in order))
        return _claim("Fig. 14", f"{words} than vanilla", cells, holds)

    return [
        _claim("Fig. 13", "Vanilla under-estimates uncertainty: less of the test values within ± 2 "
               "standard deviations than with anchoring (95 % would be right)",
               {"vanilla": vanilla.coverage, "anchored": anchored.coverage},
               is_below(vanilla.coverage, anchored.coverage)),
        *(_claim("Table 3", f"Out of distribution, anchored is better than vanilla: {label}",
                 {"anchored": getattr(anchored, score), "vanilla": getattr(vanilla, score)},
                 anchored.is_better(vanilla, score))
          for score, label in SCORES.items()),
        *map(calibration, OUTPUT_NAMES),
        Claim("Table 4", "The outputs whose RMSE gains most are ν_eff and E_eff, where the prior "
              "mean says most", gains, set(leading) == {"nu_eff", "E_eff_GPa"}),
    ]  # fmt: skip
