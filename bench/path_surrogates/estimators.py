"""The estimators that are compared, each with one setting for all sizes."""

from collections.abc import Callable, Sequence
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


Model = RecurrentEnsemble | PointEnsemble
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


def mean_fields(X: np.ndarray, strain: np.ndarray) -> np.ndarray:
    """Stress (n, T, 3) [MPa] of the mean-field model, about which ours learns."""
    return mean_field_stress(concentration(X), X, strain, PHASES)


def fit_mean_fields(_: Training) -> Predict:
    """The mean-field model alone."""
    return lambda X, strain: Predicted(mean_fields(X, strain))


def fit_recurrent(training: Training) -> Predict:
    """An ensemble of recurrent networks."""
    return _with_one_band(_learnt(RecurrentEnsemble(training.seed), training.random_paths))


def fit_longer(training: Training) -> Predict:
    """The same with twice as many updates."""
    usual = RecurrentEnsemble(training.seed)
    longer = replace(usual, updates=2.0 * usual.updates)
    return _with_one_band(_learnt(longer, training.random_paths))


def fit_material_points(training: Training) -> Predict:
    """An ensemble of physically recurrent networks."""
    return _with_one_band(_learnt(PointEnsemble(training.seed), training.random_paths))


def fit_recurrent_about_mean_fields(training: Training) -> Predict:
    """Recurrent networks that know the mean fields too, of the best size and training length."""
    usual = RecurrentEnsemble(training.seed, mean_fields)
    sizes = [
        replace(usual, hidden=hidden, updates=updates)
        for hidden in (32, 64)
        for updates in (100.0, 200.0)
    ]
    return _with_one_band(chosen(sizes, training.random_paths))


def fit_chosen_material_points(training: Training) -> Predict:
    """Physically recurrent networks of the best size and training length."""
    usual = PointEnsemble(training.seed)
    sizes = [
        replace(usual, points=points, updates=updates)
        for points in (12, 24)
        for updates in (60.0, 120.0)
    ]
    return _with_one_band(chosen(sizes, training.random_paths))


def chosen(models: Sequence[Model], random_paths: Paths) -> Model:
    """The model with the smallest mean square error on the training paths that it held back."""
    variances = random_paths.mean_stress.var(axis=(0, 1))
    learnt = [_learnt(model, random_paths) for model in models]
    return min(learnt, key=lambda model: float(np.mean(model.residual_variance_ / variances)))


def _learnt(model: Model, random_paths: Paths) -> Model:
    return model.fit(random_paths.inputs, random_paths.strain, random_paths.mean_stress)


def _with_one_band(model: Model) -> Predict:
    """The residual of the band has the scatter of single RVEs in it: it is that of both."""

    def predict(X: np.ndarray, strain: np.ndarray) -> Predicted:
        mean, std = model.predict(X, strain)
        return Predicted(mean, std, std)

    return predict


ESTIMATORS = (
    Estimator("ours", "`StrainPathEnsemble`", fit_ours),
    Estimator("mean_fields", "mean-field model", fit_mean_fields, sizes=()),
    Estimator("gru", "5 recurrent networks", fit_recurrent),
    Estimator("gru_long", "5 recurrent networks, twice as long", fit_longer, sizes=(100, 500)),
    Estimator(
        "gru_mean_fields",
        "5 recurrent networks about the mean fields",
        fit_recurrent_about_mean_fields,
        sizes=(100, 500),
    ),
    Estimator("prn", "3 physically recurrent networks", fit_material_points),
    Estimator(
        "prn_chosen",
        "3 physically recurrent networks, chosen size",
        fit_chosen_material_points,
        sizes=(100, 500),
    ),
)
