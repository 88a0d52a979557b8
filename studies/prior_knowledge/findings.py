"""Findings of notebook 06: claims with their numbers, and tables."""

from collections.abc import Mapping

import numpy as np

from figures.claims import Claim, Table
from figures.composite.draws import in_words
from figures.pipeline.settings import TRAINING_CASE
from figures.scores import all_hold, is_below, written
from studies.other_methods.methods import LABELS
from studies.prior_knowledge.study import (
    MODELS,
    ReferenceScores,
    Rows,
    counts_of,
    equivalent_rves,
)

ABOUT = "Prior knowledge"  # subject of the claims
COLUMNS = {  # number → heading and decimals
    "rmse": ("RMSE, single RVEs", 3),
    "elppd": ("ELPPD, single RVEs", 0),
    "reference_rmse": ("RMSE, reference data", 3),
    "reference_rmse_fields": ("RMSE without p_sigma", 3),
    "reference_coverage": ("coverage of f (95 %)", 2),
    "reference_miscalibration": ("miscalibration of f", 3),
    "reference_z": ("root mean square of z", 2),
}


def claims(rows: Rows, alone: float, spread: float, corners: float) -> list[Claim]:
    """Return the claims with our numbers.

    Args:
        rows: Scores by training set and model.
        alone: RMSE of the mean-field model without training RVEs.
        spread: Median relative error of the predicted standard deviations over all inputs.
        corners: The same over the outermost inputs.

    Returns:
        The claims.
    """
    few = rows["ind10"]["fitted"].reference_rmse_fields
    many = rows["ind50"]["by_input"].reference_rmse_fields
    farther = rows[TRAINING_CASE]["fitted"].reference_rmse_fields
    words = "RMSE of b_eff, c_eff, E_eff and nu_eff against the reference data"
    return [
        Claim(
            "fields_alone",
            ABOUT,
            f"The mean-field model alone has an {words} of at most 0.12",
            {"RMSE": alone},
            alone <= 0.12,
        ),
        Claim(
            "few_cells",
            ABOUT,
            f"The mean-field model with 10 RVEs has a smaller {words} than a linear mean with 50",
            {"mean-field model, 10 RVEs": few.mean, "linear mean, 50 RVEs": many.mean},
            is_below(few, many),
        ),
        Claim(
            "fields_outside",
            ABOUT,
            f"Out of distribution the mean-field model has an {words} of at most 0.040",
            {"RMSE": farther.mean},
            farther.mean <= 0.040,
        ),
        _everywhere(
            rows,
            "fitted",
            "by_input",
            "reference_rmse_fields",
            "The mean-field model lowers the RMSE",
        ),
        _everywhere(
            rows, "covariance", "evidence", "elppd", "A constant covariance raises the ELPPD"
        ),
        _everywhere(
            rows, "by_input", "covariance", "elppd", "Input-dependent noise raises the ELPPD"
        ),
        Claim(
            "deviations",
            ABOUT,
            "Predicted standard deviations of single RVEs are within 15 % of the reference data's "
            "(median), within 30 % at the outermost inputs",
            {"all inputs": spread, "outermost": corners},
            spread <= 0.15 and corners <= 0.30,
        ),
    ]


def _everywhere(rows: Rows, first: str, second: str, score: str, words: str) -> Claim:
    """Return the claim that one model is better than another on every training set."""
    answers = []
    ours = {}
    for case, models in rows.items():
        ours[case] = (getattr(models[first], score) - getattr(models[second], score)).mean
        answers.append(models[first].is_better(models[second], score))
    words = f"{words} on every training set (change)"
    return Claim(f"everywhere/{first}", ABOUT, words, ours, all_hold(answers))


def in_rves(error: float, errors: Mapping[int, float]) -> str:
    """Return as text with how many RVEs a method has this error; `errors` has its errors."""
    counts = [*errors]
    rves = equivalent_rves(error, errors)
    outside = {0.0: f"fewer than {counts[0]}", np.inf: f"more than {counts[-1]}"}
    return outside.get(rves, f"{rves:.0f}")


def equivalents(rows: Rows, alone: float) -> dict[str, str]:
    """Return how many RVEs a linear mean needs to be as good as the mean-field model.

    The keys are numbers of training RVEs of the mean-field model, from 0 on.
    """
    linear, fitted = (
        {n: rows[f"ind{n}"][model].reference_rmse_fields.mean for n in counts_of(rows)}
        for model in ("by_input", "fitted")
    )
    return {str(n): in_rves(error, linear) for n, error in ({0: alone} | fitted).items()}


def tables(rows: Rows, ensembles: Mapping[str, Mapping[str, ReferenceScores]]) -> list[Table]:
    """Return tables of all scores: of the exact posteriors, and of the ensembles."""
    every = {
        f"{in_words(case)}: {MODELS[name].label}": row
        for case, models in rows.items()
        for name, row in models.items()
    }
    single = {
        f"{in_words(case)}: {LABELS[name]}": row
        for case, methods in ensembles.items()
        for name, row in methods.items()
    }
    return [
        _table(
            "Exact posteriors, means over datasets with 95 % confidence half-widths: scores at "
            "single test RVEs, and of f against means over microstructures. Intervals of f include "
            "the standard error of the reference data.",
            every,
        ),
        _table("Ensembles with the paper's prior and noise, one training per dataset.", single),
    ]


def _table(caption: str, rows: Mapping[str, ReferenceScores]) -> Table:
    header = ["", *(heading for heading, _ in COLUMNS.values())]
    cells = [
        [name, *(written(getattr(row, key), digits) for key, (_, digits) in COLUMNS.items())]
        for name, row in rows.items()
    ]
    return Table(caption, header, cells)
