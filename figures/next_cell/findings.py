"""What notebook 07 found: claims with their numbers, and a table."""

from collections.abc import Mapping

from figures.claims import Claim, Table
from figures.knowledge.findings import in_cells
from figures.next_cell.study import BETA, BOX, FEW, FIRST, HYPERCUBE, MANY, MORE, WORST, Rows
from figures.scores import Interval, is_below, written

ABOUT = "Next cells"  # what the claims are about
ALL = FIRST + MORE  # cells of a loop
COLUMNS = {
    "rmse": "RMSE",
    "worst": "worst tenth",
    "std": "std of f",
    "worst_std": "its largest tenth",
}


def claims(rows: Rows, known: Rows) -> list[Claim]:
    """Claims with our numbers; `known` are the rows where the prior was known before."""
    cube = rows[HYPERCUBE]
    beta = rows[BETA + HYPERCUBE][MANY]
    beside = rows[BETA + BOX][FEW]
    all_cells = f"{ALL} cells"
    few = f"{FEW} chosen"
    many = f"{MANY} of a hypercube"
    fifty = "50 of a hypercube"
    hundred = "100 of a hypercube"

    def smaller(identifier: str, words: str, ours: Mapping[str, Interval]) -> Claim:
        """The claim that the first of two numbers is smaller."""
        means = {name: number.mean for name, number in ours.items()}
        return Claim(identifier, ABOUT, words, means, is_below(*ours.values()))

    return [
        smaller(
            "box",
            f"{ALL} cells, {MORE} of them chosen, have a smaller RMSE than {fifty}",
            {all_cells: rows[BOX][ALL].rmse, fifty: cube[50].rmse},
        ),
        smaller(
            "worst_tenth",
            f"{ALL} cells, {MORE} of them chosen for the worst tenth, have a smaller RMSE in their "
            f"worst tenth than {hundred}",
            {all_cells: rows[WORST][ALL].worst, hundred: cube[100].worst},
        ),
        smaller(
            "beta/rmse",
            f"Beside the beta table {few} cells give a smaller RMSE than {many}",
            {few: beside.rmse, many: beta.rmse},
        ),
        smaller(
            "beta/worst",
            f"Beside the beta table {few} cells give a smaller RMSE in the worst tenth than {many}",
            {few: beside.worst, many: beta.worst},
        ),
        smaller(
            "known_prior",
            f"With a prior that is known before, {ALL} cells, {MORE} of them chosen for the worst "
            f"tenth, leave a smaller standard deviation there than {hundred}",
            {
                all_cells: known[WORST][ALL].worst_std,
                hundred: known[HYPERCUBE][100].worst_std,
            },
        ),
    ]


def equivalents(rows: Rows) -> dict[str, dict[str, str]]:
    """With how many cells a hypercube has the errors of the chosen ones, by what they are for."""
    drawn = {
        score: {n: getattr(errors, score).mean for n, errors in rows[HYPERCUBE].items()}
        for score in ("rmse", "worst")
    }
    return {
        goal: {
            score: in_cells(getattr(rows[goal][ALL], score).mean, errors)
            for score, errors in drawn.items()
        }
        for goal in (BOX, WORST)
    }


def tables(rows: Rows) -> list[Table]:
    """A table of all errors."""
    caption = (
        "Errors of the posterior mean of f in b_eff, c_eff, E_eff and nu_eff, scaled, against the "
        "truth, and the posterior's own standard deviations; cells beside those of the beta table."
    )
    table = [
        [name, str(n), *(written(getattr(errors, key), 4) for key in COLUMNS)]
        for name, found in rows.items()
        for n, errors in found.items()
    ]
    return [Table(caption, ["", "cells", *COLUMNS.values()], table)]
