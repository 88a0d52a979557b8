"""Effect of the noise covariance: the paper's diagonal against that of replicated cells."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from bnn.noise import noise_covariance
from figures.beyond.methods import (
    Problem,
    function_ensemble,
    function_numbers,
    pretrained_networks,
    weight_numbers,
)
from figures.beyond.priors import best_prior, priors_by_evidence
from figures.beyond.weights import METHODS
from figures.materials.surrogate import seeds_of
from figures.pipeline.settings import Beyond
from figures.scores import Interval, over_repeats


def correlation(covariance: np.ndarray) -> np.ndarray:
    """Correlation matrix of a covariance."""
    deviation = np.sqrt(np.diag(covariance))
    return covariance / np.outer(deviation, deviation)


def with_noise(problem: Problem, noise: np.ndarray) -> Problem:
    """The same problem under another Σ_noise, its prior by evidence chosen anew."""
    data = dataclasses.replace(problem.data, noise=noise)
    priors = priors_by_evidence(data)
    return dataclasses.replace(problem, data=data, evidence=priors[best_prior(priors, data)])


def covariances(paper: np.ndarray, replicates: np.ndarray) -> dict[str, np.ndarray]:
    """Kinds of Σ_noise that are compared, (5, 5) each.

    Args:
        paper: The paper's standard deviations, (5,).
        replicates: Σ_noise from replicates, (5, 5).
    """
    return {
        "of the paper": noise_covariance(paper, len(replicates)),
        "of replicates, diagonal": np.diag(np.diag(replicates)),
        "of replicates": replicates,
    }


def problems_under_noise(
    problems: Mapping[str, Problem], replicates: np.ndarray
) -> dict[str, dict[str, Problem]]:
    """Training set → kind of Σ_noise → problem, each with a prior by evidence of its own."""
    return {
        case: {
            kind: with_noise(problem, noise)
            for kind, noise in covariances(problem.data.noise, replicates).items()
        }
        for case, problem in problems.items()
    }


def run_noise(tasks: Mapping[str, Problem], settings: Beyond, seed: int) -> dict[str, Any]:
    """Ensembles under each kind of Σ_noise.

    Args:
        tasks: Kind of Σ_noise → problem, of one training set.
        settings: Sizes.
        seed: Of everything random.

    Returns:
        Kind of Σ_noise → method → number → interval.
    """
    seeds, first = seeds_of(seed, settings.noise_repeats), next(iter(tasks.values()))
    networks = [pretrained_networks(first, settings, settings.n_pretrained, s) for s in seeds]
    found = {}
    for kind, task in tasks.items():
        repeats = [
            {
                "low_rank": weight_numbers(METHODS["low_rank"], nets, task, settings, s),
                "function_evidence": function_numbers(
                    function_ensemble(task.evidence, settings, s), task, "exact_evidence"
                ),
            }
            for nets, s in zip(networks, seeds, strict=True)
        ]
        found[kind] = over_repeats(repeats, Interval)
    return found
