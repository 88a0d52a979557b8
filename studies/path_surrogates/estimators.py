"""The estimators that are compared, each with the same settings for all training sizes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from bnn.paths import StrainPathEnsemble, fit_scatter
from bnn.paths.phases import PHASES
from fe_data import Paths
from studies.path_surrogates.data import concentration, default_basis
from studies.path_surrogates.material_points import PointEnsemble
from studies.path_surrogates.recurrent import RecurrentEnsemble
from studies.path_surrogates.rve_stress import consistent, rve_stress


class Predicted(NamedTuple):
    """Predictions of an estimator for the RVEs of a set, with standard deviations if available."""

    mean: np.ndarray  # (n, T, 3) [MPa]
    std: np.ndarray | None = None  # for the mean over microstructures
    total: np.ndarray | None = None  # for single RVEs


class Training(NamedTuple):
    """Training data of an estimator, and its seed."""

    random_paths: Paths
    repeated_random: Paths
    seed: int


Model = RecurrentEnsemble | PointEnsemble
Predict = Callable[[np.ndarray, np.ndarray], Predicted]  # inputs (n, 4), paths (n, T, 3)


@dataclass(frozen=True)
class Estimator:
    """An estimator.

    Attributes:
        name: Key in the file of results.
        label: Name in the tables.
        fit: Function that fits the estimator and returns its prediction function.
        sizes: Numbers of training paths; empty if the estimator is not trained.
    """

    name: str
    label: str
    fit: Callable[[Training], Predict]
    sizes: tuple[int, ...] = (5, 20, 50, 100, 500)


def fitted(random_paths: Paths, repeated: Paths, seed: int) -> StrainPathEnsemble:
    """Fit `StrainPathEnsemble` with default settings to random paths."""
    basis = default_basis()
    model = StrainPathEnsemble(
        basis,
        fit_scatter(basis, repeated.inputs, repeated.strain, repeated.stress),
        random_state=seed,
    )
    return model.fit(random_paths.inputs, random_paths.strain, random_paths.mean_stress)


def fit_ours(training: Training) -> Predict:
    """Fit `StrainPathEnsemble` with default settings."""
    model = fitted(*training)

    def predict(X: np.ndarray, strain: np.ndarray) -> Predicted:
        mean, std = model.predict(X, strain, return_std=True)
        _, total = model.predict(X, strain, return_std=True, include_noise=True)
        return Predicted(mean, std, total)

    return predict


def mean_fields(X: np.ndarray, strain: np.ndarray) -> np.ndarray:
    """Return the stress of the mean-field model, (n, T, 3) [MPa], which is our prior mean."""
    inputs = torch.as_tensor(X)
    A = torch.as_tensor(concentration(X))[None]
    points = consistent(A, torch.zeros(1, len(X), 2).double(), inputs[:, 0], 1)
    return rve_stress(points, inputs, torch.as_tensor(strain), PHASES)[0].numpy()


def fit_mean_fields(_: Training) -> Predict:
    """Return predictions of the mean-field model, which is not trained."""
    return lambda X, strain: Predicted(mean_fields(X, strain))


def fit_recurrent(training: Training) -> Predict:
    """Fit an ensemble of recurrent networks."""
    return _with_one_band(_learnt(RecurrentEnsemble(training.seed), training.random_paths))


def fit_longer(training: Training) -> Predict:
    """Fit an ensemble of recurrent networks with twice as many updates."""
    usual = RecurrentEnsemble(training.seed)
    longer = replace(usual, updates=2.0 * usual.updates)
    return _with_one_band(_learnt(longer, training.random_paths))


def fit_material_points(training: Training) -> Predict:
    """Fit an ensemble of physically recurrent networks."""
    return _with_one_band(_learnt(PointEnsemble(training.seed), training.random_paths))


def fit_recurrent_about_mean_fields(training: Training) -> Predict:
    """Fit recurrent networks for the difference from the mean-field model.

    Their size and training length are the best of four by validation.
    """
    usual = RecurrentEnsemble(training.seed, mean_fields)
    sizes = [
        replace(usual, hidden=hidden, updates=updates)
        for hidden in (32, 64)
        for updates in (100.0, 200.0)
    ]
    return _with_one_band(chosen(sizes, training.random_paths))


def fit_chosen_material_points(training: Training) -> Predict:
    """Fit physically recurrent networks, whose size and training length are the best of four."""
    usual = PointEnsemble(training.seed)
    sizes = [
        replace(usual, points=points, updates=updates)
        for points in (12, 24)
        for updates in (60.0, 120.0)
    ]
    return _with_one_band(chosen(sizes, training.random_paths))


def chosen(models: Sequence[Model], random_paths: Paths) -> Model:
    """Return the model with the smallest mean square error on its validation paths."""
    variances = random_paths.mean_stress.var(axis=(0, 1))
    learnt = [_learnt(model, random_paths) for model in models]
    return min(learnt, key=lambda model: float(np.mean(model.residual_variance_ / variances)))


def _learnt(model: Model, random_paths: Paths) -> Model:
    return model.fit(random_paths.inputs, random_paths.strain, random_paths.mean_stress)


def _with_one_band(model: Model) -> Predict:
    """Use the same band for means and for single RVEs: its residual includes the RVEs' scatter."""

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
        "5 recurrent networks that correct the mean-field model",
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
