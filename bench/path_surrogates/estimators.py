"""The estimators that are compared, each with one setting for all sizes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bench.path_surrogates.data import concentration, default_bank
from bench.path_surrogates.material_points import PointEnsemble
from bench.path_surrogates.recurrent import RecurrentEnsemble
from bnn.paths import StrainPathEnsemble, fit_scatter, mean_field_stress
from bnn.paths.network import PHASES
from fe_data import Paths


class Predicted(NamedTuple):
    """Predictions of an estimator for the RVEs of a set; standard deviations if it has them."""

    mean: np.ndarray  # (n, T, 3) [MPa]
    std: np.ndarray | None = None  # of the mean over microstructures
    total: np.ndarray | None = None  # of single cells


class Training(NamedTuple):
    """What an estimator may learn from, and the seed of what it draws."""

    random_paths: Paths
    repeated_random: Paths
    seed: int


Predict = Callable[[np.ndarray, np.ndarray], Predicted]  # inputs (n, 4), paths (n, T, 3)


@dataclass(frozen=True)
class Estimator:
    """An estimator.

    Attributes:
        name: Its key in the file of results.
        label: What the tables call it.
        fit: Learns, and returns what predicts.
        sizes: Numbers of training paths; none if it learns nothing.
    """

    name: str
    label: str
    fit: Callable[[Training], Predict]
    sizes: tuple[int, ...] = (5, 20, 50, 100, 500)


def fitted(random_paths: Paths, repeated: Paths, seed: int) -> StrainPathEnsemble:
    """`StrainPathEnsemble` with default settings, fitted to random paths."""
    bank = default_bank()
    model = StrainPathEnsemble(
        bank,
        fit_scatter(bank, repeated.inputs, repeated.strain, repeated.stress),
        random_state=seed,
    )
    return model.fit(random_paths.inputs, random_paths.strain, random_paths.mean_stress)


def fit_ours(training: Training) -> Predict:
    """`StrainPathEnsemble` with default settings."""
    model = fitted(*training)

    def predict(X: np.ndarray, strain: np.ndarray) -> Predicted:
        mean, std = model.predict(X, strain, return_std=True)
        _, total = model.predict(X, strain, return_std=True, include_noise=True)
        return Predicted(mean, std, total)

    return predict


def fit_mean_fields(_: Training) -> Predict:
    """The mean fields about which ours learns."""
    return lambda X, strain: Predicted(mean_field_stress(concentration(X), X, strain, PHASES))


def fit_recurrent(training: Training) -> Predict:
    """An ensemble of recurrent networks."""
    return _with_one_band(RecurrentEnsemble(training.seed), training.random_paths)


def fit_longer(training: Training) -> Predict:
    """The same with twice as many updates."""
    usual = RecurrentEnsemble(training.seed)
    return _with_one_band(replace(usual, updates=2.0 * usual.updates), training.random_paths)


def fit_material_points(training: Training) -> Predict:
    """An ensemble of physically recurrent networks."""
    return _with_one_band(PointEnsemble(training.seed), training.random_paths)


def _with_one_band(model: RecurrentEnsemble | PointEnsemble, random_paths: Paths) -> Predict:
    """The residual of the band has the scatter of single RVEs in it: it is that of both."""
    model.fit(random_paths.inputs, random_paths.strain, random_paths.mean_stress)

    def predict(X: np.ndarray, strain: np.ndarray) -> Predicted:
        mean, std = model.predict(X, strain)
        return Predicted(mean, std, std)

    return predict


ESTIMATORS = (
    Estimator("ours", "`StrainPathEnsemble`", fit_ours),
    Estimator("mean_fields", "mean fields alone", fit_mean_fields, sizes=()),
    Estimator("gru", "5 recurrent networks", fit_recurrent),
    Estimator("gru_long", "5 recurrent networks, twice as long", fit_longer, sizes=(100, 500)),
    Estimator("prn", "3 physically recurrent networks", fit_material_points),
)
