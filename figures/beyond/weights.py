"""Ablation of the anchored ensemble in weight space: what the start and the regulariser do."""

from dataclasses import dataclass

import numpy as np

import bnn
from bnn import (
    GaussianProcessPrior,
    LowRankGaussian,
    Members,
    Pretrained,
    TrainingSettings,
    anchor,
    data_gradient,
)

HIDDEN = (20, 20, 20, 20)


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
    """Training data in scaled units, with the noise that the methods are told."""

    X: np.ndarray  # (N, n_in)
    y: np.ndarray  # (N, n_out)
    noise: np.ndarray  # standard deviations (n_out,) or Σ_noise (n_out, n_out)


@dataclass(frozen=True)
class Trained:
    """Networks trained to data.

    Attributes:
        members: The networks.
        anchors: Pre-trained weights ω0 of the same networks, (K, d).
        prior: The low-rank prior of the pre-trained weights, whatever the regulariser was.
    """

    members: Members
    anchors: np.ndarray
    prior: LowRankGaussian

    def diagnostics(self) -> dict[str, float]:
        """What the low-rank regulariser saw, as means over networks.

        Returns:
            penalty: (K-1) |S⁻¹ Vᵀ (ω - ω0)|² at the end.
            gradient_in_span: Part of |∂ data term / ∂ω|² at the start that lies in span(V).
            step_in_span: Part of |ω - start|² that lies in span(V).
            dimension: (K-1) / d, which a random direction would have.
        """
        members = self.members
        gradient = data_gradient(members, members.start)
        return {
            "penalty": float(self.prior.penalty(members.weights, self.anchors).mean()),
            "gradient_in_span": in_span(self.prior.directions, gradient),
            "step_in_span": in_span(self.prior.directions, members.weights - members.start),
            "dimension": self.prior.rank / members.weights.shape[1],
        }


def in_span(directions: np.ndarray, vectors: np.ndarray) -> float:
    """Part of the squared length of vectors (K, d) along directions V (d, r), mean over them."""
    vectors = np.asarray(vectors, dtype=float)
    return float(np.mean(np.sum((vectors @ directions) ** 2, 1) / np.sum(vectors**2, 1)))


def pretrain(
    prior: GaussianProcessPrior, n_features: int, count: int, points: int, epochs: int, seed: int
) -> Pretrained:
    """Pre-train networks to realisations of a prior (Algorithm 3).

    Args:
        prior: Functional prior, in scaled units.
        n_features: Number of inputs.
        count: Networks.
        points: M, at which the prior is fitted.
        epochs: Of pre-training.
        seed: Of everything random.
    """
    return bnn.pretrain(
        prior,
        n_features=n_features,
        prior_points=points,
        n_pretrained=count,
        hidden=HIDDEN,
        settings=TrainingSettings(epochs=epochs),
        random_state=seed,
    )


def block(pool: Pretrained, first: int, count: int) -> Pretrained:
    """Some of the networks: `count` from number `first` on, going round at the end."""
    return pool.select(np.arange(first, first + count) % len(pool.weights))


def train_weights(
    method: Method, networks: Pretrained, data: Data, n_members: int, epochs: int, seed: int,
    resampling: str = "bootstrap",
) -> Trained:  # fmt: skip
    """Train the first networks to data.

    Args:
        method: How.
        networks: Pre-trained; all of them are behind the weight prior.
        data: To fit.
        n_members: Networks trained.
        epochs: Of training.
        seed: Of resampled data, minibatches and random starts; methods with equal seeds share
            these.
        resampling: See bnn.anchor.
    """
    members = anchor(
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
    prior = LowRankGaussian.fit(networks.weights, networks.architecture)
    return Trained(members, networks.weights[:n_members], prior)
