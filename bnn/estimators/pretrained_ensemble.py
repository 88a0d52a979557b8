"""Base of the estimators whose networks are pre-trained to a functional prior first."""

from dataclasses import astuple, dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from bnn._validation import Array, as_array, as_points, check_count, own_copy
from bnn.estimators.ensemble import EnsembleRegressor
from bnn.estimators.pretraining import Pretrained, check_pretraining, pretrain
from bnn.priors.samplers import FunctionalPrior
from bnn.scaling import BoundsScaler
from bnn.storage.values import kept, same
from bnn.training.settings import Convergence


@dataclass(eq=False, repr=False, kw_only=True)
class PretrainedEnsemble(EnsembleRegressor):
    """Base of ensembles whose networks are fitted to realisations of a prior first.

    Args:
        prior: p(g), see bnn.priors; None is a GaussianProcessPrior() in units of the
            bounds. A bnn.Pretrained is taken as it is, and no parameter of pre-training is used.
        n_pretrained: Networks pre-trained; the first n_members of them are trained to data.
        prior_points: M, points at which the prior is fitted.
        prior_range: These lie in the input bounds, widened by this factor; the paper has 2.
        pretrain_epochs: Epochs of pre-training, at most.
        convergence: A bnn.Convergence that ends pre-training early; None runs all epochs.
        perturbation: Standard deviation of the members' perturbation of the common start.
    """

    prior: FunctionalPrior | Pretrained | None = field(default=None, kw_only=False)
    n_pretrained: int = 50
    prior_points: int = 500
    prior_range: float = 1.0
    pretrain_epochs: int = 1000
    convergence: Convergence | None = None
    perturbation: float = 0.01
    pretrained_: Pretrained | None = field(default=None, init=False)
    pretrained_with_: dict[str, Any] | None = field(default=None, init=False)

    fitted_attributes: ClassVar = (*EnsembleRegressor.fitted_attributes, "pretrained_",
                                   "pretrained_with_")  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_pretraining(**self._arguments_of(check_pretraining))
        check_count("pretrain_epochs", self.pretrain_epochs, 1)
        most = self._most_members
        if self.n_members > most:
            raise ValueError(f"n_members = {self.n_members}: must be <= n_pretrained = {most}")
        self._settings(self.pretrain_epochs, self.convergence)

    @property
    def _most_members(self) -> int:
        prior = self.prior
        return len(prior.epochs) if isinstance(prior, Pretrained) else self.n_pretrained

    def pretrain(self, X: ArrayLike | None = None, *, n_features: int | None = None) -> Self:
        """Fit the networks to realisations of the prior for every fit; members trained are gone.

        Bounds that are "data" are here the ranges of X and of the realisations, and `fit` takes
        these networks for any data. Without this call `fit` pre-trains with the ranges of its own
        data, and again where these ranges change, as if it had not been called before.

        Args:
            X: Points where the prior is fitted, (M, n_in), see `bnn.pretrain`; clones lack them.
            n_features: Number of inputs, where X is None.

        Returns:
            self, with the attribute `pretrained_`.

        Raises:
            ValueError: If a hyper-parameter is not admissible or the prior misbehaves.
            DivergenceError: If fewer than two members stayed finite.
        """
        self._check_parameters()
        self.members_ = None
        self._pretrain(None if X is None else as_array("X", X), n_features)
        return self

    def _pretrain(
        self, X: ArrayLike | None, n_features: int | None, data: tuple[Array, Array] | None = None
    ) -> None:
        """Run Algorithm 3 for the shape of data and, without points X, for their ranges."""
        ranges = {} if data is None or X is not None else self._ranges(*data)
        if isinstance(self.prior, Pretrained):
            self.pretrained_ = self.prior
        else:
            chosen = self._arguments_of(pretrain) | {
                "n_outputs": None if data is None else data[1].shape[1],
                "settings": self._settings(self.pretrain_epochs, self.convergence),
            }
            self.pretrained_ = pretrain(X=X, n_features=n_features, **chosen | ranges)
        shaping = {name: own_copy(getattr(self, name)) for name in SHAPING}
        self.pretrained_with_ = {"X": X, "ranges": ranges} | shaping

    def _ranges(self, X: Array, y: Array) -> dict[str, Array]:
        """Return the pairs (n, 2) that data have for bounds that are "data"."""
        data = {"input_bounds": X, "output_bounds": y}
        wanted = [name for name in data if same(getattr(self, name), "data")]
        return {name: np.transpose(astuple(BoundsScaler.fit(data[name]))) for name in wanted}

    def _pretrained_for(self, X: Array, y: Array) -> Pretrained:
        """Return the pre-trained networks, after pre-training where they are missing or stale."""
        known = self.pretrained_with_
        if self.pretrained_ is None or known is None or self._stale(self.pretrained_, known, X, y):
            self._pretrain(None if known is None else known["X"], X.shape[1], (X, y))
        assert self.pretrained_ is not None
        return self.pretrained_

    def _stale(self, found: Pretrained, known: dict[str, Any], X: Array, y: Array) -> bool:
        if known["ranges"] and not same(known["ranges"], self._ranges(X, y)):
            return True
        follows = self.prior is None and not found.inputs_given
        if follows and found.shape != (X.shape[1], y.shape[1]):
            return True  # the default prior has as many inputs and outputs as the data
        return not all(same(getattr(self, name), known[name]) for name in SHAPING)

    def sample_prior(self, X: ArrayLike) -> Array:
        """Return f of every pre-trained network at X (n, n_in), (K, n, n_out) float64."""
        if self.pretrained_ is None:
            raise NotFittedError("call pretrain or fit first")
        fitted = self.members_ is not None  # to columns in an order, where X is a data frame
        return self.pretrained_.sample(self._checked(X) if fitted else as_points("X", X))

    def stored_fields(self) -> dict[str, Any]:
        """Return hyper-parameters and fitted attributes."""
        stored = super().stored_fields()
        known = self.pretrained_with_ or {}
        stored["fitted"]["pretrained_with_"] = {name: kept(value) for name, value in known.items()}
        return stored

    def check_restored(self) -> None:
        """Raise ValueError if a file held attributes of other types, or that do not fit."""
        super().check_restored()
        if not isinstance(self.pretrained_, Pretrained):
            raise ValueError(f"pretrained_ is a {type(self.pretrained_).__name__}")
        known = self.pretrained_with_
        if not isinstance(known, dict) or known.keys() != {"X", "ranges", *SHAPING}:
            raise ValueError("the parameters of the pre-training are not those there are")


# Changing one of these hyper-parameters makes the pre-training run again.
NOT_SHAPING = {"n_members", "noise", "members_at_once", "device", "progress"}
SHAPING = [f.name for f in fields(PretrainedEnsemble) if f.init and f.name not in NOT_SHAPING]
