"""The one-dimensional example (section 3.1 of the paper): data, ensembles, exact posterior."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bnn import (
    RBF,
    AnchoredEnsemble,
    ExactPosterior,
    GaussianProcessPrior,
    LinearMean,
    VanillaEnsemble,
    train,
)
from bnn._seeding import member_generators, member_seeds, seed_sequence, spawn
from bnn.ensembles.base import SEED_RESAMPLING, SEED_TRAINING
from bnn.networks.architecture import Architecture
from bnn.noise import resample
from bnn.training.members import Objective
from bnn.training.settings import TrainingSettings
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


def train_vanilla(settings: Example1D, seed: int) -> Prediction:
    """Vanilla ensemble (Algorithm 1)."""
    X, y = load_data()
    ensemble = VanillaEnsemble(
        hidden=HIDDEN,
        n_members=settings.n_members,
        noise=NOISE,
        resampling="likelihood",
        epochs=VANILLA_EPOCHS,
        bias_correction=settings.bias_correction,
        random_state=seed,
    )
    return Prediction.of_networks(ensemble.fit(X, y).sample)


def pretrained(lengthscale: float, settings: Example1D, seed: int) -> AnchoredEnsemble:
    """Ensemble pre-trained to the functional prior (Algorithm 3)."""
    epochs = round(settings.pretrain_epochs_scale * PRETRAIN_EPOCHS[lengthscale])
    ensemble = AnchoredEnsemble(
        functional_prior(lengthscale),
        hidden=HIDDEN,
        n_pretrained=settings.n_pretrained,
        n_members=settings.n_members,
        noise=NOISE,
        resampling="likelihood",
        prior_points=settings.prior_points,
        pretrain_epochs=max(epochs, 1),
        bias_correction=settings.bias_correction,
        random_state=seed,
    )
    return ensemble.pretrain(n_features=1)


def train_anchored(ensemble: AnchoredEnsemble, regulariser: str, epochs: int) -> Prediction:
    """Anchored ensemble (Algorithm 2).

    Args:
        ensemble: A pre-trained ensemble.
        regulariser: "low_rank" (correlated, as proposed) or "factorised".
        epochs: To train to the data.
    """
    X, y = load_data()
    ensemble.set_params(regulariser=regulariser, epochs=epochs)
    return Prediction.of_networks(ensemble.fit(X, y).sample)


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


def train_as_published(ensemble: AnchoredEnsemble) -> Prediction:
    """Factorised ensemble with the anchors of `first_layer_anchors`.

    Args:
        ensemble: One that `train_anchored` has fitted with the factorised regulariser.
    """
    X, y = load_data()
    architecture, start = ensemble.architecture_, ensemble.anchors_
    seeds = seed_sequence(ensemble.random_state)
    generators = member_generators(spawn(seeds, SEED_RESAMPLING), len(start))
    covariance = ensemble.noise_covariance_
    _, targets = resample(X, y[:, None], "likelihood", covariance, generators)
    anchors = first_layer_anchors(start, architecture)
    prior = ensemble.weight_prior_
    if prior is None:
        raise ValueError("the ensemble has no weight prior: fit it with regulariser='factorised'")
    objective = Objective(np.linalg.inv(covariance), prior.regulariser(), anchors)
    result = train(
        architecture,
        start,
        X,
        targets,
        TrainingSettings(epochs=FACTORISED_EPOCHS, bias_correction=ensemble.bias_correction),
        seeds=member_seeds(spawn(seeds, SEED_TRAINING), len(start)),
        objective=objective,
    )
    return Prediction.of_networks(partial(architecture.forward, result.weights))


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
    found = {"vanilla": train_vanilla(settings, seed)}
    for scale in lengthscales:
        ensemble = pretrained(scale, settings, seed)
        found[f"prior {scale:g}"] = Prediction.of_networks(ensemble.sample_prior)
        epochs = CORRELATED_EPOCHS[scale]
        found[f"anchored {scale:g}"] = train_anchored(ensemble, "low_rank", epochs)
        found[f"factorised {scale:g}"] = train_anchored(ensemble, "factorised", FACTORISED_EPOCHS)
        found[f"published {scale:g}"] = train_as_published(ensemble)
        found[f"exact {scale:g}"] = exact_posterior(scale)
    return found


def repeat(settings: Example1D, seed: int) -> list[dict[str, Prediction]]:
    """Run `settings.repeats` times with independent seeds; see `run`."""
    seeds = np.random.SeedSequence(seed).generate_state(settings.repeats)
    return side_by_side(run, [(settings, int(s)) for s in seeds])
