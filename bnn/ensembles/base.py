"""What the estimators share: data checks, predictions, saving."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from bnn._seeding import RandomState
from bnn._validation import Array, check_device, check_integer, check_option
from bnn.ensembles.networks import Members
from bnn.function_priors.regressor import PredictiveRegressor
from bnn.networks.architecture import INITIALISATIONS
from bnn.noise import Noise
from bnn.scaling import Bounds
from bnn.training.settings import Convergence, TrainingSettings


class ConstantInputWarning(UserWarning):
    """An input does not vary in the data."""


class FittedState:
    """Attributes that fitting sets; None until then."""

    members_: Members | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class EnsembleRegressor(FittedState, PredictiveRegressor):
    """Base of the ensembles, with the hyper-parameters that all of them have."""

    n_members: int = 30
    noise: Noise = 0.1
    hidden: Sequence[int] = (20, 20, 20, 20)
    activation: str = "leaky_relu"
    init: str = "glorot"
    input_bounds: Bounds = None
    output_bounds: Bounds = None
    batch_size: int | None = 32
    learning_rate: float = 1e-3
    bias_correction: bool = True
    members_at_once: int | None = None
    device: str = "cpu"
    progress: bool = False
    random_state: RandomState = None

    fitted_attributes: ClassVar[tuple[str, ...]] = ("members_", "y_ndim_", "feature_names_")

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there are members."""
        return self.members_ is not None

    def _settings(self, epochs: int, convergence: Convergence | None = None) -> TrainingSettings:
        return TrainingSettings(
            epochs=epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            bias_correction=self.bias_correction,
            convergence=convergence,
            members_at_once=self.members_at_once,
        )

    def _check_parameters(self) -> None:
        check_option("init", self.init, INITIALISATIONS)
        check_integer("n_members", self.n_members, 2)
        check_device(self.device)

    def _check_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """Validate hyper-parameters and data; return X (N, n_in) and y (N, n_out)."""
        self._check_parameters()
        inputs: Array
        outputs: Array
        inputs, outputs = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=float, ensure_min_samples=2
        )
        constant = np.flatnonzero(inputs.min(axis=0) == inputs.max(axis=0))
        if constant.size:
            warnings.warn(
                f"input {constant[0]} is constant in the data: nothing is learnt about it",
                ConstantInputWarning,
                stacklevel=3,
            )
        self.y_ndim_ = outputs.ndim
        return inputs, outputs.reshape(len(outputs), -1).astype(float)

    def sample(self, X: ArrayLike) -> Array:
        """Evaluate every member.

        Args:
            X: (n, n_in).

        Returns:
            f^[k](X), (K, n, n_out) float64, epistemic only.

        Raises:
            NotFittedError: Before fit.
            ValueError: If X does not fit the training data.
        """
        points = self._checked(X)
        return self._fitted_members().sample(points)

    def _fitted_members(self) -> Members:
        check_is_fitted(self)
        assert self.members_ is not None
        return self.members_

    def _moments(self, X: Array, joint: bool) -> tuple[Array, Array, Array]:
        members = self._fitted_members()
        samples = members.sample(X)
        mean = samples.mean(axis=0)
        if not joint:
            return mean, samples.var(axis=0, ddof=1), members.noise_covariance
        centred = samples - mean
        covariance = np.einsum("kni,knj->nij", centred, centred) / (len(samples) - 1)
        return mean, covariance, members.noise_covariance

    def penalty(self) -> Array:
        """Return the regularisation term of each member, (K,); zero without a regulariser."""
        return self._fitted_members().penalties

    def check_restored(self) -> None:
        """Check what a file held.

        Raises:
            ValueError: If the fitted attributes are of other types, or do not fit each other.
        """
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
