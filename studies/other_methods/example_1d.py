"""Distance of every method from the exact posterior of the one-dimensional example."""

from dataclasses import dataclass

import numpy as np

from figures.composite.scores import Distance
from figures.example_1d import ensembles
from figures.pipeline.settings import OtherMethods
from figures.scores import Interval, over_repeats
from studies.other_methods import weights
from studies.other_methods.weights import METHODS, PAPER, SMOOTH, Data, Method, pretrained

CONVERGED = 10  # factor on the published epochs for training to convergence


@dataclass(frozen=True)
class Curves:
    """Mean and standard deviation of a method on the grid, (n,) each, and distance from exact."""

    mean: np.ndarray
    std: np.ndarray
    distance: Distance[float]


Cases = dict[str, dict[str, Curves]]  # "L = ..." → method


def epochs_of(method: Method, lengthscale: float) -> int:
    """Return the published epochs of a method, times ten if it is trained to convergence."""
    correlated = ensembles.CORRELATED_EPOCHS[lengthscale]
    unpenalised = correlated if method.warm else ensembles.VANILLA_EPOCHS
    published = {"none": unpenalised, "low_rank": correlated}
    epochs = published.get(method.regulariser, ensembles.FACTORISED_EPOCHS)
    return epochs * (CONVERGED if method.converged else 1)


def run_example(settings: OtherMethods, seed: int) -> Cases:
    """Return the curves of every method under both priors; "sampled" are exact samples."""
    return {f"L = {scale:g}": _curves(scale, settings, seed) for scale in ensembles.LENGTHSCALES}


def _curves(lengthscale: float, settings: OtherMethods, seed: int) -> dict[str, Curves]:
    X, y = ensembles.load_data()
    data = Data(X, y[:, None], np.array([ensembles.NOISE]))
    exact = ensembles.exact_posterior(lengthscale)
    prior = ensembles.functional_prior(lengthscale)
    count = settings.example_members

    def scaled(epochs: int) -> int:
        return max(round(settings.example_epochs_scale * epochs), 1)

    epochs = scaled(ensembles.PRETRAIN_EPOCHS[lengthscale])
    networks, smooth = (
        pretrained(prior, network, settings, seed, count=number, epochs=epochs, n_features=1)
        for number, network in ((settings.example_pretrained, PAPER), (count, SMOOTH))
    )
    members = {
        name: weights.train_weights(
            method,
            networks,
            data,
            n_members=count,
            seed=seed,
            resampling="likelihood",
            epochs=scaled(epochs_of(method, lengthscale)),
        )
        for name, method in METHODS.items()
    }
    members["function"] = weights.train_functions(smooth, data, settings.function_points, seed)
    samples = {name: ensemble.sample(ensembles.GRID)[:, :, 0] for name, ensemble in members.items()}
    samples["sampled"] = np.random.default_rng(seed).multivariate_normal(
        exact.mean, exact.covariance, count, method="eigh"
    )
    curves = {
        name: Curves(
            functions.mean(axis=0),
            functions.std(axis=0, ddof=1),
            Distance.of(functions, exact.mean),
        )
        for name, functions in samples.items()
    }
    return curves | {"exact": Curves(exact.mean, exact.std, Distance(0.0))}


def distances(repeats: list[Cases]) -> dict[str, dict[str, Distance[Interval]]]:
    """Return only the distances, over repeats."""
    return over_repeats(
        [
            {
                case: {name: row.distance for name, row in rows.items()}
                for case, rows in cases.items()
            }
            for cases in repeats
        ]
    )
