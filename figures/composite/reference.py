"""Predictions judged by means over fibre arrangements: the mean of f, and its own uncertainty."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnn.evaluation.metrics import coverage, miscalibration_area, rmse
from fe_data.statistics.replicates import load_statistics
from figures.composite.problem import EFFECTIVE, INPUT_SCALING, OUTPUT_SCALING
from figures.composite.scores import SMALLEST_SPREAD
from figures.pipeline.paths import SHIPPED_TABLES
from figures.scores import CONFIDENCE

TRUTH = SHIPPED_TABLES / "reference.csv"


@dataclass(frozen=True)
class Truth:
    """Means over arrangements, scaled, and how far they are known."""

    X: np.ndarray  # inputs, (n, n_in)
    mean: np.ndarray  # (n, n_out)
    standard_error: np.ndarray  # of the means, (n, n_out)

    def scores(self, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
        """Scores of f at X, as in `ReferenceScores`, by its scaled moments, (n, n_out)."""
        # f misses the mean that was simulated by its own error and by that of this mean.
        spread = np.maximum(np.hypot(std, self.standard_error), SMALLEST_SPREAD)
        return {
            "truth_rmse": rmse(self.mean, mean),
            "truth_rmse_fields": rmse(self.mean[:, EFFECTIVE], mean[:, EFFECTIVE]),
            "truth_coverage": coverage(self.mean, mean, spread, CONFIDENCE),
            "truth_miscalibration": miscalibration_area(self.mean, mean, spread),
            "truth_z": rmse(self.mean / spread, mean / spread),
        }


def load_truth(path: Path = TRUTH) -> Truth:
    """Read the truth that the package ships, or other statistics over arrangements."""
    found = load_statistics(path)
    return Truth(
        INPUT_SCALING.transform(found.X),
        OUTPUT_SCALING.transform(found.mean),
        found.standard_error / OUTPUT_SCALING.half_range,
    )
