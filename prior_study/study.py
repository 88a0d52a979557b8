"""Run the study: pre-train networks, describe their weights, compare functions; save as .npz."""

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import numpy as np
import pandas as pd

import bnn
from bnn import Pretrained, TrainingSettings
from prior_study import reconstruction
from prior_study.config import HIDDEN, StudyConfig
from prior_study.priors import STUDY_PRIORS
from prior_study.reconstruction import (
    ARCHITECTURE,
    WEIGHT_PRIOR_NAMES,
    Distance,
    Moments,
    distance,
)
from prior_study.statistics import WeightStatistics, weight_statistics
from safe_files.writing import write_atomic

FORMAT = 3
BEGINNING = rb"PK\x03\x04.{26}format\.npy"  # first bytes of an archive that begins with `format`
SHOWN_FUNCTIONS = 100  # functions of each source that are stored for figures
TRUE_FUNCTIONS = 4000  # realisations from which the widths of a functional prior are computed
# Sources of functions that are compared with the functional prior: K realisations of the prior
# itself, which show the sampling error of K draws; the networks fitted to realisations; and each
# weight prior.
SOURCES = ("realisations", "pretrained", *WEIGHT_PRIOR_NAMES)


@dataclass(frozen=True)
class PriorResult:
    """Results for one functional prior, at n points of the grid and for the six SOURCES."""

    weights: np.ndarray  # pre-trained weights ω0^[k], (K, d) float32
    inputs: np.ndarray  # points at which the networks were fitted, (M,) increasing
    realisations: np.ndarray  # g^[k] at these points, (K, M)
    fitted: np.ndarray  # f^[k] at these points, (K, M)
    statistics: WeightStatistics  # of the weights
    functions: np.ndarray  # some functions of each source on the grid, (6, n_shown, n)
    moments: np.ndarray  # mean and standard deviation of each source on the grid, (6, 2, n)
    exact: np.ndarray  # mean and standard deviation of the functional prior on the grid, (2, n)
    distances: np.ndarray  # `reconstruction.Distance` of each source, (6, 3)
    width_errors: np.ndarray  # of each source, (6,); see `reconstruction.width_error`
    steepness: np.ndarray  # of each source, (6,); see `reconstruction.steepness`

    def kernel(self, layer: int) -> np.ndarray:
        """Return the demeaned weights of the kernel of a layer, (K, n)."""
        weights = self.weights[:, ARCHITECTURE.layers[layer].kernel].astype(float)
        return weights - weights.mean(axis=0)

    @property
    def unexplained(self) -> float:
        """Fraction of the realisations' variance that their networks leave unexplained."""
        residual = np.mean((self.fitted - self.realisations) ** 2)
        return float(residual / np.mean(np.var(self.realisations, axis=1)))

    @property
    def comparison(self) -> pd.DataFrame:
        """Distances, width errors and steepness, one row per source."""
        table = pd.DataFrame(self.distances, SOURCES, [field.name for field in fields(Distance)])
        return table.assign(width=self.width_errors, steepness=self.steepness)


@dataclass(frozen=True)
class Study:
    """Settings of a study, and its results by prior."""

    config: StudyConfig
    results: dict[str, PriorResult]


def run(config: StudyConfig, progress: bool = False) -> Study:
    """Run the study; the result depends only on the settings."""
    return Study(config, {name: _study_prior(name, config, progress) for name in config.priors})


def _study_prior(name: str, config: StudyConfig, progress: bool) -> PriorResult:
    pretrained = pretrain(name, config, progress)
    prior = STUDY_PRIORS[name]
    grid = config.grid
    weights = pretrained.weights
    order = np.argsort(pretrained.inputs[:, 0])
    inputs = pretrained.inputs[order]
    exact = Moments(prior.mean(grid), prior.covariance(grid))
    functions = [  # of each of SOURCES; the realisations are new draws
        prior.process.sample(grid, len(weights), config.seed + 1)[:, :, 0],
        ARCHITECTURE.forward(weights, grid)[:, :, 0],
        *(reconstruction.sampled_functions(kind, weights, config) for kind in WEIGHT_PRIOR_NAMES),
    ]
    moments = [Moments.of(values) for values in functions]
    many = prior.process.sample(grid, TRUE_FUNCTIONS, config.seed + 2)
    widths = reconstruction.half_widths(many[:, :, 0])
    spacing = grid[1, 0] - grid[0, 0]
    n_shown = min(SHOWN_FUNCTIONS, len(weights), config.functions)
    return PriorResult(
        weights=weights,
        inputs=inputs[:, 0],
        realisations=pretrained.targets[:, order, 0],
        fitted=ARCHITECTURE.forward(weights, inputs)[:, :, 0],
        statistics=weight_statistics(weights, ARCHITECTURE, config.seed),
        functions=np.stack([values[:n_shown] for values in functions]).astype(np.float32),
        moments=np.array([(m.mean, m.std) for m in moments]),
        exact=np.array([exact.mean, exact.std]),
        distances=np.array([astuple(distance(m, exact)) for m in moments]),
        width_errors=np.array([reconstruction.width_error(f, widths) for f in functions]),
        steepness=np.array([reconstruction.steepness(f, spacing) for f in functions]),
    )


def pretrain(name: str, config: StudyConfig, progress: bool = False) -> Pretrained:
    """Fit networks to realisations of a functional prior (appendix A of the paper)."""
    training = TrainingSettings(
        epochs=config.epochs(name), bias_correction=config.bias_correction, progress=progress
    )
    return bnn.pretrain(
        STUDY_PRIORS[name].process,
        n_features=1,
        network=bnn.Architecture(HIDDEN),
        settings=bnn.Pretraining(
            n_networks=config.members,
            n_points=config.prior_points,
            range_factor=2.0,
            training=training,
        ),
        scaling=bnn.Scaling(inputs=None, outputs=None),
        device=config.device,
        random_state=config.seed,
    )


def save(study: Study, path: Path) -> None:
    """Write a study as one .npz file of plain arrays. The folder must exist.

    An existing study is replaced; any other existing file raises a FileExistsError.
    """
    arrays = {"format": np.array(FORMAT), "config": np.array(json.dumps(asdict(study.config)))}
    for name, result in study.results.items():
        entries = {**vars(result), **vars(result.statistics)}
        del entries["statistics"]
        arrays |= {f"{name}.{key}": array for key, array in entries.items()}
    archive = io.BytesIO()
    np.savez_compressed(archive, **arrays)
    write_atomic(Path(path), archive.getvalue(), BEGINNING)


def load(path: Path) -> Study:
    """Read a study from a file that `save` wrote; any other file raises a ValueError."""
    with np.load(path, allow_pickle=False) as arrays:
        if "format" not in arrays or int(arrays["format"]) != FORMAT:
            raise ValueError(f"{path} is not a study of format {FORMAT}")
        config = StudyConfig(**json.loads(str(arrays["config"])))
        return Study(config, {name: _result(arrays, name) for name in config.priors})


def _result(arrays: Mapping[str, np.ndarray], name: str) -> PriorResult:
    def entries(kind: type) -> dict[str, np.ndarray]:
        names = [field.name for field in fields(kind) if field.name != "statistics"]
        return {key: arrays[f"{name}.{key}"] for key in names}

    statistics = WeightStatistics(**entries(WeightStatistics))
    return PriorResult(statistics=statistics, **entries(PriorResult))
