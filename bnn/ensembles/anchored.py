"""Anchored ensemble, Algorithms 2 and 3 of the paper."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc
from sklearn.utils.validation import check_is_fitted

from bnn._seeding import generator, member_generators, member_seeds, seed_sequence, spawn
from bnn._validation import check_option
from bnn.ensembles.base import (
    SEED_ANCHORS,
    SEED_COVARIANCE,
    SEED_MEASUREMENT,
    SEED_RESAMPLING,
    SEED_TRAINING,
)
from bnn.ensembles.pretraining import PretrainedEnsemble
from bnn.function_priors.conditioning import (
    Conditioning,
    check_nugget,
    scaled_blocks,
    squared_distance,
)
from bnn.function_priors.moments import DrawnPrior
from bnn.gauss_newton.function_space import fit_functions
from bnn.gauss_newton.levenberg_marquardt import Fit, StoppingRule
from bnn.gauss_newton.weight_space import fit_weights
from bnn.noise import resample
from bnn.training.members import Objective
from bnn.training.settings import FunctionAnchoring
from bnn.weight_priors import WEIGHT_PRIORS, ProperGaussian, WeightPrior

REGULARISERS = (*WEIGHT_PRIORS, "none")
# Proper Gaussians, whose optimum Gauss-Newton finds.
PROPER = [name for name, kind in WEIGHT_PRIORS.items() if issubclass(kind, ProperGaussian)]
# A step that lowers the objective by less than this fraction has arrived. Members creep along
# narrow valleys: ended at 1e-6, some kept a gradient half as large as the data's.
OPTIMUM = StoppingRule(iterations=10_000, decrease=1e-9)
OPTIMISERS = ("adam", "gauss_newton")
ANCHORINGS = ("weights", "function")


class AnchoredEnsemble(PretrainedEnsemble):
    """Ensemble pre-trained to a functional prior and anchored to it.

    With anchoring="weights" every member is held near its pre-trained weights by a prior over the
    weights (Algorithms 2 and 3 of the paper). With anchoring="function" it is held near its
    pre-trained *function* g: it minimises

        Σ_i (ỹ_i - f(x_i))ᵀ Σ_noise⁻¹ (ỹ_i - f(x_i)) + (f - g)(X)ᵀ C⁺ (f - g)(X)

    with its own perturbed data ỹ, measurement points X that hold the training inputs too, and the
    prior's covariance C. For a Gaussian process and networks wide enough, the members are draws
    from the exact posterior (randomise-then-optimise in function space).

    A ConvergenceWarning says how many members Gauss-Newton (in function space, or the optimiser of
    that name) did not bring to their end.

    The parameters below come on top of those of EnsembleRegressor.

    Args:
        prior: Functional prior p(g), see bnn.function_priors; None is a zero-mean GP with RBF
            kernel, k0 = 1 and L = 1.
        anchoring: "weights" or "function", or a bnn.FunctionAnchoring with other settings. In
            function space regulariser, anchors, optimiser, resampling and epochs are not used, and
            batch_size is the pre-training's alone. The networks should be smooth ("silu") and wide
            enough, such as (50, 50, 50).
        regulariser: "low_rank", "probabilistic_pca", "factorised", "generalised_normal",
            "isotropic" or "none".
        anchors: "pretrained" (ω0^[k] themselves) or "sampled" (drawn from the weight prior).
        optimiser: "adam" for `epochs`, as published, or "gauss_newton", which goes to the optimum;
            the latter needs a proper Gaussian: "probabilistic_pca", "factorised" or "isotropic".
        n_pretrained: Networks pre-trained, from which the weight prior is learnt; the first
            n_members of them are trained to data.
        prior_points: M, points at which the prior is fitted.
        pretrain_epochs: Epochs, or budget, of pre-training.
        convergence: A bnn.Convergence that ends pre-training early; None runs all epochs.
        perturbation: Standard deviation of the members' perturbation of the common start.
    """

    # What only functional anchoring leaves behind.
    _of_functions = ("measurement_inputs_", "penalties_", "bounds_")
    _stored = (*PretrainedEnsemble._stored, "anchors_", *_of_functions)
    _of_training = (*PretrainedEnsemble._of_training, "anchors_", "weight_prior_", *_of_functions)
    weight_prior_: WeightPrior | None

    def __init__(
        self,
        prior=None,
        *,
        anchoring="weights",
        regulariser="low_rank",
        anchors="pretrained",
        optimiser="adam",
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
        self.anchoring = anchoring
        self.regulariser = regulariser
        self.anchors = anchors
        self.optimiser = optimiser
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_option("regulariser", self.regulariser, REGULARISERS)
        check_option("anchors", self.anchors, ("pretrained", "sampled"))
        check_option("optimiser", self.optimiser, OPTIMISERS)
        if not isinstance(self.anchoring, FunctionAnchoring):
            check_option("anchoring", self.anchoring, ANCHORINGS)
        if self.anchoring == "weights":
            self._check_combination()

    def _check_combination(self) -> None:
        if self.optimiser == "gauss_newton" and self.regulariser not in PROPER:
            raise ValueError(
                f"regulariser = {self.regulariser!r}: optimiser = 'gauss_newton' needs a proper "
                f"Gaussian, {', '.join(PROPER)}"
            )
        if self.anchors == "sampled" and self.regulariser == "none":
            raise ValueError("anchors = 'sampled': needs a regulariser other than 'none'")
        if self.regulariser == "probabilistic_pca" and self.n_pretrained < 3:
            raise ValueError(
                f"n_pretrained = {self.n_pretrained}: regulariser = 'probabilistic_pca' needs 3"
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
        for name in self._of_functions:
            self.__dict__.pop(name, None)
        if self.anchoring == "weights":
            return self._fit_weights(X, y)
        settings = FunctionAnchoring() if self.anchoring == "function" else self.anchoring
        return self._fit_functions(X, y, settings)

    def _fit_weights(self, X: np.ndarray, y: np.ndarray) -> AnchoredEnsemble:
        seeds = seed_sequence(self.random_state)
        anchors = self._learn_weight_prior(seeds)
        generators = member_generators(spawn(seeds, SEED_RESAMPLING), len(anchors))
        inputs, targets = resample(X, y, self.resampling, self.noise_covariance_, generators)
        inputs, targets = (
            self.input_scaler_.transform(inputs),
            self.output_scaler_.transform(targets),
        )
        if self.optimiser == "gauss_newton":
            self._find_optimum(inputs, targets, anchors)
        else:
            self._run_adam(inputs, targets, anchors, spawn(seeds, SEED_TRAINING))
        return self

    def _run_adam(self, X: np.ndarray, y: np.ndarray, anchors: np.ndarray, seeds) -> None:
        term = None if self.weight_prior_ is None else self.weight_prior_.regulariser()
        result = self._run(
            self.architecture_,
            anchors,
            X,
            y,
            self._settings(self.epochs),
            member_seeds(seeds, len(anchors)),
            "training",
            Objective(self._precision(), term, anchors),
        )
        self._keep(result)
        self.anchors_ = np.delete(anchors, result.diverged, axis=0)

    def _find_optimum(self, X: np.ndarray, y: np.ndarray, anchors: np.ndarray) -> None:
        assert isinstance(self.weight_prior_, ProperGaussian)
        result = fit_weights(
            self.architecture_,
            anchors,
            X,
            y,
            self.output_scaler_.transform_covariance(self.noise_covariance_),
            self.weight_prior_.covariance_parts(),
            OPTIMUM,
            self.device,
            "training" if self.progress else None,
        )
        self._keep_fit(result, anchors)

    def _keep_fit(self, result: Fit, anchors: np.ndarray) -> None:
        self.weights_, self.losses_, self.epochs_ = result.weights, result.losses, result.iterations
        self.diverged_, self.anchors_ = (), anchors

    def _fit_functions(
        self, X: np.ndarray, y: np.ndarray, settings: FunctionAnchoring
    ) -> AnchoredEnsemble:
        seeds, scaler = seed_sequence(self.random_state), self.output_scaler_
        anchors, prior = self.pretrained_weights_[: self.n_members], self._drawn_prior()
        points = np.concatenate([X, self._measurement_points(settings, seeds)])
        kept = np.delete(np.arange(self.n_pretrained), self.pretrain_diverged_)
        g = scaler.transform(prior.at(points, kept[: len(anchors)], settings.centred))
        seed = spawn(seeds, SEED_COVARIANCE)
        C = scaled_blocks(prior.covariance(points, settings.realisations, seed), scaler.half_range)
        check_nugget(settings.nugget, C, len(scaler.low))
        noise = scaler.transform_covariance(self.noise_covariance_)
        posterior = Conditioning.of(C, noise, len(X))
        generators = member_generators(spawn(seeds, SEED_RESAMPLING), len(anchors))
        _, targets = resample(X, y, "likelihood", self.noise_covariance_, generators)
        if settings.centred:
            targets += y - targets.mean(axis=0)
        result = fit_functions(
            self.architecture_,
            anchors,
            self.input_scaler_.transform(points),
            posterior.apply(g, scaler.transform(targets)),
            posterior.covariance,
            settings.nugget,
            StoppingRule(settings.iterations, loss=settings.closeness),
            self.device,
            "training" if self.progress else None,
        )
        self._keep_fit(result, anchors)
        self.measurement_inputs_, self.bounds_, self.weight_prior_ = points, prior.bounds, None
        moved = scaler.transform(self._evaluate(self.weights_, points)) - g
        self.penalties_ = squared_distance(moved, C + settings.nugget**2 * np.eye(C.shape[1]))
        return self

    def _drawn_prior(self) -> DrawnPrior:
        return DrawnPrior(
            self._functional_prior(self.architecture_.n_outputs),
            self.prior_inputs_,
            self.n_pretrained,
            self._prior_seeds,
            self.sample_prior,
        )

    def _measurement_points(self, settings: FunctionAnchoring, seeds) -> np.ndarray:
        rng, given = generator(spawn(seeds, SEED_MEASUREMENT)), self.prior_inputs_
        if self.prior_inputs_given_:
            return given[rng.permutation(len(given))[: settings.points]]
        uniform = qmc.LatinHypercube(given.shape[1], seed=rng).random(settings.points)
        return self.input_scaler_.inverse_transform(2.0 * uniform - 1.0)

    def _learn_weight_prior(self, seeds) -> np.ndarray:
        """Fit p0(ω) and return the anchors, (K, d) float32."""
        n = min(self.n_members, len(self.pretrained_weights_))
        self.weight_prior_ = self._weight_prior(self.regulariser)
        if self.anchors == "sampled":
            assert self.weight_prior_ is not None
            return self.weight_prior_.sample(n, spawn(seeds, SEED_ANCHORS)).astype(np.float32)
        return self.pretrained_weights_[:n]

    def _weight_prior(self, regulariser: str) -> WeightPrior | None:
        if regulariser == "none":
            return None
        return WEIGHT_PRIORS[regulariser].fit(self.pretrained_weights_, self.architecture_)

    def _fitted_with(self) -> dict:
        kind = type(getattr(self, "weight_prior_", None))
        regulariser = next((k for k, v in WEIGHT_PRIORS.items() if v is kind), "none")
        return super()._fitted_with() | {"regulariser": regulariser}

    def _restore(self, fitted: dict) -> None:
        super()._restore(fitted)
        if hasattr(self, "weights_"):
            self.weight_prior_ = self._weight_prior(fitted["regulariser"])

    def _evaluate_members(self, X: np.ndarray) -> np.ndarray:
        values = super()._evaluate_members(X)
        return np.clip(values, *self.bounds_) if hasattr(self, "bounds_") else values

    def penalty(self) -> np.ndarray:
        """Return the regularisation term of each trained member, (K,).

        In function space it is (f - g)(X)ᵀ (C + δ² I)⁻¹ (f - g)(X), with the nugget δ.
        """
        check_is_fitted(self, "weights_")
        if hasattr(self, "penalties_"):
            return self.penalties_
        if self.weight_prior_ is None:
            return np.zeros(len(self.weights_))
        return self.weight_prior_.penalty(self.weights_, self.anchors_)
