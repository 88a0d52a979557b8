"""Scores of predictions for single test rows."""

import numpy as np

from bnn import metrics
from figures.scores import CONFIDENCE
from studies.scoreboard.problems import Split


def scores(split: Split, predicted: dict[str, np.ndarray]) -> dict[str, float]:
    """Score means and standard deviations, noise included, (n, n_out), at the test rows.

    Args:
        split: The split.
        predicted: Predictions of a worker.

    Returns:
        - `loglik`: log predictive density, averaged over rows. For several outputs it is a product
          of normal densities, which all estimators have. For one output it is the estimator's own
          density, if it has one; `normal` is then the normal log density.
        - `rmse`, and `crps` and `coverage` (of 95 % intervals) of the normal density.
        - `fit` and `predict`: processor seconds.

    Raises:
        ValueError: If a prediction is not finite, or a standard deviation is not positive.
    """
    y = split.y_test
    mean = predicted["mean"]
    std = predicted["std"]
    normal = metrics.elppd_gaussian(y, mean, std) / len(y) - split.log_units
    row = {
        "loglik": normal,
        "rmse": metrics.rmse(y, mean) * split.unit,
        "crps": metrics.crps_gaussian(y, mean, std) * split.unit,
        "coverage": metrics.coverage(y, mean, std, CONFIDENCE),
        "fit": float(predicted["fit"]),
        "predict": float(predicted["predict"]),
    }
    if "elppd" in predicted and y.shape[1] == 1:
        density = float(predicted["elppd"]) / len(y) - split.log_units
        if not np.isfinite(density):
            raise ValueError(f"mean log density of the test rows = {density}: must be finite")
        row |= {"loglik": density, "normal": normal}
    return row
