"""How far every method ends from the exact posterior of the one-dimensional example."""

from dataclasses import dataclass

import numpy as np

from bnn import TrainingSettings, pretrain
from figures.beyond.scores import distance_to
from figures.beyond.weights import (
    METHODS,
    PAPER,
    SMOOTH,
    Data,
    Method,
    train_functions,
    train_weights,
)
from figures.example_1d.ensembles import (
    CORRELATED_EPOCHS,
    FACTORISED_EPOCHS,
    GRID,
    LENGTHSCALES,
    NOISE,
    PRETRAIN_EPOCHS,
    VANILLA_EPOCHS,
    exact_posterior,
    functional_prior,
    load_data,
)
from figures.materials.surrogate import seeds_of
from figures.pipeline.settings import Beyond

CONVERGED = 10  # times the published epochs


@dataclass(frozen=True)
class Curves:
    """Mean and standard deviation of a method on GRID, (n,) each, and its distances."""

    mean: np.ndarray
    std: np.ndarray
    distance: dict[str, float]


def epochs_of(method: Method, lengthscale: float) -> int:
    """Published epochs of a method, times ten where it is trained to convergence."""
    epochs = CORRELATED_EPOCHS[lengthscale]
    if method.regulariser == "none" and not method.warm:
        epochs = VANILLA_EPOCHS
    elif method.regulariser not in ("none", "low_rank"):
        epochs = FACTORISED_EPOCHS
    return epochs * (CONVERGED if method.converged else 1)


def run_example(lengthscale: float, settings: Beyond, seed: int) -> dict[str, Curves]:
    """Every method once, those in weight space from one pre-training.

    Args:
        lengthscale: L of the functional prior.
        settings: Sizes.
        seed: Of everything random.

    Returns:
        Method → curves; "sampled" are draws from the exact posterior, "exact" is that posterior.
    """
    X, y = load_data()
    data, exact = Data(X, y[:, None], np.array([NOISE])), exact_posterior(lengthscale)
    count = settings.example_members

    def scaled(epochs: int) -> int:
        return max(round(settings.example_epochs_scale * epochs), 1)

    networks, smooth = (
        pretrain(
            functional_prior(lengthscale),
            n_features=1,
            prior_points=settings.prior_points,
            n_pretrained=number,
            settings=TrainingSettings(epochs=scaled(PRETRAIN_EPOCHS[lengthscale])),
            random_state=seed,
            **network,
        )
        for number, network in ((settings.example_pretrained, PAPER), (count, SMOOTH))
    )
    members = {
        name: train_weights(
            method,
            networks,
            data,
            n_members=count,
            epochs=scaled(epochs_of(method, lengthscale)),
            seed=seed,
            resampling="likelihood",
        )
        for name, method in METHODS.items()
    }
    members["function"] = train_functions(smooth, data, settings.function_points, seed)
    samples = {name: each.sample(GRID)[:, :, 0] for name, each in members.items()}
    samples["sampled"] = np.random.default_rng(seed).multivariate_normal(
        exact.mean, exact.covariance, count, method="eigh"
    )
    curves = {
        name: Curves(
            each.mean(axis=0),
            each.std(axis=0, ddof=1),
            distance_to((exact.mean, exact.std), each),
        )
        for name, each in samples.items()
    }
    return curves | {"exact": Curves(exact.mean, exact.std, {"mean": 0.0, "std": 0.0})}


def run_examples(settings: Beyond, seed: int) -> dict[str, list[dict[str, Curves]]]:
    """Both length scales, `settings.example_repeats` times: "L = ..." → one mapping per repeat."""
    seeds = seeds_of(seed, settings.example_repeats)
    return {
        f"L = {scale:g}": [run_example(scale, settings, s) for s in seeds] for scale in LENGTHSCALES
    }


def distances(repeats: list[dict[str, Curves]]) -> list[dict[str, dict[str, float]]]:
    """The distances alone, one mapping per repeat."""
    return [{name: curves.distance for name, curves in repeat.items()} for repeat in repeats]
