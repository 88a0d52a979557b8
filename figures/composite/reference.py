"""Scores of predictions of the mean response against means over microstructures."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnn.evaluation.metrics import coverage, miscalibration_area, rmse
from fe_data.statistics.replicates import load_statistics
from figures.composite.problem import EFFECTIVE, INPUT_SCALING, OUTPUT_SCALING
from figures.composite.scores import SMALLEST_SPREAD
from figures.pipeline.paths import SHIPPED_TABLES
from figures.scores import CONFIDENCE

REFERENCE = SHIPPED_TABLES / "reference.csv"


@dataclass(frozen=True)
class Reference:
    """Means over microstructures, scaled, with their standard errors."""

    X: np.ndarray  # inputs, (n, n_in)
    mean: np.ndarray  # (n, n_out)
    standard_error: np.ndarray  # of the means, (n, n_out)

    def scores(self, mean: np.ndarray, std: np.ndarray) -> dict[str, float]:
        """Return scores of f at X from its scaled moments, (n, n_out), see `ReferenceScores`."""
        # Both the prediction of f and the simulated mean have an error.
        spread = np.maximum(np.hypot(std, self.standard_error), SMALLEST_SPREAD)
        return {
            "reference_rmse": rmse(self.mean, mean),
            "reference_rmse_fields": rmse(self.mean[:, EFFECTIVE], mean[:, EFFECTIVE]),
            "reference_coverage": coverage(self.mean, mean, spread, CONFIDENCE),
            "reference_miscalibration": miscalibration_area(self.mean, mean, spread),
            "reference_z": rmse(self.mean / spread, mean / spread),
        }


def load_reference(path: Path = REFERENCE) -> Reference:
    """Read the reference data of the package, or other statistics over microstructures."""
    statistics = load_statistics(path)
    return Reference(
        INPUT_SCALING.transform(statistics.X),
        OUTPUT_SCALING.transform(statistics.mean),
        statistics.standard_error / OUTPUT_SCALING.half_range,
    )
