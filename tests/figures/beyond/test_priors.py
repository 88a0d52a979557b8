"""Prior by evidence and noise from replicates, on the shipped tables."""

from pathlib import Path

import numpy as np
import pytest

import fe_data
from bnn import ExactPosterior
from figures.beyond.methods import Problem
from figures.beyond.noise import correlation, with_noise
from figures.beyond.priors import (
    REPLICATE_DESIGNS,
    best_prior,
    log_evidence,
    priors_by_evidence,
    relevance,
    replicate_noise,
    subset_counts,
)
from figures.beyond.scores import exact_scores
from figures.beyond.weights import Data
from figures.materials.problem import fit_theta, functional_prior, load_samples, noise_std

TABLES = Path(fe_data.__file__).parent / "datasets"


@pytest.fixture(scope="module")
def problem():
    """The out-of-distribution problem of the paper on the shipped tables."""
    train_set, test_set = (load_samples(TABLES, d) for d in ("train_beta", "test_uniform"))
    data = Data(train_set.X, train_set.y, noise_std())
    priors = priors_by_evidence(data)
    name = best_prior(priors, data)
    assert name == "θ·vf"  # the paper's form of the mean has the largest evidence
    return Problem(data, test_set, functional_prior(fit_theta(train_set)), priors[name])


def test_the_papers_subsets_fall_out(problem):
    """Each input that the paper leaves out by hand has a long length scale.

    Left out beyond that: the stiffness of the fibres for b and p_σ, b_m for c.
    """
    counts = subset_counts(relevance(problem.evidence, "θ·vf"))
    assert len(counts["left_out"]) == 7
    assert counts["recovered"] == counts["left_out"]
    assert set(counts["dropped"]) <= {
        "E_f_GPa of b_eff_MPa",
        "b_m_MPa of c_eff",
        "E_f_GPa of p_sigma",
    }


def test_the_prior_by_evidence_predicts_better_than_the_papers(problem):
    """More evidence on the training cells, and a smaller error on test cells it never saw."""
    data = problem.data
    assert log_evidence(problem.evidence, data) > log_evidence(problem.paper, data) + 20
    by_evidence, paper = (
        exact_scores(
            ExactPosterior(prior, noise=data.noise).fit(data.X, data.y),
            problem.test.X,
            problem.test.y,
        )
        for prior in (problem.evidence, problem.paper)
    )
    assert by_evidence["rmse"] < 0.7 * paper["rmse"]


def test_noise_of_replicates(problem):
    """Outputs of one input are correlated, and knowing it raises the density of test cells."""
    found = replicate_noise(TABLES)
    assert found is not None
    covariance, freedom = found
    assert freedom == 10 * 9 + 20 * 14
    table = correlation(covariance)
    assert table[0, 3] < -0.5  # b and ν: more load carried by the fibres lowers ν
    assert table[0, 4] > 0.5  # b and p_σ
    diagonal, full = (with_noise(problem, S) for S in (np.diag(np.diag(covariance)), covariance))
    densities = [
        exact_scores(p.posteriors["exact"], p.test.X, p.test.y)["elppd"] for p in (diagonal, full)
    ]
    assert densities[1] > densities[0] + 10


def test_folders_without_replicates_have_no_noise_of_their_own(tables):
    assert all(not (tables / f"{design}.csv").exists() for design in REPLICATE_DESIGNS) == (
        replicate_noise(tables) is None
    )
