"""Training of networks in notebook 05: variants in weight space, and in function space."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import bnn
from bnn.ensembles.members import data_gradient
from bnn.priors.function_prior import FunctionalPrior
from figures.pipeline.settings import OtherMethods
from figures.pipeline.training import PRIOR_RANGE, UNSCALED

# The paper's network, and a smooth network that fits realisations of a prior more closely.
PAPER = bnn.Architecture(hidden=(20, 20, 20, 20), activation="leaky_relu")
SMOOTH = bnn.Architecture(hidden=(50, 50, 50), activation="silu")


@dataclass(frozen=True)
class Method:
    """A way to train networks on data in weight space."""

    label: str  # for tables and figures
    regulariser: str = "none"  # of bnn.train_anchored; "none" for no penalty
    warm: bool = True  # whether initial weights are pre-trained, else random
    converged: bool = False  # whether training continues after the published epochs
    optimum: bool = False  # whether Gauss-Newton finds the optimum, instead of Adam


METHODS = {
    "vanilla": Method("vanilla", warm=False),
    "none": Method("pre-trained initial weights, no regulariser"),
    "low_rank": Method("anchored (published)", "low_rank"),
    "isotropic": Method("anchored, isotropic weight prior", "isotropic"),
    "factorised": Method("anchored, factorised weight prior", "factorised"),
    "generalised_normal": Method("anchored, generalised normal weight prior", "generalised_normal"),
    "random_low_rank": Method("anchored, random initial weights", "low_rank", warm=False),
    "none_converged": Method("no regulariser, trained to convergence", converged=True),
    "low_rank_converged": Method("anchored, trained to convergence", "low_rank", converged=True),
    "proper": Method(
        "anchored, full-rank weight prior Σ0 + τ²I, at the optimum",
        "probabilistic_pca",
        optimum=True,
    ),
}
CORE = ("vanilla", "none", "low_rank")  # methods that are trained on every training set


@dataclass(frozen=True)
class Data:
    """Scaled training data, with the noise that the methods are given."""

    X: np.ndarray  # (N, n_in)
    y: np.ndarray  # (N, n_out)
    noise: np.ndarray  # standard deviations (n_out,) or Σ_noise (n_out, n_out)


def pretrained(
    prior: FunctionalPrior,
    network: bnn.Architecture,
    settings: OtherMethods,
    seed: int,
    *,
    count: int,
    epochs: int,
    n_features: int,
) -> bnn.Pretrained:
    """Pre-train networks to a functional prior (Algorithm 3)."""
    return bnn.pretrain(
        prior,
        n_features=n_features,
        network=network,
        settings=bnn.Pretraining(
            n_networks=count,
            n_points=settings.prior_points,
            range_factor=PRIOR_RANGE,
            training=bnn.TrainingSettings(epochs=epochs),
        ),
        scaling=UNSCALED,
        random_state=seed,
    )


def block(pool: bnn.Pretrained, first: int, count: int) -> bnn.Pretrained:
    """Select `count` networks, starting at number `first`, and continuing at 0 after the last."""
    return pool.select(np.arange(first, first + count) % len(pool.weights))


def train_weights(
    method: Method,
    networks: bnn.Pretrained,
    data: Data,
    *,
    n_members: int,
    epochs: int,
    seed: int,
    resampling: str = "bootstrap",
) -> bnn.Members:
    """Train the first n_members networks on data; the weight prior is fitted to all of them."""
    # Methods with equal seeds share resampled data, minibatches and random initial weights.
    return bnn.train_anchored(
        networks,
        data.X,
        data.y,
        noise=data.noise,
        n_members=n_members,
        training=bnn.TrainingSettings(epochs=epochs),
        anchoring=bnn.Anchoring(
            regulariser=method.regulariser,
            initial_weights="anchors" if method.warm else "random",
            optimiser="gauss_newton" if method.optimum else "adam",
            resampling=resampling,
        ),
        random_state=seed,
    )


def train_functions(networks: bnn.Pretrained, data: Data, points: int, seed: int) -> bnn.Members:
    """Anchor networks in function space with a number of points; ignore convergence warnings."""
    anchoring = bnn.FunctionAnchoring(n_points=points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return bnn.train_function_anchored(
            networks, data.X, data.y, noise=data.noise, anchoring=anchoring, random_state=seed
        )


def diagnostics(members: bnn.Members, networks: bnn.Pretrained) -> dict[str, float]:
    """Return how the low-rank regulariser acts on networks trained with any regulariser.

    The numbers are means over the networks, see `WeightSpaceScores`.
    """
    prior = bnn.LowRankGaussian.fit(networks.weights, networks.architecture)
    gradient = data_gradient(members, members.initial_weights)
    penalty = prior.penalty(members.weights, networks.weights[members.numbers])
    return {  # fields of `WeightSpaceScores`
        "penalty": float(penalty.mean()),
        "gradient_in_span": part_in_span(prior.directions, gradient),
        "step_in_span": part_in_span(prior.directions, members.weights - members.initial_weights),
        "dimension": prior.rank / members.weights.shape[1],
    }


def part_in_span(directions: np.ndarray, vectors: np.ndarray) -> float:
    """Return the share of |v|² of vectors v (K, d) along directions V (d, r), their mean."""
    vectors = np.asarray(vectors, dtype=float)
    return float(np.mean(np.sum((vectors @ directions) ** 2, 1) / np.sum(vectors**2, 1)))
