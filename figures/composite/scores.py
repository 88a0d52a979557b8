"""Scores of ensembles and exact posteriors, and the distance between them."""

from dataclasses import dataclass
from typing import Generic

import numpy as np

from bnn import GPRegressor
from bnn.evaluation.metrics import coverage, crps_gaussian, elppd, miscalibration_area, rmse
from bnn.noise import covariance_at
from figures.composite.problem import OUTPUT_SCALING
from figures.scores import CONFIDENCE, Number, Scores

SMALLEST_SPREAD = 1e-9  # lower bound of scaled standard deviations
SCORES = ("rmse", "miscalibration", "elppd", "crps", "coverage")
LOG_UNITS = float(np.log(OUTPUT_SCALING.half_range).sum())  # per RVE: scaled - physical log density


@dataclass(frozen=True)
class MethodScores(Scores[Number]):
    """Scores of a method, its distance from an exact posterior, and training times."""

    crps: Number  # scaled
    mean_to_exact: Number | None = None
    seconds: Number | None = None  # of anchoring in function space; one thread for several repeats
    pretrain_seconds: Number | None = None

    def __sub__(self, other: "MethodScores[Number]") -> "MethodScores[Number]":
        """Return the paired differences of only the scores."""
        return MethodScores(**{name: getattr(self, name) - getattr(other, name) for name in SCORES})


@dataclass(frozen=True, kw_only=True)
class WeightSpaceScores(MethodScores[Number]):
    """Scores of a method in weight space, and numbers about the low-rank regulariser."""

    penalty: Number  # (K-1) |S⁻¹ Vᵀ (ω - ω0)|² after training
    gradient_in_span: Number  # share of |∂ data term / ∂ω|² in span(V), at the initial weights
    step_in_span: Number  # share of |ω - initial weights|² in span(V)
    dimension: Number  # (K-1) / d, the share of a random direction


@dataclass(frozen=True)
class Distance(Generic[Number]):
    """Distance from an exact posterior, averaged over all points."""

    mean: Number  # of |mean - exact mean|

    @classmethod
    def of(cls, samples: np.ndarray, mean: np.ndarray) -> "Distance[float]":
        """Return the distance of samples (K, n, ...) from an exact mean (n, ...)."""
        return Distance(float(np.abs(samples.mean(axis=0) - mean).mean()))


def scores(samples: np.ndarray, observed: np.ndarray, noise: np.ndarray) -> MethodScores[float]:
    """Return scores of samples (K, n, n_out) for observed outputs (n, n_out), all scaled."""
    # If all networks predict a bound, their standard deviation is zero, and z would be infinite.
    mean = samples.mean(axis=0)
    std = np.maximum(samples.std(axis=0), SMALLEST_SPREAD)
    return _scores(observed, mean, std, noise, elppd(observed, samples, noise))


def exact_scores(
    posterior: GPRegressor, X: np.ndarray, observed: np.ndarray
) -> MethodScores[float]:
    """Return the scores of an exact posterior in closed form, as for infinitely many members."""
    mean, std = posterior.predict(X, return_std=True)
    density = posterior.elppd(X, observed)
    noise = covariance_at(posterior.noise_, X)
    return _scores(observed, mean, std, noise, density)


def _scores(
    observed: np.ndarray, mean: np.ndarray, std: np.ndarray, noise: np.ndarray, density: float
) -> MethodScores[float]:
    """Return the scores from the moments of a prediction (n, n_out) and its scaled ELPPD."""
    # The miscalibration is epistemic, as published. CRPS and coverage are those of Gaussians with
    # noise. RMSE and CRPS stay scaled. The ELPPD is joint over outputs and in physical units.
    return MethodScores(
        rmse=rmse(observed, mean),
        miscalibration=miscalibration_area(observed, mean, std),
        elppd=density - len(observed) * LOG_UNITS,
        coverage=coverage(observed, mean, std, CONFIDENCE, noise),
        crps=crps_gaussian(observed, mean, std, noise),
    )
