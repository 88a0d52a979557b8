"""Scores of the predictions of an estimator for the RVEs of a set."""

from typing import Any

import numpy as np

from bnn import metrics
from fe_data import Paths
from figures.scores import CONFIDENCE
from studies.path_surrogates.estimators import Predicted
from studies.strain_paths.study import sampling_variance, with_error

Row = dict[str, Any]


def scores(reference: Paths, predicted: Predicted, variances: np.ndarray) -> Row:
    """Compute scores over all RVEs, steps and components of a set.

    Args:
        reference: The set, with R microstructures per path.
        predicted: The predictions.
        variances: Variances of the stress components of the training paths, (3,) [MPa²].

    Returns:
        - `nmse`: mean square error of the mean over microstructures, divided by the variance of the
          component, and averaged over components.
        - `nmse_of_rves`: the same for each RVE.
        - `elppd`: mean log predictive density of one stress value in MPa, if there are standard
          deviations.
        - `coverage`: coverage of the means by 95 % bands.
        - `cells`: coverage of single RVEs by 95 % bands, if there are total standard deviations.

        For `elppd` and `coverage`, the variance of a mean over microstructures, s² / R, is added to
        the predicted variance.
    """
    mean = reference.mean_stress
    of_rves = np.mean(np.square(predicted.mean - mean) / variances, axis=(1, 2))
    row: Row = {"nmse": float(of_rves.mean()), "nmse_of_rves": [*map(float, of_rves)]}
    if predicted.std is not None:
        std = with_error(predicted.std, reference)
        row["elppd"] = float(metrics.elppd_gaussian(_flat(mean), _flat(predicted.mean), _flat(std)))
        row["elppd"] /= mean.size
        row["coverage"] = _coverage(mean, predicted.mean, std)
    if predicted.total is not None:
        row["cells"] = _coverage(
            reference.stress, predicted.mean[:, None], predicted.total[:, None]
        )
    return row


def floor(reference: Paths, variances: np.ndarray) -> float:
    """Return the normalised mean square error of the reference means, from their finite R."""
    return float(np.mean(sampling_variance(reference).mean(axis=(0, 1)) / variances))


def _coverage(y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> float:
    mean, std = np.broadcast_to(mean, y.shape), np.broadcast_to(std, y.shape)
    return float(metrics.coverage(_flat(y), _flat(mean), _flat(std), CONFIDENCE))


def _flat(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, values.shape[-1])
