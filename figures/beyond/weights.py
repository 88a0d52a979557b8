"""How networks are trained in notebook 05: the ablation in weight space, and in function space."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bnn import (
    FunctionAnchoring,
    LowRankGaussian,
    Members,
    Pretrained,
    TrainingSettings,
    anchor,
    anchor_functions,
    data_gradient,
)

# The paper's network, and a smooth one that follows realisations of a prior more closely.
PAPER: dict[str, Any] = {"hidden": (20, 20, 20, 20), "activation": "leaky_relu"}
SMOOTH: dict[str, Any] = {"hidden": (50, 50, 50), "activation": "silu"}


@dataclass(frozen=True)
class Method:
    """One way to train networks to data in weight space.

    Attributes:
        label: For tables and pictures.
        regulariser: Of bnn.anchor; "none" for no term at all.
        warm: Whether the networks start from pre-trained weights, else from random ones.
        converged: Whether they are trained on, after the published epochs.
        optimum: Whether Gauss-Newton finds the optimum instead.
    """

    label: str
    regulariser: str = "none"
    warm: bool = True
    converged: bool = False
    optimum: bool = False


METHODS = {
    "vanilla": Method("vanilla", warm=False),
    "none": Method("pre-trained start, no regulariser"),
    "low_rank": Method("anchored, low rank (published)", "low_rank"),
    "isotropic": Method("anchored, isotropic", "isotropic"),
    "factorised": Method("anchored, factorised", "factorised"),
    "generalised_normal": Method("anchored, generalised normal", "generalised_normal"),
    "random_low_rank": Method("random start, low rank", "low_rank", warm=False),
    "none_converged": Method("no regulariser, to convergence", converged=True),
    "low_rank_converged": Method("low rank, to convergence", "low_rank", converged=True),
    "proper": Method("proper prior Σ0 + τ²I, optimum", "probabilistic_pca", optimum=True),
}
CORE = ("vanilla", "none", "low_rank")  # trained on every training set


@dataclass(frozen=True)
class Data:
    """Training data in scaled units, with the noise that the methods are told.

    Attributes:
        X: (N, n_in).
        y: (N, n_out).
        noise: Standard deviations (n_out,) or Σ_noise (n_out, n_out).
    """

    X: np.ndarray
    y: np.ndarray
    noise: np.ndarray


def block(pool: Pretrained, first: int, count: int) -> Pretrained:
    """Some of the networks: `count` from number `first` on, going round at the end."""
    return pool.select(np.arange(first, first + count) % len(pool.weights))


def train_weights(
    method: Method,
    networks: Pretrained,
    data: Data,
    *,
    n_members: int,
    epochs: int,
    seed: int,
    resampling: str = "bootstrap",
) -> Members:
    """Train the first networks to data; all of them are behind the weight prior.

    Methods with equal seeds share resampled data, minibatches and random starts.
    """
    return anchor(
        networks,
        data.X,
        data.y,
        noise=data.noise,
        n_members=n_members,
        regulariser=method.regulariser,
        start="anchors" if method.warm else "random",
        optimiser="gauss_newton" if method.optimum else "adam",
        resampling=resampling,
        settings=TrainingSettings(epochs=epochs),
        random_state=seed,
    )


def train_functions(networks: Pretrained, data: Data, points: int, seed: int) -> Members:
    """Anchor networks in function space, compared at so many points beside the training inputs.

    Members need not all arrive: their distance to the posterior is shown.
    """
    settings = FunctionAnchoring(points=points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return anchor_functions(
            networks, data.X, data.y, noise=data.noise, settings=settings, random_state=seed
        )


def diagnostics(members: Members, networks: Pretrained) -> dict[str, float]:
    """What the low-rank regulariser sees of networks, whatever they were trained with.

    Args:
        members: Trained networks.
        networks: Behind the low-rank prior; the first of them are the anchors.

    Returns:
        Means over the members.
        penalty: (K-1) |S⁻¹ Vᵀ (ω - ω0)|² at the end.
        gradient_in_span: Part of |∂ data term / ∂ω|² at the start that lies in span(V).
        step_in_span: Part of |ω - start|² that lies in span(V).
        dimension: (K-1) / d, which a random direction would have.
    """
    prior = LowRankGaussian.fit(networks.weights, networks.architecture)
    gradient = data_gradient(members, members.start)
    penalty = prior.penalty(members.weights, networks.weights[members.numbers])
    return {
        "penalty": float(penalty.mean()),
        "gradient_in_span": part_in_span(prior.directions, gradient),
        "step_in_span": part_in_span(prior.directions, members.weights - members.start),
        "dimension": prior.rank / members.weights.shape[1],
    }


def part_in_span(directions: np.ndarray, vectors: np.ndarray) -> float:
    """Part of the squared length of vectors (K, d) along directions V (d, r), mean over them."""
    vectors = np.asarray(vectors, dtype=float)
    return float(np.mean(np.sum((vectors @ directions) ** 2, 1) / np.sum(vectors**2, 1)))
