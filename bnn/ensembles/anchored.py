"""Anchored ensembles as scikit-learn estimators: pre-training, and two ways to anchor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from bnn._validation import Array, as_points, check_option
from bnn.ensembles.anchoring import anchor, check_anchoring
from bnn.ensembles.base import EnsembleRegressor
from bnn.ensembles.function_anchoring import FunctionAnchoring, anchor_functions
from bnn.ensembles.pretraining import Pretrained, check_pretraining, pretrain
from bnn.function_priors.samplers import FunctionalPrior
from bnn.noise import RESAMPLINGS
from bnn.scaling import Bounds, BoundsScaler
from bnn.storage import storable
from bnn.storage.values import kept, same
from bnn.training.settings import Convergence

# Hyper-parameters that shape the pre-training: changing one makes it run again.
SHAPING = (
    "prior",
    "n_pretrained",
    "prior_points",
    "pretrain_epochs",
    "convergence",
    "perturbation",
    "hidden",
    "activation",
    "init",
    "input_bounds",
    "output_bounds",
    "batch_size",
    "learning_rate",
    "bias_correction",
    "random_state",
)


class PretrainedState:
    """Attributes that pre-training sets; None until then."""

    pretrained_: Pretrained | None = None
    pretrained_with_: dict[str, Any] | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class PretrainedEnsemble(PretrainedState, EnsembleRegressor):
    """Base of ensembles whose networks are fitted to realisations of a prior first."""

    prior: FunctionalPrior | Pretrained | None = field(default=None, kw_only=False)
    n_pretrained: int = 50
    prior_points: int = 500
    pretrain_epochs: int = 1000
    convergence: Convergence | None = None
    perturbation: float = 0.01

    fitted_attributes: ClassVar[tuple[str, ...]] = (
        *EnsembleRegressor.fitted_attributes,
        "pretrained_",
        "pretrained_with_",
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_pretraining(self.prior, self.prior_points, self.n_pretrained, self.perturbation)
        most = self._most_members
        if self.n_members > most:
            raise ValueError(f"n_members = {self.n_members}: must be <= n_pretrained = {most}")
        self._settings(self.pretrain_epochs, self.convergence)

    @property
    def _most_members(self) -> int:
        prior = self.prior
        return len(prior.epochs) if isinstance(prior, Pretrained) else self.n_pretrained

    def pretrain(
        self, X: ArrayLike | None = None, *, n_features: int | None = None
    ) -> PretrainedEnsemble:
        """Fit the networks to realisations of the prior; keep them for every fit.

        Members trained before are gone.

        Args:
            X: Points at which the prior is fitted, (M, n_in); None takes those of a TablePrior,
                else a Latin hypercube of `prior_points` points, to twice the input bounds (to ±2
                without these). Keep to X where the prior is defined nowhere else; clones do not
                have it.
            n_features: Number of inputs, where X is None.

        Returns:
            self, with pretrained_.

        Raises:
            ValueError: If a hyper-parameter is not admissible or the prior misbehaves.
            DivergenceError: If fewer than two members stayed finite.
        """
        self._check_parameters()
        self.members_ = None
        self._pretrain(X, n_features)
        return self

    def _pretrain(
        self,
        X: ArrayLike | None,
        n_features: int | None,
        data: tuple[Array | None, Array | None] = (None, None),
    ) -> None:
        """Run Algorithm 3 for the shape and the range of data (X, y), where these are known."""
        if isinstance(self.prior, Pretrained):
            self.pretrained_ = self.prior
        else:
            self.pretrained_ = pretrain(
                self.prior,
                X,
                n_features=n_features,
                n_outputs=None if data[1] is None else data[1].shape[1],
                prior_points=self.prior_points,
                n_pretrained=self.n_pretrained,
                hidden=self.hidden,
                activation=self.activation,
                settings=self._settings(self.pretrain_epochs, self.convergence),
                input_bounds=_range_of(data[0], self.input_bounds),
                output_bounds=_range_of(data[1], self.output_bounds),
                init=self.init,
                perturbation=self.perturbation,
                device=self.device,
                progress=self.progress,
                random_state=self.random_state,
            )
        self.pretrained_with_ = {"X": X} | {name: getattr(self, name) for name in SHAPING}

    def _pretrained_for(self, X: Array, y: Array) -> Pretrained:
        """Return the pre-trained networks, after pre-training where they are missing or stale."""
        known = self.pretrained_with_
        if self.pretrained_ is None or known is None or self._stale(self.pretrained_, known, X, y):
            self._pretrain(None if known is None else known["X"], X.shape[1], (X, y))
        assert self.pretrained_ is not None
        return self.pretrained_

    def _stale(self, found: Pretrained, known: dict[str, Any], X: Array, y: Array) -> bool:
        if any(isinstance(bounds, str) for bounds in (self.input_bounds, self.output_bounds)):
            return True  # the range of the data
        follows = self.prior is None and not found.inputs_given
        if follows and found.shape != (X.shape[1], y.shape[1]):
            return True  # the default prior has as many inputs and outputs as the data
        return not all(same(getattr(self, name), known[name]) for name in SHAPING)

    def sample_prior(self, X: ArrayLike) -> Array:
        """Evaluate the pre-trained networks.

        Args:
            X: (n, n_in).

        Returns:
            f of every pre-trained network, (K, n, n_out) float64.

        Raises:
            NotFittedError: Before pretrain or fit.
        """
        if self.pretrained_ is None:
            raise NotFittedError("call pretrain or fit first")
        return self.pretrained_.sample(as_points("X", X))

    def stored_fields(self) -> dict[str, Any]:
        """Return hyper-parameters and fitted attributes."""
        stored = super().stored_fields()
        known = self.pretrained_with_ or {}
        stored["fitted"]["pretrained_with_"] = {name: kept(value) for name, value in known.items()}
        return stored

    def check_restored(self) -> None:
        """Check what a file held.

        Raises:
            ValueError: If the fitted attributes are of other types, or do not fit each other.
        """
        super().check_restored()
        if not isinstance(self.pretrained_, Pretrained):
            raise ValueError(f"pretrained_ is a {type(self.pretrained_).__name__}")
        known = self.pretrained_with_
        if not isinstance(known, dict) or known.keys() != {"X", *SHAPING}:
            raise ValueError("the parameters of the pre-training are not those there are")


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class AnchoredEnsemble(PretrainedEnsemble):
    """Ensemble pre-trained to a functional prior, whose members are anchored by their weights.

    Each member is held near its pre-trained weights by a prior over the weights, which is learnt
    from all pre-trained networks; see `bnn.pretrain` and `bnn.anchor`.

    Args:
        prior: Functional prior p(g), see bnn.function_priors; None is a zero-mean Gaussian process
            with an RBF kernel of variance 1 and length scale 1. A bnn.Pretrained is taken as it
            is, and the hyper-parameters of pre-training are not used.
        n_members: Networks trained to data, K.
        noise: Standard deviation of the noise, for all outputs or for each, or Σ_noise
            (n_out, n_out), in the units of y.
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS.
        init: Initial weights, "glorot" or "he".
        input_bounds: (low, high) of the inputs, which the networks see scaled to [-1, 1]; "data"
            takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        batch_size: Points per step; None takes all.
        learning_rate: Of Adam.
        bias_correction: Whether Adam corrects the bias of its moments; False as in the published
            Table 1.
        members_at_once: Members trained together; None takes as many as fit the cache.
        device: "cpu" or "cuda".
        progress: Whether to show progress bars.
        random_state: Seed.
        n_pretrained: Networks pre-trained, from which the weight prior is learnt; the first
            n_members of them are trained to data.
        prior_points: M, points at which the prior is fitted.
        pretrain_epochs: Epochs of pre-training, at most.
        convergence: A bnn.Convergence that ends pre-training early; None runs all epochs.
        perturbation: Standard deviation of the members' perturbation of the common start.
        regulariser: "low_rank", "probabilistic_pca", "factorised", "generalised_normal",
            "isotropic" or "none".
        anchors: "pretrained" (ω0^[k] themselves) or "sampled" (drawn from the weight prior).
        optimiser: "adam" for `epochs`, as published, or "gauss_newton", which goes to the optimum;
            the latter needs a proper Gaussian: "probabilistic_pca", "factorised" or "isotropic".
        resampling: How each member gets its own version of the data: "bootstrap" (rows with
            replacement), "likelihood" (noise is added to y) or "none".
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> AnchoredEnsemble:
        """Train the members to data, after pre-training where that is missing.

        Hyper-parameters that shape the pre-training, changed since, make it run again.

        Args:
            X: Inputs, (N, n_in).
            y: Outputs, (N,) or (N, n_out).

        Returns:
            self.

        Raises:
            ValueError: If the data or a hyper-parameter is not admissible, or the data do not have
                the inputs and outputs of the prior.
            DivergenceError: If fewer than two members stayed finite.

        Warns:
            ConvergenceWarning: If Gauss-Newton did not bring all members to their optimum.
        """
        X, y = self._check_data(X, y)
        self.members_ = anchor(
            self._pretrained_for(X, y),
            X,
            y,
            noise=self.noise,
            n_members=self.n_members,
            regulariser=self.regulariser,
            anchors=self.anchors,
            optimiser=self.optimiser,
            resampling=self.resampling,
            settings=self._settings(self.epochs),
            device=self.device,
            progress=self.progress,
            random_state=self.random_state,
        )
        return self


@storable
@dataclass(eq=False, repr=False, kw_only=True)
class FunctionAnchoredEnsemble(PretrainedEnsemble):
    """Ensemble pre-trained to a functional prior, whose members are anchored in function space.

    Each member is held near its own prior realisation and follows that realisation conditioned on
    perturbed data. For a Gaussian process and networks wide enough the members are draws from the
    exact posterior; see `bnn.pretrain` and `bnn.anchor_functions`.

    Args:
        prior: Functional prior p(g), see bnn.function_priors; None is a zero-mean Gaussian process
            with an RBF kernel of variance 1 and length scale 1. A bnn.Pretrained is taken as it
            is, and the hyper-parameters of pre-training are not used.
        n_members: Networks trained to data, K.
        noise: Standard deviation of the noise, for all outputs or for each, or Σ_noise
            (n_out, n_out), in the units of y.
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS; smooth
            networks follow the prior's realisations best.
        init: Initial weights, "glorot" or "he".
        input_bounds: (low, high) of the inputs, which the networks see scaled to [-1, 1]; "data"
            takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        batch_size: Points per step of pre-training; None takes all.
        learning_rate: Of Adam in pre-training.
        bias_correction: Whether Adam corrects the bias of its moments.
        members_at_once: Members pre-trained together; None takes as many as fit the cache.
        device: "cpu" or "cuda".
        progress: Whether to show progress bars.
        random_state: Seed.
        n_pretrained: Networks pre-trained; the first n_members of them are trained to data.
        prior_points: M, points at which the prior is fitted.
        pretrain_epochs: Epochs of pre-training, at most.
        convergence: A bnn.Convergence that ends pre-training early; None runs all epochs.
        perturbation: Standard deviation of the members' perturbation of the common start.
        points: Measurement points beside the training inputs: a number of them, in a Latin
            hypercube of the input bounds; where pre-training was given points, or the prior is a
            table, at most so many of these.
        nugget: Standard deviation of what a network may miss everywhere, in the networks' units;
            less than a third of the prior's.
        tolerance: A member ends when its mean squared distance to the posterior realisation is
            below this fraction of the posterior variance, direction by direction.
        iterations: Largest number of Gauss-Newton iterations per member.
        realisations: Drawn for the covariance of a prior without a kernel.
        centred: Whether a Gaussian process's realisations and the perturbations of the data are
            shifted to have, over the members, their exact means.

    Attributes:
        pretrained_: The pre-trained networks, a bnn.Pretrained.
        members_: The trained networks, a bnn.Members.
    """

    hidden: Sequence[int] = (50, 50, 50)
    activation: str = "silu"
    n_pretrained: int = 30
    pretrain_epochs: int = 500
    points: int = FunctionAnchoring.points
    nugget: float = FunctionAnchoring.nugget
    tolerance: float = FunctionAnchoring.tolerance
    iterations: int = FunctionAnchoring.iterations
    realisations: int = FunctionAnchoring.realisations
    centred: bool = FunctionAnchoring.centred

    def _anchoring(self) -> FunctionAnchoring:
        names = FunctionAnchoring.__dataclass_fields__
        return FunctionAnchoring(**{name: getattr(self, name) for name in names})

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._anchoring()

    def fit(self, X: ArrayLike, y: ArrayLike) -> FunctionAnchoredEnsemble:
        """Train the members to data, after pre-training where that is missing.

        Hyper-parameters that shape the pre-training, changed since, make it run again.

        Args:
            X: Inputs, (N, n_in).
            y: Outputs, (N,) or (N, n_out).

        Returns:
            self.

        Raises:
            ValueError: If the data or a hyper-parameter is not admissible, or the data do not have
                the inputs and outputs of the prior.
            DivergenceError: If fewer than two pre-trained networks stayed finite.

        Warns:
            ConvergenceWarning: If some members did not arrive within the budget.
        """
        X, y = self._check_data(X, y)
        self.members_ = anchor_functions(
            self._pretrained_for(X, y),
            X,
            y,
            noise=self.noise,
            n_members=self.n_members,
            settings=self._anchoring(),
            device=self.device,
            progress=self.progress,
            random_state=self.random_state,
        )
        return self


def _range_of(values: Array | None, bounds: Bounds) -> Bounds:
    """Return bounds, with the range of the values (N, n) instead of "data" where there are any."""
    if values is None or not isinstance(bounds, str) or bounds != "data":
        return bounds
    scaler = BoundsScaler.fit(values)
    return scaler.low, scaler.high
