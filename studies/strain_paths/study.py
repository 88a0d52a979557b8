"""Posteriors from parts of the random paths, tested on RVEs with 20 microstructures each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from bnn.paths import MaterialPointBasis, PathScatter, StrainPathEnsemble
from fe_data import Paths, load_paths
from fe_data.schema import INPUT_BOUNDS
from figures.pipeline.paths import SHIPPED_TABLES
from figures.pipeline.processes import seeds_of, side_by_side
from figures.scores import Interval, Number, over_repeats

BOUNDS = np.transpose(list(INPUT_BOUNDS.values()))  # (2, 4)
FILES = SHIPPED_TABLES / "paths"  # folder of the sets
TENSION = "reference_tension"
LABELS = {
    "reference_random": "random paths",
    "reference_random_large": "random paths 1.5 times as large",
    "reference_cycles": "cycles",
    TENSION: "tension",
}  # test set → words; only the first has paths like the training paths
LEVEL = 0.95  # of bands
HALF_WIDTH = float(norm.ppf(0.5 + LEVEL / 2))  # of a band, in standard deviations
ALLOWED = (0.90, 0.98)  # allowed range of the coverage of bands


@dataclass(frozen=True)
class Errors(Generic[Number]):
    """Error of a posterior on a set, and coverage of its bands."""

    error: Number  # mean square error over the variance of the component in the random paths
    coverage: Number  # of means over microstructures, by bands that include the error of the mean
    single: Number  # of single RVEs, by bands that include the scatter between microstructures


Rows = Mapping[str, Mapping[int, Errors[Interval]]]  # set → number of training paths


@dataclass(frozen=True)
class Members:
    """Members of an ensemble on a set, compared with their distribution in closed form."""

    off: float  # root mean square error of their mean, in its standard errors
    spread: float  # their standard deviation over that in closed form, root mean squares
    theta: float  # coverage of means over microstructures by bands without the model error δ
    full: float  # the same by bands with δ


@dataclass(frozen=True)
class Study:
    """Training data and test sets of the study."""

    bank: MaterialPointBasis
    scatter: PathScatter
    random_paths: Paths
    references: Mapping[str, Paths]

    @property
    def variance(self) -> np.ndarray:
        """Variance of the stress xx, yy, xy in the random paths, (3,) [MPa²]."""
        return np.asarray(self.random_paths.stress.var(axis=(0, 1, 2)))

    def posterior(self, learnt: Paths, seed: int) -> StrainPathEnsemble:
        """Return the posterior given paths with one microstructure each."""
        model = StrainPathEnsemble(self.bank, self.scatter, random_state=seed)
        return model.fit(learnt.inputs, learnt.strain, learnt.mean_stress)

    def error(self, name: str, stress: np.ndarray) -> float:
        """Return the mean square error of stresses on a set, over the variance of the component."""
        axes = components(name)
        squares = np.square(stress - self.references[name].mean_stress).mean(axis=(0, 1))
        return float(np.mean(squares[axes] / self.variance[axes]))

    def mean_fields(self) -> dict[str, float]:
        """Return the errors of the mean-field model, by set."""
        return {
            name: self.error(
                name, self.bank.features(reference.inputs, reference.strain).mean_fields
            )
            for name, reference in self.references.items()
        }

    def errors(self, model: StrainPathEnsemble) -> dict[str, Errors[float]]:
        """Return errors and coverages of a posterior, by set."""
        errors = {}
        for name, reference in self.references.items():
            axes = components(name)
            mean, std = model.predict(reference.inputs, reference.strain, return_std=True)
            _, total = model.predict(
                reference.inputs, reference.strain, return_std=True, include_noise=True
            )
            of_mean = np.abs(mean - reference.mean_stress) <= HALF_WIDTH * with_error(
                std, reference
            )
            of_rves = np.abs(mean[:, None] - reference.stress) <= HALF_WIDTH * total[:, None]
            errors[name] = Errors(
                self.error(name, mean),
                float(of_mean[..., axes].mean()),
                float(of_rves[..., axes].mean()),
            )
        return errors

    def members(self, model: StrainPathEnsemble, name: str) -> Members:
        """Compare the members with the closed form on a set."""
        reference = self.references[name]
        axes = components(name)
        curves = model.predict_members(reference.inputs, reference.strain)
        mean, std = model.predict(reference.inputs, reference.strain, return_std=True)
        theta = spread_of_theta(model, reference, std)
        off = (curves.mean(axis=0) - mean) / (theta / np.sqrt(len(curves)))
        misses = np.abs(mean - reference.mean_stress)
        covered = [
            misses <= HALF_WIDTH * with_error(deviation, reference) for deviation in (theta, std)
        ]
        return Members(
            _rms(off[..., axes]),
            _rms(curves.std(axis=0, ddof=1)[..., axes]) / _rms(theta[..., axes]),
            *(float(inside[..., axes].mean()) for inside in covered),
        )


def components(name: str) -> slice:
    """Return the stress components that are compared: in tension only xx, as others are zero."""
    return slice(0, 1) if name == TENSION else slice(0, 3)


def with_error(std: np.ndarray, reference: Paths) -> np.ndarray:
    """Return the standard deviation of a prediction minus a mean over microstructures.

    Args:
        std: Standard deviation of the prediction, (n, T, 3) [MPa].
        reference: Paths with R microstructures.

    Returns:
        √(std² + s² / R), with the standard deviation s of the microstructures, (n, T, 3) [MPa].
    """
    return np.asarray(np.sqrt(std**2 + sampling_variance(reference)))


def sampling_variance(reference: Paths) -> np.ndarray:
    """Return the variance of the mean over R microstructures, s² / R, (n, T, 3) [MPa²]."""
    return np.asarray(reference.stress.var(axis=1, ddof=1) / reference.stress.shape[1])


def spread_of_theta(model: StrainPathEnsemble, paths: Paths, std: np.ndarray) -> np.ndarray:
    """Return the standard deviation of a prediction without the model error δ, as of members.

    Args:
        model: A fitted ensemble.
        paths: n paths.
        std: Standard deviation that the model predicts for them, (n, T, 3) [MPa].

    Returns:
        √(std² - ρ² σ² / (v_f u)), (n, T, 3) [MPa].
    """
    features = model.bank.features(paths.inputs, paths.strain)
    sigma = model.scatter.std(paths.inputs, features.plastic_strain, features.utilisation)
    slower = paths.inputs[:, 0, None, None] * features.utilisation[..., None]
    std_theta: np.ndarray = np.sqrt(std**2 - (model.model_error * sigma) ** 2 / slower)
    return std_theta


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def load_study(bank: MaterialPointBasis, scatter: PathScatter, reference_rves: int) -> Study:
    """Load the study with the sets of the package, and `reference_rves` RVEs of each test set."""
    references = {name: part(load_paths(name), reference_rves, 0) for name in LABELS}
    return Study(bank, scatter, load_paths("random"), references)


def typical(study: Study, name: str) -> int:
    """Return the index of the RVE with the median error of the mean-field model in a set."""
    reference = study.references[name]
    fields = study.bank.features(reference.inputs, reference.strain).mean_fields
    errors = np.square(fields - reference.mean_stress)[..., components(name)].mean(axis=(1, 2))
    return int(np.argsort(errors)[(len(errors) - 1) // 2])


def part(paths: Paths, count: int, number: int) -> Paths:
    """Return `count` of the paths; parts with another `number` have other paths."""
    rows = slice(count * number, count * (number + 1))
    return Paths(paths.inputs[rows], paths.strain[rows], paths.stress[rows])


def one(paths: Paths, row: int) -> Paths:
    """Select one of several paths."""
    return part(paths, 1, row)


def draw(study: Study, count: int, number: int, seed: int) -> dict[str, Errors[float]]:
    """Return the errors of the posterior from one part of the random paths, by set."""
    with threadpool_limits(limits=1):
        return study.errors(study.posterior(part(study.random_paths, count, number), seed))


def compare(study: Study, counts: Sequence[int], draws: int, seed: int) -> Rows:
    """Return errors over disjoint parts of the random paths, at most `draws` parts per count."""
    seeds = seeds_of(seed, draws)
    calls = [
        (study, count, number, seeds[number])
        for count in sorted(counts, reverse=True)  # the slowest first
        for number in range(min(draws, len(study.random_paths) // count))
    ]
    judged = list(zip(calls, side_by_side(draw, calls), strict=True))
    by_count = {
        count: over_repeats([errors for call, errors in judged if call[1] == count])
        for count in sorted(counts)
    }
    return {name: {n: errors[name] for n, errors in by_count.items()} for name in study.references}
