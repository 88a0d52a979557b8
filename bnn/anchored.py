"""Anchored ensemble, Algorithms 2 and 3 of the paper."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bnn.base import (
    SEED_ANCHORS,
    SEED_INPUTS,
    SEED_PERTURBATION,
    SEED_PRETRAINING,
    SEED_PRIOR,
    SEED_RESAMPLING,
    SEED_START,
    SEED_TRAINING,
    EnsembleRegressor,
    check_integer,
    check_option,
    scaler_of,
)
from bnn.chunk import Objective
from bnn.networks import Architecture
from bnn.noise import resample
from bnn.priors import GaussianProcessPrior, draw_realisations, latin_hypercube
from bnn.seeding import derived, member_generators, member_seeds, seed_sequence
from bnn.storage import plain
from bnn.weight_priors import WEIGHT_PRIORS

REGULARISERS = (*WEIGHT_PRIORS, "none")


class AnchoredEnsemble(EnsembleRegressor):
    """Ensemble pre-trained to a functional prior and anchored to it (Algorithms 2 and 3).

    Args:
        prior: Functional prior p(g), see bnn.priors; None is a zero-mean GP with RBF kernel, k0 = 1
            and L = 1.
        regulariser: "low_rank", "factorised", "generalised_normal", "isotropic" or "none".
        anchors: "pretrained" (ω0^[k] themselves) or "sampled" (drawn from the weight prior).
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, see bnn.activations.
        n_pretrained: Networks pre-trained, from which the weight prior is learnt.
        n_members: Networks trained to data, the first ones of these.
        noise: Standard deviation of the noise, one or one an output, or Σ_noise, in units of y.
        resampling: "bootstrap", "likelihood" or "none".
        prior_points: M, points at which the prior is fitted.
        pretrain_epochs: Epochs, or budget, of pre-training.
        convergence: A bnn.Convergence that ends pre-training early; None runs all epochs.
        epochs: Training epochs.
        batch_size: Points a step; None takes all.
        input_bounds: (low, high) of the inputs, which the networks see scaled to [-1, 1]; "data"
            takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        learning_rate: Of Adam.
        bias_correction: Adam proper; False as in the published Table 1.
        init: "glorot" or "he", of the common start.
        perturbation: Standard deviation of the members' perturbation of the common start.
        chunk_size: Members trained together; None chooses.
        device: "cpu" or "cuda".
        progress: Whether to show progress bars.
        random_state: Seed.
    """

    _stored = (
        *EnsembleRegressor._stored,
        "pretrained_weights_",
        "prior_inputs_",
        "prior_realisations_",
        "pretrain_losses_",
        "pretrain_epochs_",
        "pretrain_diverged_",
        "anchors_",
    )

    def __init__(
        self,
        prior=None,
        *,
        regulariser="low_rank",
        anchors="pretrained",
        hidden=(20, 20, 20, 20),
        activation="leaky_relu",
        n_pretrained=50,
        n_members=30,
        noise=0.1,
        resampling="bootstrap",
        prior_points=500,
        pretrain_epochs=1000,
        convergence=None,
        epochs=600,
        batch_size=32,
        input_bounds=None,
        output_bounds=None,
        learning_rate=1e-3,
        bias_correction=True,
        init="glorot",
        perturbation=0.01,
        chunk_size=None,
        device="cpu",
        progress=False,
        random_state=None,
    ):
        self.prior = prior
        self.regulariser = regulariser
        self.anchors = anchors
        self.hidden = hidden
        self.activation = activation
        self.n_pretrained = n_pretrained
        self.n_members = n_members
        self.noise = noise
        self.resampling = resampling
        self.prior_points = prior_points
        self.pretrain_epochs = pretrain_epochs
        self.convergence = convergence
        self.epochs = epochs
        self.batch_size = batch_size
        self.input_bounds = input_bounds
        self.output_bounds = output_bounds
        self.learning_rate = learning_rate
        self.bias_correction = bias_correction
        self.init = init
        self.perturbation = perturbation
        self.chunk_size = chunk_size
        self.device = device
        self.progress = progress
        self.random_state = random_state

    def pretrain(self, X=None, *, n_features: int | None = None) -> AnchoredEnsemble:
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

    def _pretrain(self, X, n_features: int | None, data_X, data_y) -> AnchoredEnsemble:
        seeds = seed_sequence(self.random_state)
        prior = self.prior
        if prior is None and getattr(self, "_prior_not_stored", False):
            raise ValueError("prior = None: it was not stored with the ensemble, set it again")
        if prior is None:
            prior = GaussianProcessPrior(n_outputs=1 if data_y is None else data_y.shape[1])
        X = self._prior_inputs(X, prior, n_features, data_X, derived(seeds, SEED_INPUTS))
        targets = draw_realisations(prior, X, self.n_pretrained, derived(seeds, SEED_PRIOR))
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
        self.prior_inputs_ = X
        self.prior_realisations_ = np.delete(targets, result.diverged, axis=0)
        self.pretrained_weights_ = np.delete(result.weights, result.diverged, axis=0)
        self.pretrain_losses_ = result.losses
        self.pretrain_epochs_ = result.epochs
        self.pretrain_diverged_ = result.diverged
        self._pretrained_with = self._pretraining_parameters()
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("regulariser", self.regulariser, REGULARISERS)
        check_option("anchors", self.anchors, ("pretrained", "sampled"))
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
        after = {
            "regulariser",
            "anchors",
            "n_members",
            "noise",
            "resampling",
            "epochs",
            "chunk_size",
            "device",
            "progress",
        }
        return {k: v for k, v in self.get_params(deep=False).items() if k not in after}

    def _same_pretraining(self, known: dict) -> bool:
        return all(
            value is known[name] or (name != "prior" and plain(value) == plain(known[name]))
            for name, value in self._pretraining_parameters().items()
        )

    def fit(self, X, y) -> AnchoredEnsemble:
        """Train the members to data (Algorithm 2), after pre-training where that is missing.

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
        """
        self._check_parameters()
        X, y = self._check_data(X, y)
        self._ensure_pretrained(X, y)
        seeds = seed_sequence(self.random_state)
        anchors = self._learn_weight_prior(seeds)
        generators = member_generators(derived(seeds, SEED_RESAMPLING), len(anchors))
        inputs, targets = resample(X, y, self.resampling, self.noise_covariance_, generators)
        term = None if self.weight_prior_ is None else self.weight_prior_.regulariser()
        result = self._run(
            anchors,
            self.input_scaler_.transform(inputs),
            self.output_scaler_.transform(targets),
            self._settings(self.epochs),
            member_seeds(derived(seeds, SEED_TRAINING), len(anchors)),
            "training",
            Objective(self._precision(), term, anchors),
        )
        self._keep(result)
        self.anchors_ = np.delete(anchors, result.diverged, axis=0)
        return self

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

    def _learn_weight_prior(self, seeds) -> np.ndarray:
        """Fit p0(ω) and return the anchors, (K, d) float32."""
        n = min(self.n_members, len(self.pretrained_weights_))
        self.weight_prior_ = self._weight_prior()
        if self.anchors == "sampled":
            density = self.weight_prior_
            if density is None:
                raise ValueError("anchors = 'sampled': needs a regulariser other than 'none'")
            return density.sample(n, derived(seeds, SEED_ANCHORS)).astype(np.float32)
        return self.pretrained_weights_[:n]

    def _weight_prior(self):
        if self.regulariser == "none":
            return None
        return WEIGHT_PRIORS[self.regulariser].fit(self.pretrained_weights_, self.architecture_)

    def _restore(self) -> None:
        if hasattr(self, "pretrained_weights_"):
            self._pretrained_with = self._pretraining_parameters()
            if hasattr(self, "weights_"):
                self.weight_prior_ = self._weight_prior()

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

    def penalty(self) -> np.ndarray:
        """Return the regularisation term of each trained member, (K,)."""
        check_is_fitted(self, "weights_")
        if self.weight_prior_ is None:
            return np.zeros(len(self.weights_))
        return self.weight_prior_.penalty(self.weights_, self.anchors_)
