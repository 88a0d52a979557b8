"""What the estimators share: data checks, predictions, saving."""

import inspect
import re
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bnn._seeding import RandomState
from bnn._validation import Array, check_count, check_device, check_option
from bnn.estimators.members import Members
from bnn.estimators.regressor import PredictiveRegressor
from bnn.networks.architecture import INITIALISATIONS
from bnn.noise import Noise, covariance_at
from bnn.scaling import Bounds
from bnn.training.settings import Convergence, TrainingSettings

ARGS = re.compile(r"(?<=\nArgs:\n)( .+\n?)+")
PARAMETER = re.compile(r"^ {4}(\w+): .*(\n {8}.*)*", re.M)


class ConstantInputWarning(UserWarning):
    """An input does not vary in the data."""


@dataclass(eq=False, repr=False, kw_only=True)
class EnsembleRegressor(PredictiveRegressor):
    """Base of the ensembles, with the hyper-parameters that all of them have.

    Args:
        n_members: Networks trained to data, K.
        noise: Standard deviation(s), or Σ_noise (n_out, n_out), in the units of y; or a
            HeteroscedasticNoise.
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, a key of bnn.networks.activations.ACTIVATIONS.
        init: Initial weights, "glorot" or "he".
        input_bounds: Scaled to [-1, 1]: (low, high) for all columns, a pair for each, or SciPy's
            Bounds; "data" takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        batch_size: Points per step of Adam; None takes all.
        learning_rate: Of Adam.
        bias_correction: Whether Adam corrects its moments' bias; False as in the paper's Table 1.
        members_at_once: Members trained together by Adam; None takes as many as fit the cache.
        device: "cpu" or "cuda".
        progress: Whether to show progress bars.
        random_state: Seed.
    """

    n_members: int = 30
    noise: Noise = 0.1
    hidden: Sequence[int] = (20, 20, 20, 20)
    activation: str = "leaky_relu"
    init: str = "glorot"
    input_bounds: Bounds = "data"
    output_bounds: Bounds = "data"
    batch_size: int | None = 32
    learning_rate: float = 1e-3
    bias_correction: bool = True
    members_at_once: int | None = None
    device: str = "cpu"
    progress: bool = False
    random_state: RandomState = None
    members_: Members | None = field(default=None, init=False)

    fitted_attributes: ClassVar[tuple[str, ...]] = ("members_", "y_ndim_", "feature_names_")

    def __init_subclass__(cls, settings: type = object, **options: Any) -> None:
        """Complete the Args of a subclass by those of its bases and of its settings."""
        super().__init_subclass__(**options)
        parameters: dict[str, str] = {}
        for kind in (*cls.__mro__[:0:-1], settings, cls):
            document = inspect.cleandoc(vars(kind).get("__doc__") or "")
            for section in ARGS.finditer(document):
                parameters |= {entry[1]: entry[0] for entry in PARAMETER.finditer(section[0])}
        cls.__doc__ = ARGS.sub(lambda _: "\n".join(parameters.values()) + "\n", document)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there are members."""
        return self.members_ is not None

    def _settings(self, epochs: int, convergence: Convergence | None = None) -> TrainingSettings:
        chosen = self._arguments_of(TrainingSettings)
        return TrainingSettings(**chosen | {"epochs": epochs, "convergence": convergence})

    def _arguments_of(self, function: Callable[..., object]) -> dict[str, Any]:
        """Return those hyper-parameters that a function takes, by name."""
        names = inspect.signature(function).parameters.keys()
        return {name: v for name, v in self.get_params(deep=False).items() if name in names}

    def _check_parameters(self) -> None:
        check_option("init", self.init, INITIALISATIONS)
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
        return self._fitted_members().sample(self._checked(X))

    def _fitted_members(self) -> Members:
        check_is_fitted(self)
        assert self.members_ is not None
        return self.members_

    def _moments(self, X: Array, joint: bool) -> tuple[Array, Array, Array]:
        members = self._fitted_members()
        samples, noise = members.sample(X), covariance_at(members.noise_covariance, X)
        mean = samples.mean(axis=0)
        if not joint:
            return mean, samples.var(axis=0, ddof=1), noise
        centred = samples - mean
        covariance = np.einsum("kni,knj->nij", centred, centred) / (len(samples) - 1)
        return mean, covariance, noise

    def penalty(self) -> Array:
        """Return the regularisation term of each member, (K,); zero without a regulariser."""
        return self._fitted_members().penalties

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
