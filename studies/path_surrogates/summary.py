"""Mean scores over draws, computed from the rows of the file of results."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from figures.scores import student_factor
from studies.path_surrogates.data import REFERENCES
from studies.path_surrogates.estimators import ESTIMATORS
from studies.path_surrogates.study import DRAWS
from studies.results import Result

TITLES = dict(
    zip(REFERENCES, ("random paths", "large random paths", "cycles", "tension"), strict=True)
)
LABELS = {estimator.name: estimator.label for estimator in ESTIMATORS}
OURS = "ours"
MEAN_FIELDS = "mean_fields"
COVERED = (0.90, 0.98)  # goal of 95 % bands


class Mean(NamedTuple):
    """A mean over draws and over the RVEs of a set."""

    mean: float
    half_width: float  # 95 % confidence half-width; NaN for one draw


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

        The half-width is computed from the variance of a mean over D draws, s² / D. For `nmse`, the
        variance of a mean over the RVEs of the set is added. The degrees of freedom of Student's t
        are those of Satterthwaite (1946).
        """
        values = self.values(problem, estimator, n, score)
        if not values:
            return None
        half_width = np.nan
        if len(values) > 1:
            samples = [np.array(values)]
            of_rves = self.values(problem, estimator, n, f"{score}_of_rves")
            if of_rves:
                samples.append(np.mean(of_rves, axis=0))
            half_width = joint_half_width(samples)
        return Mean(float(np.mean(values)), half_width)


def joint_half_width(samples: Sequence[np.ndarray]) -> float:
    """Return the 95 % half-width of a sum of independent means, each over a sample."""
    variances = np.array([np.var(values, ddof=1) / len(values) for values in samples])
    total = variances.sum()
    if total == 0.0:
        return 0.0
    freedom = [len(values) - 1 for values in samples]
    effective = total**2 / np.sum(variances**2 / freedom)  # Satterthwaite (1946)
    return float(student_factor(effective) * np.sqrt(total))
