"""Anchoring in weight space, Algorithm 2: the function and the scikit-learn estimator."""

from dataclasses import dataclass

import numpy as np

from bnn._seeding import Purpose, RandomState, seed_sequence, spawn
from bnn._validation import Array, Floats, check_kind, check_option
from bnn.estimators.fitting import Task, random_starts, train_to_data
from bnn.estimators.members import Members, check_weights
from bnn.estimators.pretrained_ensemble import PretrainedEnsemble
from bnn.estimators.pretraining import Pretrained, checked_data
from bnn.noise import RESAMPLINGS, Noise, noise_of_data
from bnn.storage import storable
from bnn.training.settings import TrainingSettings
from bnn.weight_priors import WEIGHT_PRIORS, ProperGaussian, WeightPrior

REGULARISERS = (*WEIGHT_PRIORS, "none")
# Proper Gaussians, whose optimum Gauss-Newton finds.
PROPER = [name for name, kind in WEIGHT_PRIORS.items() if issubclass(kind, ProperGaussian)]
SETTINGS = TrainingSettings(epochs=600)


def anchor(
    pretrained: Pretrained, X: Array, y: Array, *, noise: Noise = 0.1, n_members: int | None = None,
    regulariser: str | WeightPrior = "low_rank", anchors: str | Floats = "pretrained",
    start: str | Floats = "anchors", optimiser: str = "adam", resampling: str = "bootstrap",
    settings: TrainingSettings = SETTINGS, device: str = "cpu", progress: bool = False,
    random_state: RandomState = None,
) -> Members:  # fmt: skip
    """Train pre-trained networks to data, each held near its anchor by a prior over the weights.

    Member k minimises, with its own version of the data,

        Σ_i (y_i - f(x_i))ᵀ Σ_noise⁻¹ (y_i - f(x_i)) - 2 log p0(ω - ω0^[k]).

    Args:
        pretrained: Networks from `pretrain`; a weight prior is learnt from all of them.
        X: Inputs, (N, n_in).
        y: Outputs, (N,) or (N, n_out).
        noise: Standard deviation(s), or Σ_noise (n_out, n_out), in the units of y; or a
            HeteroscedasticNoise.
        n_members: K, the first of the pre-trained networks; None takes all.
        regulariser: The weight prior p0: "low_rank", "probabilistic_pca", "factorised",
            "generalised_normal", "isotropic" or "none" to leave the term out; or a density of its
            own, see bnn.weight_priors.
        anchors: ω0: "pretrained", "sampled" (drawn from the weight prior), or weights (K, d).
        start: "anchors", "random" (a vanilla ensemble's), or weights (K, d).
        optimiser: "adam", or "gauss_newton", which goes to the optimum, uses no settings and needs
            the regulariser "probabilistic_pca", "factorised" or "isotropic".
        resampling: "bootstrap" (rows with replacement), "likelihood" (y + noise) or "none".
        settings: Of the training loop.
        device: "cpu" or "cuda".
        progress: Whether to show a progress bar.
        random_state: Seed of the resampled data, shuffles, random starts and sampled anchors.

    Returns:
        The members.

    Raises:
        ValueError: If an argument is not admissible, or the data do not fit the networks.
        DivergenceError: If fewer than two members stayed finite.

    Warns:
        ConvergenceWarning: If Gauss-Newton did not bring all members to their optimum.
        BoundsWarning, NoiseWarning, PriorRangeWarning: If data do not fit bounds, noise or prior.

    Source: Algorithm 2 of the paper.
    """
    X, y = checked_data(pretrained, X, y, n_members)
    check_kind("settings", settings, TrainingSettings)
    check_anchoring(regulariser, anchors, optimiser, len(pretrained.weights))
    seeds, weight_prior = seed_sequence(random_state), pretrained.weight_prior(regulariser)
    n = min(n_members or len(pretrained.weights), len(pretrained.weights))
    if not isinstance(anchors, str):
        check_weights("anchors", anchors, pretrained.architecture)
        centres = anchors
    elif anchors == "sampled" and weight_prior is not None:
        centres = weight_prior.sample(n, spawn(seeds, Purpose.ANCHORS)).astype(np.float32)
    else:
        centres = pretrained.weights[:n]
    if not isinstance(start, str):
        check_weights("start", start, pretrained.architecture)
        first = start
    else:
        check_option("start", start, ("anchors", "random"))
        cold = start == "random"
        first = random_starts(pretrained.architecture, n, seeds) if cold else centres
    scalers = pretrained.input_scaler, pretrained.output_scaler
    kept = noise_of_data(noise, X, y)
    task = Task(pretrained.architecture, X, y, *scalers, kept, resampling, seeds)
    chosen = None if optimiser == "gauss_newton" else settings
    return train_to_data(task, first, chosen, device, progress, weight_prior, centres)


def check_anchoring(
    regulariser: str | WeightPrior, anchors: str | Floats, optimiser: str, n_pretrained: int
) -> None:
    """Raise ValueError where arguments of `anchor` do not fit each other."""
    if not isinstance(regulariser, WeightPrior):
        check_option("regulariser", regulariser, REGULARISERS)
    check_option("optimiser", optimiser, ("adam", "gauss_newton"))
    proper = isinstance(regulariser, ProperGaussian) or regulariser in PROPER
    if optimiser == "gauss_newton" and not proper:
        raise ValueError(
            f"regulariser = {regulariser!r}: optimiser = 'gauss_newton' needs a proper Gaussian, "
            f"{', '.join(PROPER)}"
        )
    if isinstance(anchors, str):
        check_option("anchors", anchors, ("pretrained", "sampled"))
        if anchors == "sampled" and regulariser == "none":
            raise ValueError("anchors = 'sampled': needs a regulariser other than 'none'")
    if regulariser == "probabilistic_pca" and n_pretrained < 3:
        raise ValueError(
            f"n_pretrained = {n_pretrained}: regulariser = 'probabilistic_pca' needs 3"
        )


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class AnchoredEnsemble(PretrainedEnsemble):
    """Ensemble pre-trained to a functional prior, whose members are anchored by their weights.

    Each member is held near its pre-trained weights by a prior over the weights, which is learnt
    from all pre-trained networks; see `bnn.pretrain` and `bnn.anchor`. With the defaults, which are
    the published ones, members spread wider than the posterior; see `bnn.FunctionAnchoredEnsemble`.

    Args:
        regulariser: The weight prior, one of REGULARISERS.
        anchors: "pretrained" (ω0^[k] themselves) or "sampled" (drawn from the weight prior).
        optimiser: "adam" for `epochs`, as published, or "gauss_newton", see `bnn.anchor`.
        resampling: "bootstrap" (rows with replacement), "likelihood" (y + noise) or "none".
        epochs: Training epochs.

    Attributes:
        pretrained_: The pre-trained networks, a bnn.Pretrained.
        members_: The trained networks, a bnn.Members.

    Source: Algorithms 2 and 3 of the paper.
    """

    regulariser: str = "low_rank"
    anchors: str = "pretrained"
    optimiser: str = "adam"
    resampling: str = "bootstrap"
    epochs: int = 600

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("resampling", self.resampling, RESAMPLINGS)
        check_anchoring(self.regulariser, self.anchors, self.optimiser, self._most_members)
        self._settings(self.epochs)

    def _trained(self, X: Array, y: Array) -> Members:
        pretrained, settings = self._pretrained_for(X, y), self._settings(self.epochs)
        chosen = self._arguments_of(anchor)
        return anchor(pretrained, X, y, settings=settings, **chosen)
