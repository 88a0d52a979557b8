"""Vanilla and anchored ensembles with equal choices: how much of the gain other choices explain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import bnn
from figures.composite import problem
from figures.composite.draws import Draw
from figures.composite.reference import Reference
from figures.pipeline.processes import seeds_of, side_by_side
from figures.pipeline.settings import TRAINING_CASE, Ablation
from figures.scores import over_repeats
from studies.ablation.ensembles import (
    ANCHORED,
    BOUNDS,
    CHOICES,
    DATA,
    METHODS,
    VANILLA,
    Choice,
    EnsembleScores,
    Trainer,
    judge,
    normal_density,
    scaling_by,
)

HELD_OUT = 0.2  # share of the training RVEs that are held out for the selection of choices
TUNED = "tuned"
TUNED_START = "tuned_start"
LABELS = {choice.name: choice.label for choice in CHOICES} | {
    TUNED: "selected on held-out RVEs",
    TUNED_START: "selected on held-out RVEs, initial weights too",
}
RANDOM = "random"  # random initial weights
PRETRAINED = "pretrained"  # initial weights of networks pre-trained to the functional prior
STARTS = {VANILLA: (RANDOM, PRETRAINED), ANCHORED: (PRETRAINED, RANDOM)}  # the published one first
Rows = Mapping[str, Mapping[str, EnsembleScores]]  # training set → method and choice → scores


def row_name(method: str, choice: str) -> str:
    """Return the name of a row, from the method and the name of its choice."""
    return f"{method}_{choice}"


@dataclass(frozen=True)
class Tuned:
    """Choices for a method. They are selected by the normal log density of held-out RVEs."""

    choice: Choice
    epochs: int
    n_members: int
    start: str  # RANDOM or PRETRAINED

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the choices in metrics files."""
        resampling, scaling = self.choice
        return (
            f"resampling_{resampling}",
            f"scaling_{scaling}",
            f"epochs_{self.epochs}",
            f"networks_{self.n_members}",
            f"start_{self.start}",
        )


@dataclass(frozen=True)
class TrainingSet:
    """The RVEs of one training set, and networks pre-trained for each of its scalings."""

    rves: problem.Samples
    scalings: Mapping[str, bnn.Scaling]
    networks: Mapping[str, bnn.Pretrained]

    def train(
        self, trainer: Trainer, method: str, tuned: Tuned, rves: problem.Samples | None = None
    ) -> bnn.Members:
        """Train an ensemble on these RVEs, or on some of them.

        A vanilla ensemble with pre-trained initial weights has no regulariser. An anchored ensemble
        with random initial weights is still anchored to the pre-trained networks.
        """
        rves = rves or self.rves
        resampling, scaling = tuned.choice
        trainer = trainer.of_size(tuned.n_members)
        if method == VANILLA and tuned.start == RANDOM:
            return trainer.vanilla(rves, resampling, self.scalings[scaling], tuned.epochs)
        return trainer.anchor(
            self.networks[scaling],
            rves,
            resampling,
            tuned.epochs,
            regulariser="low_rank" if method == ANCHORED else "none",
            initial_weights="random" if tuned.start == RANDOM else "anchors",
        )


def training_sets(draw: Draw, trainer: Trainer) -> dict[str, TrainingSet]:
    """Return every training set of a draw; θ is fitted to TRAINING_CASE, as in the paper."""
    prior = problem.functional_prior(problem.fit_theta(draw.cases[TRAINING_CASE]))
    within_bounds = trainer.pretrain(prior)
    sets = {}
    for name, rves in draw.cases.items():
        scalings = {scaling: scaling_by(scaling, rves) for scaling in (BOUNDS, DATA)}
        networks = {BOUNDS: within_bounds, DATA: trainer.pretrain(prior, scalings[DATA])}
        sets[name] = TrainingSet(rves, scalings, networks)
    return sets


def tune(method: str, training_set: TrainingSet, trainer: Trainer) -> dict[str, Tuned]:
    """Select the choices for a method by held-out RVEs, without and with the initial weights.

    First resampling, scaling and epochs are selected together, with few networks. Then the number
    of networks is selected, and finally the initial weights. For both methods, θ of the prior and
    the ranges for scaling by the data come from all training RVEs.
    """
    n = len(training_set.rves)
    order = np.random.default_rng(trainer.seed).permutation(n)
    held_out = training_set.rves[order[: max(1, round(HELD_OUT * n))]]
    rest = training_set.rves[order[max(1, round(HELD_OUT * n)) :]]
    settings = trainer.settings

    @cache
    def density(tuned: Tuned) -> float:
        members = training_set.train(trainer, method, tuned, rest)
        return normal_density(members.sample(held_out.X), held_out.y)

    published, _ = STARTS[method]
    few = [
        Tuned(choice, epochs, settings.choosing, published)
        for choice in CHOICES
        for epochs in settings.tuned
    ]
    best = max(few, key=density)
    tuned = max((replace(best, n_members=number) for number in settings.numbers), key=density)
    started = max((replace(tuned, start=start) for start in STARTS[method]), key=density)
    return {TUNED: tuned, TUNED_START: started}


def as_published(method: str, settings: Ablation) -> dict[str, Tuned]:
    """Return each choice of resampling and scaling, with everything else as published."""
    published, _ = STARTS[method]
    return {
        choice.name: Tuned(choice, settings.epochs, settings.n_members, published)
        for choice in CHOICES
    }


def judge_draw(
    draw: Draw, reference: Reference, settings: Ablation, seeds: Sequence[int]
) -> tuple[dict[str, dict[str, EnsembleScores]], dict[str, dict[str, Tuned]]]:
    """Train and score each row on every training set of a draw.

    Networks are pre-trained once per draw, and choices are selected once, with the first seed.

    Returns:
        Means over the trainings: training set → row → scores. And the selected choices, initial
        weights included: training set → method.
    """
    first = Trainer(settings, seeds[0])
    sets = training_sets(draw, first)
    chosen = {
        name: {method: tune(method, training_set, first) for method in METHODS}
        for name, training_set in sets.items()
    }
    repeats = []
    for seed in seeds:
        trainer = Trainer(settings, seed)
        rows: dict[str, dict[str, EnsembleScores]] = {name: {} for name in sets}
        for name, training_set in sets.items():
            for method in METHODS:
                rows_of_method = as_published(method, settings) | chosen[name][method]
                judged = {
                    tuned: judge(training_set.train(trainer, method, tuned), draw.test, reference)
                    for tuned in set(rows_of_method.values())
                }
                for choice, tuned in rows_of_method.items():
                    rows[name][row_name(method, choice)] = judged[tuned]
        repeats.append(rows)
    last = {
        name: {method: tuned[TUNED_START] for method, tuned in methods.items()}
        for name, methods in chosen.items()
    }
    return over_repeats(repeats), last


def judge_draws(
    draws: Sequence[Draw], reference: Reference, settings: Ablation, seed: int
) -> tuple[Rows, dict[str, dict[str, dict[str, int]]]]:
    """Score every row with one value per draw, and count how often each choice was selected."""
    seeds = np.reshape(seeds_of(seed, len(draws) * settings.repeats), (len(draws), -1)).tolist()
    calls = [
        (draw, reference, settings, draw_seeds)
        for draw, draw_seeds in zip(draws, seeds, strict=True)
    ]
    judged = side_by_side(judge_draw, calls)
    rows = over_repeats([scores for scores, _ in judged])
    return rows, _counts([chosen for _, chosen in judged])


def _counts(
    chosen: Sequence[Mapping[str, Mapping[str, Tuned]]],
) -> dict[str, dict[str, dict[str, int]]]:
    """Count the draws that selected each choice: training set → method → name of the choice."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for draw in chosen:
        for case, methods in draw.items():
            for method, tuned in methods.items():
                made = counts.setdefault(case, {}).setdefault(method, {})
                for name in tuned.names:
                    made[name] = made.get(name, 0) + 1
    return counts
