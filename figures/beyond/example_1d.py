"""How far every method ends from the exact posterior of the one-dimensional example."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bnn import FunctionAnchoredEnsemble
from figures.beyond.methods import FUNCTION_HIDDEN, fit_as_far_as_it_goes
from figures.beyond.scores import distance_to
from figures.beyond.weights import METHODS, Data, Method, pretrain, train_weights
from figures.example_1d.ensembles import (
    CORRELATED_EPOCHS,
    FACTORISED_EPOCHS,
    GRID,
    LENGTHSCALES,
    NOISE,
    PRETRAIN_EPOCHS,
    VANILLA_EPOCHS,
    Prediction,
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


def epochs_of(method: Method, lengthscale: float, scale: float) -> int:
    """Published epochs of a method, times ten where it is trained to convergence."""
    epochs = CORRELATED_EPOCHS[lengthscale]
    if method.regulariser == "none" and not method.warm:
        epochs = VANILLA_EPOCHS
    elif method.regulariser not in ("none", "low_rank"):
        epochs = FACTORISED_EPOCHS
    return max(round(scale * epochs * (CONVERGED if method.converged else 1)), 1)


def curves(samples: np.ndarray, exact: Prediction) -> Curves:
    """Moments of functions on GRID, (K, n), and their distance to the exact posterior."""
    away = distance_to((exact.mean[:, None], exact.std[:, None]), samples[:, :, None])
    return Curves(samples.mean(axis=0), samples.std(axis=0, ddof=1), away)


def weight_samples(
    lengthscale: float, settings: Beyond, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Every method in weight space from one pre-training: name and functions on GRID, (K, n)."""
    X, y = load_data()
    data = Data(X, y[:, None], np.array([NOISE]))
    scale, points = settings.example_epochs_scale, settings.prior_points
    epochs = max(round(scale * PRETRAIN_EPOCHS[lengthscale]), 1)
    networks = pretrain(
        functional_prior(lengthscale), 1, settings.example_pretrained, points, epochs, seed
    )
    for name, method in METHODS.items():
        epochs = epochs_of(method, lengthscale, scale)
        trained = train_weights(
            method, networks, data, settings.example_members, epochs, seed, "likelihood"
        )
        yield name, trained.members.sample(GRID)[:, :, 0]


def function_samples(lengthscale: float, settings: Beyond, seed: int) -> np.ndarray:
    """Functional anchoring with smooth networks, (K, n) on GRID."""
    X, y = load_data()
    epochs = round(settings.example_epochs_scale * PRETRAIN_EPOCHS[lengthscale])
    ensemble = FunctionAnchoredEnsemble(
        functional_prior(lengthscale),
        points=settings.function_points,
        hidden=FUNCTION_HIDDEN,
        n_pretrained=settings.example_members,
        n_members=settings.example_members,
        noise=NOISE,
        prior_points=settings.prior_points,
        pretrain_epochs=max(epochs, 1),
        random_state=seed,
    )
    return fit_as_far_as_it_goes(ensemble, X, y).sample(GRID)[:, :, 0]


def run_example(lengthscale: float, settings: Beyond, seed: int) -> dict[str, Curves]:
    """Every method once.

    Args:
        lengthscale: L of the functional prior.
        settings: Sizes.
        seed: Of everything random.

    Returns:
        Method → curves; "sampled" are draws from the exact posterior, "exact" is that posterior.
    """
    exact = exact_posterior(lengthscale)
    found = {
        name: curves(samples, exact)
        for name, samples in weight_samples(lengthscale, settings, seed)
    }
    found["function"] = curves(function_samples(lengthscale, settings, seed), exact)
    draws = np.random.default_rng(seed).multivariate_normal(
        exact.mean, exact.covariance, settings.example_members, method="eigh"
    )
    found["sampled"] = curves(draws, exact)
    found["exact"] = Curves(exact.mean, exact.std, {"mean": 0.0, "std": 0.0})
    return found


def run_examples(settings: Beyond, seed: int) -> dict[str, list[dict[str, Curves]]]:
    """Both length scales, `settings.example_repeats` times: "L = ..." → one mapping a repeat."""
    seeds = seeds_of(seed, settings.example_repeats)
    return {
        f"L = {scale:g}": [run_example(scale, settings, s) for s in seeds] for scale in LENGTHSCALES
    }


def distances(repeats: list[dict[str, Curves]]) -> list[dict[str, dict[str, float]]]:
    """The distances alone, one mapping a repeat."""
    return [{name: found.distance for name, found in repeat.items()} for repeat in repeats]
