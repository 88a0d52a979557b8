"""Ablation of the anchored ensemble in weight space: what the start and the regulariser do."""

from dataclasses import dataclass

import numpy as np
import torch

from bnn import AnchoredEnsemble, Architecture, TrainingSettings, train
from bnn._seeding import member_generators, member_seeds, seed_sequence, spawn
from bnn.ensembles.anchored import OPTIMUM
from bnn.ensembles.base import SEED_RESAMPLING, SEED_START, SEED_TRAINING
from bnn.function_priors.samplers import FunctionalPrior
from bnn.gauss_newton.weight_space import fit_weights
from bnn.noise import noise_covariance, resample
from bnn.training.backprop import LayerBlocks, Pass, with_ones
from bnn.training.members import Objective
from bnn.weight_priors import WEIGHT_PRIORS, LowRankGaussian, ProperGaussian

HIDDEN = (20, 20, 20, 20)


@dataclass(frozen=True)
class Method:
    """One way to train networks to data in weight space.

    Attributes:
        label: For tables and pictures.
        regulariser: Key of WEIGHT_PRIORS; None for no term at all.
        warm: Whether the networks start from pre-trained weights, else from random ones.
        converged: Whether they are trained on, after the published epochs.
        optimum: Whether Gauss-Newton finds the optimum instead.
    """

    label: str
    regulariser: str | None = None
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

    @property
    def covariance(self) -> np.ndarray:
        """Σ_noise, (n_out, n_out)."""
        return noise_covariance(self.noise, self.y.shape[1])


@dataclass(frozen=True)
class Networks:
    """Networks pre-trained to a functional prior, with one common random start."""

    architecture: Architecture
    pretrained: np.ndarray  # (K, d)

    def subset(self, first: int, count: int) -> "Networks":
        """Some of them: `count` from number `first` on, going round at the end."""
        return Networks(self.architecture, np.roll(self.pretrained, -first, axis=0)[:count])


@dataclass(frozen=True)
class Trained:
    """Networks trained to data.

    Attributes:
        weights: (K, d).
        start: Where they started, (K, d).
        anchors: Pre-trained weights ω0 of the same networks, (K, d).
        prior: The low-rank prior of the pre-trained weights, whatever the regulariser was.
        gradient: Of the data term at the start, (K, d).
    """

    architecture: Architecture
    weights: np.ndarray
    start: np.ndarray
    anchors: np.ndarray
    prior: LowRankGaussian
    gradient: np.ndarray

    def sample(self, X: np.ndarray) -> np.ndarray:
        """Evaluate at X (n, n_in): (K, n, n_out)."""
        return self.architecture.forward(self.weights, X.astype(np.float32)).astype(float)

    def diagnostics(self) -> dict[str, float]:
        """What the low-rank regulariser saw, as means over networks.

        Returns:
            penalty: (K-1) |S⁻¹ Vᵀ (ω - ω0)|² at the end.
            gradient_in_span: Part of |∂ data term / ∂ω|² at the start that lies in span(V).
            step_in_span: Part of |ω - start|² that lies in span(V).
            dimension: (K-1) / d, which a random direction would have.
        """
        return {
            "penalty": float(self.prior.penalty(self.weights, self.anchors).mean()),
            "gradient_in_span": in_span(self.prior.directions, self.gradient),
            "step_in_span": in_span(self.prior.directions, self.weights - self.start),
            "dimension": self.prior.rank / self.weights.shape[1],
        }


def in_span(directions: np.ndarray, vectors: np.ndarray) -> float:
    """Part of the squared length of vectors (K, d) along directions V (d, r), mean over them."""
    vectors = np.asarray(vectors, dtype=float)
    return float(np.mean(np.sum((vectors @ directions) ** 2, 1) / np.sum(vectors**2, 1)))


def data_gradient(
    architecture: Architecture,
    weights: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    precision: np.ndarray,
) -> np.ndarray:
    """Gradient of ½ Σ_i (y_i - f(x_i))ᵀ P (y_i - f(x_i)) of each network.

    Args:
        architecture: The networks.
        weights: (K, d).
        X: (N, n_in) or (K, N, n_in).
        y: (K, N, n_out).
        precision: P, (n_out, n_out).

    Returns:
        (K, d).
    """
    K, n = y.shape[:2]
    blocks = LayerBlocks(architecture, K, torch.device("cpu")).load(torch.as_tensor(weights))
    gradients = LayerBlocks(architecture, K, torch.device("cpu"))
    run = Pass(architecture, blocks, gradients, n)
    inputs = run.inputs(with_ones(torch.as_tensor(X, dtype=torch.float32)).expand(K, n, -1))
    outputs = run.forward(inputs).transpose(1, 2).numpy()
    run.delta.copy_(torch.as_tensor(((outputs - y) @ precision).transpose(0, 2, 1)))
    run.backward(inputs)
    return gradients.export().numpy()


def pretrain(
    prior: FunctionalPrior, n_features: int, count: int, points: int, epochs: int, seed: int
) -> Networks:
    """Pre-train networks to realisations of a prior (Algorithm 3).

    Args:
        prior: Functional prior, in scaled units.
        n_features: Number of inputs.
        count: Networks.
        points: M, at which the prior is fitted.
        epochs: Of pre-training.
        seed: Of everything random.
    """
    ensemble = AnchoredEnsemble(
        prior,
        hidden=HIDDEN,
        n_pretrained=count,
        n_members=2,
        prior_points=points,
        pretrain_epochs=epochs,
        random_state=seed,
    ).pretrain(n_features=n_features)
    return Networks(ensemble.architecture_, ensemble.pretrained_weights_)


def train_weights(
    method: Method, networks: Networks, data: Data, n_members: int, epochs: int, seed: int,
    resampling: str = "bootstrap",
) -> Trained:  # fmt: skip
    """Train the first networks to data; the draws are those of `AnchoredEnsemble`.

    Args:
        method: How.
        networks: Pre-trained; all of them are behind the weight prior.
        data: To fit.
        n_members: Networks trained.
        epochs: Of training.
        seed: Of resampled data, minibatches and random starts; methods with equal seeds share
            these.
        resampling: See AnchoredEnsemble.
    """
    seeds, architecture = seed_sequence(seed), networks.architecture
    anchors = networks.pretrained[:n_members]
    start = anchors if method.warm else random_starts(architecture, n_members, seed)
    generators = member_generators(spawn(seeds, SEED_RESAMPLING), n_members)
    X, y = resample(data.X, data.y, resampling, data.covariance, generators)
    density = None
    if method.regulariser is not None:
        density = WEIGHT_PRIORS[method.regulariser].fit(networks.pretrained, architecture)
    precision = np.linalg.inv(data.covariance)
    if method.optimum:
        assert isinstance(density, ProperGaussian)
        parts = density.covariance_parts()
        weights = fit_weights(architecture, start, X, y, data.covariance, parts, OPTIMUM).weights
    else:
        term = None if density is None else density.regulariser()
        weights = train(
            architecture,
            start,
            X,
            y,
            TrainingSettings(epochs=epochs),
            seeds=member_seeds(spawn(seeds, SEED_TRAINING), n_members),
            objective=Objective(precision, term, anchors),
        ).weights
    return Trained(
        architecture,
        weights,
        start,
        anchors,
        LowRankGaussian.fit(networks.pretrained, architecture),
        data_gradient(architecture, start, X, y, precision),
    )


def random_starts(architecture: Architecture, n_members: int, seed: int) -> np.ndarray:
    """The starts of a vanilla ensemble, (K, d)."""
    generators = member_generators(spawn(seed_sequence(seed), SEED_START), n_members)
    return np.concatenate([architecture.initial_weights(1, rng) for rng in generators])
