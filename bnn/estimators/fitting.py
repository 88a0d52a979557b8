"""Training members to data, for Algorithms 1 and 2."""

from dataclasses import dataclass

import numpy as np
import torch

from bnn._seeding import Purpose, member_generators, member_seeds, spawn
from bnn._validation import Array, Floats, check_device, check_kind, check_option
from bnn.estimators.members import Members, check_weights, finite_members
from bnn.gauss_newton.jacobian import Linearisation
from bnn.gauss_newton.levenberg_marquardt import StoppingRule
from bnn.gauss_newton.weight_space import fit_weights
from bnn.networks.mlp import MLP
from bnn.noise import RESAMPLINGS, Covariance, covariance_at, resample
from bnn.scaling import BoundsScaler
from bnn.training.loop import train
from bnn.training.members import Objective
from bnn.training.settings import TrainingSettings
from bnn.weight_priors import ProperGaussian, WeightPrior

# A step that lowers the objective by less than this fraction has arrived. Members creep along
# narrow valleys: ended at 1e-6, some kept a gradient half as large as the data's.
OPTIMUM = StoppingRule(iterations=10_000, decrease=1e-9)


def random_starts(
    architecture: MLP, n_members: int, seeds: np.random.SeedSequence, init: str = "glorot"
) -> Floats:
    """Return independent random starts, (K, d) float32; one does not depend on their number."""
    generators = member_generators(spawn(seeds, Purpose.START), n_members)
    return np.concatenate([architecture.initial_weights(1, rng, init) for rng in generators])


def perturbed_starts(
    architecture: MLP, n: int, init: str, scale: float, seeds: np.random.SeedSequence
) -> Floats:
    """Return the common start ω_init, perturbed for each of n networks, (n, d) float32."""
    start = architecture.initial_weights(1, spawn(seeds, Purpose.START), init)
    generators = member_generators(spawn(seeds, Purpose.PERTURBATION), n)
    noise = np.stack([rng.standard_normal(start.shape[1]) for rng in generators])
    return np.asarray((start + scale * noise).astype(np.float32))


@dataclass(frozen=True)
class Task:
    """Networks, their data X (N, n_in) and y (N, n_out), and how each gets a version of its own."""

    architecture: MLP
    X: Array
    y: Array
    input_scaler: BoundsScaler
    output_scaler: BoundsScaler
    noise_covariance: Covariance
    resampling: str
    seeds: np.random.SeedSequence


def train_to_data(
    task: Task,
    start: Floats,
    training: TrainingSettings,
    device: str,
    *,
    weight_prior: WeightPrior | None = None,
    anchors: Floats | None = None,
    optimiser: str = "adam",
) -> Members:
    """Train members, (K, d) at the start, by Adam or by Gauss-Newton, which needs anchors."""
    check_option("resampling", task.resampling, RESAMPLINGS)
    check_device(device)
    K = len(start)
    network = task.architecture
    title = "training" if training.progress else None
    generators = member_generators(spawn(task.seeds, Purpose.RESAMPLING), K)
    kept = task.noise_covariance
    covariance = covariance_at(kept, task.X)
    inputs, targets = resample(task.X, task.y, task.resampling, covariance, generators)
    data = task.input_scaler.transform(inputs), task.output_scaler.transform(targets)
    given = network, start, *data
    noise = task.output_scaler.transform_covariance(covariance_at(kept, inputs))
    if optimiser == "gauss_newton":
        assert isinstance(weight_prior, ProperGaussian)
        assert anchors is not None
        prior = weight_prior.covariance
        result = fit_weights(*given, noise, prior, OPTIMUM, anchors, device, title)
    else:
        term = None if weight_prior is None else weight_prior.regulariser()
        goal = Objective(_precision(noise), term, anchors)
        seeds = member_seeds(spawn(task.seeds, Purpose.TRAINING), K)
        result = train(*given, training, seeds=seeds, objective=goal, device=device, progress=title)
    numbers = finite_members(K, result.diverged, "training")
    weights = result.weights[numbers]
    kept_anchors = None if anchors is None else anchors[numbers]
    penalties = np.zeros(len(weights))
    if weight_prior is not None and kept_anchors is not None:
        penalties = weight_prior.penalty(weights, kept_anchors)
    return Members(
        architecture=network,
        start=start[numbers],
        weights=weights,
        inputs=inputs if inputs.ndim == 2 else inputs[numbers],
        targets=targets[numbers],
        input_scaler=task.input_scaler,
        output_scaler=task.output_scaler,
        losses=result.losses,
        epochs=result.epochs,
        numbers=numbers,
        noise_covariance=kept,
        anchors=kept_anchors,
        penalties=penalties,
    )


def _precision(noise: Array) -> Array:
    """Return Σ_noise⁻¹, which the training loop takes in single precision."""
    precision = np.linalg.inv(noise)
    if np.abs(precision).max() > np.finfo(np.float32).max:
        least = np.sqrt(np.einsum("...jj->...j", noise).min())
        scale = "half the range of the outputs"
        raise ValueError(f"noise: {least:.3g} times {scale} is too small for single precision")
    return precision


def data_gradient(members: Members, weights: Floats) -> Array:
    """Differentiate the data term of Algorithms 1 and 2, each member's with its own data.

    Args:
        members: From `train_vanilla` or `anchor`.
        weights: Where, (K, d).

    Returns:
        ∂/∂ω Σ_i (y_i - f(x_i))ᵀ Σ_noise⁻¹ (y_i - f(x_i)), (K, d) float64.

    Raises:
        ValueError: If members or weights are not admissible.
    """
    check_kind("members", members, Members)
    check_weights("weights", weights, members.architecture)
    K = len(members.weights)
    if len(weights) != K:
        raise ValueError(f"weights has {len(weights)} rows: must be {K}, one for each member")
    inputs = torch.as_tensor(members.input_scaler.transform(members.inputs))
    state = Linearisation(members.architecture, torch.as_tensor(weights.astype(float)), inputs)
    residuals = state.values - torch.as_tensor(members.output_scaler.transform(members.targets))
    noise = covariance_at(members.noise_covariance, members.inputs)
    precision = torch.as_tensor(np.linalg.inv(members.output_scaler.transform_covariance(noise)))
    if precision.ndim == 2:
        direction = 2.0 * residuals @ precision
    else:
        direction = 2.0 * (precision @ residuals[..., None])[..., 0]
    return np.asarray(state.pull_back(direction.mT.reshape(len(weights), -1)).numpy())
