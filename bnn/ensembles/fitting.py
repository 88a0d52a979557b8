"""Training members to data: Algorithm 1, and what Algorithm 2 shares with it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bnn._seeding import (
    Purpose,
    RandomState,
    member_generators,
    member_seeds,
    seed_sequence,
    spawn,
)
from bnn._validation import Array, Floats, as_columns, as_points, check_integer, check_option
from bnn.ensembles.networks import Members, finite_members
from bnn.gauss_newton.jacobian import Linearisation
from bnn.gauss_newton.levenberg_marquardt import StoppingRule
from bnn.gauss_newton.weight_space import fit_weights
from bnn.networks.architecture import Architecture
from bnn.noise import RESAMPLINGS, Noise, noise_covariance, resample
from bnn.scaling import Bounds, BoundsScaler, scaler_of
from bnn.training.loop import train
from bnn.training.members import Objective
from bnn.training.settings import TrainingSettings
from bnn.weight_priors import ProperGaussian, WeightPrior

# A step that lowers the objective by less than this fraction has arrived. Members creep along
# narrow valleys: ended at 1e-6, some kept a gradient half as large as the data's.
OPTIMUM = StoppingRule(iterations=10_000, decrease=1e-9)
SETTINGS = TrainingSettings(epochs=400)


def train_vanilla(
    X: Array,
    y: Array,
    *,
    noise: Noise = 0.1,
    n_members: int = 30,
    resampling: str = "likelihood",
    hidden: Sequence[int] = (20, 20, 20, 20),
    activation: str = "leaky_relu",
    settings: TrainingSettings = SETTINGS,
    input_bounds: Bounds = None,
    output_bounds: Bounds = None,
    init: str = "glorot",
    device: str = "cpu",
    progress: bool = False,
    random_state: RandomState = None,
) -> Members:
    """Train networks from independent random starts, each to its own version of the data.

    Args:
        X: Inputs, (N, n_in).
        y: Outputs, (N,) or (N, n_out).
        noise: Standard deviation of the noise, for all outputs or for each, or Σ_noise
            (n_out, n_out), in the units of y.
        n_members: K.
        resampling: How each member gets its own version of the data: "bootstrap" (rows with
            replacement), "likelihood" (noise is added to y) or "none".
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS.
        settings: Of the training loop.
        input_bounds: (low, high) of the inputs, which the networks see scaled to [-1, 1]; "data"
            takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        init: "glorot" or "he".
        device: "cpu" or "cuda".
        progress: Whether to show a progress bar.
        random_state: Seed.

    Returns:
        The members.

    Raises:
        ValueError: If an argument is not admissible.
        DivergenceError: If fewer than two members stayed finite.

    Source: Algorithm 1 of the paper.
    """
    X = as_points("X", X)
    y = as_columns("y", y, len(X))
    check_integer("n_members", n_members, 2)
    architecture = Architecture((X.shape[1], *hidden, y.shape[1]), activation)
    seeds = seed_sequence(random_state)
    return train_to_data(
        architecture,
        random_starts(architecture, n_members, seeds, init),
        X,
        y,
        scaler_of("input_bounds", input_bounds, X, X.shape[1]),
        scaler_of("output_bounds", output_bounds, y, y.shape[1]),
        noise_covariance(noise, y.shape[1]),
        resampling,
        seeds,
        settings,
        device,
        progress,
    )


def random_starts(
    architecture: Architecture,
    n_members: int,
    seeds: np.random.SeedSequence,
    init: str = "glorot",
) -> Floats:
    """Return independent random starts, (K, d) float32; one does not depend on their number."""
    generators = member_generators(spawn(seeds, Purpose.START), n_members)
    return np.concatenate([architecture.initial_weights(1, rng, init) for rng in generators])


def train_to_data(
    architecture: Architecture,
    start: Floats,
    X: Array,
    y: Array,
    input_scaler: BoundsScaler,
    output_scaler: BoundsScaler,
    covariance: Array,
    resampling: str,
    seeds: np.random.SeedSequence,
    settings: TrainingSettings | None,
    device: str,
    progress: bool,
    weight_prior: WeightPrior | None = None,
    anchors: Floats | None = None,
) -> Members:
    """Train members, (K, d) at the start, by Adam; without settings by Gauss-Newton."""
    check_option("resampling", resampling, RESAMPLINGS)
    K, title = len(start), "training" if progress else None
    generators = member_generators(spawn(seeds, Purpose.RESAMPLING), K)
    inputs, targets = resample(X, y, resampling, covariance, generators)
    data = input_scaler.transform(inputs), output_scaler.transform(targets)
    noise = output_scaler.transform_covariance(covariance)
    if settings is None:
        assert isinstance(weight_prior, ProperGaussian)
        assert anchors is not None
        parts = weight_prior.covariance
        result = fit_weights(
            architecture, start, *data, noise, parts, OPTIMUM, anchors, device, title
        )
    else:
        term = None if weight_prior is None else weight_prior.regulariser()
        result = train(
            architecture,
            start,
            *data,
            settings,
            seeds=member_seeds(spawn(seeds, Purpose.TRAINING), K),
            objective=Objective(np.linalg.inv(noise), term, anchors),
            device=device,
            progress=title,
        )
    numbers = finite_members(K, result.diverged, "training")
    weights, anchors = result.weights[numbers], None if anchors is None else anchors[numbers]
    penalties = np.zeros(len(weights))
    if weight_prior is not None and anchors is not None:
        penalties = weight_prior.penalty(weights, anchors)
    return Members(
        architecture=architecture,
        weights=weights,
        inputs=inputs if inputs.ndim == 2 else inputs[numbers],
        targets=targets[numbers],
        input_scaler=input_scaler,
        output_scaler=output_scaler,
        losses=result.losses,
        epochs=result.epochs,
        numbers=numbers,
        noise_covariance=covariance,
        start=start[numbers],
        anchors=anchors,
        penalties=penalties,
    )


def data_gradient(members: Members, weights: Floats) -> Array:
    """Differentiate the data term of Algorithms 1 and 2, each member's with its own data.

    Args:
        members: From `train_vanilla` or `anchor`.
        weights: Where, (K, d).

    Returns:
        ∂/∂ω Σ_i (y_i - f(x_i))ᵀ Σ_noise⁻¹ (y_i - f(x_i)), (K, d) float64.
    """
    inputs = torch.as_tensor(members.input_scaler.transform(members.inputs))
    state = Linearisation(members.architecture, torch.as_tensor(weights.astype(float)), inputs)
    residuals = state.values - torch.as_tensor(members.output_scaler.transform(members.targets))
    noise = members.output_scaler.transform_covariance(members.noise_covariance)
    direction = 2.0 * residuals @ torch.as_tensor(np.linalg.inv(noise))
    gradient: Array = state.pull_back(direction.mT.reshape(len(weights), -1)).numpy()
    return gradient
