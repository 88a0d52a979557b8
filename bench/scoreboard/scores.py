"""Scores of the prediction of single test rows."""

import numpy as np

from bench.scoreboard.problems import Split
from bnn import metrics
from figures.scores import CONFIDENCE


def scores(split: Split, found: dict[str, np.ndarray]) -> dict[str, float]:
    """Scores of means and standard deviations, noise included, (n, n_out), at the test rows.

    Args:
        split: The split.
        found: What a worker predicted.

    Returns:
        `loglik`, the mean over the rows of the log predictive density: of several outputs that of
        a normal density for each, without correlations, one form for all; of one output the
        estimator's own where it has one, with `normal` beside it; RMSE, CRPS of that normal
        density, coverage of its 95 % intervals; processor seconds.

    Raises:
        ValueError: A prediction is not finite, or a standard deviation is not positive.
    """
    y = split.y_test
    mean = found["mean"]
    std = found["std"]
    normal = metrics.elppd_gaussian(y, mean, std) / len(y) - split.log_units
    row = {
        "loglik": normal,
        "rmse": metrics.rmse(y, mean) * split.unit,
        "crps": metrics.crps_gaussian(y, mean, std) * split.unit,
        "coverage": metrics.coverage(y, mean, std, CONFIDENCE),
        "fit": float(found["fit"]),
        "predict": float(found["predict"]),
    }
    if "elppd" in found and y.shape[1] == 1:
        own = float(found["elppd"]) / len(y) - split.log_units
        if not np.isfinite(own):
            raise ValueError(f"mean log density of the test rows = {own}: must be finite")
        row |= {"loglik": own, "normal": normal}
    return row
