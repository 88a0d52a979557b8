"""Known noise of each datum, given to `fit` as standard deviations or weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bnn._validation import LARGEST, Array, Ints, as_array, as_columns, as_finite
from bnn.noise.given import Covariance, checked_tails, covariance_at
from bnn.noise.heteroscedastic import Noise
from bnn.noise.student import StudentNoise
from bnn.storage import storable
from safe_files.text import Short

TAILS_ALONE = "heavy tails cannot be estimated if noise_std or sample_weight is given"
SMALLEST = 1.0 / LARGEST  # least standard deviation or weight


def is_heavy_tailed(noise: object) -> bool:
    """Return whether noise is, or is to be estimated as, that of Student's t."""
    return isinstance(noise, StudentNoise) or (isinstance(noise, str) and noise == "student_t")


@storable
@dataclass(frozen=True, repr=False)
class DataNoise(Short):
    """Known noise of each of N data.

    If a model has the noise Σ, the noise of datum i has the covariance
    Σ(x_i) / w_i + diag(s_i²). If the known noise is the whole noise, Σ is zero.

    Attributes:
        std: Known standard deviations s, (N, n_out); None for zeros.
        weights: Weights w, (N,); None for ones.

    Examples:
        >>> import numpy as np
        >>> from bnn.noise.known import DataNoise
        >>> known = DataNoise(np.array([[0.3], [0.4]]), np.array([1.0, 4.0]))
        >>> known.covariances(np.array([[0.04]]), np.zeros((2, 1)))[:, 0, 0].round(3)
        array([0.13, 0.17])
    """

    std: Array | None = None
    weights: Array | None = None

    @classmethod
    def checked(
        cls, noise_std: ArrayLike | None, sample_weight: ArrayLike | None, shape: Sequence[int]
    ) -> Self | None:
        """Check the arguments of `fit`, and return the known noise; None if there is none.

        Args:
            noise_std: Standard deviations, (N,) for all outputs, or (N, n_out).
            sample_weight: Weights, (N,).
            shape: Shape of y, (N, n_out).

        Returns:
            The known noise, or None.

        Raises:
            ValueError: If a shape is wrong, an entry is negative or too small, or all weights are
                zero.
        """
        std = None
        if noise_std is not None:
            std = as_columns("noise_std", as_finite("noise_std", noise_std), shape[0])
            if std.shape[1] not in (1, shape[1]):
                raise ValueError(f"noise_std has shape {std.shape}: must be {tuple(shape)}")
            for i, j in np.argwhere(std < SMALLEST)[:1]:
                needed = f"must be > {SMALLEST:g}; noise=0.0 of a GPRegressor means no noise"
                raise ValueError(f"noise_std = {std[i, j]:.3g} of row {i}: {needed}")
            std = np.ascontiguousarray(np.broadcast_to(std, tuple(shape)))
        weights = None
        if sample_weight is not None:
            weights = as_finite("sample_weight", sample_weight)
            if weights.shape != (shape[0],):
                raise ValueError(f"sample_weight has shape {weights.shape}: must be ({shape[0]},)")
            for i in np.flatnonzero((weights != 0.0) & (weights < SMALLEST))[:1]:
                needed = f"must be zero or > {SMALLEST:g}"
                raise ValueError(f"sample_weight = {weights[i]:.3g} of row {i}: {needed}")
            if not weights.any():
                raise ValueError("sample_weight: all weights are zero")
        return None if std is None and weights is None else cls(std, weights)

    def rows(self, rows: Ints) -> Self:
        """Return the noise of some of the data.

        Args:
            rows: Indices of these data, (n,).

        Returns:
            Their known noise.
        """
        parts = (None if array is None else array[rows] for array in (self.std, self.weights))
        return type(self)(*parts)

    def covariances(self, noise: Covariance | StudentNoise, X: Array) -> Array:
        """Return the covariance of the noise of each datum.

        Args:
            noise: Noise Σ of the model.
            X: Inputs of the data, (N, n_in).

        Returns:
            Covariances, (N, n_out, n_out).
        """
        # Σ(x_i) / w_i + diag(s_i²)
        total = covariance_at(noise, X) * np.ones((len(X), 1, 1))
        if self.weights is not None:
            total = total / self.weights[:, None, None]
        if self.std is not None:
            total = total + np.square(self.std)[:, :, None] * np.eye(total.shape[-1])
        return np.asarray(total)


def covariances_of_data(
    noise: Covariance | StudentNoise, X: Array, data_noise: DataNoise | None
) -> Array:
    """Return the covariance of the noise of data, including known noise if any.

    Args:
        noise: Noise of the model.
        X: Inputs of the data, (N, n_in).
        data_noise: Known noise of each datum, or None.

    Returns:
        Σ_noise, (n_out, n_out), or one for each datum, (N, n_out, n_out).
    """
    return covariance_at(noise, X) if data_noise is None else data_noise.covariances(noise, X)


def counted_rows(
    X: Array, y: Array, data_noise: DataNoise | None
) -> tuple[Array, Array, DataNoise | None]:
    """Return the data, X (N, n_in) and y (N, n_out), without rows of weight zero."""
    if data_noise is None or data_noise.weights is None or data_noise.weights.all():
        return X, y, data_noise
    rows = np.flatnonzero(data_noise.weights)
    return X[rows], y[rows], data_noise.rows(rows)


def no_noise(noise: object) -> bool:
    """Return whether the noise is a matrix of zeros, because the known noise is the whole noise."""
    return (
        isinstance(noise, np.ndarray)
        and noise.ndim == 2
        and noise.dtype.kind == "f"
        and not noise.any()
    )


def is_whole(
    data_noise: DataNoise | None, noise: Noise | StudentNoise | str | None, n_outputs: int
) -> bool:
    """Return whether known standard deviations are the whole noise of data.

    Args:
        data_noise: What is known of the noise of each datum.
        noise: The setting of an estimator: None and zero, as one number, for each output or as a
            covariance, add no noise.
        n_outputs: Number of outputs.
    """
    if data_noise is None or data_noise.std is None:
        return False
    if noise is None:
        return True
    if isinstance(noise, str | StudentNoise) or callable(noise):
        return False
    values = as_array("noise", noise)
    return values.shape in {(), (n_outputs,), (n_outputs, n_outputs)} and not values.any()


def kept_noise(
    noise: Noise | StudentNoise, n_inputs: int, n_outputs: int
) -> Covariance | StudentNoise:
    """Check a noise model like `checked_tails`, but also allow a matrix of zeros.

    Args:
        noise: As for `checked_tails`, or zeros if the known noise is the whole noise.
        n_inputs: Number of inputs.
        n_outputs: Number of outputs.

    Returns:
        Σ_noise, (n_out, n_out), the HeteroscedasticNoise or the StudentNoise.
    """
    if isinstance(noise, np.ndarray) and noise.shape == (n_outputs, n_outputs) and no_noise(noise):
        return noise
    return checked_tails(noise, n_inputs, n_outputs)


def noise_of_new(noise: Covariance | StudentNoise, X: Array) -> Array:
    """Return the covariance of the noise of new data, (n_out, n_out) or (n, n_out, n_out).

    Args:
        noise: The attribute `noise_` of an estimator.
        X: Points, (n, n_in).

    Raises:
        ValueError: If the noise is zero, because the known noise of the data was the whole noise.
    """
    if no_noise(noise):
        reason = "the noise of the fit was noise_std, which is not known for new data"
        raise ValueError(f"{reason}: add its variance to that of f, or fit with noise='constant'")
    return covariance_at(noise, X)
