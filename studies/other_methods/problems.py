"""Training sets of the composite in notebook 05, with their priors and exact posteriors."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bnn import GaussianProcessPrior, GPRegressor, MixturePrior
from bnn.gp.evidence import fit_prior
from bnn.noise import noise_covariance
from figures.composite import problem as composite
from figures.composite.scores import Distance, MethodScores, exact_scores, scores
from figures.example_1d.ensembles import DATA as EXAMPLE_DATA
from figures.pipeline.paths import REPLICATES, SHIPPED_TABLES, TEST, tables_of
from figures.pipeline.profiles import load_profile
from figures.pipeline.settings import OtherMethods
from studies.other_methods.priors import MEANS
from studies.other_methods.weights import Data


@dataclass(frozen=True)
class Problem(Data):
    """A training set with the assumed noise, the test RVEs, and the paper's prior."""

    test: composite.Samples
    paper: GaussianProcessPrior

    def by_evidence(self, mean: str, estimate: str = "map") -> Any:
        """Fit a prior with a mean in MEANS to the evidence; `estimate` is "map" or "average"."""
        features, intercept = MEANS[mean]
        return fit_prior(
            self.X,
            self.y,
            self.noise,
            estimate=estimate,
            mean_features=features,
            intercept=intercept,
            coefficient_variance=1.0,
        )

    @cached_property
    def priors(self) -> dict[str, GaussianProcessPrior]:
        """Priors from the evidence for each form of the mean, and the paper's prior."""
        by_mean = {name: self.by_evidence(name) for name in MEANS}
        return by_mean | {"paper": self.paper}

    @cached_property
    def log_evidence(self) -> dict[str, float]:
        """Log p(y | X) under each of the priors."""
        return {name: self.posterior(prior).log_evidence() for name, prior in self.priors.items()}

    @property
    def mean(self) -> str:
        """Form of the mean with the largest evidence."""
        return max(MEANS, key=lambda name: self.log_evidence[name])

    @property
    def evidence(self) -> GaussianProcessPrior:
        """Prior from the evidence with the best form of the mean."""
        return self.priors[self.mean]

    @cached_property
    def posteriors(self) -> dict[str, GPRegressor]:
        """Exact posteriors under three priors; that of the paper without its bounds."""
        average = self.by_evidence(self.mean, "average")
        priors = {"exact": self.paper, "exact_evidence": self.evidence, "exact_average": average}
        return {name: self.posterior(prior) for name, prior in priors.items()}

    def posterior(self, prior: GaussianProcessPrior | MixturePrior) -> GPRegressor:
        """Return the exact posterior under a prior."""
        return GPRegressor(prior, noise=self.noise).fit(self.X, self.y)

    @cached_property
    def moments(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Mean and standard deviation (n, n_out) of each exact posterior at the test RVEs."""
        return {k: p.predict(self.test.X, return_std=True) for k, p in self.posteriors.items()}

    def row(self, samples: np.ndarray, exact: str = "exact") -> MethodScores[float]:
        """Return scores of samples (K, n, n_out) at the test RVEs, with the distance from exact."""
        row = scores(samples, self.test.y, self.noise)
        mean, _ = self.moments[exact]
        return replace(row, mean_to_exact=Distance.of(samples, mean).mean)

    @property
    def exact(self) -> dict[str, MethodScores[float]]:
        """Scores of the exact posteriors in closed form."""
        X = self.test.X
        y = self.test.y
        return {name: exact_scores(process, X, y) for name, process in self.posteriors.items()}

    def under_noise(self, replicates: np.ndarray) -> dict[str, "Problem"]:
        """Return the problem with each kind of Σ_noise.

        Args:
            replicates: Σ_noise from replicates, (n_out, n_out).

        Returns:
            Kind of Σ_noise → problem.
        """
        kinds = {
            "paper": noise_covariance(composite.noise_std(), len(replicates)),
            "replicates_diagonal": np.diag(np.diag(replicates)),
            "replicates": replicates,
        }
        return {kind: replace(self, noise=noise) for kind, noise in kinds.items()}


def load_problems(data_dir: Path | str, settings: OtherMethods) -> dict[str, Problem]:
    """Read the training sets that a folder has; θ of the paper's prior is fitted to the first."""
    test = composite.load_samples(data_dir, "test_uniform")
    train_sets = composite.load_cases(data_dir, settings.cases)
    paper = composite.functional_prior(composite.fit_theta(next(iter(train_sets.values()))))
    return {
        name: Problem(samples.X, samples.y, composite.noise_std(), test, paper)
        for name, samples in train_sets.items()
    }


def with_moments(problems: Mapping[str, Problem]) -> None:
    """Compute the exact posteriors once, before the problems are sent to other processes."""
    for problem in problems.values():
        problem.moments  # noqa: B018


def full_settings() -> OtherMethods:
    """Return the sizes of the full run."""
    settings = load_profile("full").other_methods
    assert settings is not None
    return settings


def folders_of_runs(published: Path | None) -> dict[str, Path]:
    """Return the folders with the shipped tables and, if given, with the published ones, by run.

    Raises:
        SystemExit: If the folder has no published tables.
    """
    if published is None:
        return {"full": SHIPPED_TABLES}
    if not composite.published_tables(published, [TEST]):
        sys.exit(f"error: {published} has no published table {TEST}.csv")
    return {"full": SHIPPED_TABLES, "full-authors": published}


def input_files(data_dir: Path | str, settings: OtherMethods) -> list[Path]:
    """Return the input files of the comparison: tables in the folder, and data of the example."""
    designs = ["test_uniform", *(case.design for case in settings.cases.values())]
    tables = tables_of(data_dir, [*designs, *REPLICATES])
    return sorted({*tables.values(), EXAMPLE_DATA})
