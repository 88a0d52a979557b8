"""The one-dimensional example (section 3.1 of the paper): data, ensembles, exact posterior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnn import (
    RBF,
    Architecture,
    ExactPosterior,
    GaussianProcessPrior,
    LinearMean,
    TrainingSettings,
    anchor,
    pretrain,
    train_vanilla,
)
from figures.pipeline.paths import ROOT
from figures.pipeline.processes import side_by_side
from figures.pipeline.settings import Example1D
from prior_study import Moments

DATA = ROOT / "notebooks" / "data" / "02_example_1d.csv"
HIDDEN = (20, 20, 20, 20)
NOISE = 0.1  # standard deviation of the data
SLOPE = 2.0  # of the prior mean m(x) = 2x
VARIANCE = 1.0  # k0
LENGTHSCALES = (0.1, 1.0)
GRID = np.linspace(-1.0, 1.0, 201)[:, None]
VANILLA_EPOCHS = 400
PRETRAIN_EPOCHS = {0.1: 2000, 1.0: 300}
CORRELATED_EPOCHS = {0.1: 200, 1.0: 300}
FACTORISED_EPOCHS = 800


@dataclass(frozen=True)
class Prediction(Moments):
    """Epistemic mean and covariance on GRID, of an ensemble or an exact posterior.

    Attributes:
        at_data: Mean at the data, (N,).
    """

    at_data: np.ndarray

    @classmethod
    def of_networks(cls, sample: Callable[[np.ndarray], np.ndarray]) -> "Prediction":
        """Moments over networks.

        Args:
            sample: Inputs (n, 1) → functions of the networks, (K, n, 1).
        """
        X, _ = load_data()
        on_grid, at_data = (sample(points)[:, :, 0].astype(float) for points in (GRID, X))
        return cls(on_grid.mean(axis=0), np.cov(on_grid, rowvar=False), at_data.mean(axis=0))


def load_data() -> tuple[np.ndarray, np.ndarray]:
    """The published data points: X (30, 1) and y (30,)."""
    rows = [line for line in DATA.read_text().splitlines() if not line.startswith("#")]
    table = np.genfromtxt(rows, delimiter=",", names=True)
    return table["x"][:, None], table["y"]


def truth(x: np.ndarray) -> np.ndarray:
    """The function behind the data, without noise."""
    return 1.5 * (x - 0.2) + np.sin(8.0 * (x - 0.2))


def functional_prior(lengthscale: float) -> GaussianProcessPrior:
    """The prior p(g): a Gaussian process with mean 2x, k0 = 1 and length scale L."""
    return GaussianProcessPrior(LinearMean(np.array([SLOPE])), RBF(VARIANCE, lengthscale))


def exact_posterior(lengthscale: float) -> Prediction:
    """The posterior of the Gaussian process itself, which the ensembles approximate."""
    X, y = load_data()
    posterior = ExactPosterior(functional_prior(lengthscale), noise=NOISE).fit(X, y)
    mean, covariance = posterior.joint_moments(GRID)
    return Prediction(mean[:, 0], covariance, posterior.predict(X))


def first_layer_anchors(weights: np.ndarray, architecture: Architecture) -> np.ndarray:
    """Anchors in which every hidden kernel repeats the first one.

    A first kernel (1, n) broadcasts against hidden kernels (n, n) without an error, and the
    published factorised comparison was trained so.

    Args:
        weights: Pre-trained weights, (K, d).
        architecture: Their layout, with one input and hidden layers of equal widths.

    Returns:
        (K, d).
    """
    anchors = np.array(weights)
    kernels = [kernel for kernel, _ in architecture.unpack(anchors)]
    for kernel in kernels[1:-1]:
        kernel[:] = kernels[0]
    return anchors


def run(
    settings: Example1D, seed: int, lengthscales: Sequence[float] = LENGTHSCALES
) -> dict[str, Prediction]:
    """Every ensemble of the example.

    Args:
        settings: Sizes.
        seed: Of everything that is random.
        lengthscales: Of the functional priors.

    Returns:
        "vanilla", then for each length scale L "prior L", "anchored L", "factorised L",
        "published L" (factorised with the published anchors) and "exact L".
    """

    def training(epochs: float) -> TrainingSettings:
        return TrainingSettings(
            epochs=max(round(epochs), 1), bias_correction=settings.bias_correction
        )

    common: dict[str, Any] = {
        "noise": NOISE, "n_members": settings.n_members, "resampling": "likelihood",
        "random_state": seed,
    }  # fmt: skip
    epochs = training(VANILLA_EPOCHS)
    members = train_vanilla(*load_data(), hidden=HIDDEN, settings=epochs, **common)
    found = {"vanilla": Prediction.of_networks(members.sample)}
    for scale in lengthscales:
        networks = pretrain(
            functional_prior(scale),
            n_features=1,
            prior_points=settings.prior_points,
            n_pretrained=settings.n_pretrained,
            hidden=HIDDEN,
            settings=training(settings.pretrain_epochs_scale * PRETRAIN_EPOCHS[scale]),
            random_state=seed,
        )
        found[f"prior {scale:g}"] = Prediction.of_networks(networks.sample)
        own = networks.weights[: settings.n_members]
        repeated = first_layer_anchors(own, networks.architecture)
        for name, regulariser, epochs, anchors in (
            ("anchored", "low_rank", training(CORRELATED_EPOCHS[scale]), own),
            ("factorised", "factorised", training(FACTORISED_EPOCHS), own),
            ("published", "factorised", training(FACTORISED_EPOCHS), repeated),
        ):
            members = anchor(
                networks,
                *load_data(),
                regulariser=regulariser,
                anchors=anchors,
                start=own,
                settings=epochs,
                **common,
            )
            found[f"{name} {scale:g}"] = Prediction.of_networks(members.sample)
        found[f"exact {scale:g}"] = exact_posterior(scale)
    return found


def repeat(settings: Example1D, seed: int) -> list[dict[str, Prediction]]:
    """Run `settings.repeats` times with independent seeds; see `run`."""
    seeds = np.random.SeedSequence(seed).generate_state(settings.repeats)
    return side_by_side(run, [(settings, int(s)) for s in seeds])
