"""Bases of the ensembles: their parameters, predictions, pre-training and saving."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from bnn._settings import Settings
from bnn._validation import (
    MOST_NETWORKS,
    Array,
    as_array,
    as_points,
    check_count,
    check_device,
    check_kind,
    filled,
    own_copy,
    varies,
)
from bnn.ensembles.members import Members
from bnn.ensembles.pretraining import Pretrained, check_functional_prior, pretrain
from bnn.ensembles.training_data import TrainingData
from bnn.gp.evidence.model import estimated_model, likely_noise
from bnn.gp.summary import noise_rows, prior_rows
from bnn.noise import Covariance
from bnn.noise.models import (
    DataNoise,
    noise_of_new,
    rounding_of,
)
from bnn.priors.function_prior import FunctionalPrior
from bnn.priors.samplers import draw_realisations
from bnn.regressor import PredictiveRegressor, check_order, names_of
from bnn.scaling import BoundsScaler, Scaling
from bnn.storage import changes_as_a_whole
from bnn.storage.values import NotStored, as_stored, same
from safe_files.text import table

# Prior standard deviation of an output that does not vary, relative to its value: as wide as its
# bounds, because networks need that.
WIDE = 0.5


@dataclass(eq=False, repr=False, kw_only=True)
class EnsembleRegressor(PredictiveRegressor):
    """Base of the ensembles, which have the parameters n_members, device and random_state.

    A parameter for a group of settings may be None, which stands for the default of the estimator.
    The entries of this default are nested parameters too.
    """

    members_: Members | None = field(default=None, init=False)

    fitted_attributes: ClassVar[tuple[str, ...]] = (
        "members_",
        "y_ndim_",
        "constant_inputs_",
        "constant_outputs_",
        "feature_names_",
        "output_names_",
    )
    group_defaults: ClassVar[dict[str, Settings]] = {}

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the ensemble is fitted, that is, has members."""
        return self.members_ is not None

    def group(self, name: str) -> Any:
        """Return a group of settings, or its default if the parameter is None."""
        settings = getattr(self, name)
        return self.group_defaults[name] if settings is None else settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Args:
            deep: Whether to include the entries of groups, such as `training__epochs`.

        Returns:
            The parameters.
        """
        parameters: dict[str, Any] = super().get_params(deep)
        if deep:
            for name, default in self.group_defaults.items():
                if getattr(self, name) is None:
                    entries = default.get_params(deep=True)
                    parameters |= {f"{name}__{key}": value for key, value in entries.items()}
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Change parameters.

        Args:
            params: Values by name; `training__epochs` is the entry epochs of the group `training`.

        Returns:
            self.

        Raises:
            ValueError: If there is no such parameter, or an entry of a group is invalid.
        """
        for name, default in self.group_defaults.items():
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and getattr(self, name) is None:
                setattr(self, name, clone(default))
        super().set_params(**params)
        return self

    def _check_parameters(self) -> None:
        for name, default in self.group_defaults.items():
            check_kind(name, self.group(name), type(default))
        check_count("n_members", self.n_members, 2, MOST_NETWORKS)
        check_device(self.device)

    def _fit(self, X: Array, y: Array, keep_prior: bool, data_noise: DataNoise | None) -> None:
        constants = self._constants(y, keep_prior)
        noise = self.noise_ if keep_prior else self.noise
        # Networks need not learn outputs that are predicted as constants.
        data = TrainingData(X, y, noise, data_noise, fixed=~np.isnan(constants))
        members = self._trained(data, keep_prior)
        if not np.isnan(constants).all():
            members = members.clipped(constants)
        self.members_ = members

    @property
    def _fixes_constants(self) -> bool:
        return True

    def _check_missing(self, keep_prior: bool) -> None:
        """Accept missing outputs, because the loss leaves them out."""

    @abstractmethod
    def _trained(self, data: TrainingData, keep_prior: bool) -> Members:
        """Return members trained on data."""

    def sample(self, X: ArrayLike) -> Array:
        """Return f^[k](X) of every member at X (n, n_in), (K, n, n_out), without noise."""
        return self.fitted_members().sample(self.checked_inputs(X))

    def fitted_members(self) -> Members:
        """Return the members; NotFittedError if the ensemble is not fitted."""
        check_is_fitted(self)
        assert self.members_ is not None
        return self.members_

    def _moments(self, X: Array, joint: bool) -> tuple[Array, Array]:
        samples = self.fitted_members().sample(X)
        mean = samples.mean(axis=0)
        constants = self.constant_outputs_
        # Members agree on a constant output, whose only uncertainty is its rounding error.
        none = constants is None or np.isnan(constants)
        rounding = np.where(none, 0.0, np.square(rounding_of(mean)))
        if not joint:
            return mean, samples.var(axis=0, ddof=1) + rounding
        centred = samples - mean
        covariance = np.einsum("kni,knj->nij", centred, centred) / (len(samples) - 1)
        return mean, covariance + np.diag(rounding)

    def _summary_lines(self, inputs: Sequence[str]) -> list[str]:
        members = self.fitted_members()
        scaler = members.output_scaler
        points = members.inputs.reshape(-1, len(inputs))
        rows = self._prior_rows(inputs, 2.0 * members.input_scaler.half_range)
        rows += noise_rows(members.noise_covariance, points, 2.0 * scaler.half_range)
        head = f"{len(members.weights)} networks of widths {members.architecture.widths}"
        return [head, *table(self._outputs(len(scaler.low)), rows)]

    def _prior_rows(
        self,
        inputs: Sequence[str],  # noqa: ARG002
        ranges: Array,  # noqa: ARG002
    ) -> list[tuple[str, list[str]]]:
        """Return the rows about the prior in the table of `summary`."""
        return []

    def _moment_gradients(self, X: Array) -> tuple[Array, Array]:
        members = self.fitted_members()
        values = members.sample(X)
        slopes = members.gradients(X)
        centred = values - values.mean(axis=0)
        mean = slopes.mean(axis=0)
        # ∂/∂x Σ_k (f_k - m)² / (K - 1) = 2 Σ_k (f_k - m) (∂f_k/∂x - ∂m/∂x) / (K - 1)
        products = np.einsum("knj,knji->nji", centred, slopes - mean)
        return mean, 2.0 * products / (len(values) - 1)

    def _noise_at(self, X: Array) -> Array:
        return noise_of_new(self.noise_, X)

    @property
    def noise_(self) -> Covariance:
        """Noise of the training: Σ_noise, (n_out, n_out), or a HeteroscedasticNoise."""
        return self.fitted_members().noise_covariance

    def check_restored(self) -> None:
        """Raise ValueError if restored attributes have wrong types or do not match each other."""
        if self.members_ is None:
            return
        if not isinstance(self.members_, Members):
            raise ValueError(f"members_ is a {type(self.members_).__name__}")
        self.n_features_in_ = self.members_.architecture.n_inputs
        n_outputs = self.members_.architecture.n_outputs
        self._check_constants(n_outputs)
        names = self.feature_names_
        if self.y_ndim_ not in (1, 2) or (self.y_ndim_ == 1 and n_outputs > 1):
            raise ValueError(f"y_ndim_ = {self.y_ndim_!r} does not fit {n_outputs} outputs")
        if names is not None and not (
            len(names) == self.n_features_in_ and all(isinstance(name, str) for name in names)
        ):
            raise ValueError(f"feature_names = {names!r} do not name {self.n_features_in_} inputs")


# Number of realisations of the prior, whose range scales an output that does not vary in the data.
REALISATIONS = 30
# If one of these hyperparameters changes, the pre-training runs again.
SHAPING = ("prior", "network", "pretraining", "scaling", "random_state")


@dataclass(eq=False, repr=False, kw_only=True)
class PretrainedEnsemble(EnsembleRegressor):
    """Base of ensembles whose networks are first fitted to realisations of a prior.

    Subclasses have the parameters in SHAPING, and n_members, noise, anchoring and device.
    """

    prior: FunctionalPrior | Pretrained | None = field(default=None, kw_only=False)
    pretrained_: Pretrained | None = field(default=None, init=False)
    pretrained_with_: dict[str, Any] | None = field(default=None, init=False)

    fitted_attributes: ClassVar[tuple[str, ...]] = (
        *EnsembleRegressor.fitted_attributes,
        "pretrained_",
        "pretrained_with_",
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_functional_prior(self.prior)
        most = self._most_members
        if self.n_members > most:
            needed = f"must be <= pretraining.n_networks = {most}"
            raise ValueError(f"n_members = {self.n_members}: {needed}")

    @property
    def _most_members(self) -> int:
        if isinstance(self.prior, Pretrained):
            return len(self.prior.epochs)
        return int(self.group("pretraining").n_networks)

    @property
    def prior_(self) -> FunctionalPrior | NotStored:
        """The functional prior of the pre-training."""
        if self.pretrained_ is None:
            raise NotFittedError("call pretrain or fit first")
        return self.pretrained_.prior

    @changes_as_a_whole
    def pretrain(self, X: ArrayLike | None = None, *, n_features: int | None = None) -> Self:
        """Pre-train the networks on realisations of the prior, and discard trained members.

        Later calls of `fit` start from these networks, whatever the data, until a parameter of
        the pre-training changes. Bounds "data" stand for the ranges of X and of the realisations.
        A prior of None stands for GaussianProcessPrior(), scaled to the bounds.

        Without this call, `fit` pre-trains the networks. Then bounds "data" stand for the ranges of
        its data, and a prior of None is estimated from the evidence of its data. A later `fit`
        pre-trains again if ranges or prior change.

        Args:
            X: Points at which networks are fitted to the prior, (M, n_in), see `bnn.pretrain`. A
                clone of the estimator does not keep them.
            n_features: Number of inputs, if X is None.

        Returns:
            self, with the attribute `pretrained_`.

        Raises:
            ValueError: If a hyperparameter is invalid, or the prior returns invalid values.
            DivergenceError: If the weights of fewer than two networks stayed finite.
        """
        self._check_parameters()
        self.members_ = None
        points = None if X is None else as_array("X", X)
        scaling = self.group("scaling")
        self._pretrain(self.prior, points, scaling, n_features=n_features, nugget=self._nugget)
        self.pretrained_with_ = {"X": points, "ranges": {}, "data": None} | self._shaping()
        if names := names_of(X):
            self.pretrained_with_["names"] = names
        return self

    def _pretrain(
        self,
        prior: Any,
        X: ArrayLike | None,
        scaling: Scaling,
        *,
        n_features: int | None,
        n_outputs: int | None = None,
        nugget: float | None = None,
    ) -> None:
        """Run Algorithm 3, unless the prior is given as pre-trained networks."""
        if isinstance(prior, Pretrained):
            self.pretrained_ = prior
            return
        self.pretrained_ = pretrain(
            prior,
            X,
            n_features=n_features,
            n_outputs=n_outputs,
            network=self.group("network"),
            settings=self.group("pretraining"),
            scaling=scaling,
            nugget=nugget,
            device=self.device,
            random_state=self.random_state,
        )

    @property
    def _nugget(self) -> float | None:
        """Nugget of the anchoring in function space; None if it is not known before the data."""
        return None

    def _shaping(self) -> dict[str, Any]:
        """Return copies of the hyperparameters on which the pre-trained networks depend."""
        pretraining = clone(self.group("pretraining"))
        pretraining.set_params(training__members_at_once=None, training__progress=None)
        return {
            "prior": own_copy(self.prior),
            "network": clone(self.group("network")),
            "pretraining": pretraining,
            "scaling": clone(self.group("scaling")),
            "random_state": own_copy(self.random_state),
        }

    def _ranges(self, X: Array, y: Array) -> dict[str, Array]:
        """Return the ranges of the data, (n, 2), by which bounds "data" are replaced."""
        scaling = self.group("scaling")
        ranges = {}
        if same(scaling.inputs, "data"):
            ranges["inputs"] = _range(X)
        if same(scaling.outputs, "data"):
            values = filled(y)
            fixed = ~varies(values)
            if fixed.any() and self.prior is not None and not isinstance(self.prior, Pretrained):
                # A constant output has no scale, so take the scale of realisations of the prior.
                points = getattr(self.prior, "points", X)  # as for the pre-training
                drawn = draw_realisations(self.prior, points, REALISATIONS, 0)
                drawn = drawn.reshape(-1, drawn.shape[2])
                values = np.vstack([values, np.where(fixed, drawn, values[0])])
            ranges["outputs"] = _range(values)
        return ranges

    def _prepared(self, data: TrainingData, keep_prior: bool) -> tuple[Pretrained, TrainingData]:
        """Return the pre-trained networks, and the data with noise, both estimated or kept."""
        if keep_prior:
            return self._kept_networks(), data
        data = replace(data, noise=likely_noise(data.noise, data.X, data.y, data.data_noise))
        data.member_noise()  # checks the noise before the pre-training
        return self._pretrained_for(data), data

    def _kept_networks(self) -> Pretrained:
        """Return the networks of the last fit; replace a prior that a file could not store."""
        pretrained = self.pretrained_
        assert pretrained is not None
        lacking = isinstance(pretrained.prior, NotStored) and pretrained.prior.kind
        if lacking and lacking == type(self.prior).__name__:
            pretrained = self.pretrained_ = replace(pretrained, prior=own_copy(self.prior))
        return pretrained

    def _pretrained_for(self, data: TrainingData, prior: Any = None) -> Pretrained:
        """Return the pre-trained networks, after pre-training if they are missing or outdated.

        The argument `prior` replaces a hyperparameter `prior` of None. It must be estimated from
        the same data.
        """
        made_with = self.pretrained_with_ or {}
        pretrained = self.pretrained_
        X = data.X
        y = data.y
        check_order("X", self.feature_names_, "pretrain", made_with.get("names"))
        of_prior: tuple[Any, ...] = (X, y, data.noise)
        if data.data_noise is not None:
            of_prior += (data.data_noise,)
        if pretrained and made_with and not self._stale(pretrained, made_with, X, y, of_prior):
            return pretrained
        points = made_with.get("X")
        ranges = {} if points is not None else self._ranges(X, y)
        scaling = clone(self.group("scaling")).set_params(**ranges)
        if self.prior is not None:
            prior = self.prior
        elif prior is None:
            prior = estimated_model(*of_prior, constant_deviation=WIDE).prior
        shape = {"n_features": X.shape[1], "n_outputs": y.shape[1]}
        # The prior of a fixed output need not vary.
        nugget = None if data.fixed.any() else self._nugget
        self._pretrain(prior, points, scaling, **shape, nugget=nugget)
        estimated_from = of_prior if self.prior is None else None
        changed = {"X": points, "ranges": ranges, "data": estimated_from}
        self.pretrained_with_ = made_with | changed | self._shaping()
        assert self.pretrained_ is not None
        return self.pretrained_

    def _stale(
        self,
        pretrained: Pretrained,
        made_with: dict[str, Any],
        X: Array,
        y: Array,
        data: tuple[Any, ...],
    ) -> bool:
        """Return whether networks were made with other parameters, or for other data."""
        if made_with["ranges"] and not same(made_with["ranges"], self._ranges(X, y)):
            return True
        if made_with["data"] is not None and not same(made_with["data"], data):
            return True  # the prior was estimated from other data
        follows = self.prior is None and not pretrained.inputs_given
        if follows and pretrained.shape != (X.shape[1], y.shape[1]):
            return True
        shaping = self._shaping()
        return not all(same(shaping[name], made_with[name]) for name in SHAPING)

    def _prior_rows(self, inputs: Sequence[str], ranges: Array) -> list[tuple[str, list[str]]]:
        return prior_rows(self.prior_, None, inputs, ranges)

    def sample_prior(self, X: ArrayLike) -> Array:
        """Return the values of every pre-trained network at X (n, n_in), (K, n, n_out) float64."""
        if self.pretrained_ is None:
            raise NotFittedError("call pretrain or fit first")
        # Only a fitted estimator can check the columns of a data frame.
        fitted = self.members_ is not None
        return self.pretrained_.sample(self.checked_inputs(X) if fitted else as_points("X", X))

    def stored_fields(self) -> dict[str, Any]:
        """Return hyperparameters and fitted attributes."""
        stored = super().stored_fields()
        made_with = self.pretrained_with_
        if made_with is not None:
            stored_values = {name: as_stored(value) for name, value in made_with.items()}
            stored["fitted"]["pretrained_with_"] = stored_values
        return stored

    def check_restored(self) -> None:
        """Raise ValueError if restored attributes have wrong types or do not match each other."""
        super().check_restored()
        if not isinstance(self.pretrained_, Pretrained):
            raise ValueError(f"pretrained_ is a {type(self.pretrained_).__name__}")
        made_with = self.pretrained_with_
        keys = {"X", "ranges", "data", *SHAPING}
        if not isinstance(made_with, dict) or made_with.keys() - {"names"} != keys:
            raise ValueError("pretrained_with_ does not name the parameters of the pre-training")
        check_kind("names", made_with.get("names"), tuple, type(None))


def _range(values: Array) -> Array:
    """Return the low and high bound of each column of values (N, n), (n, 2)."""
    scaler = BoundsScaler.fit(values)
    return np.stack([scaler.low, scaler.high], axis=1)
