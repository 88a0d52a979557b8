"""Pre-training to a functional prior, Algorithm 3 of the paper."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bnn._seeding import Purpose, RandomState, member_seeds, seed_sequence, spawn
from bnn._validation import (
    Array,
    as_data,
    as_finite,
    check_count,
    check_device,
    check_flags,
    check_integers,
    check_kind,
    check_not_negative,
    check_option,
    check_positive,
)
from bnn.estimators.fitting import perturbed_starts
from bnn.estimators.members import Networks, finite_members
from bnn.networks.architecture import Architecture
from bnn.noise import NoiseWarning
from bnn.priors.conditioning import check_nugget
from bnn.priors.gaussian_process import default_prior
from bnn.priors.samplers import FunctionalPrior, draw_realisations, latin_hypercube
from bnn.scaling import Bounds, BoundsWarning, scaler_of, warn_far
from bnn.storage import NotStored, storable
from bnn.storage.values import dataclass_fields, kept
from bnn.training.loop import train
from bnn.training.settings import TrainingSettings
from bnn.weight_priors import WEIGHT_PRIORS, WeightPrior

SETTINGS = TrainingSettings(epochs=1000)


class PriorRangeWarning(UserWarning):
    """Most of the data lie where the prior was not fitted."""


DATA_WARNINGS = BoundsWarning, NoiseWarning, PriorRangeWarning  # of what does not fit the data


@storable
@dataclass(frozen=True, kw_only=True, repr=False)
class Pretrained(Networks):
    """Networks fitted to realisations g^[k] of a functional prior, see `pretrain`.

    The targets are the realisations, and the inputs are the points where they were drawn.

    Attributes:
        prior: The functional prior; NotStored after loading, if no file can hold it.
        prior_seed: Seed of the realisations.
        inputs_given: Whether the inputs were given, so that the prior may exist only there.
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
        """Number of inputs and of outputs."""
        return self.architecture.n_inputs, self.architecture.n_outputs

    def select(self, members: ArrayLike) -> Self:
        """Take some of the networks.

        Args:
            members: Their places among these networks, (n,).

        Returns:
            The pre-training as if there were only these.

        Raises:
            ValueError: If members are not such places.
        """
        check_integers("members", members, 0)
        places, K = np.asarray(members), len(self.weights)
        if not places.size or places.max() >= K:
            raise ValueError(f"members = {members!r:.60}: must be some of 0 to {K - 1}")
        own_inputs = ["inputs"] * (self.inputs.ndim == 3)
        by_member = ["start", "weights", "targets", "numbers", *own_inputs]
        return replace(self, **{n: getattr(self, n)[places] for n in by_member})

    def weight_prior(self, regulariser: str | WeightPrior) -> WeightPrior | None:
        """Learn a prior p0(ω) from all of the networks.

        Args:
            regulariser: A name or a density, as for `anchor`.

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
        """Return what a file holds."""
        return dataclass_fields(self) | {"prior": kept(self.prior)}


def pretrain(
    prior: FunctionalPrior | None, X: ArrayLike | None = None, *, n_features: int | None = None,
    n_outputs: int | None = None, prior_points: int = 500, prior_range: float = 1.0,
    n_pretrained: int = 50, hidden: Sequence[int] = (20, 20, 20, 20),
    activation: str = "leaky_relu", settings: TrainingSettings = SETTINGS,
    input_bounds: Bounds = "data", output_bounds: Bounds = "data", init: str = "glorot",
    perturbation: float = 0.01, nugget: float | None = None, device: str = "cpu",
    progress: bool = False, random_state: RandomState = None,
) -> Pretrained:  # fmt: skip
    """Fit networks to realisations of a functional prior, one each.

    Args:
        prior: p(g), see bnn.priors; None is a GaussianProcessPrior() for n_outputs, in
            units of the bounds (in those of y where the output bounds are "data").
        X: Points, (M, n_in), or (K, M, n_in) for points of each network's own; None takes a
            TablePrior's, or else a Latin hypercube within the input bounds.
        n_features: Number of inputs; needed where X is None.
        n_outputs: Number of outputs; None takes those of the prior.
        prior_points: M, where X is None.
        prior_range: Factor by which the Latin hypercube is wider than the bounds; the paper has 2.
        n_pretrained: K.
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS.
        settings: Of the training loop.
        input_bounds: Scaled to [-1, 1]: (low, high) for all columns, a pair for each, or SciPy's
            Bounds; "data" takes the range of X; None scales nothing.
        output_bounds: The same for the outputs; "data" takes the range of the realisations.
        init: Of the common start, "glorot" or "he".
        perturbation: Standard deviation of each network's perturbation of the common start.
        nugget: That of the FunctionAnchoring to come, refused here if too large for the prior.
        device: "cpu" or "cuda".
        progress: Whether to show a progress bar.
        random_state: Seed.

    Returns:
        The pre-trained networks.

    Raises:
        ValueError: If an argument is not admissible, or values of the prior are not.
        DivergenceError: If fewer than two networks stayed finite.

    Source: Algorithm 3 of the paper.
    """
    check_pretraining(prior, prior_points, prior_range, n_pretrained, perturbation)
    check_integers("hidden", hidden, 1)
    check_flags(progress=progress)
    check_device(device)
    check_kind("settings", settings, TrainingSettings)
    for name, number in (("n_features", n_features), ("n_outputs", n_outputs)):
        if number is not None:
            check_count(name, number, 1)
    if nugget is not None:
        check_positive(nugget=nugget)
    if isinstance(prior, NotStored):
        raise ValueError(f"prior: a {prior.kind} is not stored with a model, set it again")
    seeds = seed_sequence(random_state)
    tabulated = getattr(prior, "points", None)
    given = X is not None or tabulated is not None
    points = tabulated if X is None else X
    if points is None:
        if n_features is None:
            raise ValueError("n_features = None: must be given where X is not")
        seed = spawn(seeds, Purpose.INPUTS)
        scaled = latin_hypercube(prior_points, n_features, seed, prior_range)
        points = scaler_of("input_bounds", input_bounds, None, n_features).inverse_transform(scaled)
    inputs = as_finite("X", points)
    fits = inputs.ndim == 2 or (inputs.ndim == 3 and len(inputs) == n_pretrained)
    if not fits or inputs.shape[-2] < 2 or 0 in inputs.shape:
        shapes = f"(M >= 2, n_in) or ({n_pretrained}, M >= 2, n_in)"
        raise ValueError(f"X has shape {inputs.shape}: must be {shapes}")
    prior_seed, n_in = spawn(seeds, Purpose.PRIOR), inputs.shape[-1]
    scaler = scaler_of("input_bounds", input_bounds, inputs, n_in)
    if prior is None:  # the range of realisations is not known yet
        known = None if isinstance(output_bounds, str) else output_bounds
        outputs = scaler_of("output_bounds", known, None, n_outputs or 1)
        prior = default_prior(scaler, outputs)
    realisations = draw_realisations(prior, inputs, n_pretrained, prior_seed)
    n_out = realisations.shape[2]
    _check_shape((n_in, n_out), (n_features or n_in, n_outputs or n_out))
    output_scaler = scaler_of("output_bounds", output_bounds, realisations, n_out)
    architecture = Architecture((n_in, *hidden, n_out), activation)
    start = perturbed_starts(architecture, n_pretrained, init, perturbation, seeds)
    data = scaler.transform(inputs), output_scaler.transform(realisations)
    if nugget is not None:
        check_nugget(np.full(n_out, nugget), data[1].var(axis=0).mean(axis=0))
    shuffles = member_seeds(spawn(seeds, Purpose.PRETRAINING), n_pretrained)
    title = "pre-training" if progress else None
    result = train(
        architecture, start, *data, settings, seeds=shuffles, device=device, progress=title
    )
    numbers = finite_members(n_pretrained, result.diverged, "pre-training")
    trained_to = architecture, start, inputs, realisations, scaler, output_scaler
    own = {"prior": prior, "prior_seed": prior_seed, "inputs_given": given}
    return Pretrained.of(result, numbers, *trained_to, **own)


def checked_data(
    pretrained: Pretrained, X: ArrayLike, y: ArrayLike, n_members: int | None
) -> tuple[Array, Array]:
    """Return data for pre-trained networks, X (N, n_in) and y (N, n_out), which fit their shape."""
    if not isinstance(pretrained, Pretrained):
        raise ValueError(f"pretrained = {pretrained!r:.60}: must be from bnn.pretrain")
    if n_members is not None:
        check_count("n_members", n_members, 1)
    X, y = as_data(X, y)
    _check_shape(pretrained.shape, (X.shape[1], y.shape[1]))
    warn_far("input_bounds", pretrained.input_scaler, X)
    warn_far("output_bounds", pretrained.output_scaler, y)
    points, scaler = pretrained.inputs.reshape(-1, X.shape[1]), pretrained.input_scaler
    if not pretrained.inputs_given:  # drawn within the bounds, which few points do not reach
        points = np.vstack([points, scaler.low, scaler.high])
    low, high = points.min(axis=0), points.max(axis=0)
    outside = 1.0 - np.mean(np.all((low <= X) & (high >= X), axis=1))
    if outside > 0.5:
        points_of = f"the points at which the prior was fitted, {low} to {high}"
        remedy = "give input_bounds, or pre-train at points of your own"
        message = f"{outside:.0%} of the data lie outside {points_of}: {remedy}"
        warnings.warn(message, PriorRangeWarning, stacklevel=6)
    return X, y


def check_pretraining(
    prior: object, prior_points: int, prior_range: float, n_pretrained: int, perturbation: float
) -> None:
    """Raise ValueError where an argument of `pretrain` is not admissible."""
    if isinstance(prior, type):
        raise ValueError(f"prior = {prior.__name__}: must be an object, not its class")
    if not (prior is None or isinstance(prior, NotStored) or hasattr(prior, "sample")):
        raise ValueError(f"prior = {prior!r}: must have a method sample")
    check_count("n_pretrained", n_pretrained, 2)
    check_count("prior_points", prior_points, 2)
    check_positive(prior_range=prior_range)
    check_not_negative(perturbation=perturbation)


def _check_shape(prior: tuple[int, int], data: tuple[int, int]) -> None:
    if prior != data:
        raise ValueError(
            f"the data have {data[0]} inputs and {data[1]} outputs, the prior has "
            f"{prior[0]} and {prior[1]}"
        )
