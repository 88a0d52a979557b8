"""What the ensembles share: data checks, the training call, predictions."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bnn._validation import check_device, check_integer, check_option
from bnn.ensembles.storage import check_stored, restored, write
from bnn.networks.architecture import INITIALISATIONS, Architecture
from bnn.noise import noise_covariance
from bnn.scaling import BoundsScaler, scaler_of
from bnn.training.loop import DivergenceError, DivergenceWarning, TrainingResult, train
from bnn.training.members import Objective
from bnn.training.settings import Convergence, TrainingSettings

SCALERS = ("input_scaler_", "output_scaler_")
RESAMPLINGS = ("bootstrap", "likelihood", "none")
EVALUATED = 64  # members at a time, and so many times 32 points, whatever is asked for

# Addresses of the independent seeds below random_state.
SEED_START, SEED_PERTURBATION, SEED_PRIOR, SEED_INPUTS, SEED_RESAMPLING = range(5)
SEED_PRETRAINING, SEED_TRAINING, SEED_ANCHORS, SEED_MEASUREMENT, SEED_COVARIANCE = range(5, 10)


def _parts(n: int, size: int) -> list[slice]:
    return [slice(i, i + size) for i in range(0, n, size)]


class ConstantInputWarning(UserWarning):
    """An input does not vary in the data."""


class EnsembleRegressor(RegressorMixin, BaseEstimator):
    """Base of the ensembles, with the parameters that all of them have.

    Args:
        hidden: Widths of the hidden layers.
        activation: Of the hidden layers, see bnn.networks.activations.
        n_members: Networks trained to data.
        noise: Standard deviation of the noise, one or one an output, or Σ_noise, in units of y.
        resampling: "bootstrap", "likelihood" or "none".
        epochs: Training epochs.
        batch_size: Points a step; None takes all.
        input_bounds: (low, high) of the inputs, which the networks see scaled to [-1, 1]; "data"
            takes the range of the data; None scales nothing.
        output_bounds: The same for the outputs.
        learning_rate: Of Adam.
        bias_correction: Adam proper; False as in the published Table 1.
        init: "glorot" or "he".
        chunk_size: Members trained together; None chooses.
        device: "cpu" or "cuda".
        progress: Whether to show progress bars.
        random_state: Seed.
    """

    # Fitted attributes that save writes, where they exist.
    _stored: tuple[str, ...] = ("weights_", "losses_", "epochs_", "diverged_", "noise_covariance_")

    def __sklearn_tags__(self):
        """Tell scikit-learn that several outputs are welcome."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

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
        check_device(self.device)
        self._settings(self.epochs)

    def _check_data(self, X, y) -> tuple[np.ndarray, np.ndarray]:
        """Validate the data; remember the shape of y and Σ_noise."""
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=float, ensure_min_samples=2
        )
        self.y_ndim_ = y.ndim
        y = y.reshape(len(y), -1).astype(float)
        constant = np.flatnonzero(X.min(axis=0) == X.max(axis=0))
        if constant.size:
            warnings.warn(
                f"input {constant[0]} is constant in the data: nothing is learnt about it",
                ConstantInputWarning,
                stacklevel=3,
            )
        self.noise_covariance_ = noise_covariance(self.noise, y.shape[1])
        return X, y

    def _scalers(self, X, y, shape: tuple[int, int]) -> tuple[BoundsScaler, BoundsScaler]:
        """Return the maps to the networks' units from the bounds, or the data."""
        return (
            scaler_of("input_bounds", self.input_bounds, X, shape[0]),
            scaler_of("output_bounds", self.output_bounds, y, shape[1]),
        )

    def _precision(self) -> np.ndarray:
        scaled = self.output_scaler_.transform_covariance(self.noise_covariance_)
        return np.linalg.inv(scaled)

    def _run(
        self,
        architecture: Architecture,
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
            architecture,
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
        return self._evaluate_members(X)

    def _evaluate_members(self, X: np.ndarray) -> np.ndarray:
        return self._evaluate(self.weights_, X)

    def _evaluate(self, weights: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Evaluate in double precision: what a point gives must not depend on the others in X."""
        X = self.input_scaler_.transform(X)
        values = np.empty((len(weights), len(X), self.architecture_.n_outputs))
        for members in _parts(len(weights), EVALUATED):
            block = weights[members].astype(float)
            for rows in _parts(len(X), 32 * EVALUATED):
                values[members, rows] = self.architecture_.forward(block, X[rows])
        return self.output_scaler_.inverse_transform(values)

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

    def save(self, path) -> None:
        """Write the fitted or pre-trained ensemble to one .npz file, without pickle.

        Args:
            path: Where. A functional prior is not stored, only its pre-trained networks are, nor is
                a random_state that is a generator.

        Raises:
            NotFittedError: Before fit or pretrain.
        """
        check_is_fitted(self, "architecture_")
        arrays = {n: np.asarray(getattr(self, n)) for n in self._stored if hasattr(self, n)}
        for name in SCALERS:
            scaler = getattr(self, name)
            arrays[name] = np.stack([scaler.low, scaler.high])
        header = {
            "class": type(self).__name__,
            "parameters": self.get_params(deep=False),
            "widths": self.architecture_.widths,
            "fitted": self._fitted_with(),
            "y_ndim": getattr(self, "y_ndim_", None),
            "feature_names": getattr(self, "feature_names_in_", None),
        }
        write(path, arrays, header)

    def _fitted_with(self) -> dict:
        """What the arrays depend on, whatever the hyper-parameters are by now."""
        return {"activation": self.architecture_.activation}

    @classmethod
    def from_stored(cls, arrays: dict[str, np.ndarray], header: dict) -> EnsembleRegressor:
        """Rebuild an ensemble from what save wrote, see bnn.load.

        Args:
            arrays: Name → array.
            header: With storage.ENTRIES.

        Returns:
            The ensemble.

        Raises:
            ValueError, TypeError, KeyError, AttributeError: If an entry is not what save wrote.
        """
        parameters = header["parameters"]
        if not isinstance(parameters, dict):
            raise ValueError("the parameters are not a mapping")
        ensemble = cls(**{k: restored(v) for k, v in parameters.items()})
        ensemble._prior_not_stored = "not_stored" in (parameters.get("prior") or {})
        fitted = header["fitted"]
        ensemble.architecture_ = Architecture(tuple(header["widths"]), fitted["activation"])
        check_stored(arrays, header, {*cls._stored, *SCALERS}, ensemble.architecture_)
        for name in SCALERS:
            setattr(ensemble, name, BoundsScaler(*arrays[name]))
        for name in arrays.keys() - set(SCALERS):
            values = arrays[name]
            setattr(ensemble, name, tuple(values.tolist()) if "diverged" in name else values)
        if header["y_ndim"] is not None:
            ensemble.y_ndim_ = header["y_ndim"]
            ensemble.n_features_in_ = ensemble.architecture_.n_inputs
        if header["feature_names"] is not None:
            ensemble.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        ensemble._restore(fitted)
        return ensemble

    def _restore(self, fitted: dict) -> None:
        """Rebuild what follows from stored attributes and from what _fitted_with wrote."""
