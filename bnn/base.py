"""What the ensembles share: data checks, the training call, predictions."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bnn.chunk import Objective
from bnn.networks import INITIALISATIONS, Architecture
from bnn.noise import noise_covariance
from bnn.settings import Convergence, TrainingSettings
from bnn.training import DivergenceError, DivergenceWarning, TrainingResult, train

RESAMPLINGS = ("bootstrap", "likelihood", "none")

# Addresses of the independent seeds below random_state.
SEED_START, SEED_PERTURBATION, SEED_PRIOR, SEED_INPUTS, SEED_RESAMPLING = range(5)
SEED_PRETRAINING, SEED_TRAINING, SEED_ANCHORS = range(5, 8)


def check_option(name: str, value, options) -> None:
    """Raise ValueError unless value is one of the options."""
    if value not in options:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(options)}")


def check_integer(name: str, value, smallest: int) -> None:
    """Raise ValueError unless value is an integer >= smallest."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
        raise ValueError(f"{name} = {value!r}: must be an integer >= {smallest}")


class EnsembleRegressor(RegressorMixin, BaseEstimator):
    """Base of the ensembles."""

    def _architecture(self, n_inputs: int, n_outputs: int) -> Architecture:
        return Architecture((n_inputs, *self.hidden, n_outputs), self.activation)

    def _settings(self, epochs: int, convergence: Convergence | None = None) -> TrainingSettings:
        return TrainingSettings(
            epochs=epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            bias_correction=self.bias_correction,
            convergence=convergence,
            chunk_size=self.chunk_size,
        )

    def _check_parameters(self) -> None:
        check_option("init", self.init, INITIALISATIONS)
        check_option("resampling", self.resampling, RESAMPLINGS)
        check_integer("n_members", self.n_members, 2)
        self._settings(self.epochs)

    def _check_data(self, X, y) -> tuple[np.ndarray, np.ndarray]:
        """Validate the data; remember the shape of y and Σ_noise."""
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=float, ensure_min_samples=2
        )
        self.y_ndim_ = y.ndim
        y = y.reshape(len(y), -1).astype(float)
        self.noise_covariance_ = noise_covariance(self.noise, y.shape[1])
        return X, y

    def _run(
        self,
        weights: np.ndarray,
        X: np.ndarray,
        y: np.ndarray,
        settings: TrainingSettings,
        seeds: np.ndarray,
        title: str,
        objective: Objective | None = None,
    ) -> TrainingResult:
        """Train, and warn about members that diverged."""
        result = train(
            self.architecture_,
            weights,
            X,
            y,
            settings,
            seeds=seeds,
            objective=objective,
            device=self.device,
            progress=title if self.progress else None,
        )
        if result.diverged:
            named = ", ".join(map(str, result.diverged))
            if len(weights) - len(result.diverged) < 2:
                raise DivergenceError(f"{title}: members {named} of {len(weights)} diverged")
            warnings.warn(
                f"{title}: members {named} of {len(weights)} diverged and are left out",
                DivergenceWarning,
                stacklevel=3,
            )
        return result

    def _keep(self, result: TrainingResult) -> None:
        self.diverged_ = result.diverged
        self.weights_ = np.delete(result.weights, result.diverged, axis=0)
        self.losses_ = result.losses
        self.epochs_ = result.epochs

    def sample(self, X) -> np.ndarray:
        """Evaluate every member.

        Args:
            X: (n, n_in).

        Returns:
            f^[k](X), (K, n, n_out) float64, epistemic only.

        Raises:
            NotFittedError: Before fit.
            ValueError: If X does not fit the training data.
        """
        check_is_fitted(self, "weights_")
        X = validate_data(self, X, reset=False, dtype=float)
        return self._evaluate(self.weights_, X)

    def _evaluate(self, weights: np.ndarray, X: np.ndarray) -> np.ndarray:
        return self.architecture_.forward(weights, X.astype(np.float32)).astype(float)

    def predict(self, X, return_std: bool = False, return_cov: bool = False, total: bool = False):
        """Return the predictive mean, and its uncertainty on request.

        Args:
            X: (n, n_in).
            return_std: Also return the standard deviation of each output.
            return_cov: Also return the covariance between the outputs instead.
            total: Whether the uncertainty includes Σ_noise; else it is epistemic.

        Returns:
            Mean, of the shape of y; with return_std the standard deviation, of the same shape;
            with return_cov the covariance, (n, n_out, n_out).

        Raises:
            ValueError: If both return_std and return_cov are asked for.

        Source: the predictive moments of an ensemble in the paper, with 1 / (K-1).
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov: must not both be True")
        samples = self.sample(X)
        mean = samples.mean(axis=0)
        if not (return_std or return_cov):
            return self._shaped(mean)
        noise = self.noise_covariance_ if total else np.zeros_like(self.noise_covariance_)
        if return_std:
            variance = samples.var(axis=0, ddof=1) + np.diag(noise)
            return self._shaped(mean), self._shaped(np.sqrt(variance))
        centred = samples - mean
        covariance = np.einsum("kni,knj->nij", centred, centred) / (len(samples) - 1)
        return self._shaped(mean), covariance + noise

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self.y_ndim_ == 1 else values
