"""Mean scores over draws, computed from the rows of the file of results."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from studies.path_surrogates.data import REFERENCES
from studies.path_surrogates.estimators import ESTIMATORS
from studies.path_surrogates.study import DRAWS
from studies.results import Result

TITLES = dict(
    zip(REFERENCES, ("random paths", "large random paths", "cycles", "tension"), strict=True)
)
LABELS = {each.name: each.label for each in ESTIMATORS}
OURS = "ours"
MEAN_FIELDS = "mean_fields"
COVERED = (0.90, 0.98)  # goal of 95 % bands


class Mean(NamedTuple):
    """A mean over draws and over the RVEs of a set."""

    mean: float
    error: float  # two standard errors; NaN for one draw


class Summary:
    """Summary of the results for each estimator and number of training paths."""

    def __init__(self, rows: Sequence[Result]) -> None:
        self.rows = rows

    def cases(self) -> list[tuple[str, int]]:
        """Return the estimators that have results, with their numbers of training paths."""
        ran = {(row["estimator"], row["n"]) for row in self.rows}
        return [(name, n) for name in LABELS for n in (0, *DRAWS) if (name, n) in ran]

    def sizes(self, estimator: str) -> list[int]:
        """Return the numbers of training paths for which an estimator has results."""
        return [n for name, n in self.cases() if name == estimator]

    def values(self, problem: str, estimator: str, n: int, score: str) -> list[float]:
        """Return a score of each draw that has it."""
        key = (problem, estimator, n)
        return [
            row[score]
            for row in self.rows
            if (row["problem"], row["estimator"], row["n"]) == key and score in row
        ]

    def mean(self, problem: str, estimator: str, n: int, score: str) -> Mean | None:
        """Return the mean over the draws, or None without results.

        The error is computed from the variance of a mean over D draws, s² / D. For `nmse`, the
        variance of a mean over the RVEs of the set is added.
        """
        found = self.values(problem, estimator, n, score)
        if not found:
            return None
        error = np.nan
        if len(found) > 1:
            variance = np.var(found, ddof=1) / len(found)
            of_rves = self.values(problem, estimator, n, f"{score}_of_rves")
            if of_rves:
                of_each = np.mean(of_rves, axis=0)
                variance += np.var(of_each, ddof=1) / len(of_each)
            error = float(2.0 * np.sqrt(variance))
        return Mean(float(np.mean(found)), error)
