"""The one-dimensional example (section 3.1 of the paper): data, ensembles, exact posterior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import bnn
from figures.pipeline.paths import ROOT
from figures.pipeline.settings import Example1D, TrainingChoice
from figures.pipeline.training import PROCEDURES, UNSCALED
from prior_study import Moments

DATA = ROOT / "notebooks" / "data" / "02_example_1d.csv"
HIDDEN = (20, 20, 20, 20)
NOISE = 0.1  # standard deviation of the data
SLOPE = 2.0  # of the prior mean m(x) = 2x
LENGTHSCALES = (0.1, 1.0)
GRID = np.linspace(-1.0, 1.0, 201)[:, None]
VANILLA_EPOCHS = 400
PRETRAIN_EPOCHS = {0.1: 2000, 1.0: 300}
CORRELATED_EPOCHS = {0.1: 200, 1.0: 300}
FACTORISED_EPOCHS = 800
SHOWN_FUNCTIONS = 20  # of an ensemble or a prior, in figures


@dataclass(frozen=True)
class Prediction(Moments):
    """Epistemic mean and covariance on GRID, of an ensemble or an exact posterior."""

    at_data: np.ndarray  # mean at the data, (N,)
    functions: np.ndarray | None = None  # some functions on GRID, (n, 201)

    @classmethod
    def of_networks(cls, sample: Callable[[np.ndarray], np.ndarray]) -> "Prediction":
        """Compute moments over networks; `sample` maps inputs (n, 1) to functions (K, n, 1)."""
        X, _ = load_data()
        on_grid, at_data = (sample(points)[:, :, 0].astype(float) for points in (GRID, X))
        covariance = np.cov(on_grid, rowvar=False)
        shown = on_grid[:SHOWN_FUNCTIONS]
        return cls(on_grid.mean(axis=0), covariance, at_data.mean(axis=0), shown)


def load_data() -> tuple[np.ndarray, np.ndarray]:
    """Load the published data points: X (30, 1) and y (30,)."""
    table = pd.read_csv(DATA, comment="#", float_precision="round_trip")
    return table[["x"]].to_numpy(), table["y"].to_numpy()


def true_function(x: np.ndarray) -> np.ndarray:
    """Return the function from which the data are generated, without noise."""
    return 1.5 * (x - 0.2) + np.sin(8.0 * (x - 0.2))


def functional_prior(lengthscale: float) -> bnn.GaussianProcessPrior:
    """Return the prior p(g): a Gaussian process with mean 2x, k0 = 1 and length scale L."""
    return bnn.GaussianProcessPrior(bnn.LinearMean(np.array([SLOPE])), bnn.RBF(1.0, lengthscale))


def exact_posterior(lengthscale: float) -> Prediction:
    """Return the exact posterior of the Gaussian process, which the ensembles approximate."""
    X, y = load_data()
    posterior = bnn.GPRegressor(functional_prior(lengthscale), noise=NOISE).fit(X, y)
    mean, covariance = posterior.joint_moments(GRID)
    return Prediction(mean[:, 0], covariance, posterior.predict(X))


def first_layer_anchors(weights: np.ndarray, architecture: bnn.MLP) -> np.ndarray:
    """Replace every hidden kernel in weights (K, d) by the first kernel, as in the published code.

    The published code did this without an error, because a first kernel (1, n) broadcasts against
    hidden kernels (n, n).
    """
    anchors = np.array(weights)
    kernels = [kernel for kernel, _ in architecture.unpack(anchors)]
    for kernel in kernels[1:-1]:
        kernel[:] = kernels[0]
    return anchors


def run(settings: Example1D, choice: TrainingChoice, seed: int) -> dict[str, Prediction]:
    """Train every ensemble of the example; return predictions by name and length scale.

    The exact posteriors are included.
    """
    procedure = PROCEDURES[choice]
    training = procedure.adam
    points = procedure.points(settings, 1, seed)
    common: dict[str, Any] = {
        "noise": NOISE,
        "n_members": settings.n_members,
        "random_state": seed,
    }
    network = bnn.Architecture(HIDDEN)
    members = bnn.train_vanilla(
        *load_data(),
        resampling="likelihood",
        network=network,
        training=training(VANILLA_EPOCHS),
        scaling=UNSCALED,
        **common,
    )
    predictions = {"vanilla": Prediction.of_networks(members.sample)}
    for scale in LENGTHSCALES:
        epochs = max(round(settings.pretrain_epochs_scale * PRETRAIN_EPOCHS[scale]), 1)
        networks = bnn.pretrain(
            functional_prior(scale),
            points,
            n_features=1,
            network=network,
            settings=procedure.pretraining(settings, epochs),
            scaling=UNSCALED,
            random_state=seed,
        )
        predictions[f"prior {scale:g}"] = Prediction.of_networks(networks.sample)
        chosen = networks.weights[: settings.n_members]
        repeated = first_layer_anchors(chosen, networks.architecture)
        networks = procedure.learnt_from(networks, settings.n_members)
        for name, regulariser, epochs, anchors in (
            ("anchored", procedure.low_rank(networks), CORRELATED_EPOCHS[scale], chosen),
            ("factorised", "factorised", FACTORISED_EPOCHS, chosen),
            ("published", "factorised", FACTORISED_EPOCHS, repeated),
        ):
            members = bnn.train_anchored(
                networks,
                *load_data(),
                training=training(epochs),
                anchoring=bnn.Anchoring(regulariser, anchors, chosen, resampling="likelihood"),
                **common,
            )
            predictions[f"{name} {scale:g}"] = Prediction.of_networks(members.sample)
        predictions[f"exact {scale:g}"] = exact_posterior(scale)
    return predictions
