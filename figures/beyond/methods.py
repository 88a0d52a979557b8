"""Every method of notebook 05 on the composite, repeated with paired seeds."""

import time
from collections.abc import Mapping

from bnn import GaussianProcessPrior, Pretrained
from figures.beyond import weights
from figures.beyond.problems import Problem
from figures.beyond.weights import CORE, METHODS, PAPER, SMOOTH, Method, pretrained
from figures.pipeline.processes import seeds_of
from figures.pipeline.settings import Beyond
from figures.scores import Interval, over_repeats

FUNCTION_LABELS = {
    "function_small": "functional anchoring, paper's prior and network",
    "function": "functional anchoring, paper's prior",
    "sampled": "exact posterior sampled, paper's prior",
    "function_evidence": "functional anchoring, prior by evidence",
    "sampled_evidence": "exact posterior sampled, prior by evidence",
    "sampled_average": "exact posterior sampled, prior by evidence, averaged",
}
EXACT_LABELS = {
    "exact": "exact posterior, paper's prior",
    "exact_evidence": "exact posterior, prior by evidence",
    "exact_average": "exact posterior, prior by evidence, averaged",
}
LABELS = {name: method.label for name, method in METHODS.items()} | FUNCTION_LABELS | EXACT_LABELS
PUBLISHED = METHODS["low_rank"]
Numbers = dict[str, float]  # scores, distances, diagnostics and wall times [s] by name


def networks_for_weights(
    problem: Problem, settings: Beyond, seed: int, count: int | None = None
) -> Pretrained:
    """The paper's networks, pre-trained to its prior."""
    count, epochs = count or settings.n_pretrained, settings.pretrain_epochs
    return pretrained(problem.paper, PAPER, settings, seed, count=count, epochs=epochs)


def networks_for_functions(
    prior: GaussianProcessPrior, settings: Beyond, seed: int, network: dict = SMOOTH
) -> Pretrained:
    """Networks pre-trained to a prior, to be anchored in function space."""
    count, epochs = settings.n_members, settings.function_pretrain_epochs
    return pretrained(prior, network, settings, seed, count=count, epochs=epochs)


def weight_numbers(
    method: Method, networks: Pretrained, problem: Problem, settings: Beyond, seed: int
) -> Numbers:
    """Train in weight space; scores, distance to the exact posterior and diagnostics."""
    epochs = settings.converged_epochs if method.converged else settings.epochs
    members = weights.train_weights(
        method, networks, problem.data, n_members=settings.n_members, epochs=epochs, seed=seed
    )
    return problem.numbers(members.sample(problem.test.X)) | weights.diagnostics(members, networks)


def function_numbers(
    networks: Pretrained, problem: Problem, settings: Beyond, seed: int, exact: str = "exact"
) -> Numbers:
    """Train in function space; scores, distance to an exact posterior and wall time."""
    started = time.perf_counter()
    members = weights.train_functions(networks, problem.data, settings.function_points, seed)
    seconds = time.perf_counter() - started
    return problem.numbers(members.sample(problem.test.X), exact) | {"seconds": seconds}


def evidence_numbers(problem: Problem, settings: Beyond, seed: int) -> Numbers:
    """Functional anchoring with the prior by evidence."""
    networks = networks_for_functions(problem.evidence, settings, seed)
    return function_numbers(networks, problem, settings, seed, "exact_evidence")


def run_repeat(
    problems: Mapping[str, Problem], settings: Beyond, seed: int, small: bool = True
) -> dict[str, dict[str, Numbers]]:
    """Every method once, from one pre-training for each prior: training set → method → numbers."""
    first = next(iter(problems))
    paper, networks = problems[first].paper, networks_for_weights(problems[first], settings, seed)
    started = time.perf_counter()
    smooth = networks_for_functions(paper, settings, seed)
    seconds = {"pretrain_seconds": time.perf_counter() - started}
    found = {}
    for name, problem in problems.items():
        chosen = METHODS if name == first else CORE
        row = {m: weight_numbers(METHODS[m], networks, problem, settings, seed) for m in chosen}
        if name == first and small:  # the paper's network in function space takes longest
            papers = networks_for_functions(paper, settings, seed, PAPER)
            row["function_small"] = function_numbers(papers, problem, settings, seed)
        row["function"] = function_numbers(smooth, problem, settings, seed) | seconds
        row["function_evidence"] = evidence_numbers(problem, settings, seed)
        for exact, posterior in problem.posteriors.items():
            # What an ensemble of this size can reach.
            draws = posterior.sample(problem.test.X, settings.n_members, seed)
            row[exact.replace("exact", "sampled")] = problem.numbers(draws, exact)
        found[name] = row
    return found


def run_repeats(
    problems: Mapping[str, Problem], settings: Beyond, seed: int
) -> dict[str, list[dict[str, Numbers]]]:
    """Run `settings.repeats` times with independent seeds: training set → one row per repeat."""
    repeats = [
        run_repeat(problems, settings, each, number < settings.small_repeats)
        for number, each in enumerate(seeds_of(seed, settings.repeats))
    ]
    return {name: [repeat[name] for repeat in repeats] for name in problems}


def run_spans(problem: Problem, settings: Beyond, seed: int) -> list[dict[str, Numbers]]:
    """The published method with more and more networks behind its weight prior, "K = ..." each."""
    pool = networks_for_weights(problem, settings, seed, max(settings.spans))
    found = []
    for repeat, each in enumerate(seeds_of(seed, settings.repeats)):
        # Of the one pre-training, each repeat trains a block of its own.
        first, row = repeat * settings.n_members, {}
        for count in settings.spans:
            networks = weights.block(pool, first, count)
            row[f"K = {count}"] = weight_numbers(PUBLISHED, networks, problem, settings, each)
        found.append(row)
    return found


def run_noise(
    tasks: Mapping[str, Problem], settings: Beyond, seed: int
) -> dict[str, dict[str, dict[str, Interval]]]:
    """Two ensembles on one training set: kind of Σ_noise → method → number → interval."""
    repeats: dict[str, list[dict[str, Numbers]]] = {kind: [] for kind in tasks}
    for each in seeds_of(seed, settings.noise_repeats):
        networks = networks_for_weights(next(iter(tasks.values())), settings, each)
        for kind, task in tasks.items():
            row = {"low_rank": weight_numbers(PUBLISHED, networks, task, settings, each)}
            row["function_evidence"] = evidence_numbers(task, settings, each)
            repeats[kind].append(row)
    return {kind: over_repeats(rows) for kind, rows in repeats.items()}
