"""Scores, distances to an exact posterior and paired comparisons of notebook 05."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.exceptions import ConvergenceWarning

from bnn import AnchoredEnsemble, ExactPosterior
from bnn.evaluation.metrics import coverage, crps_gaussian, elppd, miscalibration_area, rmse
from figures.materials.problem import OUTPUT_SCALING

CONFIDENCE = 0.95  # of intervals, of paired differences and of the coverage
SMALLEST_SPREAD = 1e-9  # scaled
SCORES = ("rmse", "miscalibration", "elppd", "crps", "coverage")
LOG_UNITS = float(np.log(OUTPUT_SCALING.half_range).sum())  # a test cell, scaled to physical


def scores(samples: np.ndarray, observed: np.ndarray, noise: np.ndarray) -> dict[str, float]:
    """Scores of an ensemble.

    Args:
        samples: (K, n, 5) scaled.
        observed: (n, 5) scaled.
        noise: Standard deviations, (5,), or Σ_noise, (5, 5), scaled.

    Returns:
        rmse and crps in scaled units, miscalibration (epistemic, as published), elppd (joint, in
        physical units), coverage of the central 95 % intervals. The CRPS and the coverage are
        those of Gaussians with the ensemble's moments and the noise.
    """
    # Members that all sit on a bound have no spread: any truth but theirs is infinitely far.
    mean, std = samples.mean(axis=0), np.maximum(samples.std(axis=0), SMALLEST_SPREAD)
    found = _gaussian_scores(observed, mean, std, noise)
    return found | {"elppd": elppd(observed, samples, noise) - len(observed) * LOG_UNITS}


def exact_scores(
    posterior: ExactPosterior, X: np.ndarray, observed: np.ndarray
) -> dict[str, float]:
    """The same scores of an exact posterior, in closed form, as of infinitely many members."""
    mean, std = posterior.predict(X, return_std=True)
    found = _gaussian_scores(observed, mean, std, posterior.noise_covariance_)
    return found | {"elppd": posterior.elppd(X, observed) - len(observed) * LOG_UNITS}


def _gaussian_scores(observed, mean, std, noise) -> dict[str, float]:
    return {
        "rmse": rmse(observed, mean),
        "miscalibration": miscalibration_area(observed, mean, std),
        "crps": crps_gaussian(observed, mean, std, noise),
        "coverage": coverage(observed, mean, std, CONFIDENCE, noise),
    }


def distance_to(exact: tuple[np.ndarray, np.ndarray], samples: np.ndarray) -> dict[str, float]:
    """Distance of an ensemble's moments to an exact posterior.

    Args:
        exact: Mean and standard deviation, (n, n_out) each.
        samples: (K, n, n_out).

    Returns:
        mean: |mean - exact mean| averaged over points and outputs.
        std: |std / exact std - 1| averaged over points and outputs.
    """
    mean, std = exact
    return {
        "mean": float(np.abs(samples.mean(axis=0) - mean).mean()),
        "std": float(np.abs(samples.std(axis=0, ddof=1) / std - 1.0).mean()),
    }


def fit_as_far_as_it_goes(
    ensemble: AnchoredEnsemble, X: np.ndarray, y: np.ndarray
) -> AnchoredEnsemble:
    """Fit an ensemble whose members need not all arrive: its distance to the posterior is shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ensemble.fit(X, y)


def interval(values: Sequence[float] | np.ndarray) -> dict[str, Any]:
    """Mean of repeats with its 95 % interval (None for a single one), and the values."""
    array = np.asarray(values, dtype=float)
    half = None
    if len(array) > 1:
        error = array.std(ddof=1) / np.sqrt(len(array))
        half = float(t.ppf(0.5 + 0.5 * CONFIDENCE, len(array) - 1) * error)
    return {"mean": float(array.mean()), "half_width": half, "values": array.tolist()}


def summarise(repeats: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    """Intervals of every number over repeats: method → number → interval.

    Args:
        repeats: method → number → value, one mapping a repeat; a method that takes long may be in
            the first ones only.
    """
    return {
        method: {
            number: interval([repeat[method][number] for repeat in repeats if method in repeat])
            for number in numbers
        }
        for method, numbers in repeats[0].items()
    }


def paired(table: Mapping[str, Any], first: str, second: str, number: str) -> dict[str, Any]:
    """Interval of the paired difference, first less second, over the repeats that both have."""
    a, b = (np.array(table[name][number]["values"]) for name in (first, second))
    n = min(len(a), len(b))
    return interval(a[:n] - b[:n])


def against(table: Mapping[str, Any], reference: str) -> dict[str, dict[str, Any]]:
    """Paired differences of every method's scores from those of one method."""
    return {
        method: {number: paired(table, method, reference, number) for number in SCORES}
        for method in table
        if method != reference
    }


def sign(difference: Mapping[str, Any]) -> int:
    """1 or -1 where the interval of a difference excludes zero, else 0; one repeat decides."""
    if abs(difference["mean"]) <= (difference["half_width"] or 0.0):
        return 0
    return int(np.sign(difference["mean"]))


def largest(difference: Mapping[str, Any]) -> float:
    """The largest size that the interval of a difference admits."""
    return abs(difference["mean"]) + (difference["half_width"] or 0.0)
