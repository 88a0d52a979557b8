"""Pre-training on a functional prior, Algorithm 3 of the paper."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bnn._seeding import Purpose, RandomState, member_seeds, seed_sequence, spawn
from bnn._settings import Settings
from bnn._validation import (
    MOST_NETWORKS,
    Array,
    as_data,
    as_finite,
    check_count,
    check_device,
    check_integers,
    check_kind,
    check_not_negative,
    check_option,
    check_positive,
    check_ranges,
    filled,
)
from bnn.ensembles.conditioning import check_nugget
from bnn.ensembles.drawn_priors import DrawnPrior
from bnn.ensembles.members import Networks, finite_members, perturbed_starts
from bnn.ensembles.weight_priors import WEIGHT_PRIORS, WeightPrior
from bnn.gp.kernels import RBF
from bnn.gp.means import LinearMean
from bnn.gp.process import GaussianProcessPrior
from bnn.networks.architecture import Architecture
from bnn.priors.function_prior import FunctionalPrior
from bnn.priors.samplers import draw_realisations, truncated_normal_hypercube
from bnn.scaling import BoundsScaler, Scaling, scaler_of, warn_far
from bnn.storage import storable
from bnn.storage.values import NotStored, as_stored, dataclass_fields
from bnn.training.loop import train
from bnn.training.settings import TrainingSettings
from safe_files.help_page import ExplainedWarning
from safe_files.progress import titled
from safe_files.text import short


class PriorRangeWarning(ExplainedWarning):
    """Most of the data lie outside the range in which networks were fitted to the prior."""


@storable
@dataclass(repr=False)
class Pretraining(Settings):
    """How networks are fitted to realisations of a functional prior.

    Args:
        n_networks: Number of networks; the first n_members of them are later trained on data.
        n_points: Number M of points at which networks are fitted to the prior, if none are given.
        range_factor: These points are drawn in the input bounds, widened by this factor. The paper
            uses 2.
        perturbation: Standard deviation by which the common initial weights are perturbed for each
            network.
        training: Number of epochs, settings of Adam, and early stopping.

    Examples:
        >>> import bnn
        >>> settings = bnn.Pretraining(n_networks=20, training=bnn.TrainingSettings(epochs=300))
        >>> settings.set_params(training__batch_size=None).training.batch_size
    """

    n_networks: int = 50
    n_points: int = 500
    range_factor: float = 1.0
    perturbation: float = 0.01
    training: TrainingSettings = field(default_factory=TrainingSettings)

    def __post_init__(self) -> None:
        check_count("n_networks", self.n_networks, 2, MOST_NETWORKS)
        check_count("n_points", self.n_points, 2)
        check_positive(range_factor=self.range_factor)
        check_not_negative(perturbation=self.perturbation)
        check_kind("training", self.training, TrainingSettings)


NETWORK = Architecture()
SETTINGS = Pretraining()
SCALING = Scaling()


@storable
@dataclass(frozen=True, kw_only=True, repr=False)
class Pretrained(Networks):
    """Networks fitted to realisations g^[k] of a functional prior, see `pretrain`.

    The targets are values of the realisations at the inputs.

    Attributes:
        prior: The functional prior; a NotStored after loading if a file cannot contain it.
        prior_seed: Seed of the realisations, to continue them at other points.
        inputs_given: Whether the user gave the inputs. The prior may then be defined only there.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
        >>> brief = bnn.TrainingSettings(epochs=5)
        >>> network = bnn.Architecture((8, 8), "silu")
        >>> settings = bnn.Pretraining(n_networks=4, n_points=20, training=brief)
        >>> networks = bnn.pretrain(prior, X, network=network, settings=settings, random_state=0)
        >>> networks.select([0, 2])
        Pretrained(2 networks of widths (1, 8, 8, 1))
        >>> networks.weight_prior("low_rank").rank
        3

        Replace the weights by those of PyTorch networks that you trained. They consist of `Linear`
        layers with biases, one activation and a linear output. They see the scaled inputs, here
        [-1, 1] from [0, 2]; their outputs are not scaled. Only `AnchoredEnsemble` accepts them.

        >>> import dataclasses
        >>> import torch
        >>> from torch.nn import Linear, Sequential, SiLU
        >>> custom = [Sequential(Linear(1, 8), SiLU(), Linear(8, 1)) for _ in range(4)]
        >>> rows = [torch.cat([p.detach().t().flatten() for p in c.parameters()]) for c in custom]
        >>> networks = bnn.pretrain(
        ...     prior,
        ...     X,
        ...     network=bnn.Architecture((8,), "silu"),
        ...     settings=settings,
        ...     scaling=bnn.Scaling(inputs=(0.0, 2.0), outputs=None),
        ... )
        >>> networks = dataclasses.replace(networks, weights=torch.stack(rows).numpy())
        >>> networks.sample(X).shape  # the outputs of the custom networks
        (4, 12, 1)
        >>> model = bnn.AnchoredEnsemble(networks, noise=0.05, n_members=4)
    """

    prior: FunctionalPrior | NotStored
    prior_seed: np.random.SeedSequence
    inputs_given: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.prior_seed, np.random.SeedSequence):
            raise ValueError(f"prior_seed = {self.prior_seed}: must be a SeedSequence")

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs."""
        return self.architecture.n_inputs, self.architecture.n_outputs

    def select(self, members: ArrayLike) -> Self:
        """Select some of the networks.

        Args:
            members: Indices of these networks, (n,).

        Returns:
            A Pretrained with only these networks.

        Raises:
            ValueError: If there is no network with such an index.
        """
        check_integers("members", members, 0)
        places = np.asarray(members)
        K = len(self.weights)
        if not places.size or places.max() >= K:
            raise ValueError(f"members = {members!r:.60}: must be some of 0 to {K - 1}")
        by_member = ["initial_weights", "weights", "targets", "numbers"]
        if self.inputs.ndim == 3:
            by_member.append("inputs")
        return replace(self, **{n: getattr(self, n)[places] for n in by_member})

    def weight_prior(self, regulariser: str | WeightPrior) -> WeightPrior | None:
        """Learn a prior p0(ω) over the weights from all networks.

        Args:
            regulariser: A name or a density, as for `train_anchored`.

        Returns:
            The density; None for "none".

        Raises:
            ValueError: If there is no such regulariser.
        """
        if isinstance(regulariser, WeightPrior):
            return regulariser
        check_option("regulariser", regulariser, (*WEIGHT_PRIORS, "none"))
        if regulariser == "none":
            return None
        return WEIGHT_PRIORS[regulariser].fit(self.weights, self.architecture)

    def stored_fields(self) -> dict[str, Any]:
        """Return the fields by name, as they are written to a file."""
        return dataclass_fields(self) | {"prior": as_stored(self.prior)}


def pretrain(
    prior: FunctionalPrior | None,
    X: ArrayLike | None = None,
    *,
    n_features: int | None = None,
    n_outputs: int | None = None,
    network: Architecture = NETWORK,
    settings: Pretraining = SETTINGS,
    scaling: Scaling = SCALING,
    nugget: float | None = None,
    device: str = "cpu",
    random_state: RandomState = None,
) -> Pretrained:
    """Fit each network to its own realisation of a functional prior.

    Args:
        prior: p(g), such as a GaussianProcessPrior. None takes GaussianProcessPrior(), scaled to
            the bounds of inputs and outputs. If the output bounds are "data", its outputs have unit
            scale.
        X: Points at which networks are fitted to the prior, (M, n_in), or (K, M, n_in) for separate
            points per network. None takes the points of a TablePrior; for other priors a Latin
            hypercube in the input bounds.
        n_features: Number of inputs; needed if X is None.
        n_outputs: Number of outputs; None takes the number of the prior.
        network: Hidden layers, activation and initial weights.
        settings: Numbers of networks and points, and how networks are trained.
        scaling: Bounds of inputs and outputs; "data" takes the ranges of X and of the realisations.
        nugget: Nugget of a later FunctionAnchoring, which is checked against the prior here.
        device: "cpu" or "cuda".
        random_state: Seed.

    Returns:
        The pre-trained networks.

    Raises:
        ValueError: If an argument is invalid, or the prior returns invalid values.
        DivergenceError: If the weights of fewer than two networks stayed finite.

    Source: Algorithm 3 of the paper.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
        >>> brief = bnn.TrainingSettings(epochs=5)
        >>> network = bnn.Architecture((8, 8), "silu")
        >>> settings = bnn.Pretraining(n_networks=4, n_points=20, training=brief)
        >>> networks = bnn.pretrain(prior, X, network=network, settings=settings, random_state=0)
        >>> networks.sample(X).shape
        (4, 12, 1)
    """
    check_kind("network", network, Architecture)
    check_kind("settings", settings, Pretraining)
    check_kind("scaling", scaling, Scaling)
    _check_arguments(prior, n_features, n_outputs, nugget, device)
    seeds = seed_sequence(random_state)
    points = getattr(prior, "points", None) if X is None else X
    inputs = _points(points, n_features, settings, scaling, seeds)
    n_in = inputs.shape[-1]
    scaler = scaler_of("scaling.inputs", scaling.inputs, inputs, n_in)
    prior = _given_or_default(prior, scaler, scaling, n_outputs or 1)
    prior_seed = spawn(seeds, Purpose.PRIOR)
    realisations = draw_realisations(prior, inputs, settings.n_networks, prior_seed)
    n_out = realisations.shape[2]
    _check_shape((n_in, n_out), (n_features or n_in, n_outputs or n_out))
    output_scaler = scaler_of("scaling.outputs", scaling.outputs, realisations, n_out)
    targets = output_scaler.transform(realisations)
    if nugget is not None:
        check_nugget(np.full(n_out, nugget), targets.var(axis=0).mean(axis=0))
    mlp = network.mlp(n_in, n_out)
    initial_weights = perturbed_starts(
        mlp, len(targets), network.init, settings.perturbation, seeds
    )
    result = train(
        mlp,
        initial_weights,
        scaler.transform(inputs),
        targets,
        settings.training,
        seeds=member_seeds(spawn(seeds, Purpose.PRETRAINING), len(initial_weights)),
        device=device,
        progress=titled("pre-training", settings.training.progress),
    )
    numbers = finite_members(len(targets), result.diverged, "pre-training")
    return Pretrained(
        architecture=mlp,
        initial_weights=initial_weights[numbers],
        weights=result.weights[numbers],
        inputs=inputs if inputs.ndim == 2 else inputs[numbers],
        targets=realisations[numbers],
        input_scaler=scaler,
        output_scaler=output_scaler,
        losses=result.losses,
        epochs=result.epochs,
        numbers=numbers,
        prior=prior,
        prior_seed=prior_seed,
        inputs_given=points is not None,
    )


def _check_arguments(
    prior: object, n_features: int | None, n_outputs: int | None, nugget: float | None, device: str
) -> None:
    """Raise ValueError if an argument of `pretrain` is invalid."""
    check_device(device)
    check_functional_prior(prior)
    for name, number in (("n_features", n_features), ("n_outputs", n_outputs)):
        if number is not None:
            check_count(name, number, 1)
    if nugget is not None:
        check_positive(nugget=nugget)
    if isinstance(prior, NotStored):
        raise ValueError(f"prior: a {prior.kind} is not saved with a model: set prior again")


def _given_or_default(
    prior: FunctionalPrior | None, inputs: BoundsScaler, scaling: Scaling, n_outputs: int
) -> FunctionalPrior:
    """Return the prior; for None a GaussianProcessPrior() that is scaled to the bounds."""
    if prior is not None:
        return prior
    # With output bounds "data" the prior has unit scale: its realisations determine the bounds.
    bounds = None if isinstance(scaling.outputs, str) else scaling.outputs
    outputs = scaler_of("scaling.outputs", bounds, None, n_outputs)
    kernels = [RBF(half**2, inputs.half_range) for half in outputs.half_range]
    mean = LinearMean(np.zeros((len(kernels), len(inputs.low))), outputs.centre)
    return GaussianProcessPrior(mean, kernels, len(kernels))


def _points(
    points: ArrayLike | None,
    n_features: int | None,
    settings: Pretraining,
    scaling: Scaling,
    seeds: np.random.SeedSequence,
) -> Array:
    """Return the points at which networks are fitted to the prior, (M, n_in) or (K, M, n_in).

    If no points are given, a Latin hypercube in the input bounds is drawn.

    Raises:
        ValueError: If the points have a wrong shape, or neither points nor n_features are given.
    """
    if points is None:
        if n_features is None:
            raise ValueError("n_features = None: must be given if X is not")
        seed = spawn(seeds, Purpose.INPUTS)
        factor = settings.range_factor
        scaled = truncated_normal_hypercube(settings.n_points, n_features, seed, factor)
        bounds = scaler_of("scaling.inputs", scaling.inputs, None, n_features)
        points = bounds.inverse_transform(scaled)
    inputs = as_finite("X", points)
    K = settings.n_networks
    fits = inputs.ndim == 2 or (inputs.ndim == 3 and len(inputs) == K)
    if not fits or inputs.shape[-2] < 2 or 0 in inputs.shape:
        shapes = f"(M >= 2, n_in) or ({K}, M >= 2, n_in)"
        raise ValueError(f"X has shape {inputs.shape}: must be {shapes}")
    check_ranges(X=inputs.reshape(-1, inputs.shape[-1]))
    return inputs


def checked_data(
    pretrained: Pretrained, X: ArrayLike, y: ArrayLike, n_members: int | None
) -> tuple[Array, Array]:
    """Check data for pre-trained networks, and return X (N, n_in) and y (N, n_out)."""
    if not isinstance(pretrained, Pretrained):
        raise ValueError(f"pretrained = {pretrained!r:.60}: must be from bnn.pretrain")
    if n_members is not None:
        check_count("n_members", n_members, 1, MOST_NETWORKS)
        most = len(pretrained.epochs)  # diverged networks count, as for an estimator
        if n_members > most:
            needed = f"must be <= pretraining.n_networks = {most}"
            raise ValueError(f"n_members = {n_members}: {needed}")
    X, y = as_data(X, y)
    _check_shape(pretrained.shape, (X.shape[1], y.shape[1]))
    return X, y


def check_data(pretrained: Pretrained, X: Array, y: Array) -> None:
    """Check that data X (N, n_in) and y (N, n_out) match the inputs and outputs of the networks.

    Values of y may be missing. Warn if data lie far outside the bounds, or if most lie outside the
    range of the points of pre-training.
    """
    _check_shape(pretrained.shape, (X.shape[1], y.shape[1]))
    warn_far("scaling.inputs", pretrained.input_scaler, X)
    warn_far("scaling.outputs", pretrained.output_scaler, filled(y))
    points = pretrained.inputs.reshape(-1, X.shape[1])
    scaler = pretrained.input_scaler
    if not pretrained.inputs_given:
        # The points were drawn within the bounds, which a small number of points does not reach.
        points = np.vstack([points, scaler.low, scaler.high])
    low = points.min(axis=0)
    high = points.max(axis=0)
    outside = 1.0 - np.mean(np.all((low <= X) & (high >= X), axis=1))
    if outside > 0.5:
        points_of = f"the points at which the prior was fitted, {low} to {high}"
        remedy = "give scaling=Scaling(inputs=...), or pre-train at your own points"
        message = f"{outside:.0%} of the data lie outside {points_of}: {remedy}"
        warnings.warn(message, PriorRangeWarning, stacklevel=7)


def drawn_prior(pretrained: Pretrained) -> DrawnPrior:
    """Return the prior of a pre-training, with which its realisations are continued to new points.

    Raises:
        ValueError: If the prior was not stored in a file, or each network has separate points.
    """
    if pretrained.inputs.ndim == 3:
        raise ValueError(
            "pretrained: anchoring in function space needs prior points that all networks share"
        )
    prior = pretrained.prior
    if isinstance(prior, NotStored):
        raise ValueError(
            f"prior: a {prior.kind} is not saved with a model: pre-train again with it"
        )
    n_drawn = len(pretrained.epochs)
    return DrawnPrior(prior, pretrained.inputs, n_drawn, pretrained.prior_seed)


def check_functional_prior(prior: object) -> None:
    """Raise ValueError unless a prior has a method `sample`, or is None or a NotStored."""
    if isinstance(prior, type):
        raise ValueError(f"prior = {prior.__name__}: must be an object, not its class")
    if isinstance(prior, GaussianProcessPrior):
        prior.check_set()
    if not (prior is None or isinstance(prior, NotStored) or hasattr(prior, "sample")):
        needed = "must have a method sample, or be networks of bnn.pretrain"
        raise ValueError(f"prior = {short(prior)}: {needed}")


def _check_shape(prior: tuple[int, int], data: tuple[int, int]) -> None:
    if prior != data:
        raise ValueError(
            f"the data have {data[0]} inputs and {data[1]} outputs, the prior has "
            f"{prior[0]} and {prior[1]}"
        )
