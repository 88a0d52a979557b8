"""Scores of ensembles and exact posteriors, and the distance between both, in notebook 05."""

from collections.abc import Mapping

import numpy as np

from bnn import ExactPosterior
from bnn.evaluation.metrics import coverage, crps_gaussian, elppd, miscalibration_area, rmse
from figures.materials.problem import OUTPUT_SCALING
from figures.scores import CONFIDENCE, Interval

SMALLEST_SPREAD = 1e-9  # scaled
SCORES = ("rmse", "miscalibration", "elppd", "crps", "coverage")
LOG_UNITS = float(np.log(OUTPUT_SCALING.half_range).sum())  # per test cell, scaled to physical


def scores(samples: np.ndarray, observed: np.ndarray, noise: np.ndarray) -> dict[str, float]:
    """Scores of samples (K, n, 5), scaled, given the observed outputs (n, 5) and the noise."""
    # Members that all sit on a bound have no spread: any truth but theirs is infinitely far.
    mean, std = samples.mean(axis=0), np.maximum(samples.std(axis=0), SMALLEST_SPREAD)
    return _scores(observed, mean, std, noise, elppd(observed, samples, noise))


def exact_scores(
    posterior: ExactPosterior, X: np.ndarray, observed: np.ndarray
) -> dict[str, float]:
    """The same scores of an exact posterior, in closed form, as of infinitely many members."""
    mean, std = posterior.predict(X, return_std=True)
    density = posterior.elppd(X, observed)
    return _scores(observed, mean, std, posterior.noise_covariance_, density)


def _scores(
    observed: np.ndarray, mean: np.ndarray, std: np.ndarray, noise: np.ndarray, density: float
) -> dict[str, float]:
    """The scores, from the moments of a prediction (n, 5) and its ELPPD in scaled units."""
    # The miscalibration is epistemic, as published; CRPS and coverage are those of Gaussians with
    # noise. RMSE and CRPS stay scaled; the ELPPD is joint over outputs and in physical units.
    return {
        "rmse": rmse(observed, mean),
        "miscalibration": miscalibration_area(observed, mean, std),
        "crps": crps_gaussian(observed, mean, std, noise),
        "coverage": coverage(observed, mean, std, CONFIDENCE, noise),
        "elppd": density - len(observed) * LOG_UNITS,
    }


def distance_to(exact: tuple[np.ndarray, np.ndarray], samples: np.ndarray) -> dict[str, float]:
    """Distance of moments of samples (K, n, ...) from exact ones (n, ...), averaged over all."""
    mean, std = exact
    return {
        "mean": float(np.abs(samples.mean(axis=0) - mean).mean()),
        "std": float(np.abs(samples.std(axis=0, ddof=1) / std - 1.0).mean()),
    }


def differences(
    rows: Mapping[str, Mapping[str, Interval]], reference: str
) -> dict[str, dict[str, Interval]]:
    """Paired differences of every method's scores from those of one method."""
    return {
        method: {score: row[score] - rows[reference][score] for score in SCORES}
        for method, row in rows.items()
        if method != reference
    }
