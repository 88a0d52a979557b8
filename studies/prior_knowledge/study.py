"""Exact posteriors with different prior knowledge of the composite, over draws of its tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Generic

import numpy as np
from threadpoolctl import threadpool_limits

import bnn
from figures.composite import problem as composite
from figures.composite.draws import Draw
from figures.composite.priors import (
    about_fields,
    about_fitted_fields,
    compared_fields,
    linear,
    mean_fields,
)
from figures.composite.reference import Reference
from figures.composite.scores import exact_scores, scores
from figures.pipeline.processes import seeds_of, side_by_side
from figures.pipeline.settings import TRAINING_CASE, OtherMethods, PriorKnowledge
from figures.scores import Interval, Number, Scores, over_repeats
from studies.other_methods.methods import Repeat
from studies.other_methods.weights import METHODS, Data, train_functions, train_weights


@dataclass(frozen=True)
class Knowledge:
    """Prior knowledge of an exact posterior."""

    label: str
    fit: Callable[[composite.Samples, Any], Any] | None  # fits the prior; None: the paper's prior
    noise: str  # kind of noise


# Kinds of noise.
PAPER = "of the paper"
COVARIANCE = "one covariance"
BY_INPUT = "by input"  # estimated, like COVARIANCE, from 20 inputs × 15 RVEs
OWN = "by evidence"  # only from the training RVEs, one standard deviation per output
FOUND = "found with the prior"
FOUND_BY_INPUT = "by input, found with the prior"
OF_REGRESSOR = {FOUND: None, FOUND_BY_INPUT: "heteroscedastic"}  # argument `noise` of GPRegressor
MODELS = {
    "paper": Knowledge("the paper's prior and noise", None, PAPER),
    "evidence": Knowledge("prior from the evidence, the paper's noise", linear, PAPER),
    "covariance": Knowledge("prior from the evidence, constant covariance", linear, COVARIANCE),
    "by_input": Knowledge("prior from the evidence, input-dependent noise", linear, BY_INPUT),
    "fields": Knowledge("mean-field model, input-dependent noise", about_fields, BY_INPUT),
    "fitted": Knowledge(
        "mean-field model from the evidence, input-dependent noise", about_fitted_fields, BY_INPUT
    ),
    "own": Knowledge(
        "mean-field model and noise from the evidence, no further RVEs", about_fitted_fields, OWN
    ),
    "default": Knowledge("GPRegressor(), default settings", None, FOUND),
    "default_by_input": Knowledge('GPRegressor(noise="heteroscedastic")', None, FOUND_BY_INPUT),
}
IN_WEIGHTS = ("vanilla", "low_rank")  # ensembles in weight space that are compared, of notebook 05


@dataclass(frozen=True)
class ReferenceScores(Scores[Number], Generic[Number]):
    """Scores at single test RVEs, and of f compared with means over microstructures."""

    reference_rmse: Number
    reference_rmse_fields: Number  # without p_sigma, which the mean-field model predicts worst
    reference_coverage: Number  # of the 95 % intervals of f
    reference_miscalibration: Number
    reference_z: (
        Number  # root mean square of the errors of f over their standard deviation, ideally 1
    )


Rows = Mapping[str, Mapping[str, ReferenceScores[Interval]]]  # training set → key of MODELS


def training_sets(draw: Draw, counts: Sequence[int]) -> dict[str, composite.Samples]:
    """Return the training sets of a draw: "ind10" with the first 10 RVEs and so on, and "outd"."""
    sets = {f"ind{count}": draw.cases["ind100"][:count] for count in counts}
    return sets | {TRAINING_CASE: draw.cases[TRAINING_CASE]}


def counts_of(rows: Rows) -> list[int]:
    """Return the numbers of training RVEs in distribution."""
    return [int(case.removeprefix("ind")) for case in rows if case != TRAINING_CASE]


def noises(replicates: composite.Samples, groups: np.ndarray) -> dict[str, Any]:
    """Return the kinds of noise that do not depend on the training set.

    COVARIANCE and BY_INPUT are estimated from replicates.
    """
    by_input = bnn.HeteroscedasticNoise.from_replicates(
        replicates.X, replicates.y, groups, squares=(0,)
    )
    covariance = bnn.noise.replicate_covariance(replicates.y, groups)
    return {PAPER: composite.noise_std(), COVARIANCE: covariance, BY_INPUT: by_input}


def own_noise(train: composite.Samples) -> Any:
    """Estimate constant noise from the evidence of the training RVEs, around a mean-field model."""
    textbook = partial(mean_fields, fluctuation=0.0)
    return bnn.evidence.fit_noise(train.X, train.y, mean=textbook, mean_features=())


def posterior(
    knowledge: Knowledge, train: composite.Samples, noise: Any, paper: bnn.GaussianProcessPrior
) -> bnn.GPRegressor:
    """Return the exact posterior of a training set, from which noise may also be estimated."""
    if knowledge.noise in OF_REGRESSOR:
        return bnn.GPRegressor(noise=OF_REGRESSOR[knowledge.noise]).fit(train.X, train.y)
    if knowledge.noise == OWN:
        noise = own_noise(train)
    prior = knowledge.fit(train, noise) if knowledge.fit else paper
    return bnn.GPRegressor(prior, noise=noise).fit(train.X, train.y)


def judged(
    rves: Scores[float], mean: np.ndarray, std: np.ndarray, reference: Reference
) -> ReferenceScores[float]:
    """Combine scores at single RVEs with scores of f at the reference inputs.

    Args:
        rves: Scores at single test RVEs.
        mean: Mean of f at the reference inputs, (n, n_out).
        std: Standard deviation of f at the reference inputs, (n, n_out).
        reference: Means over microstructures.

    Returns:
        All scores.
    """
    of_rves = {field.name: getattr(rves, field.name) for field in fields(Scores)}
    return ReferenceScores(**of_rves, **reference.scores(mean, std))


def judge(
    model: bnn.GPRegressor, test: composite.Samples, reference: Reference
) -> ReferenceScores[float]:
    """Return the scores of an exact posterior."""
    mean, std = model.predict(reference.X, return_std=True)
    return judged(exact_scores(model, test.X, test.y), mean, std, reference)


def judge_ensembles(
    draw: Draw, reference: Reference, counts: Sequence[int], settings: OtherMethods, seed: int
) -> dict[str, dict[str, ReferenceScores[float]]]:
    """Train and score ensembles with one seed: training set → method of notebook 05 → scores."""
    paper = composite.functional_prior(composite.fit_theta(draw.cases[TRAINING_CASE]))
    repeat = Repeat(settings, seed)
    noise = composite.noise_std()
    networks = repeat.for_weights(paper)
    smooth = repeat.for_functions(paper)
    sizes: dict[str, Any] = settings.model_dump(include={"n_members", "epochs"}) | {"seed": seed}
    scores_of: dict[str, dict[str, ReferenceScores[float]]] = {}
    for name, train in training_sets(draw, counts).items():
        data = Data(train.X, train.y, noise)
        members = {m: train_weights(METHODS[m], networks, data, **sizes) for m in IN_WEIGHTS}
        members["function"] = train_functions(smooth, data, settings.function_points, seed)
        scores_of[name] = {}
        for method, ensemble in members.items():
            f = ensemble.sample(reference.X)
            rves = scores(ensemble.sample(draw.test.X), draw.test.y, noise)
            scores_of[name][method] = judged(rves, f.mean(axis=0), f.std(axis=0, ddof=1), reference)
    return scores_of


def judge_ensembles_over_draws(
    draws: Sequence[Draw],
    reference: Reference,
    settings: PriorKnowledge,
    sizes: OtherMethods,
    seed: int,
) -> dict[str, dict[str, ReferenceScores[Interval]]]:
    """Return the scores of `judge_ensembles` with one training on each draw, one value per draw."""
    seeds = seeds_of(seed, len(draws))
    calls = [
        (draw, reference, settings.ensemble_counts, sizes, draw_seeds)
        for draw, draw_seeds in zip(draws, seeds, strict=True)
    ]
    scores_of: dict[str, dict[str, ReferenceScores[Interval]]] = over_repeats(
        side_by_side(judge_ensembles, calls)
    )
    return scores_of


def judge_draw(
    draw: Draw, reference: Reference, noise: Mapping[str, Any], settings: PriorKnowledge
) -> dict[str, dict]:
    """Fit and score every model on every training set of a draw."""
    fields = compared_fields(settings)
    fits: dict[Callable | None, Callable | None] = {
        None: None,
        linear: partial(linear, estimate=settings.estimate),
        about_fields: partial(about_fields, estimate=settings.estimate),
        about_fitted_fields: partial(
            about_fitted_fields, fields=fields, estimate=settings.estimate
        ),
    }
    models = {key: replace(knowledge, fit=fits[knowledge.fit]) for key, knowledge in MODELS.items()}
    paper = composite.functional_prior(composite.fit_theta(draw.cases[TRAINING_CASE]))
    with threadpool_limits(limits=1):
        return {
            name: {
                key: judge(
                    posterior(knowledge, train, noise.get(knowledge.noise), paper),
                    draw.test,
                    reference,
                )
                for key, knowledge in models.items()
            }
            for name, train in training_sets(draw, settings.counts).items()
        }


def judge_draws(
    draws: Sequence[Draw], reference: Reference, noise: Mapping[str, Any], settings: PriorKnowledge
) -> Rows:
    """Fit and score every model on every training set, one value per draw."""
    calls = [(draw, reference, noise, settings) for draw in draws]
    return over_repeats(side_by_side(judge_draw, calls))


def equivalent_rves(error: float, errors: Mapping[int, float]) -> float:
    """Return the number of RVEs with which a method has an error.

    Args:
        error: The error.
        errors: Errors of the method by number of RVEs.

    Returns:
        The number, interpolated between logarithms; infinite if the largest number is too small,
        and 0 if the smallest number is already better.
    """
    counts = np.log(list(errors))
    falling = np.minimum.accumulate(np.log(list(errors.values())))
    if not falling[-1] <= np.log(error) <= falling[0]:
        return np.inf if np.log(error) < falling[-1] else 0.0
    return float(np.exp(np.interp(-np.log(error), -falling, counts)))
