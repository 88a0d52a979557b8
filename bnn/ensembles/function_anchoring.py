"""Anchoring in function space: networks that follow draws from the posterior."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning

from bnn._seeding import Purpose, RandomState, generator, member_generators, seed_sequence, spawn
from bnn._validation import (
    Array,
    check_count,
    check_device,
    check_flags,
    check_kind,
    check_positive,
)
from bnn.ensembles.drawn_priors import DrawnPrior
from bnn.ensembles.networks import Members, joined
from bnn.ensembles.pretrained import PretrainedEnsemble
from bnn.ensembles.pretraining import DATA_WARNINGS, Pretrained, checked_data
from bnn.function_priors.conditioning import Conditioning, check_nugget, output_vectors
from bnn.function_priors.mixture import (
    MixturePosterior,
    MixturePrior,
    allocate_components,
    combination,
)
from bnn.gauss_newton.function_space import Metric, fit_functions
from bnn.gauss_newton.levenberg_marquardt import StoppingRule
from bnn.noise import Covariance, Noise, covariance_at, noise_of_data, resample
from bnn.storage import storable
from bnn.training.execution import progress_bar

# The nugget that follows the noise: this fraction of its standard deviation, and at most so much.
_OF_NOISE, _MOST_NUGGET = 0.5, 0.01


@dataclass(frozen=True)
class FunctionAnchoring:
    """Settings of `anchor_functions`.

    Args:
        points: Number of measurement points beside the training inputs, in a Latin hypercube of
            the input bounds; chosen from the points of pre-training where these were given.
        nugget: Standard deviation δ of a network's error, in its units; under a third of p(g)'s.
            None takes half of the noise of each output, 0.01 at most.
        tolerance: Mean squared distance to the posterior realisation at which a member ends,
            relative to the posterior variance, direction by direction.
        iterations: Largest number of Gauss-Newton iterations per member.
        realisations: Drawn for the covariance of a prior without a kernel.
        centred: Whether a GP's realisations and the perturbed data are shifted to exact means.
    """

    points: int = 200
    nugget: float | None = None
    tolerance: float = 0.1
    iterations: int = 100
    realisations: int = 1000
    centred: bool = True

    def __post_init__(self) -> None:
        """Raise ValueError if a field is out of range."""
        for name, least in (("points", 1), ("iterations", 1), ("realisations", 2)):
            check_count(name, getattr(self, name), least)
        nugget = _MOST_NUGGET if self.nugget is None else self.nugget
        check_positive(nugget=nugget, tolerance=self.tolerance)
        check_flags(centred=self.centred)


SETTINGS = FunctionAnchoring()


def anchor_functions(
    pretrained: Pretrained,
    X: Array,
    y: Array,
    *,
    noise: Noise = 0.1,
    n_members: int | None = None,
    settings: FunctionAnchoring = SETTINGS,
    device: str = "cpu",
    progress: bool = False,
    random_state: RandomState = None,
) -> Members:
    """Train pre-trained networks to data, each held near its own prior realisation g.

    Member k minimises, with perturbed data ỹ of its own and at measurement points X* that include
    the training inputs,

        Σ_i (ỹ_i - f(x_i))ᵀ Σ_noise⁻¹ (ỹ_i - f(x_i)) + (f - g)(X*)ᵀ C⁺ (f - g)(X*)

    with the prior's covariance C. This is, up to a constant, the distance of f to the realisation
    conditioned on the data, f* (Matheron's rule), measured with the posterior covariance. For a
    Gaussian process and networks wide enough, the members are draws from the exact posterior. The
    members are shared out among the components of a MixturePrior by their posterior weights.

    Args:
        pretrained: Networks from `pretrain`; smooth ("silu") and wide ones follow f* best.
        X: Inputs, (N, n_in).
        y: Outputs, (N,) or (N, n_out).
        noise: Standard deviation(s), or Σ_noise (n_out, n_out), in the units of y; or a
            HeteroscedasticNoise.
        n_members: K, the first of the pre-trained networks; None takes all.
        settings: Measurement points, and when a member has arrived.
        device: "cpu" or "cuda".
        progress: Whether to show a progress bar.
        random_state: Seed of the perturbed data, measurement points and realisations.

    Returns:
        The members. Their inputs are the measurement points, the training inputs first, their
        targets are f*, and their penalties are (f - g)(X*)ᵀ (C + δ² I)⁻¹ (f - g)(X*).

    Raises:
        ValueError: If arguments or data are not admissible, or no file could hold the prior.

    Warns:
        ConvergenceWarning: If some members did not arrive within the budget.
        BoundsWarning, NoiseWarning, PriorRangeWarning: If data do not fit bounds, noise or prior.
    """
    X, y = checked_data(pretrained, X, y, n_members)
    check_kind("settings", settings, FunctionAnchoring)
    check_flags(progress=progress)
    check_device(device)
    kept, seeds = noise_of_data(noise, X, y), seed_sequence(random_state)
    covariance = covariance_at(kept, X)
    if isinstance(pretrained.prior, MixturePrior):
        chosen = pretrained.select(np.arange(len(pretrained.weights))[:n_members])
        return _anchor_to_components(chosen, X, y, kept, settings, device, progress, seeds)
    prior, scaler = DrawnPrior.of(pretrained), pretrained.output_scaler
    points = np.concatenate([X, _measurement_points(pretrained, settings.points, seeds)])
    inputs = pretrained.input_scaler.transform(points)
    anchors, numbers = pretrained.weights[:n_members], pretrained.numbers[:n_members]
    g = scaler.transform(prior.at(points, numbers, settings.centred))
    C = prior.covariance(points, settings.realisations, spawn(seeds, Purpose.COVARIANCE))
    scales = np.repeat(scaler.half_range, len(points)).reshape(len(C), -1)
    C = C / (scales[:, :, None] * scales[:, None, :])
    scaled_noise = scaler.transform_covariance(covariance)
    least = np.einsum("...jj->...j", scaled_noise).reshape(-1, scaled_noise.shape[-1]).min(axis=0)
    most = np.minimum(_OF_NOISE * np.sqrt(least), _MOST_NUGGET)
    nuggets = most if settings.nugget is None else np.full_like(most, settings.nugget)
    variances = np.diagonal(C, axis1=1, axis2=2).reshape(len(nuggets), -1)
    check_nugget(nuggets, variances.mean(axis=1))
    prior_metric = Metric(C, nuggets)
    try:
        posterior = Conditioning.on_first_points(C, scaled_noise, len(X))
    except np.linalg.LinAlgError as error:
        raise ValueError(f"noise = {noise}: too small for the prior in double precision") from error
    generators = member_generators(spawn(seeds, Purpose.RESAMPLING), len(anchors))
    _, perturbed = resample(X, y, "likelihood", covariance, generators)
    if settings.centred:
        perturbed += y - perturbed.mean(axis=0)
    targets = posterior.apply(g, scaler.transform(perturbed))
    metric = posterior.covariance, nuggets
    rule = StoppingRule(settings.iterations, loss=settings.tolerance)
    architecture, title = pretrained.architecture, "training" if progress else None
    result = fit_functions(architecture, anchors, inputs, targets, *metric, rule, device, title)
    moved = architecture.forward(result.weights.astype(float), inputs) - g
    penalties = prior_metric.squares(torch.as_tensor(output_vectors(moved))).numpy()
    goals = scaler.inverse_transform(targets)
    trained_to = architecture, anchors, points, goals, pretrained.input_scaler, scaler
    own = {"anchors": anchors, "penalties": penalties, "bounds": prior.bounds}
    return Members.of(result, np.arange(len(anchors)), *trained_to, noise_covariance=kept, **own)


def _anchor_to_components(
    pretrained: Pretrained, X: Array, y: Array, noise: Covariance, settings: FunctionAnchoring,
    device: str, progress: bool, seeds: np.random.SeedSequence,
) -> Members:  # fmt: skip
    """Anchor each member to a component of a mixture, shared out by their posterior weights."""
    mixture, K = pretrained.prior, len(pretrained.weights)
    assert isinstance(mixture, MixturePrior)
    own = covariance_at(noise, X) * np.eye(mixture.n_outputs)
    shares = MixturePosterior(mixture, own, X, y).shares
    numbers = allocate_components(shares, K, spawn(seeds, Purpose.COMPONENTS))
    settings = replace(settings, centred=False)  # a member alone has no mean
    parts = []
    title = "training" if progress else None
    with warnings.catch_warnings(), progress_bar(K, title, "member") as bar:
        for said_once in (ConvergenceWarning, *DATA_WARNINGS):  # not by every member
            warnings.simplefilter("ignore", said_once)
        for k in range(K):
            one = replace(pretrained.select([k]), prior=combination(mixture, numbers[k]))
            seed = spawn(seeds, Purpose.COMPONENTS, k)
            part = anchor_functions(
                one, X, y, noise=noise, settings=settings, device=device, random_state=seed
            )
            parts.append(part)
            bar.update()
    late = sum(np.nanmin(part.losses) > settings.tolerance for part in parts)
    if late:
        message = f"{late} of {K} members did not arrive within {settings.iterations} iterations"
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return joined(parts)


def _measurement_points(
    pretrained: Pretrained, n_points: int, seeds: np.random.SeedSequence
) -> Array:
    """Return points where functions are compared beside the data, (n, n_in)."""
    rng, given = generator(spawn(seeds, Purpose.MEASUREMENT)), pretrained.inputs
    if pretrained.inputs_given:
        return np.asarray(given[rng.permutation(len(given))[:n_points]])
    uniform = qmc.LatinHypercube(given.shape[1], seed=rng).random(n_points)
    return pretrained.input_scaler.inverse_transform(2.0 * uniform - 1.0)


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class FunctionAnchoredEnsemble(PretrainedEnsemble, settings=FunctionAnchoring):
    """Ensemble pre-trained to a functional prior, whose members are anchored in function space.

    Each member is held near its own prior realisation and follows that realisation conditioned on
    perturbed data. For a Gaussian process and networks wide enough the members are draws from the
    exact posterior; see `bnn.pretrain` and `bnn.anchor_functions`.

    Args:
        activation: Of the hidden layers; smooth networks follow the prior's realisations best.

    Attributes:
        pretrained_: The pre-trained networks, a bnn.Pretrained.
        members_: The trained networks, a bnn.Members.
    """

    hidden: Sequence[int] = (50, 50, 50)
    activation: str = "silu"
    n_pretrained: int = 30
    pretrain_epochs: int = 500
    points: int = FunctionAnchoring.points
    nugget: float | None = FunctionAnchoring.nugget
    tolerance: float = FunctionAnchoring.tolerance
    iterations: int = FunctionAnchoring.iterations
    realisations: int = FunctionAnchoring.realisations
    centred: bool = FunctionAnchoring.centred

    def _check_parameters(self) -> None:
        super()._check_parameters()
        FunctionAnchoring(**self._arguments_of(FunctionAnchoring))

    def _trained(self, X: Array, y: Array) -> Members:
        settings = FunctionAnchoring(**self._arguments_of(FunctionAnchoring))
        pretrained, chosen = self._pretrained_for(X, y), self._arguments_of(anchor_functions)
        return anchor_functions(pretrained, X, y, settings=settings, **chosen)
