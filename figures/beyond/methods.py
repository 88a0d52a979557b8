"""Every method of notebook 05 on the materials example, repeated with paired seeds."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bnn import ExactPosterior, FunctionAnchoredEnsemble, GaussianProcessPrior, Pretrained
from figures.beyond.priors import REPLICATE_DESIGNS, best_prior, priors_by_evidence
from figures.beyond.scores import distance_to, exact_scores, scores
from figures.beyond.weights import (
    CORE,
    HIDDEN,
    METHODS,
    Data,
    Method,
    block,
    pretrain,
    train_weights,
)
from figures.example_1d.ensembles import DATA as EXAMPLE_DATA
from figures.materials.problem import (
    Samples,
    available,
    fit_theta,
    functional_prior,
    load_samples,
    noise_std,
)
from figures.materials.surrogate import seeds_of
from figures.pipeline.paths import table_path
from figures.pipeline.settings import Beyond

FUNCTION_HIDDEN = (50, 50, 50)  # smooth networks follow the prior's realisations more closely
FUNCTION_LABELS = {
    "function_small": "functional anchoring, paper's prior and network",
    "function": "functional anchoring, paper's prior",
    "sampled": "exact posterior sampled, paper's prior",
    "function_evidence": "functional anchoring, prior by evidence",
    "sampled_evidence": "exact posterior sampled, prior by evidence",
}
EXACT_LABELS = {
    "exact": "exact posterior, paper's prior",
    "exact_evidence": "exact posterior, prior by evidence",
}
LABELS = {name: method.label for name, method in METHODS.items()} | FUNCTION_LABELS | EXACT_LABELS


@dataclass(frozen=True)
class Problem:
    """A training set, the test cells and the two functional priors."""

    data: Data
    test: Samples
    paper: GaussianProcessPrior
    evidence: GaussianProcessPrior

    @cached_property
    def posteriors(self) -> dict[str, ExactPosterior]:
        """Exact posteriors under both priors, without the bounds of the paper's."""
        data = self.data
        return {
            name: ExactPosterior(prior, noise=data.noise).fit(data.X, data.y)
            for name, prior in (("exact", self.paper), ("exact_evidence", self.evidence))
        }

    @cached_property
    def moments(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Mean and standard deviation of the exact posteriors at the test cells, (n, 5) each."""
        return {k: p.predict(self.test.X, return_std=True) for k, p in self.posteriors.items()}

    def numbers(self, samples: np.ndarray, exact: str = "exact") -> dict[str, float]:
        """Scores of an ensemble, and its distance to an exact posterior.

        Args:
            samples: At the test cells, (K, n, 5) scaled.
            exact: Which of the posteriors.
        """
        away = distance_to(self.moments[exact], samples)
        found = scores(samples, self.test.y, self.data.noise)
        return found | {f"{name}_to_exact": value for name, value in away.items()}


def load_problems(data_dir: Path | str, settings: Beyond) -> dict[str, Problem]:
    """Read the training sets that a folder has; θ of the paper's prior is fitted on the first.

    Args:
        data_dir: Folder of tables.
        settings: Names the training sets.

    Returns:
        Name of the training set and problem, with the noise of the paper.
    """
    test = load_samples(data_dir, "test_uniform")
    train_sets = {
        name: load_samples(data_dir, case.design).head(case.count)
        for name, case in settings.cases.items()
        if available(data_dir, case.design)
    }
    paper = functional_prior(fit_theta(next(iter(train_sets.values()))))
    found = {}
    for name, samples in train_sets.items():
        data = Data(samples.X, samples.y, noise_std())
        priors = priors_by_evidence(data)
        found[name] = Problem(data, test, paper, priors[best_prior(priors, data)])
    return found


def input_files(data_dir: Path | str, settings: Beyond) -> list[Path]:
    """Files that the comparison is computed from: tables that a folder has, and the example's data.

    Args:
        data_dir: Folder of tables.
        settings: Names the training sets.
    """
    designs = {"test_uniform", *(case.design for case in settings.cases.values())}
    used = [d for d in (*designs, *REPLICATE_DESIGNS) if available(data_dir, d)]
    return sorted({*(table_path(Path(data_dir), d) for d in used), EXAMPLE_DATA})


def fit_as_far_as_it_goes(
    ensemble: FunctionAnchoredEnsemble, X: np.ndarray, y: np.ndarray
) -> FunctionAnchoredEnsemble:
    """Fit an ensemble whose members need not all arrive: its distance to the posterior is shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ensemble.fit(X, y)


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """Result and wall time [s] of a call."""
    started = time.perf_counter()
    result = function()
    return result, time.perf_counter() - started


def pretrained_networks(problem: Problem, settings: Beyond, count: int, seed: int) -> Pretrained:
    """The paper's networks, pre-trained to its prior."""
    return pretrain(
        problem.paper,
        problem.data.X.shape[1],
        count,
        settings.prior_points,
        settings.pretrain_epochs,
        seed,
    )


def weight_numbers(
    method: Method, networks: Pretrained, problem: Problem, settings: Beyond, seed: int
) -> dict[str, float]:
    """Train in weight space; scores, distance to the exact posterior and diagnostics."""
    epochs = settings.converged_epochs if method.converged else settings.epochs
    trained = train_weights(method, networks, problem.data, settings.n_members, epochs, seed)
    return problem.numbers(trained.members.sample(problem.test.X)) | trained.diagnostics()


def function_ensemble(
    prior: GaussianProcessPrior, settings: Beyond, seed: int, small: bool = False
) -> FunctionAnchoredEnsemble:
    """Pre-train an ensemble for functional anchoring.

    Args:
        prior: Functional prior.
        settings: Sizes.
        seed: Of everything random.
        small: Whether to take the paper's network.
    """
    return FunctionAnchoredEnsemble(
        prior,
        points=settings.function_points,
        hidden=HIDDEN if small else FUNCTION_HIDDEN,
        activation="leaky_relu" if small else "silu",
        n_pretrained=settings.n_members,
        n_members=settings.n_members,
        prior_points=settings.prior_points,
        pretrain_epochs=settings.function_pretrain_epochs,
        random_state=seed,
    ).pretrain(n_features=4)


def function_numbers(
    ensemble: FunctionAnchoredEnsemble, problem: Problem, exact: str = "exact"
) -> dict[str, float]:
    """Train in function space; scores, distance to the exact posterior and wall time."""
    data = problem.data
    ensemble.set_params(noise=data.noise)
    _, seconds = timed(lambda: fit_as_far_as_it_goes(ensemble, data.X, data.y))
    return problem.numbers(ensemble.sample(problem.test.X), exact) | {"seconds": seconds}


def sampled_numbers(problem: Problem, exact: str, n_members: int, seed: int) -> dict[str, float]:
    """Scores of draws from an exact posterior: what an ensemble of this size can reach."""
    draws = problem.posteriors[exact].sample(problem.test.X, n_members, seed)
    return problem.numbers(draws, exact)


def run_repeat(
    problems: Mapping[str, Problem], settings: Beyond, seed: int, small: bool = True
) -> dict[str, dict[str, dict[str, float]]]:
    """Every method once: one pre-training for each prior, shared by all that start from it.

    Args:
        problems: Training sets; the first sees every method, the others those of CORE and the
            functional ones.
        settings: Sizes.
        seed: Of everything random; methods share resampled data and starts.
        small: Whether the paper's network is anchored in function space too, which takes longest.

    Returns:
        Training set → method → numbers.
    """
    first = next(iter(problems))
    networks = pretrained_networks(problems[first], settings, settings.n_pretrained, seed)
    ensemble, seconds = timed(lambda: function_ensemble(problems[first].paper, settings, seed))
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, problem in problems.items():
        chosen = METHODS if name == first else CORE
        row = {m: weight_numbers(METHODS[m], networks, problem, settings, seed) for m in chosen}
        if name == first and small:
            papers = function_ensemble(problem.paper, settings, seed, small=True)
            row["function_small"] = function_numbers(papers, problem)
        row["function"] = function_numbers(ensemble, problem) | {"pretrain_seconds": seconds}
        by_evidence = function_ensemble(problem.evidence, settings, seed)
        row["function_evidence"] = function_numbers(by_evidence, problem, "exact_evidence")
        for method, exact in (("sampled", "exact"), ("sampled_evidence", "exact_evidence")):
            row[method] = sampled_numbers(problem, exact, settings.n_members, seed)
        found[name] = row
    return found


def run_spans(problem: Problem, settings: Beyond, seed: int) -> list[dict[str, dict[str, float]]]:
    """The published method with more and more networks behind its weight prior.

    All networks come from one pre-training; a repeat trains a block of its own.

    Args:
        problem: Training set.
        settings: Sizes.
        seed: Of everything random.

    Returns:
        "K = ..." → numbers, one mapping a repeat.
    """
    pool = pretrained_networks(problem, settings, max(settings.spans), seed)
    return [
        {
            f"K = {count}": weight_numbers(
                METHODS["low_rank"],
                block(pool, i * settings.n_members, count),
                problem,
                settings,
                repeat_seed,
            )
            for count in settings.spans
        }
        for i, repeat_seed in enumerate(seeds_of(seed, settings.repeats))
    ]


def run_repeats(
    problems: Mapping[str, Problem], settings: Beyond, seed: int
) -> dict[str, list[dict[str, dict[str, float]]]]:
    """Run `settings.repeats` times with independent seeds: training set → one mapping a repeat."""
    repeats = [
        run_repeat(problems, settings, s, i < settings.small_repeats)
        for i, s in enumerate(seeds_of(seed, settings.repeats))
    ]
    return {name: [repeat[name] for repeat in repeats] for name in problems}


def exact_rows(problems: Mapping[str, Problem]) -> dict[str, dict[str, dict[str, float]]]:
    """Scores of the exact posteriors in closed form: training set → posterior → score."""
    return {
        name: {
            exact: exact_scores(posterior, problem.test.X, problem.test.y)
            for exact, posterior in problem.posteriors.items()
        }
        for name, problem in problems.items()
    }
