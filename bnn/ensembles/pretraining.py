"""Pre-training to a functional prior, Algorithm 3 of the paper."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bnn._seeding import member_generators, member_seeds, seed_sequence, spawn
from bnn._validation import check_integer
from bnn.ensembles.base import (
    SEED_INPUTS,
    SEED_PERTURBATION,
    SEED_PRETRAINING,
    SEED_PRIOR,
    SEED_START,
    EnsembleRegressor,
)
from bnn.ensembles.storage import plain, restored
from bnn.function_priors.gaussian_process import GaussianProcessPrior
from bnn.function_priors.samplers import FunctionalPrior, draw_realisations, latin_hypercube
from bnn.networks.architecture import Architecture
from bnn.scaling import scaler_of

# Parameters that may change between pre-training and fit.
_AFTER_PRETRAINING = {
    "anchoring",
    "regulariser",
    "anchors",
    "optimiser",
    "n_members",
    "noise",
    "resampling",
    "epochs",
    "chunk_size",
    "device",
    "progress",
}


class PriorRangeWarning(UserWarning):
    """Most of the data lie where the prior was not fitted."""


def _equal_when_stored(value, known) -> bool:
    """Whether two hyper-parameters are equal; those that cannot be stored count as different."""
    value, known = plain(value), plain(known)
    return value == known and not (isinstance(value, dict) and "not_stored" in value)


class PretrainedEnsemble(EnsembleRegressor):
    """Base of ensembles whose networks are fitted to realisations of a prior first."""

    _stored = (
        *EnsembleRegressor._stored,
        "pretrained_weights_",
        "prior_inputs_",
        "prior_inputs_given_",
        "prior_realisations_",
        "pretrain_losses_",
        "pretrain_epochs_",
        "pretrain_diverged_",
    )

    # What training to data leaves behind.
    _of_training: tuple[str, ...] = ("weights_", "losses_", "epochs_", "diverged_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_pretrained", self.n_pretrained, 2)
        check_integer("prior_points", self.prior_points, 2)
        if self.n_members > self.n_pretrained:
            raise ValueError(
                f"n_members = {self.n_members}: must be <= n_pretrained = {self.n_pretrained}"
            )
        if self.prior is not None and not hasattr(self.prior, "sample"):
            raise ValueError(f"prior = {self.prior!r}: must have a method sample")
        if not 0.0 <= self.perturbation < np.inf:
            raise ValueError(f"perturbation = {self.perturbation}: must be >= 0")
        self._settings(self.pretrain_epochs, self.convergence)

    def pretrain(self, X=None, *, n_features: int | None = None) -> PretrainedEnsemble:
        """Fit the networks to realisations of the prior (Algorithm 3); keep them for every fit.

        Members trained before are gone.

        Args:
            X: Points at which the prior is fitted, (M, n_in); None takes those of a TablePrior,
                else a Latin hypercube of `prior_points` points, to twice the input bounds (to ±2
                without these). Keep to X where the prior is defined nowhere else; clones do not
                have it.
            n_features: Number of inputs, where X is None.

        Returns:
            self, with pretrained_weights_ (K, d), prior_inputs_, prior_realisations_,
            pretrain_losses_, pretrain_epochs_ and pretrain_diverged_.

        Raises:
            ValueError: If a hyper-parameter is not admissible or the prior misbehaves.
            DivergenceError: If fewer than two members stayed finite.
        """
        self._check_parameters()
        self._pretrain(X, n_features, None, None)
        for name in ("y_ndim_", "noise_covariance_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        return self

    def _pretrain(self, X, n_features: int | None, data_X, data_y) -> None:
        seeds = seed_sequence(self.random_state)
        prior = self._functional_prior(1 if data_y is None else data_y.shape[1])
        given = X is not None or hasattr(prior, "points")
        X = self._prior_inputs(X, prior, n_features, data_X, spawn(seeds, SEED_INPUTS))
        prior_seeds = spawn(seeds, SEED_PRIOR)
        targets = draw_realisations(prior, X, self.n_pretrained, prior_seeds)
        shape = (X.shape[1], targets.shape[2])
        self._check_shape(shape, data_X, data_y)
        scalers, architecture = self._scalers(data_X, data_y, shape), self._architecture(*shape)
        result = self._run(
            architecture,
            self._perturbed_starts(architecture, seeds),
            scalers[0].transform(X),
            scalers[1].transform(targets),
            self._settings(self.pretrain_epochs, self.convergence),
            member_seeds(spawn(seeds, SEED_PRETRAINING), self.n_pretrained),
            "pre-training",
        )
        for name in self._of_training:
            self.__dict__.pop(name, None)
        self.architecture_, self._prior_seeds = architecture, prior_seeds
        self.input_scaler_, self.output_scaler_ = scalers
        self.prior_inputs_, self.prior_inputs_given_ = X, given
        self.prior_realisations_ = np.delete(targets, result.diverged, axis=0)
        self.pretrained_weights_ = np.delete(result.weights, result.diverged, axis=0)
        self.pretrain_losses_ = result.losses
        self.pretrain_epochs_ = result.epochs
        self.pretrain_diverged_ = result.diverged
        self._pretrained_with = self._pretraining_parameters()

    def _functional_prior(self, n_outputs: int) -> FunctionalPrior:
        if self.prior is None and getattr(self, "_prior_not_stored", False):
            raise ValueError("prior = None: it was not stored with the ensemble, set it again")
        return GaussianProcessPrior(n_outputs=n_outputs) if self.prior is None else self.prior

    def _prior_inputs(self, X, prior, n_features: int | None, data_X, seeds) -> np.ndarray:
        if X is None:
            X = getattr(prior, "points", None)
        if X is None:
            if n_features is None:
                raise ValueError("n_features = None: must be given where X is not")
            check_integer("n_features", n_features, 1)
            scaler = scaler_of("input_bounds", self.input_bounds, data_X, n_features)
            scaled = latin_hypercube(self.prior_points, n_features, seeds)
            X = scaler.inverse_transform(scaled)
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or len(X) < 2 or not np.isfinite(X).all():
            raise ValueError(f"X has shape {X.shape}: must be (M >= 2, n_in) and finite")
        return X

    def _perturbed_starts(self, architecture: Architecture, seeds) -> np.ndarray:
        start = architecture.initial_weights(1, spawn(seeds, SEED_START), self.init)
        generators = member_generators(spawn(seeds, SEED_PERTURBATION), self.n_pretrained)
        noise = np.stack([rng.standard_normal(start.shape[1]) for rng in generators])
        return (start + self.perturbation * noise).astype(np.float32)

    def _pretraining_parameters(self) -> dict:
        parameters = self.get_params(deep=False)
        return {k: v for k, v in parameters.items() if k not in _AFTER_PRETRAINING}

    def _same_pretraining(self, known: dict) -> bool:
        return all(
            value is known[name] or _equal_when_stored(value, known[name])
            for name, value in self._pretraining_parameters().items()
        )

    def _ensure_pretrained(self, X: np.ndarray, y: np.ndarray) -> None:
        from_data = any(isinstance(b, str) for b in (self.input_bounds, self.output_bounds))
        known = getattr(self, "_pretrained_with", None)
        if known is None:
            self._pretrain(None, X.shape[1], X, y)
        elif from_data or self._follows(X, y) or not self._same_pretraining(known):
            self._pretrain(self._inputs_again(known["prior"]), X.shape[1], X, y)
        self._check_shape(self._shape, X, y)
        self._check_range(X)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.architecture_.n_inputs, self.architecture_.n_outputs

    def _follows(self, X: np.ndarray, y: np.ndarray) -> bool:
        """Whether the prior of nobody's choice takes the shape of other data."""
        free = self.prior is None and not getattr(self, "_prior_not_stored", False)
        return free and not self.prior_inputs_given_ and self._shape != (X.shape[1], y.shape[1])

    def _inputs_again(self, known_prior) -> np.ndarray | None:
        """The points that pretrain was given, which hold for pre-training again.

        Those of a table do not: another table has its own.
        """
        tabulated = hasattr(known_prior, "points") or (
            known_prior is None and hasattr(self.prior, "points")
        )
        return self.prior_inputs_ if self.prior_inputs_given_ and not tabulated else None

    def _check_range(self, inputs: np.ndarray) -> None:
        low, high = self.prior_inputs_.min(axis=0), self.prior_inputs_.max(axis=0)
        outside = 1.0 - np.mean(np.all((inputs >= low) & (inputs <= high), axis=1))
        if outside > 0.5:
            warnings.warn(
                f"{outside:.0%} of the data lie outside the points at which the prior was fitted, "
                f"{low} to {high}: give input_bounds, or call pretrain(X)",
                PriorRangeWarning,
                stacklevel=4,
            )

    def _fitted_with(self) -> dict:
        known = {"pretrained_with": self._pretrained_with, "prior_seeds": self._prior_seeds}
        return super()._fitted_with() | known

    def _restore(self, fitted: dict) -> None:
        known = {name: restored(value) for name, value in fitted["pretrained_with"].items()}
        if known.keys() != self._pretraining_parameters().keys():
            raise ValueError("the parameters of the pre-training are not those there are")
        self._pretrained_with, self._prior_seeds = known, restored(fitted["prior_seeds"])
        if not isinstance(self._prior_seeds, np.random.SeedSequence):
            raise ValueError("prior_seeds is not a seed")

    @staticmethod
    def _check_shape(shape: tuple[int, int], X, y) -> None:
        if X is not None and shape != (X.shape[1], y.shape[1]):
            raise ValueError(
                f"the data have {X.shape[1]} inputs and {y.shape[1]} outputs, the prior has "
                f"{shape[0]} and {shape[1]}"
            )

    def sample_prior(self, X) -> np.ndarray:
        """Evaluate the pre-trained networks.

        Args:
            X: (n, n_in).

        Returns:
            f of every pre-trained network, (K, n, n_out) float64.

        Raises:
            NotFittedError: Before pretrain or fit.
        """
        check_is_fitted(self, "pretrained_weights_")
        return self._evaluate(self.pretrained_weights_, np.asarray(X, dtype=float))
