"""Trained networks together with their data, and the training of members on data."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from bnn._seeding import Purpose, member_generators, member_seeds, spawn
from bnn._validation import (
    Array,
    Floats,
    Ints,
    as_points,
    check_device,
    check_kind,
    check_option,
    check_real,
    own_copy,
)
from bnn.ensembles.weight_priors import ProperGaussian, WeightPrior
from bnn.networks.mlp import MLP
from bnn.noise import RESAMPLINGS, Covariance, checked_noise, covariance_at, resample
from bnn.noise.covariances import apart, of_pairs
from bnn.scaling import BoundsScaler
from bnn.storage import storable
from bnn.training.gauss_newton.jacobian import Linearisation
from bnn.training.gauss_newton.levenberg_marquardt import StoppingRule
from bnn.training.gauss_newton.weight_space import fit_weights
from bnn.training.loop import DivergenceError, DivergenceWarning, train
from bnn.training.members import Objective
from bnn.training.settings import TrainingSettings
from safe_files.progress import counted, titled

# Networks and points are evaluated in blocks of fixed size, which bounds the memory.
MEMBER_BLOCK = 64
POINT_BLOCK = 2048
GRADIENT_BLOCK = 256  # points in a block of gradients, which need more memory


@dataclass(frozen=True, kw_only=True, repr=False)
class Networks:
    """K trained networks, with the data that each network was trained on.

    Attributes:
        architecture: Architecture of all networks.
        initial_weights: Initial weights of the training, (K, d).
        weights: Trained weights ω^[k], (K, d) float32.
        inputs: Inputs of the data, (n, n_in), or (K, n, n_in) if they differ between networks.
        targets: Outputs of the data, (K, n, n_out); NaN for outputs that the loss leaves out.
        input_scaler: Scales the inputs of the networks.
        output_scaler: Scales the outputs; networks return scaled values.
        losses: Loss after each epoch, (epochs, n), of all n networks that were trained, including
            diverged networks; NaN after the last epoch of a network.
        epochs: Number of epochs of each of the n networks, (n,).
        numbers: Indices of the K networks among these n; the others diverged.
    """

    architecture: MLP
    initial_weights: Floats
    weights: Floats
    inputs: Array
    targets: Array
    input_scaler: BoundsScaler
    output_scaler: BoundsScaler
    losses: Array
    epochs: Ints
    numbers: Ints

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, own_copy(getattr(self, field.name)))
        check_kind("architecture", self.architecture, MLP)
        for name in ("inputs", "targets", "losses", "epochs", "numbers"):
            check_kind(name, getattr(self, name), np.ndarray)
            check_real(**{name: getattr(self, name)})
        for name in ("input_scaler", "output_scaler"):
            check_kind(name, getattr(self, name), BoundsScaler)
        n_in = self.architecture.n_inputs
        n_out = self.architecture.n_outputs
        for name in ("weights", "initial_weights"):
            check_weights(name, getattr(self, name), self.architecture)
        K = len(self.weights)
        for name, fits, expected in (
            ("inputs", self.inputs.ndim in (2, 3) and self.inputs.shape[-1] == n_in, "(n, n_in)"),
            ("targets", self.targets.shape[::2] == (K, n_out), "(K, n, n_out)"),
            ("numbers", self.numbers.shape == (K,), "(K,)"),
        ):
            if not fits:
                shape = getattr(self, name).shape
                raise ValueError(f"{name} has shape {shape}: must be {expected}")
        if (len(self.input_scaler.low), len(self.output_scaler.low)) != (n_in, n_out):
            raise ValueError(f"the scalers must have {n_in} inputs and {n_out} outputs")

    def __repr__(self) -> str:
        """Return the number and widths of the networks."""
        K = len(self.weights)
        widths = self.architecture.widths
        return f"{type(self).__name__}({K} networks of widths {widths})"

    def sample(self, X: Array) -> Array:
        """Return f^[k](X) of every network at X (n, n_in), (K, n, n_out), in double precision."""
        n_in = self.architecture.n_inputs
        X = as_points("X", X)
        if X.shape[1] != n_in:
            raise ValueError(f"X has shape {X.shape}: must be (n, {n_in})")
        X = self.input_scaler.transform(X)
        values = np.empty((len(self.weights), len(X), self.architecture.n_outputs))
        for members, points in self._blocks(len(X), POINT_BLOCK, "predictions"):
            weights = self.weights[members].astype(float)
            values[members, points] = self.architecture.forward(weights, X[points])
        return self.output_scaler.inverse_transform(values)

    def _blocks(self, n: int, size: int, title: str) -> Iterator[tuple[slice, slice]]:
        """Yield blocks of members and of n points, with a progress bar if this takes long."""
        members = gen_batches(len(self.weights), MEMBER_BLOCK)
        blocks = list(itertools.product(members, gen_batches(n, size)))
        return counted(blocks, title, "part")

    def gradients(self, X: Array) -> Array:
        """Return ∂f^[k]/∂x of every network at X (n, n_in), (K, n, n_out, n_in)."""
        net = self.architecture
        scaled = torch.as_tensor(self.input_scaler.transform(as_points("X", X)))
        weights = torch.as_tensor(self.weights.astype(float))
        by_input = np.empty((len(weights), len(X), net.n_outputs, net.n_inputs))
        for members, points in self._blocks(len(X), GRADIENT_BLOCK, "gradients"):
            state = Linearisation(net, weights[members], scaled[points])
            by_input[members, points] = state.input_jacobian().swapaxes(1, 2).numpy()
        # y = h_out f((x - c) / h_in) + c_out
        scale = self.output_scaler.half_range[:, None] / self.input_scaler.half_range
        return np.asarray(by_input * scale)


@storable
@dataclass(frozen=True, kw_only=True, repr=False)
class Members(Networks):
    """Networks trained on data: the members of an ensemble.

    Attributes:
        noise_covariance: Σ_noise, (n_out, n_out), or a HeteroscedasticNoise.
        anchors: ω0^[k], (K, d); None for members without anchors.
        penalties: Regularisation term after training, (K,); zeros without a regulariser.
        bounds: (low, high) to which predictions are clipped, (2, 1) or (2, n_out); None for no
            clipping.
        data_covariances: Noise covariance of each datum, (N, n_out, n_out) or
            (K, N, n_out, n_out), if noise_std or sample_weight was given; otherwise None.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> brief = bnn.TrainingSettings(epochs=5)
        >>> settings = {"noise": 0.05, "n_members": 3, "training": brief}
        >>> members = bnn.train_vanilla(X, y, random_state=0, **settings)
        >>> members.sample(X).shape
        (3, 12, 1)
        >>> members.losses.shape
        (5, 3)
    """

    noise_covariance: Covariance
    anchors: Floats | None
    penalties: Array
    bounds: Array | None = None
    data_covariances: Array | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        n_out = self.architecture.n_outputs
        noise = self.noise_covariance
        if isinstance(noise, np.ndarray) and noise.shape != (n_out, n_out):
            shape = f"({n_out}, {n_out})"
            raise ValueError(f"noise_covariance has shape {noise.shape}: must be {shape}")
        if not isinstance(noise, np.ndarray):
            checked_noise(noise, self.architecture.n_inputs, n_out)
        check_kind("data_covariances", self.data_covariances, np.ndarray, type(None))
        needed = (*self.inputs.shape[:-1], n_out, n_out)
        if self.data_covariances is not None and self.data_covariances.shape != needed:
            what = f"data_covariances has shape {self.data_covariances.shape}"
            raise ValueError(f"{what}: must be {needed}")
        check_kind("penalties", self.penalties, np.ndarray)
        check_kind("bounds", self.bounds, np.ndarray, type(None))
        if self.bounds is not None and self.bounds.shape not in {(2, 1), (2, n_out)}:
            raise ValueError(f"bounds have shape {self.bounds.shape}: must be (2, {n_out})")
        if self.anchors is not None:
            check_weights("anchors", self.anchors, self.architecture)

    def sample(self, X: Array) -> Array:
        """Evaluate every member.

        Args:
            X: Inputs, (n, n_in).

        Returns:
            f^[k](X), (K, n, n_out), clipped to the bounds.
        """
        values = super().sample(X)
        return values if self.bounds is None else np.clip(values, *self.bounds)

    def gradients(self, X: Array) -> Array:
        """Return the gradients of every member; they are zero where it is clipped to a bound.

        Args:
            X: Inputs, (n, n_in).

        Returns:
            ∂f^[k]/∂x, (K, n, n_out, n_in).
        """
        by_input = super().gradients(X)
        if self.bounds is None:
            return by_input
        values = super().sample(X)
        inside = (values > self.bounds[0]) & (values < self.bounds[1])
        return np.where(inside[..., None], by_input, 0.0)

    def clipped(self, constants: Array) -> Self:
        """Return the members with some outputs replaced by constants.

        Args:
            constants: Constant value of each output, (n_out,); NaN for outputs that stay as they
                are.

        Returns:
            The changed members.
        """
        none = np.outer([-np.inf, np.inf], np.ones(len(constants)))
        bounds = none if self.bounds is None else self.bounds
        return replace(self, bounds=np.where(np.isnan(constants), bounds, constants))


def joined(members: Sequence[Members]) -> Members:
    """Join members that were trained one by one, each at separate points (n, n_in)."""
    longest = max(len(one.losses) for one in members)
    arrays = {}
    for name in ("weights", "targets", "epochs", "initial_weights", "anchors", "penalties"):
        arrays[name] = np.concatenate([getattr(one, name) for one in members])
    losses = np.full((longest, len(members)), np.nan)
    for k, one in enumerate(members):
        losses[: len(one.losses), [k]] = one.losses
    arrays |= {"inputs": np.stack([one.inputs for one in members]), "losses": losses}
    return replace(members[0], numbers=np.arange(len(members)), **arrays)


def check_weights(name: str, weights: Floats, architecture: MLP) -> None:
    """Raise ValueError unless weights are (K, d) finite floating-point numbers."""
    n_weights = architecture.n_weights
    if not isinstance(weights, np.ndarray):
        raise ValueError(f"{name} = {weights!r:.60}: must be an array (K, {n_weights})")
    check_real(**{name: weights})
    if weights.ndim != 2 or len(weights) == 0 or weights.shape[1] != n_weights:
        raise ValueError(f"{name} has shape {weights.shape}: must be (K, {n_weights})")
    if weights.dtype.kind != "f" or not np.isfinite(weights).all():
        raise ValueError(f"{name} has values that are not finite numbers")


def finite_members(n_members: int, diverged: tuple[int, ...], title: str) -> Ints:
    """Return the indices of the members that did not diverge, (K,), and warn about the others."""
    if diverged:
        named = ", ".join(map(str, diverged))
        if n_members - len(diverged) < 2:
            raise DivergenceError(f"{title}: members {named} of {n_members} diverged")
        warnings.warn(
            f"{title}: members {named} of {n_members} diverged and are left out",
            DivergenceWarning,
            stacklevel=4,
        )
    return np.delete(np.arange(n_members), diverged)


# Gauss-Newton ends when a step lowers the objective by less than this fraction. It is small because
# steps are short in narrow valleys: with 1e-6 the gradient of some members was still half as large
# as the gradient of the data term.
OPTIMUM = StoppingRule(iterations=10_000, decrease=1e-9)


def random_starts(
    architecture: MLP, n_members: int, seeds: np.random.SeedSequence, init: str = "glorot"
) -> Floats:
    """Draw initial weights, (K, d) float32; those of member k do not depend on n_members."""
    generators = member_generators(spawn(seeds, Purpose.START), n_members)
    return np.concatenate([architecture.initial_weights(1, rng, init) for rng in generators])


def perturbed_starts(
    architecture: MLP, n: int, init: str, scale: float, seeds: np.random.SeedSequence
) -> Floats:
    """Draw initial weights ω_init, common to n networks, and perturb each, (n, d) float32."""
    initial_weights = architecture.initial_weights(1, spawn(seeds, Purpose.START), init)
    generators = member_generators(spawn(seeds, Purpose.PERTURBATION), n)
    noise = np.stack([rng.standard_normal(initial_weights.shape[1]) for rng in generators])
    return np.asarray((initial_weights + scale * noise).astype(np.float32))


@dataclass(frozen=True)
class Task:
    """The data that members are trained on, X (N, n_in) and y (N, n_out), and their resampling.

    The loss leaves out entries of y that are NaN.
    """

    architecture: MLP
    X: Array
    y: Array
    input_scaler: BoundsScaler
    output_scaler: BoundsScaler
    noise_covariance: Covariance
    resampling: str
    seeds: np.random.SeedSequence
    # Noise covariance of each datum, (N, n_out, n_out); None if noise_covariance is all of it.
    covariances: Array | None = None

    def resampled(self, n_members: int) -> tuple[Floats, Floats, Array]:
        """Return inputs, targets and noise covariance of the resampled data of each member.

        Their shapes are ((K,) N, n_in), (K, N, n_out), and (n_out, n_out) or
        ((K,) N, n_out, n_out).
        """
        generators = member_generators(spawn(self.seeds, Purpose.RESAMPLING), n_members)
        if self.covariances is None:
            covariance = covariance_at(self.noise_covariance, self.X)
            inputs, y = resample(self.X, self.y, self.resampling, covariance, generators)
            return inputs, y, covariance_at(self.noise_covariance, inputs)
        # The bootstrap must draw each row together with its covariance.
        N, n_in = self.X.shape
        rows = np.hstack([self.X, self.covariances.reshape(N, -1)])
        drawn, y = resample(rows, self.y, self.resampling, self.covariances, generators)
        shape = (*drawn.shape[:-1], y.shape[-1], y.shape[-1])
        return drawn[..., :n_in], y, drawn[..., n_in:].reshape(shape)


def train_to_data(
    task: Task,
    initial_weights: Floats,
    training: TrainingSettings,
    device: str,
    *,
    weight_prior: WeightPrior | None = None,
    anchors: Floats | None = None,
    optimiser: str = "adam",
) -> Members:
    """Train members from (K, d) weights by "adam" or, with anchors, by "gauss_newton"."""
    check_option("resampling", task.resampling, RESAMPLINGS)
    check_device(device)
    K = len(initial_weights)
    inputs, targets, covariances = task.resampled(K)
    X = task.input_scaler.transform(inputs)
    y = _scaled(task.output_scaler, targets)
    noise = apart(task.output_scaler.transform_covariance(covariances), np.isnan(targets))
    title = titled("training", training.progress)
    if optimiser == "gauss_newton":
        assert isinstance(weight_prior, ProperGaussian)
        assert anchors is not None
        prior = weight_prior.covariance
        result = fit_weights(
            task.architecture, initial_weights, X, y, noise, prior, OPTIMUM, anchors, device, title
        )
    else:
        term = None if weight_prior is None else weight_prior.regulariser()
        result = train(
            task.architecture,
            initial_weights,
            X,
            np.nan_to_num(y),
            training,
            seeds=member_seeds(spawn(task.seeds, Purpose.TRAINING), K),
            objective=Objective(_precision(noise, np.isnan(y)), term, anchors),
            device=device,
            progress=title,
        )
    numbers = finite_members(K, result.diverged, "training")
    weights = result.weights[numbers]
    finite_anchors = None if anchors is None else anchors[numbers]
    data_covariances = None
    if task.covariances is not None:
        data_covariances = covariances if covariances.ndim == 3 else covariances[numbers]
    return Members(
        architecture=task.architecture,
        initial_weights=initial_weights[numbers],
        weights=weights,
        inputs=inputs if inputs.ndim == 2 else inputs[numbers],
        targets=targets[numbers],
        input_scaler=task.input_scaler,
        output_scaler=task.output_scaler,
        losses=result.losses,
        epochs=result.epochs,
        numbers=numbers,
        noise_covariance=task.noise_covariance,
        anchors=finite_anchors,
        penalties=_penalties(weight_prior, weights, finite_anchors),
        data_covariances=data_covariances,
    )


def _penalties(weight_prior: WeightPrior | None, weights: Floats, anchors: Floats | None) -> Array:
    """Return the penalties (K,) of weights (K, d); they are zero without a prior or anchors."""
    if weight_prior is None or anchors is None:
        return np.zeros(len(weights))
    return weight_prior.penalty(weights, anchors)


def _scaled(scaler: BoundsScaler, targets: Array) -> Array:
    """Return targets scaled to [-1, 1], with NaN where they are missing."""
    missing = np.isnan(targets)
    return np.where(missing, np.nan, scaler.transform(np.where(missing, scaler.centre, targets)))


def _inverse(noise: Array, missing: NDArray[np.bool_]) -> Array:
    """Return Σ_noise⁻¹ of noise that `apart` returned, with zeros for missing outputs."""
    precision = np.linalg.inv(noise)
    return np.where(of_pairs(missing), 0.0, precision) if missing.any() else precision


def _precision(noise: Array, missing: NDArray[np.bool_]) -> Array:
    """Return Σ_noise⁻¹ as `_inverse` does; ValueError if it is too large for single precision."""
    precision = _inverse(noise, missing)
    if np.abs(precision).max() > np.finfo(np.float32).max:
        least = np.sqrt(np.einsum("...jj->...j", noise).min())
        size = f"the standard deviation {least:.3g} times half the range of an output"
        raise ValueError(f"noise: {size} is too small for single precision, give a larger one")
    return precision


def data_gradient(members: Members, weights: Floats) -> Array:
    """Return the gradient of the data term of Algorithms 1 and 2 for each member.

    Args:
        members: From `train_vanilla` or `train_anchored`.
        weights: Weights at which the gradient is taken, (K, d).

    Returns:
        ∂/∂ω Σ_i (y_i - f(x_i))ᵀ Σ_noise⁻¹ (y_i - f(x_i)), (K, d) float64.

    Raises:
        ValueError: If members or weights are invalid.
    """
    check_kind("members", members, Members)
    check_weights("weights", weights, members.architecture)
    K = len(members.weights)
    if len(weights) != K:
        raise ValueError(f"weights has {len(weights)} rows: must be {K}, one for each member")
    inputs = torch.as_tensor(members.input_scaler.transform(members.inputs))
    state = Linearisation(members.architecture, torch.as_tensor(weights.astype(float)), inputs)
    targets = _scaled(members.output_scaler, members.targets)
    missing = np.isnan(targets)
    residuals = state.values - torch.as_tensor(np.nan_to_num(targets))
    noise = members.data_covariances
    if noise is None:
        noise = covariance_at(members.noise_covariance, members.inputs)
    noise = apart(members.output_scaler.transform_covariance(noise), missing)
    precision = torch.as_tensor(_inverse(noise, missing))
    # ∂/∂f Σ_i (y_i - f_i)ᵀ Σ_noise⁻¹ (y_i - f_i) = 2 Σ_noise⁻¹ (f_i - y_i), and by the chain rule
    # ∂/∂ω = Jᵀ ∂/∂f
    if precision.ndim == 2:
        direction = 2.0 * residuals @ precision
    else:
        direction = 2.0 * (precision @ residuals[..., None])[..., 0]
    return np.asarray(state.pull_back(direction.mT.reshape(len(weights), -1)).numpy())
