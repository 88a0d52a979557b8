"""What the estimators share: data checks, predictions, saving."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bnn._settings import Settings
from bnn._validation import Array, check_count, check_device, check_kind
from bnn.estimators.members import Members
from bnn.estimators.regressor import PredictiveRegressor
from bnn.noise import Covariance, covariance_at


class ConstantInputWarning(UserWarning):
    """An input does not vary in the data."""


@dataclass(eq=False, repr=False, kw_only=True)
class EnsembleRegressor(PredictiveRegressor):
    """Base of the ensembles, which have the parameters n_members, device and random_state.

    A group of settings that is None is the default of the estimator, and its entries are nested
    parameters as if it had been given.
    """

    members_: Members | None = field(default=None, init=False)

    fitted_attributes: ClassVar[tuple[str, ...]] = ("members_", "y_ndim_", "feature_names_")
    group_defaults: ClassVar[dict[str, Settings]] = {}

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there are members."""
        return self.members_ is not None

    def group(self, name: str) -> Any:
        """Return a group of settings, its default where the parameter is None."""
        given = getattr(self, name)
        return self.group_defaults[name] if given is None else given

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Args:
            deep: Whether to return the entries of groups too, as `training__epochs`.

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
            params: Values by name; `training__epochs` is the entry epochs of the group training.

        Returns:
            self.

        Raises:
            ValueError: If there is no such parameter, or an entry of a group is not admissible.
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
        check_count("n_members", self.n_members, 2)
        check_device(self.device)

    def _fit(self, X: Array, y: Array) -> None:
        constant = np.flatnonzero(X.min(axis=0) == X.max(axis=0))
        if constant.size:
            message = f"input {constant[0]} is constant in the data: nothing is learnt about it"
            warnings.warn(message, ConstantInputWarning, stacklevel=3)
        self.members_ = self._trained(X, y)

    @abstractmethod
    def _trained(self, X: Array, y: Array) -> Members:
        """Return networks trained to data X (N, n_in) and y (N, n_out)."""

    def sample(self, X: ArrayLike) -> Array:
        """Return f^[k](X) of every member at X (n, n_in), (K, n, n_out), epistemic only."""
        return self.fitted_members().sample(self._checked(X))

    def fitted_members(self) -> Members:
        """Return the members; NotFittedError where there are none."""
        check_is_fitted(self)
        assert self.members_ is not None
        return self.members_

    def _moments(self, X: Array, joint: bool) -> tuple[Array, Array, Array]:
        members = self.fitted_members()
        samples, noise = members.sample(X), covariance_at(members.noise_covariance, X)
        mean = samples.mean(axis=0)
        if not joint:
            return mean, samples.var(axis=0, ddof=1), noise
        centred = samples - mean
        covariance = np.einsum("kni,knj->nij", centred, centred) / (len(samples) - 1)
        return mean, covariance, noise

    @property
    def noise_(self) -> Covariance:
        """Σ_noise, (n_out, n_out), or a HeteroscedasticNoise: what the members were told."""
        return self.fitted_members().noise_covariance

    def penalty(self) -> Array:
        """Return the regularisation term of each member, (K,); zero without a regulariser."""
        return self.fitted_members().penalties

    def check_restored(self) -> None:
        """Raise ValueError if a file held attributes of other types, or that do not fit."""
        if self.members_ is None:
            return
        if not isinstance(self.members_, Members):
            raise ValueError(f"members_ is a {type(self.members_).__name__}")
        self.n_features_in_ = self.members_.architecture.n_inputs
        n_outputs, names = self.members_.architecture.n_outputs, self.feature_names_
        if self.y_ndim_ not in (1, 2) or (self.y_ndim_ == 1 and n_outputs > 1):
            raise ValueError(f"y_ndim_ = {self.y_ndim_!r} does not fit {n_outputs} outputs")
        if names is not None and not (
            len(names) == self.n_features_in_ and all(isinstance(name, str) for name in names)
        ):
            raise ValueError(f"feature_names = {names!r} do not name {self.n_features_in_} inputs")
