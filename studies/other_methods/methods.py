"""Every method of notebook 05 on the composite, repeated with paired seeds."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bnn import Architecture, GaussianProcessPrior, Pretrained
from bnn.priors.function_prior import FunctionalPrior
from fe_data.schema import INPUT_NAMES
from figures.composite.scores import MethodScores, WeightSpaceScores
from figures.pipeline.processes import seeds_of, side_by_side
from figures.pipeline.settings import OtherMethods
from figures.scores import Interval, over_repeats
from studies.other_methods import weights
from studies.other_methods.problems import Problem, with_moments
from studies.other_methods.weights import CORE, METHODS, PAPER, SMOOTH, pretrained

FUNCTION_LABELS = {
    "function_small": "function-space anchoring, paper's prior and network",
    "function": "function-space anchoring, paper's prior",
    "sampled": "samples of the exact posterior, paper's prior unclipped",
    "function_evidence": "function-space anchoring, prior from the evidence",
    "function_average": "function-space anchoring, prior from the evidence, averaged",
    "sampled_evidence": "samples of the exact posterior, prior from the evidence",
    "sampled_average": "samples of the exact posterior, prior from the evidence, averaged",
}
EXACT_LABELS = {
    "exact": "exact posterior, paper's prior unclipped",
    "exact_evidence": "exact posterior, prior from the evidence",
    "exact_average": "exact posterior, prior from the evidence, averaged",
}
LABELS = {name: method.label for name, method in METHODS.items()} | FUNCTION_LABELS | EXACT_LABELS
Problems = Mapping[str, Problem]  # by training set, or by kind of Σ_noise
Rows = dict[str, MethodScores[float]]  # of one repeat, by method


@dataclass(frozen=True)
class Repeat:
    """One repeat of the study: trains networks of the sizes of a profile with one seed."""

    settings: OtherMethods
    seed: int

    def for_weights(self, prior: GaussianProcessPrior, count: int | None = None) -> Pretrained:
        """Pre-train the paper's networks to a prior, for the methods in weight space."""
        count = count or self.settings.n_pretrained
        return self._pretrained(prior, PAPER, count, self.settings.pretrain_epochs)

    def for_functions(self, prior: FunctionalPrior, network: Architecture = SMOOTH) -> Pretrained:
        """Pre-train networks to a prior, for anchoring in function space."""
        epochs = self.settings.function_pretrain_epochs
        return self._pretrained(prior, network, self.settings.n_members, epochs)

    def _pretrained(
        self, prior: FunctionalPrior, network: Architecture, count: int, epochs: int
    ) -> Pretrained:
        sizes = {"count": count, "epochs": epochs, "n_features": len(INPUT_NAMES)}
        return pretrained(prior, network, self.settings, self.seed, **sizes)

    def in_weights(
        self, name: str, networks: Pretrained, problem: Problem
    ) -> WeightSpaceScores[float]:
        """Train and score a method in weight space."""
        method = METHODS[name]
        settings = self.settings
        epochs = settings.converged_epochs if method.converged else settings.epochs
        members = weights.train_weights(
            method, networks, problem, n_members=settings.n_members, epochs=epochs, seed=self.seed
        )
        row = problem.row(members.sample(problem.test.X))
        return WeightSpaceScores(**vars(row), **weights.diagnostics(members, networks))

    def in_functions(
        self, networks: Pretrained, problem: Problem, exact: str
    ) -> MethodScores[float]:
        """Train and score functional anchoring, compared with an exact posterior."""
        points = self.settings.function_points
        started = time.perf_counter()
        members = weights.train_functions(networks, problem, points, self.seed)
        seconds = time.perf_counter() - started
        return replace(problem.row(members.sample(problem.test.X), exact), seconds=seconds)

    def by_evidence(self, problem: Problem, exact: str = "exact_evidence") -> MethodScores[float]:
        """Train and score functional anchoring with the prior from the evidence."""
        prior = problem.posteriors[exact].prior_
        return self.in_functions(self.for_functions(prior), problem, exact)

    def on_cases(self, problems: Problems, small: bool = True) -> dict[str, Rows]:
        """Train and score every method, with one pre-training per prior.

        Returns:
            Training set → method → scores.
        """
        first, paper = next((name, problem.paper) for name, problem in problems.items())
        networks = self.for_weights(paper)
        started = time.perf_counter()
        smooth = self.for_functions(paper)
        seconds = time.perf_counter() - started
        cases = {}
        for case, problem in problems.items():
            chosen = METHODS if case == first else CORE
            rows: Rows = {name: self.in_weights(name, networks, problem) for name in chosen}
            if case == first and small:  # the paper's network is slowest in function space
                papers = self.for_functions(paper, PAPER)
                rows["function_small"] = self.in_functions(papers, problem, "exact")
            anchored = self.in_functions(smooth, problem, "exact")
            rows["function"] = replace(anchored, pretrain_seconds=seconds)
            rows["function_evidence"] = self.by_evidence(problem)
            if case == first:
                rows["function_average"] = self.by_evidence(problem, "exact_average")
            for exact, posterior in problem.posteriors.items():
                # Samples of the exact posterior show what an ensemble of this size can reach.
                draws = posterior.sample(problem.test.X, self.settings.n_members, self.seed)
                rows[exact.replace("exact", "sampled")] = problem.row(draws, exact)
            cases[case] = rows
        return cases

    def under_noise(self, problems: Problems) -> dict[str, Rows]:
        """Train and score two methods on one training set: kind of Σ_noise → method → scores."""
        networks = self.for_weights(next(iter(problems.values())).paper)
        return {
            kind: {
                "low_rank": self.in_weights("low_rank", networks, problem),
                "function_evidence": self.by_evidence(problem),
            }
            for kind, problem in problems.items()
        }


def run_cases(problems: Problems, settings: OtherMethods, seed: int) -> list[dict[str, Rows]]:
    """Train and score every method on every training set, `settings.repeats` times."""
    with_moments(problems)
    repeats = [Repeat(settings, repeat_seed) for repeat_seed in seeds_of(seed, settings.repeats)]
    calls = [(repeat, problems, i < settings.small_repeats) for i, repeat in enumerate(repeats)]
    return side_by_side(Repeat.on_cases, calls)


def run_spans(
    problem: Problem, settings: OtherMethods, seed: int
) -> dict[str, WeightSpaceScores[Interval]]:
    """Score the published method, by the number of networks for its weight prior."""
    pool = Repeat(settings, seed).for_weights(problem.paper, max(settings.spans))
    repeats = []
    for i, repeat_seed in enumerate(seeds_of(seed, settings.repeats)):
        # All repeats share one pre-training; each repeat uses a different block of its networks.
        first = i * settings.n_members
        train = Repeat(settings, repeat_seed).in_weights
        blocks = {count: weights.block(pool, first, count) for count in settings.spans}
        repeats.append({str(k): train("low_rank", b, problem) for k, b in blocks.items()})
    return over_repeats(repeats)


def run_noise(
    problems: Problems, settings: OtherMethods, seed: int
) -> dict[str, dict[str, MethodScores[Interval]]]:
    """Score two methods on one training set: kind of Σ_noise → method → scores over repeats."""
    with_moments(problems)
    calls = [(Repeat(settings, s), problems) for s in seeds_of(seed, settings.noise_repeats)]
    return over_repeats(side_by_side(Repeat.under_noise, calls))
