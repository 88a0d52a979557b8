"""Pre-training to a functional prior, Algorithm 3 of the paper."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bnn.base import (
    SEED_INPUTS,
    SEED_PERTURBATION,
    SEED_PRETRAINING,
    SEED_PRIOR,
    SEED_START,
    EnsembleRegressor,
)
from bnn.checks import check_integer
from bnn.data import scaler_of
from bnn.networks import Architecture
from bnn.priors import FunctionalPrior, GaussianProcessPrior, draw_realisations, latin_hypercube
from bnn.seeding import derived, member_generators, member_seeds, seed_sequence
from bnn.storage import plain

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("n_pretrained", self.n_pretrained, 2)
        check_integer("prior_points", self.prior_points, 2)
        if self.n_members > self.n_pretrained:
            raise ValueError(
                f"n_members = {self.n_members}: must be <= n_pretrained = {self.n_pretrained}"
            )
        if self.prior is not None and not hasattr(self.prior, "sample"):
            raise ValueError(f"prior = {self.prior!r}: must have a method sample, see bnn.priors")
        if not 0.0 <= self.perturbation < np.inf:
            raise ValueError(f"perturbation = {self.perturbation}: must be >= 0")
        self._settings(self.pretrain_epochs, self.convergence)

    def pretrain(self, X=None, *, n_features: int | None = None) -> PretrainedEnsemble:
        """Fit the networks to realisations of the prior (Algorithm 3); keep them for every fit.

        Args:
            X: Points at which the prior is fitted, (M, n_in); None takes those of a TablePrior,
                else a Latin hypercube of `prior_points` points.
            n_features: Number of inputs, where X is None.

        Returns:
            self, with pretrained_weights_ (K, d), prior_inputs_, prior_realisations_,
            pretrain_losses_, pretrain_epochs_ and pretrain_diverged_.

        Raises:
            ValueError: If a hyper-parameter is not admissible or the prior misbehaves.
            DivergenceError: If fewer than two members stayed finite.
        """
        self._check_parameters()
        return self._pretrain(X, n_features, None, None)

    def _pretrain(self, X, n_features: int | None, data_X, data_y) -> PretrainedEnsemble:
        seeds = seed_sequence(self.random_state)
        prior = self._functional_prior(1 if data_y is None else data_y.shape[1])
        given = X is not None or hasattr(prior, "points")
        X = self._prior_inputs(X, prior, n_features, data_X, derived(seeds, SEED_INPUTS))
        self._prior_seeds = derived(seeds, SEED_PRIOR)
        targets = draw_realisations(prior, X, self.n_pretrained, self._prior_seeds)
        shape = (X.shape[1], targets.shape[2])
        self._check_shape(shape, data_X, data_y)
        self._fit_scalers(data_X, data_y, shape)
        self.architecture_ = self._architecture(*shape)
        result = self._run(
            self._perturbed_starts(self.architecture_, seeds),
            self.input_scaler_.transform(X),
            self.output_scaler_.transform(targets),
            self._settings(self.pretrain_epochs, self.convergence),
            member_seeds(derived(seeds, SEED_PRETRAINING), self.n_pretrained),
            "pre-training",
        )
        self.prior_inputs_, self.prior_inputs_given_ = X, given
        self.prior_realisations_ = np.delete(targets, result.diverged, axis=0)
        self.pretrained_weights_ = np.delete(result.weights, result.diverged, axis=0)
        self.pretrain_losses_ = result.losses
        self.pretrain_epochs_ = result.epochs
        self.pretrain_diverged_ = result.diverged
        self._pretrained_with = self._pretraining_parameters()
        return self

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
        start = architecture.initial_weights(1, derived(seeds, SEED_START), self.init)
        generators = member_generators(derived(seeds, SEED_PERTURBATION), self.n_pretrained)
        noise = np.stack([rng.standard_normal(start.shape[1]) for rng in generators])
        return (start + self.perturbation * noise).astype(np.float32)

    def _pretraining_parameters(self) -> dict:
        parameters = self.get_params(deep=False)
        return {k: v for k, v in parameters.items() if k not in _AFTER_PRETRAINING}

    def _same_pretraining(self, known: dict) -> bool:
        return all(
            value is known[name] or (name != "prior" and plain(value) == plain(known[name]))
            for name, value in self._pretraining_parameters().items()
        )

    def _ensure_pretrained(self, X: np.ndarray, y: np.ndarray) -> None:
        from_data = any(isinstance(b, str) for b in (self.input_bounds, self.output_bounds))
        known = getattr(self, "_pretrained_with", None)
        if from_data or known is None or not self._same_pretraining(known):
            self._pretrain(None, X.shape[1], X, y)
        self._check_shape((self.architecture_.n_inputs, self.architecture_.n_outputs), X, y)

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
