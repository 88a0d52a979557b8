"""Anchoring in weight space, Algorithm 2 of the paper."""

from __future__ import annotations

import numpy as np

from bnn._seeding import (
    Purpose,
    RandomState,
    seed_sequence,
    spawn,
)
from bnn._validation import Array, Floats, check_option
from bnn.ensembles.fitting import random_starts, train_to_data
from bnn.ensembles.networks import Members
from bnn.ensembles.pretraining import Pretrained
from bnn.noise import Noise, noise_covariance
from bnn.training.settings import TrainingSettings
from bnn.weight_priors import WEIGHT_PRIORS, ProperGaussian

REGULARISERS = (*WEIGHT_PRIORS, "none")
# Proper Gaussians, whose optimum Gauss-Newton finds.
PROPER = [name for name, kind in WEIGHT_PRIORS.items() if issubclass(kind, ProperGaussian)]
SETTINGS = TrainingSettings(epochs=600)


def anchor(
    pretrained: Pretrained,
    X: Array,
    y: Array,
    *,
    noise: Noise = 0.1,
    n_members: int | None = None,
    regulariser: str = "low_rank",
    anchors: str | Floats = "pretrained",
    start: str | Floats = "anchors",
    optimiser: str = "adam",
    resampling: str = "bootstrap",
    settings: TrainingSettings = SETTINGS,
    device: str = "cpu",
    progress: bool = False,
    random_state: RandomState = None,
) -> Members:
    """Train pre-trained networks to data, each held near its anchor by a prior over the weights.

    Member k minimises, with its own version of the data,

        Σ_i (y_i - f(x_i))ᵀ Σ_noise⁻¹ (y_i - f(x_i)) - 2 log p0(ω - ω0^[k]).

    Args:
        pretrained: Networks from `pretrain`; the weight prior is learnt from all of them.
        X: Inputs, (N, n_in).
        y: Outputs, (N,) or (N, n_out).
        noise: Standard deviation of the noise, for all outputs or for each, or Σ_noise
            (n_out, n_out), in the units of y.
        n_members: K, the first of the pre-trained networks; None takes all.
        regulariser: The weight prior p0: "low_rank", "probabilistic_pca", "factorised",
            "generalised_normal", "isotropic", or "none" to leave the term out.
        anchors: ω0: "pretrained" (the pre-trained weights themselves), "sampled" (drawn from the
            weight prior), or weights of your own, (K, d).
        start: "anchors", "random" (a vanilla ensemble's), or weights of your own, (K, d).
        optimiser: "adam", or "gauss_newton", which goes to the optimum, uses no settings and needs
            a proper Gaussian: "probabilistic_pca", "factorised" or "isotropic".
        resampling: How each member gets its own version of the data: "bootstrap" (rows with
            replacement), "likelihood" (noise is added to y) or "none".
        settings: Of the training loop.
        device: "cpu" or "cuda".
        progress: Whether to show a progress bar.
        random_state: Seed of the resampled data, shuffles, random starts and sampled anchors.

    Returns:
        The members.

    Raises:
        ValueError: If an argument is not admissible, or the data do not have the inputs and
            outputs of the networks.
        DivergenceError: If fewer than two members stayed finite.

    Warns:
        ConvergenceWarning: If Gauss-Newton did not bring all members to their optimum.

    Source: Algorithm 2 of the paper.
    """
    check_anchoring(regulariser, anchors, optimiser, len(pretrained.weights))
    X, y = pretrained.check_data(X, y)
    seeds, weight_prior = seed_sequence(random_state), pretrained.weight_prior(regulariser)
    n = min(n_members or len(pretrained.weights), len(pretrained.weights))
    if not isinstance(anchors, str):
        centres = anchors
    elif anchors == "sampled" and weight_prior is not None:
        centres = weight_prior.sample(n, spawn(seeds, Purpose.ANCHORS)).astype(np.float32)
    else:
        centres = pretrained.weights[:n]
    if not isinstance(start, str):
        first = start
    else:
        check_option("start", start, ("anchors", "random"))
        cold = start == "random"
        first = random_starts(pretrained.architecture, n, seeds) if cold else centres
    return train_to_data(
        pretrained.architecture,
        first,
        X,
        y,
        pretrained.input_scaler,
        pretrained.output_scaler,
        noise_covariance(noise, y.shape[1]),
        resampling,
        seeds,
        None if optimiser == "gauss_newton" else settings,
        device,
        progress,
        weight_prior,
        centres,
    )


def check_anchoring(
    regulariser: str, anchors: str | Floats, optimiser: str, n_pretrained: int
) -> None:
    """Raise ValueError where arguments of `anchor` do not fit each other."""
    check_option("regulariser", regulariser, REGULARISERS)
    check_option("optimiser", optimiser, ("adam", "gauss_newton"))
    if optimiser == "gauss_newton" and regulariser not in PROPER:
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
