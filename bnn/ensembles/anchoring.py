"""Anchoring in weight space, Algorithm 2: the function and the scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bnn._seeding import Purpose, RandomState, seed_sequence, spawn
from bnn._settings import Settings
from bnn._validation import (
    Array,
    Floats,
    check_kind,
    check_option,
    own_copy,
)
from bnn.ensembles.ensemble import PretrainedEnsemble
from bnn.ensembles.members import Members, Task, check_weights, random_starts, train_to_data
from bnn.ensembles.pretraining import Pretrained, Pretraining, check_data, checked_data
from bnn.ensembles.training_data import TrainingData
from bnn.ensembles.weight_priors import WEIGHT_PRIORS, ProperGaussian, WeightPrior
from bnn.networks.architecture import Architecture
from bnn.noise import RESAMPLINGS, Noise
from bnn.scaling import Scaling
from bnn.storage import storable
from bnn.training.settings import TrainingSettings

REGULARISERS = (*WEIGHT_PRIORS, "none")
# Priors for which Gauss-Newton is available: Gaussians with an invertible covariance.
PROPER = [name for name, kind in WEIGHT_PRIORS.items() if issubclass(kind, ProperGaussian)]
OPTIMISERS = ("adam", "gauss_newton")


@storable
@dataclass(eq=False, repr=False)
class Anchoring(Settings):
    """How a prior over the weights keeps networks near their pre-trained weights.

    The defaults are the published settings. Use the others for comparisons.

    Args:
        regulariser: Weight prior p0: "low_rank", "probabilistic_pca", "factorised",
            "generalised_normal" or "isotropic", learnt from the pre-trained networks; a given
            density, such as a LowRankGaussian; or "none" to omit the regularisation term.
            "low_rank" is the sample covariance Σ0, and "probabilistic_pca" Σ0 + τ² I, with τ²
            chosen on held-out networks. "factorised" and "generalised_normal" have a variance for
            each weight matrix and bias vector, "isotropic" has one for all weights.
        anchors: ω0: "pretrained" (the pre-trained weights), "sampled" (drawn from the weight
            prior), or weights (K, d).
        initial_weights: "anchors", "random" (as in a vanilla ensemble), or weights (K, d).
        optimiser: "adam", or "gauss_newton", which converges to the optimum and needs the
            regulariser "probabilistic_pca", "factorised" or "isotropic".
        resampling: "bootstrap" (rows with replacement), "likelihood" (y + noise) or "none".

    Examples:
        >>> import bnn
        >>> bnn.Anchoring("isotropic", resampling="likelihood").anchors
        'pretrained'
        >>> model = bnn.AnchoredEnsemble().set_params(anchoring__regulariser="factorised")
        >>> model.anchoring.regulariser
        'factorised'
    """

    regulariser: str | WeightPrior = "low_rank"
    anchors: str | Floats = "pretrained"
    initial_weights: str | Floats = "anchors"
    optimiser: str = "adam"
    resampling: str = "bootstrap"

    def __post_init__(self) -> None:
        if not isinstance(self.regulariser, WeightPrior):
            check_option("regulariser", self.regulariser, REGULARISERS)
        check_option("optimiser", self.optimiser, OPTIMISERS)
        check_option("resampling", self.resampling, RESAMPLINGS)
        proper = isinstance(self.regulariser, ProperGaussian) or self.regulariser in PROPER
        if self.optimiser == "gauss_newton" and not proper:
            raise ValueError(
                f"regulariser = {self.regulariser!r:.60}: must be a proper Gaussian for "
                f"optimiser = 'gauss_newton', such as {', '.join(PROPER)}"
            )
        if not isinstance(self.anchors, np.ndarray):
            check_option("anchors", self.anchors, ("pretrained", "sampled"))
            if self.anchors == "sampled" and self.regulariser == "none":
                raise ValueError("anchors = 'sampled': needs a regulariser other than 'none'")
        if not isinstance(self.initial_weights, np.ndarray):
            check_option("initial_weights", self.initial_weights, ("anchors", "random"))
        self.anchors = own_copy(self.anchors)
        self.initial_weights = own_copy(self.initial_weights)


TRAINING = TrainingSettings(epochs=600)
ANCHORING = Anchoring()


def train_anchored(
    pretrained: Pretrained,
    X: Array,
    y: Array,
    *,
    noise: Noise | str | None = None,
    noise_std: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_members: int | None = None,
    training: TrainingSettings = TRAINING,
    anchoring: Anchoring = ANCHORING,
    device: str = "cpu",
    random_state: RandomState = None,
) -> Members:
    """Train pre-trained networks on data, each kept near its anchor by a prior over the weights.

    Member k minimises, with its own resampled data,

        Σ_i (y_i - f(x_i))ᵀ Σ_noise⁻¹ (y_i - f(x_i)) - 2 log p0(ω - ω0^[k]).

    Args:
        pretrained: Networks from `pretrain`; the weight prior is learnt from all of them.
        X: Inputs, (N, n_in).
        y: Outputs, (N,) or (N, n_out).
        noise: Standard deviation(s) in the units of y, Σ_noise (n_out, n_out), or a
            HeteroscedasticNoise. None or "constant" estimates constant standard deviations from the
            evidence of the data; "heteroscedastic" estimates a HeteroscedasticNoise.
        noise_std: Known standard deviation of the noise of each datum, (N,) or (N, n_out). It is
            the whole noise if `noise` is None; otherwise `noise` is added to it.
        sample_weight: Weights of the data, (N,). The variances of `noise` are divided by them. Rows
            of weight zero are left out.
        n_members: Number of members, K: the first K pre-trained networks; None takes all.
        training: Number of epochs, 600 by default, and settings of Adam.
        anchoring: Weight prior, anchors, initial weights, optimiser and resampling.
        device: "cpu" or "cuda".
        random_state: Seed of the resampled data, shuffles, initial weights and sampled anchors.

    Returns:
        The members.

    Raises:
        ValueError: If an argument is invalid, or the data do not match the networks.
        DivergenceError: If the weights of fewer than two members stayed finite.

    Warns:
        ConvergenceWarning: If Gauss-Newton did not bring all members to their optimum.
        BoundsWarning: If data lie far outside the bounds that scale them.
        NoiseWarning: If the noise exceeds the scatter of the data.
        PriorRangeWarning: If most data lie outside the range of the pre-training.

    Source: Algorithm 2 of the paper.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
        >>> brief = bnn.TrainingSettings(epochs=5)
        >>> network = bnn.Architecture((8, 8), "silu")
        >>> settings = bnn.Pretraining(n_networks=4, n_points=20, training=brief)
        >>> networks = bnn.pretrain(prior, X, network=network, settings=settings, random_state=0)
        >>> bnn.train_anchored(networks, X, y, noise=0.05, training=brief, random_state=0)
        Members(4 networks of widths (1, 8, 8, 1))
    """
    X, y = checked_data(pretrained, X, y, n_members)
    data = TrainingData.checked(X, y, noise, noise_std, sample_weight)
    return _train_anchored(pretrained, data, n_members, training, anchoring, device, random_state)


def _train_anchored(
    pretrained: Pretrained,
    data: TrainingData,
    n_members: int | None,
    training: TrainingSettings,
    anchoring: Anchoring,
    device: str,
    random_state: RandomState,
) -> Members:
    """Train as `train_anchored` on checked data."""
    check_data(pretrained, data.X, data.y)
    check_kind("training", training, TrainingSettings)
    check_kind("anchoring", anchoring, Anchoring)
    check_enough(anchoring, len(pretrained.weights))
    seeds = seed_sequence(random_state)
    weight_prior = pretrained.weight_prior(anchoring.regulariser)
    n = min(n_members or len(pretrained.weights), len(pretrained.weights))
    centres = _anchors(anchoring.anchors, pretrained, weight_prior, n, seeds)
    first = _initial_weights(anchoring.initial_weights, pretrained, centres, n, seeds)
    noise, covariances = data.noise_of_training()
    task = Task(
        architecture=pretrained.architecture,
        X=data.X,
        y=data.targets,
        input_scaler=pretrained.input_scaler,
        output_scaler=pretrained.output_scaler,
        noise_covariance=noise,
        covariances=None if data.data_noise is None else covariances,
        resampling=anchoring.resampling,
        seeds=seeds,
    )
    return train_to_data(
        task,
        first,
        training,
        device,
        weight_prior=weight_prior,
        anchors=centres,
        optimiser=anchoring.optimiser,
    )


def _anchors(
    anchors: str | Floats,
    pretrained: Pretrained,
    weight_prior: WeightPrior | None,
    n: int,
    seeds: np.random.SeedSequence,
) -> Floats:
    """Return the anchors ω0, (K, d)."""
    if not isinstance(anchors, str):
        check_weights("anchors", anchors, pretrained.architecture)
        return anchors
    if anchors == "sampled" and weight_prior is not None:
        return weight_prior.sample(n, spawn(seeds, Purpose.ANCHORS)).astype(np.float32)
    return pretrained.weights[:n]


def _initial_weights(
    initial_weights: str | Floats,
    pretrained: Pretrained,
    centres: Floats,
    n: int,
    seeds: np.random.SeedSequence,
) -> Floats:
    """Return the initial weights of the training, (K, d)."""
    if not isinstance(initial_weights, str):
        check_weights("initial_weights", initial_weights, pretrained.architecture)
        return initial_weights
    return (
        random_starts(pretrained.architecture, n, seeds) if initial_weights == "random" else centres
    )


def check_enough(anchoring: Anchoring, n_networks: int) -> None:
    """Raise ValueError if there are too few networks to learn the weight prior from."""
    if anchoring.regulariser == "probabilistic_pca" and n_networks < 3:
        raise ValueError(
            f"pretraining.n_networks = {n_networks}: must be at least 3 for regulariser = "
            "'probabilistic_pca'"
        )


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class AnchoredEnsemble(PretrainedEnsemble):
    """Ensemble pre-trained on a functional prior, whose members are anchored in weight space.

    A prior over the weights keeps each member near its pre-trained weights. It is learnt from all
    pre-trained networks; see `bnn.pretrain` and `bnn.train_anchored`. With the defaults (the
    published settings) the standard deviations are larger than those of the exact posterior. Use
    `bnn.FunctionAnchoredEnsemble` to approximate the posterior.

    Args:
        prior: p(g), such as a GaussianProcessPrior. None takes the average over families of kernels
            that `evidence.fit_kernel_average` returns for the data. A bnn.Pretrained replaces the
            pre-training, whose parameters then have no effect.
        noise: Standard deviation(s) in the units of y, Σ_noise (n_out, n_out), or a
            HeteroscedasticNoise. None or "constant" estimates constant standard deviations from the
            evidence of the data; "heteroscedastic" estimates a HeteroscedasticNoise.
        n_members: Number of members, K: the first K pre-trained networks.
        network: Hidden layers, activation and initial weights; None is Architecture().
        pretraining: Pre-training on the prior; None is Pretraining().
        training: Training on the data; None is TrainingSettings(epochs=600).
        anchoring: Weight prior, anchors, initial weights, optimiser and resampling; None is
            Anchoring().
        scaling: Bounds of inputs and outputs; None is Scaling(), the ranges of the data.
        device: "cpu" or "cuda".
        random_state: Seed.

    Attributes:
        pretrained_: The pre-trained networks, a bnn.Pretrained.
        members_: The trained networks, a bnn.Members.

    Source: Algorithms 2 and 3 of the paper.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
        >>> model = bnn.AnchoredEnsemble(
        ...     prior,
        ...     noise=0.05,
        ...     n_members=3,
        ...     network=bnn.Architecture((8, 8)),
        ...     pretraining=bnn.Pretraining(4, 20, training=bnn.TrainingSettings(epochs=5)),
        ...     training=bnn.TrainingSettings(epochs=5),
        ...     random_state=0,
        ... )
        >>> model.fit(X, y).predict(X).shape
        (12,)
        >>> model.sample_prior(X).shape
        (4, 12, 1)
    """

    noise: Noise | str | None = None
    n_members: int = 30
    network: Architecture | None = None
    pretraining: Pretraining | None = None
    training: TrainingSettings | None = None
    anchoring: Anchoring | None = None
    scaling: Scaling | None = None
    device: str = "cpu"
    random_state: RandomState = None

    group_defaults: ClassVar[dict[str, Settings]] = {
        "network": Architecture(),
        "pretraining": Pretraining(),
        "training": TRAINING,
        "anchoring": ANCHORING,
        "scaling": Scaling(),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_enough(self.group("anchoring"), self._most_members)

    def _trained(self, data: TrainingData, keep_prior: bool) -> Members:
        pretrained, data = self._prepared(data, keep_prior)
        return _train_anchored(
            pretrained,
            data,
            self.n_members,
            self.group("training"),
            self.group("anchoring"),
            self.device,
            self.random_state,
        )
