"""Every method of notebook 05 on the composite, repeated with paired seeds."""

import time
from collections.abc import Mapping

from bnn import GaussianProcessPrior, Pretrained, TrainingSettings, pretrain
from figures.beyond.problems import Problem
from figures.beyond.weights import (
    CORE,
    METHODS,
    PAPER,
    SMOOTH,
    Method,
    block,
    diagnostics,
    train_functions,
    train_weights,
)
from figures.materials.surrogate import seeds_of
from figures.pipeline.settings import Beyond
from figures.scores import Interval, over_repeats

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
Numbers = dict[str, float]  # scores, distances, diagnostics and wall times [s] by name


def networks_for_weights(
    problem: Problem, settings: Beyond, seed: int, count: int | None = None
) -> Pretrained:
    """The paper's networks, pre-trained to its prior (Algorithm 3)."""
    return pretrain(
        problem.paper,
        n_features=4,
        prior_points=settings.prior_points,
        n_pretrained=count or settings.n_pretrained,
        settings=TrainingSettings(epochs=settings.pretrain_epochs),
        random_state=seed,
        **PAPER,
    )


def networks_for_functions(
    prior: GaussianProcessPrior, settings: Beyond, seed: int, network: dict = SMOOTH
) -> Pretrained:
    """Networks pre-trained to a prior, to be anchored in function space."""
    return pretrain(
        prior,
        n_features=4,
        prior_points=settings.prior_points,
        n_pretrained=settings.n_members,
        settings=TrainingSettings(epochs=settings.function_pretrain_epochs),
        random_state=seed,
        **network,
    )


def weight_numbers(
    method: Method, networks: Pretrained, problem: Problem, settings: Beyond, seed: int
) -> Numbers:
    """Train in weight space; scores, distance to the exact posterior and diagnostics."""
    members = train_weights(
        method,
        networks,
        problem.data,
        n_members=settings.n_members,
        epochs=settings.converged_epochs if method.converged else settings.epochs,
        seed=seed,
    )
    return problem.numbers(members.sample(problem.test.X)) | diagnostics(members, networks)


def function_numbers(
    networks: Pretrained, problem: Problem, settings: Beyond, seed: int, exact: str = "exact"
) -> Numbers:
    """Train in function space; scores, distance to an exact posterior and wall time."""
    started = time.perf_counter()
    members = train_functions(networks, problem.data, settings.function_points, seed)
    seconds = time.perf_counter() - started
    return problem.numbers(members.sample(problem.test.X), exact) | {"seconds": seconds}


def evidence_numbers(problem: Problem, settings: Beyond, seed: int) -> Numbers:
    """Functional anchoring with the prior by evidence."""
    networks = networks_for_functions(problem.evidence, settings, seed)
    return function_numbers(networks, problem, settings, seed, "exact_evidence")


def sampled_numbers(problem: Problem, exact: str, settings: Beyond, seed: int) -> Numbers:
    """Scores of draws from an exact posterior: what an ensemble of this size can reach."""
    draws = problem.posteriors[exact].sample(problem.test.X, settings.n_members, seed)
    return problem.numbers(draws, exact)


def run_repeat(
    problems: Mapping[str, Problem], settings: Beyond, seed: int, small: bool = True
) -> dict[str, dict[str, Numbers]]:
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
    first, paper = next(iter(problems)), next(iter(problems.values())).paper
    networks = networks_for_weights(problems[first], settings, seed)
    started = time.perf_counter()
    smooth = networks_for_functions(paper, settings, seed)
    seconds = {"pretrain_seconds": time.perf_counter() - started}
    found = {}
    for name, problem in problems.items():
        chosen = METHODS if name == first else CORE
        row = {m: weight_numbers(METHODS[m], networks, problem, settings, seed) for m in chosen}
        if name == first and small:
            papers = networks_for_functions(paper, settings, seed, PAPER)
            row["function_small"] = function_numbers(papers, problem, settings, seed)
        row["function"] = function_numbers(smooth, problem, settings, seed) | seconds
        row["function_evidence"] = evidence_numbers(problem, settings, seed)
        row["sampled"] = sampled_numbers(problem, "exact", settings, seed)
        row["sampled_evidence"] = sampled_numbers(problem, "exact_evidence", settings, seed)
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
    """The published method with more and more networks behind its weight prior.

    All networks come from one pre-training; each repeat trains a block of its own.

    Args:
        problem: Training set.
        settings: Sizes.
        seed: Of everything random.

    Returns:
        "K = ..." → numbers, one mapping per repeat.
    """
    pool = networks_for_weights(problem, settings, seed, max(settings.spans))

    def numbers(count: int, repeat: int, own_seed: int) -> Numbers:
        networks = block(pool, repeat * settings.n_members, count)
        return weight_numbers(METHODS["low_rank"], networks, problem, settings, own_seed)

    return [
        {f"K = {count}": numbers(count, repeat, each) for count in settings.spans}
        for repeat, each in enumerate(seeds_of(seed, settings.repeats))
    ]


def run_noise(
    tasks: Mapping[str, Problem], settings: Beyond, seed: int
) -> dict[str, dict[str, dict[str, Interval]]]:
    """Two ensembles under each kind of Σ_noise.

    Args:
        tasks: Kind of Σ_noise → problem, of one training set.
        settings: Sizes.
        seed: Of everything random.

    Returns:
        Kind of Σ_noise → method → number → interval.
    """
    seeds, first = seeds_of(seed, settings.noise_repeats), next(iter(tasks.values()))
    networks = [networks_for_weights(first, settings, each) for each in seeds]

    def repeat(task: Problem, number: int, own_seed: int) -> dict[str, Numbers]:
        published = METHODS["low_rank"]
        return {
            "low_rank": weight_numbers(published, networks[number], task, settings, own_seed),
            "function_evidence": evidence_numbers(task, settings, own_seed),
        }

    return {
        kind: over_repeats([repeat(task, *each) for each in enumerate(seeds)], Interval)
        for kind, task in tasks.items()
    }
