"""Causes of the gain by anchoring: epochs, prior, initial weights, sizes, and the RVEs for θ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

import bnn
from figures.composite import problem
from figures.composite.draws import Draw
from figures.composite.reference import Reference
from figures.materials_surrogate.surrogate import HIDDEN
from figures.pipeline.processes import seeds_of, side_by_side
from figures.pipeline.settings import FEWEST_CASE, TRAINING_CASE, Ablation
from figures.scores import over_repeats
from studies.ablation.ensembles import ANCHORED, VANILLA, EnsembleScores, Trainer, judge

THETA_FACTORS = {"theta_half": 0.5, "theta_zero": 0.0, "theta_reversed": -1.0}
LENGTH_FACTORS = {
    "lengths_quarter": 0.25,
    "lengths_half": 0.5,
    "lengths_double": 2.0,
    "lengths_fourfold": 4.0,
}
LABELS = {  # name in metrics files → words
    "published": "as published",
    **{name: f"θ × {factor:g}" for name, factor in THETA_FACTORS.items()},
    **{name: f"L × {factor:g}" for name, factor in LENGTH_FACTORS.items()},
    "inputs_all": "all inputs for every output",
    "subsets_exchanged": "input subsets exchanged",
    "networks_pretrained": "pre-trained networks",
    "layers_permuted": "layers exchanged between networks",
    "mean_alone": "mean of their weights, for all",
    "spread_alone": "their weights without the mean",
    "start_common": "weights before pre-training",
    "theta_of_beta": "θ of the 50 beta RVEs",
    "theta_of_own": "θ of the 25 RVEs themselves",
}
SIZES = {"members": "{} networks", "width": "{} neurons per layer"}  # kind of size → words
N_INPUTS = len(problem.INPUT_LABELS)
EVERY_INPUT = tuple(range(N_INPUTS))


@dataclass(frozen=True)
class Experiments:
    """Scores of the experiments on one draw, or over draws; each maps a variant to scores."""

    epochs: Mapping[str, Mapping[str, EnsembleScores]]  # method → number of epochs
    priors: Mapping[str, EnsembleScores]  # wrong functional priors
    evidence: Mapping[str, float]  # log p(y | X) of the training RVEs under each of these priors
    starts: Mapping[str, EnsembleScores]  # initial weights
    sizes: Mapping[str, Mapping[str, EnsembleScores]]  # method → kind of size and number
    theta: Mapping[str, EnsembleScores]  # RVEs to which θ is fitted, smallest training set


def size_label(name: str) -> str:
    """Return the name of a size in words."""
    kind, number = name.split("_")
    return SIZES[kind].format(number)


def wrong_priors(theta: np.ndarray) -> dict[str, bnn.GaussianProcessPrior]:
    """Return the paper's prior, and priors that differ from it in known ways."""
    prior = problem.functional_prior(theta)
    priors = {"published": prior}
    for name, factor in THETA_FACTORS.items():
        priors[name] = problem.functional_prior(factor * theta)
    for name, factor in LENGTH_FACTORS.items():
        kernel = bnn.RBF(problem.VARIANCE, factor * problem.LENGTHSCALE)
        priors[name] = replace(prior, kernel=kernel)
    priors["inputs_all"] = replace(prior, active_dims=(EVERY_INPUT,) * len(problem.FEATURES))
    # Exchange the inputs of b and c, and those of E and p_σ.
    b, c, E, nu, p = problem.FEATURES
    priors["subsets_exchanged"] = replace(prior, active_dims=(c, b, p, nu, E))
    return priors


def log_evidence(prior: bnn.GaussianProcessPrior, rves: problem.Samples) -> float:
    """Return the log evidence of RVEs under a prior without its bounds, with the paper's noise."""
    posterior = bnn.GPRegressor(replace(prior, bounds=(None, None)), noise=problem.noise_std())
    return posterior.fit(rves.X, rves.y).log_evidence()


def starts(networks: bnn.Pretrained, seed: int) -> dict[str, np.ndarray]:
    """Return initial weights (K, d) that keep less and less of the pre-trained networks."""
    weights = networks.weights
    rng = np.random.default_rng(seed)
    permuted = weights.copy()
    for layer in networks.architecture.layers:
        columns = slice(layer.start, layer.stop)
        permuted[:, columns] = weights[rng.permutation(len(weights)), columns]
    mean = weights.mean(axis=0)
    common = networks.initial_weights.mean(axis=0)  # initial weights are nearly the same for all
    return {
        "networks_pretrained": weights,
        "layers_permuted": permuted,
        "mean_alone": np.broadcast_to(mean, weights.shape).copy(),
        "spread_alone": weights - mean + common,
        "start_common": networks.initial_weights,
    }


def run_draw(draw: Draw, reference: Reference, settings: Ablation, seed: int) -> Experiments:
    """Run all experiments on one draw with one seed, out of distribution except for θ."""
    trainer = Trainer(settings, seed)
    rves = draw.cases[TRAINING_CASE]
    theta = problem.fit_theta(rves)
    prior = problem.functional_prior(theta)
    largest = trainer.pretrain(prior, count=max(settings.members))
    networks = largest.select(range(settings.n_members))

    def judged(members: bnn.Members) -> EnsembleScores[float]:
        return judge(members, draw.test, reference)

    epochs = {
        VANILLA: {str(n): judged(trainer.vanilla(rves, epochs=n)) for n in settings.path},
        ANCHORED: {str(n): judged(trainer.anchor(networks, rves, epochs=n)) for n in settings.path},
    }
    wrong = wrong_priors(theta)
    priors = {
        name: judged(trainer.anchor(trainer.pretrain(prior, count=settings.n_members), rves))
        for name, prior in wrong.items()
    }
    evidence = {name: log_evidence(prior, rves) for name, prior in wrong.items()}
    begun = {
        name: judged(trainer.anchor(networks, rves, regulariser="none", initial_weights=start))
        for name, start in starts(networks, seed).items()
    }
    sizes: dict[str, dict[str, EnsembleScores]] = {VANILLA: {}, ANCHORED: {}}
    for count in settings.members:
        name = f"members_{count}"
        sized = trainer.of_size(count)
        sizes[VANILLA][name] = judged(sized.vanilla(rves))
        sizes[ANCHORED][name] = judged(sized.anchor(largest.select(range(count)), rves))
    for width in settings.widths:
        name = f"width_{width}"
        hidden = (width,) * len(HIDDEN)
        wide = trainer.pretrain(prior, count=settings.n_members, hidden=hidden)
        sizes[VANILLA][name] = judged(trainer.vanilla(rves, hidden=hidden))
        sizes[ANCHORED][name] = judged(trainer.anchor(wide, rves))
    few = draw.cases[FEWEST_CASE]
    own_prior = problem.functional_prior(problem.fit_theta(few))
    own_networks = trainer.pretrain(own_prior, count=settings.n_members)
    fitted = {
        "theta_of_beta": judged(trainer.anchor(networks, few)),
        "theta_of_own": judged(trainer.anchor(own_networks, few)),
    }
    return Experiments(epochs, priors, evidence, begun, sizes, fitted)


def run_draws(
    draws: Sequence[Draw], reference: Reference, settings: Ablation, seed: int
) -> Experiments:
    """Run all experiments, with one value per draw."""
    draw_seeds = seeds_of(seed, len(draws))
    calls = [
        (draw, reference, settings, draw_seed)
        for draw, draw_seed in zip(draws, draw_seeds, strict=True)
    ]
    experiments: Experiments = over_repeats(side_by_side(run_draw, calls))
    return experiments
