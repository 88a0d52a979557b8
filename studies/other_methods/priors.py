"""Prior and noise estimated from data: from the evidence, and from replicates."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnn import GaussianProcessPrior
from bnn.gp.evidence import lengthscales
from bnn.noise import replicate_covariance
from fe_data.schema import INPUT_NAMES
from figures.composite.problem import FEATURES, OUTPUT_NAMES, OUTPUT_SCALING, load_designs
from figures.pipeline.paths import REPLICATES

# Linear means whose evidence is compared: features, intercept. The first is the paper's.
MEANS = {"θ·vf": ((0,), False), "θ·vf + constant": ((0,), True), "θ·x + constant": (None, True)}
LONG = 10.0  # length scale of five ranges of an input; over one range the kernel falls by 2 %


@dataclass(frozen=True)
class Relevance:
    """The inputs that an output depends on, according to the evidence and in the paper."""

    output: str
    lengthscales: list[float]  # of each input, scaled
    chosen: list[str]  # inputs of the mean, and inputs whose length scale is below LONG
    paper: list[str]  # inputs in the paper's Table 2


def relevance(prior: GaussianProcessPrior, mean: str) -> list[Relevance]:
    """Return the inputs of each output from the length scales of a prior; `mean` is in MEANS."""
    features = MEANS[mean][0]
    every_input = np.arange(len(INPUT_NAMES))
    in_mean = np.isin(every_input, every_input if features is None else features)
    return [
        Relevance(
            name,
            scales.tolist(),
            [INPUT_NAMES[i] for i in np.flatnonzero(in_mean | (scales < LONG))],
            [INPUT_NAMES[i] for i in features],
        )
        for name, scales, features in zip(OUTPUT_NAMES, lengthscales(prior), FEATURES, strict=True)
    ]


def subset_counts(outputs: Sequence[Relevance]) -> dict[str, list[str]]:
    """Return inputs that the paper leaves out, and how the evidence agrees.

    "left_out" has the inputs that the paper leaves out, "recovered" those of them that the evidence
    also leaves out, and "dropped" those that only the evidence leaves out.
    """
    left_out = [
        (relevance, i) for relevance in outputs for i in INPUT_NAMES if i not in relevance.paper
    ]
    dropped = [
        (relevance, i)
        for relevance in outputs
        for i in relevance.paper
        if i not in relevance.chosen
    ]
    return {
        "left_out": [f"{i} of {relevance.output}" for relevance, i in left_out],
        "recovered": [
            f"{i} of {relevance.output}" for relevance, i in left_out if i not in relevance.chosen
        ],
        "dropped": [f"{i} of {relevance.output}" for relevance, i in dropped],
    }


def replicate_noise(data_dir: Path | str) -> tuple[np.ndarray, int] | None:
    """Estimate scaled Σ_noise from the replicates in a folder; None if there are none.

    Returns:
        Σ_noise, (n_out, n_out), and its degrees of freedom.
    """
    tables = load_designs(data_dir, REPLICATES)
    if not tables:
        return None
    y = np.concatenate([OUTPUT_SCALING.transform(table.outputs) for table in tables.values()])
    groups = [f"{design} {group}" for design, table in tables.items() for group in table.group]
    return replicate_covariance(y, np.array(groups)), len(y) - len(set(groups))


def correlation(covariance: np.ndarray) -> np.ndarray:
    """Return the correlation matrix of a covariance."""
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)
