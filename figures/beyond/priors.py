"""Prior and noise chosen from data: the evidence, and covariances from replicates."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bnn import ExactPosterior, GaussianProcessPrior
from bnn.function_priors.evidence import fit_prior, lengthscales
from bnn.noise import replicate_covariance
from fe_data.dataset.table import load_table
from fe_data.settings import INPUT_NAMES, OUTPUT_NAMES
from figures.beyond.weights import Data
from figures.materials.problem import FEATURES, OUTPUT_SCALING, available
from figures.pipeline.paths import table_path

# Linear means whose evidence is compared: features, intercept. The first is the paper's.
MEANS = {
    "θ·vf": ((0,), False),
    "θ·vf + constant": ((0,), True),
    "θ·x + constant": (None, True),
}
REPLICATE_DESIGNS = ("replicates", "noise")
LONG = 10.0  # a length scale of five ranges of its input, over which the kernel falls by 2 %


def priors_by_evidence(data: Data) -> dict[str, GaussianProcessPrior]:
    """Priors with the best variances and length scales, one for each form of the mean."""
    return {
        name: fit_prior(
            data.X,
            data.y,
            data.noise,
            mean_features=features,
            intercept=intercept,
            coefficient_variance=1.0,
        )
        for name, (features, intercept) in MEANS.items()
    }


def log_evidence(prior: GaussianProcessPrior, data: Data) -> float:
    """Log p(y | X) of a prior."""
    return ExactPosterior(prior, noise=data.noise).fit(data.X, data.y).log_evidence()


def best_prior(priors: dict[str, GaussianProcessPrior], data: Data) -> str:
    """Name of the prior with the largest evidence."""
    return max(priors, key=lambda name: log_evidence(priors[name], data))


@dataclass(frozen=True)
class Relevance:
    """Which inputs an output depends on, by the evidence and in the paper."""

    output: str
    lengthscales: list[float]  # scaled, one an input
    chosen: list[str]  # inputs of the mean, and those whose length scale is not long
    paper: list[str]  # inputs of the paper's Table 2


def relevance(prior: GaussianProcessPrior, mean: str) -> list[Relevance]:
    """Inputs of each output, by the length scales of a prior.

    Args:
        prior: From the evidence.
        mean: Key of MEANS.
    """
    features = MEANS[mean][0]
    in_mean = np.isin(np.arange(len(INPUT_NAMES)), range(4) if features is None else features)
    return [
        Relevance(
            name,
            scales.tolist(),
            [INPUT_NAMES[i] for i in np.flatnonzero(in_mean | (scales < LONG))],
            [INPUT_NAMES[i] for i in features],
        )
        for name, scales, features in zip(OUTPUT_NAMES, lengthscales(prior), FEATURES, strict=True)
    ]


def subset_counts(rows: Sequence[Relevance]) -> dict[str, Any]:
    """How the inputs found by the evidence compare with the paper's subsets.

    Returns:
        left_out: Inputs that the paper leaves out, as "input of output".
        recovered: Those among them that the evidence leaves out too.
        dropped: Inputs that the paper keeps and the evidence leaves out.
    """
    left_out = [(r, i) for r in rows for i in INPUT_NAMES if i not in r.paper]
    return {
        "left_out": [f"{i} of {r.output}" for r, i in left_out],
        "recovered": [f"{i} of {r.output}" for r, i in left_out if i not in r.chosen],
        "dropped": [f"{i} of {r.output}" for r in rows for i in r.paper if i not in r.chosen],
    }


def replicate_noise(data_dir: Path | str) -> tuple[np.ndarray, int] | None:
    """Σ_noise of the folder's replicate designs, scaled, and its degrees of freedom.

    Args:
        data_dir: Folder of tables.

    Returns:
        None where the folder has no replicates.
    """
    outputs, groups = [], []
    for design in REPLICATE_DESIGNS:
        if available(data_dir, design):
            table = load_table(table_path(Path(data_dir), design))
            outputs.append(OUTPUT_SCALING.transform(table.outputs))
            groups += [f"{design} {group}" for group in table.group]
    if not outputs:
        return None
    y = np.concatenate(outputs)
    return replicate_covariance(y, np.array(groups)), len(y) - len(set(groups))
