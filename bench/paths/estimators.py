"""The estimators that are compared, each with one setting for all sizes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bench.paths.data import Paths, concentration, default_bank
from bench.paths.material_points import PointEnsemble
from bench.paths.recurrent import RecurrentEnsemble
from bnn.paths import PathEnsemble, fit_scatter, stress_of_phases
from bnn.paths.network import PHASES


class Predicted(NamedTuple):
    """What an estimator says of the cells of a set; standard deviations where it has them."""

    mean: np.ndarray  # (n, T, 3) [MPa]
    std: np.ndarray | None = None  # of the mean over arrangements
    total: np.ndarray | None = None  # of single cells


Predict = Callable[[np.ndarray, np.ndarray], Predicted]  # inputs (n, 4), paths (n, T, 3)
Fit = Callable[[Paths, Paths, int], Predict]  # training walks, repeated walks, draw


@dataclass(frozen=True)
class Estimator:
    """An estimator.

    Attributes:
        name: Its key in the file of results.
        label: What the tables call it.
        fit: Learns from walks, and from repeated walks where it can.
        learns: Whether it has anything to learn.
    """

    name: str
    label: str
    fit: Fit
    learns: bool = True


def fit_ours(walks: Paths, repeated_walks: Paths, draw: int) -> Predict:
    """`PathEnsemble` with nothing set."""
    bank = default_bank()
    model = PathEnsemble(bank, fit_scatter(bank, *repeated_walks), random_state=draw)
    model.fit(walks.inputs, walks.strain, walks.mean_stress)

    def predict(X: np.ndarray, strain: np.ndarray) -> Predicted:
        mean, std = model.predict(X, strain, return_std=True)
        _, total = model.predict(X, strain, return_std=True, total=True)
        return Predicted(mean, std, total)

    return predict


def fit_mean_fields(walks: Paths, repeated_walks: Paths, draw: int) -> Predict:
    """The mean fields about which ours learns."""
    return lambda X, strain: Predicted(stress_of_phases(concentration(X), X, strain, PHASES))


def fit_recurrent(walks: Paths, repeated_walks: Paths, draw: int) -> Predict:
    """An ensemble of recurrent networks."""
    return _with_one_band(RecurrentEnsemble(draw), walks)


def fit_material_points(walks: Paths, repeated_walks: Paths, draw: int) -> Predict:
    """An ensemble of physically recurrent networks."""
    return _with_one_band(PointEnsemble(draw), walks)


def _with_one_band(model: RecurrentEnsemble | PointEnsemble, walks: Paths) -> Predict:
    """The residual of the band has the scatter of single cells in it: it is that of both."""
    model.fit(walks.inputs, walks.strain, walks.mean_stress)

    def predict(X: np.ndarray, strain: np.ndarray) -> Predicted:
        mean, std = model.predict(X, strain)
        return Predicted(mean, std, std)

    return predict


ESTIMATORS = (
    Estimator("ours", "`PathEnsemble`", fit_ours),
    Estimator("mean_fields", "mean fields alone", fit_mean_fields, learns=False),
    Estimator("gru", "5 gated recurrent networks", fit_recurrent),
    Estimator("prn", "3 physically recurrent networks", fit_material_points),
)
