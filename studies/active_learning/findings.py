"""Findings of notebook 07: claims with their numbers, and a table."""

from collections.abc import Mapping

from figures.claims import Claim, Table
from figures.scores import Interval, is_below, written
from studies.active_learning.study import (
    BETA,
    BOX,
    FEW,
    FIRST,
    HYPERCUBE,
    LABELS,
    MANY,
    MORE,
    WORST,
    Rows,
)
from studies.prior_knowledge.findings import in_rves

ABOUT = "Active learning"  # subject of the claims
ALL = FIRST + MORE  # all RVEs of a loop, 10 and 25
COLUMNS = {
    "rmse": "RMSE",
    "worst": "RMSE, worst tenth",
    "std": "std of f",
    "worst_std": "std of f, largest tenth",
}


def claims(rows: Rows, of_known_prior: Rows) -> list[Claim]:
    """Return the claims with our numbers; `of_known_prior` has the rows with a known prior."""
    cube = rows[HYPERCUBE]
    beta = rows[BETA + HYPERCUBE][MANY]
    beside = rows[BETA + BOX][FEW]
    return [
        _smaller(
            "box",
            "35 RVEs, 25 of them selected, have a smaller RMSE than 50 from a Latin hypercube",
            {"35 RVEs": rows[BOX][ALL].rmse, "50 from a Latin hypercube": cube[50].rmse},
        ),
        _smaller(
            "worst_tenth",
            "35 RVEs, 25 of them selected for the worst tenth, have a smaller RMSE in their worst "
            "tenth than 100 from a Latin hypercube",
            {"35 RVEs": rows[WORST][ALL].worst, "100 from a Latin hypercube": cube[100].worst},
        ),
        _smaller(
            "beta/rmse",
            "Added to the beta table, 5 selected RVEs give a smaller RMSE than 20 from a Latin "
            "hypercube",
            {"5 selected": beside.rmse, "20 from a Latin hypercube": beta.rmse},
        ),
        _smaller(
            "beta/worst",
            "Added to the beta table, 5 selected RVEs give a smaller RMSE in the worst tenth than "
            "20 from a Latin hypercube",
            {"5 selected": beside.worst, "20 from a Latin hypercube": beta.worst},
        ),
        _smaller(
            "known_prior",
            "With a known prior, 35 RVEs, 25 of them selected for the worst tenth, "
            "leave a smaller standard deviation there than 100 from a Latin hypercube",
            {
                "35 RVEs": of_known_prior[WORST][ALL].worst_std,
                "100 from a Latin hypercube": of_known_prior[HYPERCUBE][100].worst_std,
            },
        ),
    ]


def _smaller(identifier: str, words: str, ours: Mapping[str, Interval]) -> Claim:
    """Return the claim that the first of two numbers is smaller."""
    means = {name: number.mean for name, number in ours.items()}
    return Claim(identifier, ABOUT, words, means, is_below(*ours.values()))


def equivalents(rows: Rows) -> dict[str, dict[str, str]]:
    """Return how many RVEs of a Latin hypercube have the errors of the selected RVEs.

    Returns:
        Goal of the selection → score → number of RVEs.
    """
    drawn = {
        score: {n: getattr(errors, score).mean for n, errors in rows[HYPERCUBE].items()}
        for score in ("rmse", "worst")
    }
    return {
        goal: {
            score: in_rves(getattr(rows[goal][ALL], score).mean, errors)
            for score, errors in drawn.items()
        }
        for goal in (BOX, WORST)
    }


def tables(rows: Rows) -> list[Table]:
    """Return a table of all errors."""
    caption = (
        "Scaled errors of the posterior mean of f (b_eff, c_eff, E_eff, nu_eff) against the "
        "reference data, and predicted standard deviations of f. With the beta table, RVEs counts "
        "those added to it."
    )
    table = [
        [LABELS[name], str(n), *(written(getattr(errors, key), 4) for key in COLUMNS)]
        for name, errors_of in rows.items()
        for n, errors in errors_of.items()
    ]
    return [Table(caption, ["", "RVEs", *COLUMNS.values()], table)]
