"""Anchoring in function space: each network is fitted to a draw from the posterior."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.stats import qmc
from sklearn.exceptions import ConvergenceWarning

from bnn._seeding import Purpose, RandomState, generator, member_generators, seed_sequence, spawn
from bnn._settings import Settings
from bnn._validation import (
    Array,
    Ints,
    check_count,
    check_device,
    check_flags,
    check_kind,
    check_positive,
)
from bnn.ensembles.conditioning import Conditioning, check_nugget, output_vectors
from bnn.ensembles.ensemble import WIDE, PretrainedEnsemble
from bnn.ensembles.members import Members, joined
from bnn.ensembles.pretraining import Pretrained, Pretraining, check_data, checked_data, drawn_prior
from bnn.ensembles.training_data import TrainingData
from bnn.gp.evidence.model import estimated_model
from bnn.gp.mixture import MixturePosterior, MixturePrior, combination, warn_of_few_draws
from bnn.networks.architecture import Architecture
from bnn.noise import Covariance, Noise, StudentNoise, resample
from bnn.noise.covariances import apart
from bnn.scaling import BoundsScaler, Scaling
from bnn.storage import storable
from bnn.training.gauss_newton.function_space import Metric, fit_functions
from bnn.training.gauss_newton.levenberg_marquardt import StoppingRule, late_members
from bnn.training.settings import TrainingSettings
from safe_files.progress import progress_bar, titled

# The default nugget is this fraction of the standard deviation of the noise, within these bounds.
# The lower bound is for data with duplicates: there the estimate of heteroscedastic noise is almost
# zero, and networks cannot follow the data that closely.
_OF_NOISE = 0.5
_LEAST_NUGGET = 1e-4
_MOST_NUGGET = 0.01
_SAME_POINT = 1e-6  # distance up to which points count as equal, with inputs scaled to [-1, 1]


@storable
@dataclass(repr=False)
class FunctionAnchoring(Settings):
    """How networks are kept near realisations of a functional prior, see `train_function_anchored`.

    Args:
        n_points: Number of measurement points in addition to the training inputs. They are a Latin
            hypercube in the input bounds. If `pretrain` was given points, they are drawn from these
            points without the training inputs; if there are fewer, all are used.
        nugget: Standard deviation δ by which a network may miss its target at each point, with
            outputs scaled to [-1, 1]. It must be below a third of the prior standard deviation.
            None takes half of the standard deviation of the noise, per output, between 1e-4 and
            0.01.
        tol: Training of a member ends at this mean squared distance from its posterior realisation,
            in units of posterior standard deviations along each direction.
        max_iter: Largest number of Gauss-Newton iterations per member.
        n_realisations: Number of realisations from which the covariance of a prior without a kernel
            is estimated.
        progress: Whether to show a progress bar; None shows one on a terminal after two
            seconds, and lines elsewhere after thirty.

    Examples:
        >>> import bnn
        >>> bnn.FunctionAnchoring(n_points=50).set_params(tol=0.2).n_points
        50
    """

    n_points: int = 200
    nugget: float | None = None
    tol: float = 0.1
    max_iter: int = 100
    n_realisations: int = 1000
    progress: bool | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if a field is invalid."""
        for name, least in (("n_points", 1), ("max_iter", 1), ("n_realisations", 2)):
            check_count(name, getattr(self, name), least)
        nugget = _MOST_NUGGET if self.nugget is None else self.nugget
        check_positive(nugget=nugget, tol=self.tol)
        if self.progress is not None:
            check_flags(progress=self.progress)


ANCHORING = FunctionAnchoring()


def train_function_anchored(
    pretrained: Pretrained,
    X: Array,
    y: Array,
    *,
    noise: Noise | str | None = None,
    noise_std: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_members: int | None = None,
    anchoring: FunctionAnchoring = ANCHORING,
    device: str = "cpu",
    random_state: RandomState = None,
) -> Members:
    """Train pre-trained networks on data, each kept near its own prior realisation g.

    Member k minimises, with its own perturbed data ỹ and at measurement points X* that include the
    training inputs,

        Σ_i (ỹ_i - f(x_i))ᵀ Σ_noise⁻¹ (ỹ_i - f(x_i)) + (f - g)(X*)ᵀ C⁺ (f - g)(X*)

    with the prior covariance C. Up to a constant, this is the squared distance of f from f*, in the
    metric of the posterior covariance. Here f* is the realisation conditioned on the perturbed
    data (Matheron's rule). For a Gaussian process prior and sufficiently wide networks, the members
    are draws from the exact posterior. With a MixturePrior each member follows one component;
    components are allocated by their posterior weights.

    Args:
        pretrained: Networks from `pretrain`; smooth ("silu") and wide networks follow f* best.
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
        anchoring: Measurement points, nugget, and when the training of a member ends.
        device: "cpu" or "cuda".
        random_state: Seed of the perturbed data, measurement points and realisations.

    Returns:
        The members. Their inputs are the measurement points, the training inputs first, their
        targets are f*, and their penalties are (f - g)(X*)ᵀ (C + δ² I)⁻¹ (f - g)(X*).

    Raises:
        ValueError: If an argument is invalid, the data do not match the networks, or the prior was
            lost because a file cannot contain it.

    Warns:
        ConvergenceWarning: If some members do not reach `tol` within `max_iter` iterations.
        BoundsWarning: If data lie far outside the bounds that scale them.
        NoiseWarning: If the noise exceeds the scatter of the data.
        PriorRangeWarning: If most data lie outside the range of the pre-training.

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
        >>> loose = bnn.FunctionAnchoring(n_points=5, tol=100.0)
        >>> bnn.train_function_anchored(networks, X, y, noise=0.05, anchoring=loose, random_state=0)
        Members(4 networks of widths (1, 8, 8, 1))
    """
    X, y = checked_data(pretrained, X, y, n_members)
    data = TrainingData.checked(X, y, noise, noise_std, sample_weight)
    return _train_function_anchored(pretrained, data, n_members, anchoring, device, random_state)


def _train_function_anchored(
    pretrained: Pretrained,
    data: TrainingData,
    n_members: int | None,
    anchoring: FunctionAnchoring,
    device: str,
    random_state: RandomState,
) -> Members:
    """Train as `train_function_anchored` on checked data."""
    check_data(pretrained, data.X, data.y)
    check_kind("anchoring", anchoring, FunctionAnchoring)
    check_device(device)
    noise, covariances = data.noise_of_training()
    if data.fixed.any():
        # With noise as wide as this, the nugget of fixed outputs has its largest value.
        wide = np.diag(np.square(pretrained.output_scaler.half_range))
        covariances = apart(covariances, data.fixed & np.isnan(data.targets), wide)
    task = _Task(data.X, data.targets, noise, covariances, anchoring, device)
    seeds = seed_sequence(random_state)
    chosen = pretrained.select(np.arange(len(pretrained.weights))[:n_members])
    if isinstance(chosen.prior, MixturePrior):
        return _anchor_to_components(chosen, task, seeds)
    return _anchor_to_process(chosen, task, seeds)


@dataclass(frozen=True)
class _Task:
    """What all members have in common: data X (N, n_in), y (N, n_out), their noise, settings.

    `covariance` is the noise covariance of the data, (n_out, n_out) or (N, n_out, n_out); `noise`
    is what the members keep of it. Entries of y that are NaN are left out.
    """

    X: Array
    y: Array
    noise: Covariance
    covariance: Array
    anchoring: FunctionAnchoring
    device: str


def _anchor_to_process(
    pretrained: Pretrained, task: _Task, seeds: np.random.SeedSequence, *, centred: bool = True
) -> Members:
    """Anchor all networks to realisations of one prior."""
    # If centred, realisations average to the mean of a Gaussian process, and perturbed data to y.
    prior = drawn_prior(pretrained)
    network = pretrained.architecture
    scaler = pretrained.output_scaler
    anchoring = task.anchoring
    added = _measurement_points(pretrained, task.X, anchoring.n_points, seeds)
    points = np.concatenate([task.X, added])
    inputs = pretrained.input_scaler.transform(points)
    anchors = pretrained.weights
    # realisations g and their covariance C, with outputs scaled to [-1, 1]
    g = scaler.transform(prior.at(points, pretrained.numbers, centred))
    seed = spawn(seeds, Purpose.COVARIANCE)
    C = prior.scaled_covariance(points, scaler, anchoring.n_realisations, seed)
    fixed = np.isnan(task.y).all(axis=0)
    nuggets = _nuggets(scaler.transform_covariance(task.covariance), anchoring.nugget, C, fixed)
    prior_metric = Metric(C, nuggets)
    targets, S = _posterior_realisations(g, C, task, scaler, centred, seeds)
    # Each member minimises (f - f*)ᵀ (S + δ² I)⁻¹ (f - f*).
    rule = StoppingRule(anchoring.max_iter, loss=anchoring.tol)
    title = titled("training", anchoring.progress)
    result = fit_functions(network, anchors, inputs, targets, S, nuggets, rule, task.device, title)
    # Penalties (f - g)ᵀ (C + δ² I)⁻¹ (f - g)
    moved = network.forward(result.weights.astype(float), inputs) - g
    penalties = prior_metric.squares(torch.as_tensor(output_vectors(moved))).numpy()
    return Members(
        architecture=network,
        initial_weights=anchors,
        weights=result.weights,
        inputs=points,
        targets=scaler.inverse_transform(targets),
        input_scaler=pretrained.input_scaler,
        output_scaler=scaler,
        losses=result.losses,
        epochs=result.epochs,
        numbers=np.arange(len(anchors)),
        noise_covariance=task.noise,
        anchors=anchors,
        penalties=penalties,
        bounds=prior.bounds,
    )


def _posterior_realisations(
    g: Array,
    C: Array,
    task: _Task,
    scaler: BoundsScaler,
    centred: bool,
    seeds: np.random.SeedSequence,
) -> tuple[Array, Array]:
    """Return posterior realisations f*, (K, n, n_out), and the blocks of their covariance S."""
    y = task.y
    generators = member_generators(spawn(seeds, Purpose.RESAMPLING), len(g))
    # ỹ = y + e with e ~ N(0, Σ_noise); if centred, the ỹ of all members average to y.
    _, perturbed = resample(task.X, y, "likelihood", task.covariance, generators)
    if centred:
        perturbed += y - perturbed.mean(axis=0)
    present = ~np.isnan(y)
    perturbed = np.where(present, perturbed, scaler.centre)  # missing values have zero gain
    posterior = _conditioned(C, scaler, task.covariance, present)
    # Matheron's rule: f* = g + G (ỹ - g(X))
    return posterior.apply(g, scaler.transform(perturbed)), posterior.covariance


def _conditioned(
    C: Array, scaler: BoundsScaler, covariance: Array, present: NDArray[np.bool_]
) -> Conditioning:
    """Condition the prior on the training inputs, which are the first measurement points."""
    # G = C(., X) (C(X, X) + Σ_noise)⁻¹ and the posterior covariance S = C - G C(X, .)
    try:
        noise = scaler.transform_covariance(covariance)
        return Conditioning.on_first_points(C, noise, len(present), present)
    except np.linalg.LinAlgError:
        least = np.sqrt(np.einsum("...jj->...j", covariance).min())
        reason = "too small for the prior in double precision"
        other = "or a custom kernel has negative eigenvalues"
        raise ValueError(f"noise = {least:.3g}: {reason}, {other}") from None


def _nuggets(noise: Array, nugget: float | None, C: Array, fixed: NDArray[np.bool_]) -> Array:
    """Return δ of each output, (n_out,), `nugget` or from noise (..., n_out, n_out); check it."""
    # δ_j = σ_j / 2 between 1e-4 and 0.01, with the smallest σ_j of all data
    least = np.einsum("...jj->...j", noise).reshape(-1, noise.shape[-1]).min(axis=0)
    nuggets = np.clip(_OF_NOISE * np.sqrt(least), _LEAST_NUGGET, _MOST_NUGGET)
    if nugget is not None:
        nuggets = np.full_like(nuggets, nugget)
    variances = np.diagonal(C, axis1=1, axis2=2).reshape(len(nuggets), -1).mean(axis=1)
    # The prior of a fixed output need not vary, because members are clipped to its value.
    check_nugget(nuggets, np.where(fixed, 1.0, variances))
    return np.asarray(nuggets)


def _anchor_to_components(
    pretrained: Pretrained, task: _Task, seeds: np.random.SeedSequence
) -> Members:
    """Anchor each member to a component of a mixture, allocated by posterior weights."""
    mixture = pretrained.prior
    anchoring = task.anchoring
    K = len(pretrained.weights)
    assert isinstance(mixture, MixturePrior)
    posterior = MixturePosterior(mixture, task.covariance, task.X, task.y)
    warn_of_few_draws(posterior, stacklevel=3)
    numbers = posterior.allocate(K, spawn(seeds, Purpose.COMPONENTS))
    # Members are trained one by one, with a common progress bar. A single member is not centred.
    alone = replace(task, anchoring=replace(anchoring, progress=False))
    members = []
    title = titled("training", anchoring.progress)
    with warnings.catch_warnings(), progress_bar(K, title, "member") as bar:
        warnings.simplefilter("ignore", ConvergenceWarning)  # the warning below covers all members
        for k in range(K):
            one = replace(pretrained.select([k]), prior=combination(mixture, numbers[k]))
            seed = spawn(seeds, Purpose.COMPONENTS, k)
            members.append(_anchor_to_process(one, alone, seed, centred=False))
            bar.update()
    late = np.count_nonzero([np.nanmin(one.losses) > anchoring.tol for one in members])
    if late:
        message = late_members(late, K, anchoring.max_iter)
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return joined(members)


def _measurement_points(
    pretrained: Pretrained, X: Array, n_points: int, seeds: np.random.SeedSequence
) -> Array:
    """Return the measurement points in addition to the training inputs X, (n, n_in)."""
    rng = generator(spawn(seeds, Purpose.MEASUREMENT))
    pretrained_at = pretrained.inputs
    if pretrained.inputs_given:
        others = pretrained_at[_others(pretrained.input_scaler, X, pretrained_at)]
        return np.asarray(others[rng.permutation(len(others))[:n_points]])
    uniform = qmc.LatinHypercube(pretrained_at.shape[1], seed=rng).random(n_points)
    return pretrained.input_scaler.inverse_transform(2.0 * uniform - 1.0)


def _others(scaler: BoundsScaler, X: Array, points: Array) -> Ints:
    """Return indices of points that are not training inputs X; of equal points the first."""
    scaled = scaler.transform(points)
    to_data = cKDTree(scaler.transform(X)).query(scaled, p=np.inf)[0]
    # np.unique sorts by value: restore the order, so that a seed always selects the same points.
    first = np.sort(np.unique(np.round(scaled / _SAME_POINT), axis=0, return_index=True)[1])
    return np.asarray(first[to_data[first] > _SAME_POINT])


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class FunctionAnchoredEnsemble(PretrainedEnsemble):
    """Ensemble pre-trained on a functional prior, whose members are anchored in function space.

    Each member is kept near its own prior realisation, so that it follows this realisation
    conditioned on perturbed data. For a Gaussian process prior and sufficiently wide networks, the
    members are draws from the exact posterior; see `bnn.pretrain` and
    `bnn.train_function_anchored`.

    Args:
        prior: p(g), such as a GaussianProcessPrior. None takes the average over families of kernels
            that `evidence.fit_kernel_average` returns for the data. If the noise is also None, it
            is estimated together with the prior, without heavy tails. A bnn.Pretrained replaces the
            pre-training, whose parameters then have no effect.
        noise: Standard deviation(s) in the units of y, Σ_noise (n_out, n_out), or a
            HeteroscedasticNoise. "constant", or None together with a prior, estimates constant
            standard deviations from the evidence of the data; "heteroscedastic" estimates a
            HeteroscedasticNoise.
        n_members: Number of members, K: the first K pre-trained networks.
        network: Hidden layers, activation and initial weights; smooth networks follow realisations
            of the prior best. None is Architecture((50, 50, 50), "silu").
        pretraining: Pre-training on the prior; None is Pretraining(n_networks=30) with
            TrainingSettings(epochs=500).
        anchoring: Measurement points, nugget, and when the training of a member ends; None is
            FunctionAnchoring().
        scaling: Bounds of inputs and outputs; None is Scaling(), the ranges of the data.
        device: "cpu" or "cuda".
        random_state: Seed.

    Attributes:
        pretrained_: The pre-trained networks, a bnn.Pretrained.
        members_: The trained networks, a bnn.Members.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> X = np.linspace(-1.0, 1.0, 12)[:, None]
        >>> y = np.sin(3.0 * X[:, 0])
        >>> prior = bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5))
        >>> model = bnn.FunctionAnchoredEnsemble(
        ...     prior,
        ...     noise=0.05,
        ...     n_members=3,
        ...     network=bnn.Architecture((20, 20), "silu"),
        ...     pretraining=bnn.Pretraining(3, 30, training=bnn.TrainingSettings(epochs=50)),
        ...     anchoring=bnn.FunctionAnchoring(n_points=10, tol=10.0),
        ...     random_state=0,
        ... )
        >>> mean, std = model.fit(X, y).predict(X, return_std=True)
        >>> mean.shape, std.shape
        ((12,), (12,))
    """

    noise: Noise | str | None = None
    n_members: int = 30
    network: Architecture | None = None
    pretraining: Pretraining | None = None
    anchoring: FunctionAnchoring | None = None
    scaling: Scaling | None = None
    device: str = "cpu"
    random_state: RandomState = None

    group_defaults: ClassVar[dict[str, Settings]] = {
        "network": Architecture((50, 50, 50), "silu"),
        "pretraining": Pretraining(n_networks=30, training=TrainingSettings(epochs=500)),
        "anchoring": ANCHORING,
        "scaling": Scaling(),
    }

    @property
    def _nugget(self) -> float | None:
        nugget: float | None = self.group("anchoring").nugget
        return nugget

    def _prepared(self, data: TrainingData, keep_prior: bool) -> tuple[Pretrained, TrainingData]:
        """Return networks and data; find prior and noise together if both are None."""
        if keep_prior or self.prior is not None or self.noise is not None:
            return super()._prepared(data, keep_prior)
        std = None if data.data_noise is None else data.data_noise.std
        kind = "gaussian" if std is None else None
        prior, noise, _ = estimated_model(
            data.X, data.y, kind, data.data_noise, constant_deviation=WIDE
        )
        assert not isinstance(noise, StudentNoise)
        data = replace(data, noise=noise)
        return self._pretrained_for(data, prior), data

    def _trained(self, data: TrainingData, keep_prior: bool) -> Members:
        pretrained, data = self._prepared(data, keep_prior)
        return _train_function_anchored(
            pretrained,
            data,
            self.n_members,
            self.group("anchoring"),
            self.device,
            self.random_state,
        )
