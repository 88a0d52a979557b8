"""Noise models that users pass, and the prescribed noise of each datum: checks and covariances."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from bnn._validation import (
    LARGEST,
    Array,
    Ints,
    as_array,
    as_columns,
    as_finite,
    filled,
    varies,
)
from bnn.noise.covariances import NoiseWarning, noise_covariance
from bnn.noise.heteroscedastic import HeteroscedasticNoise, Noise
from bnn.noise.student import StudentNoise
from bnn.storage import storable
from safe_files.text import Short

# The form of a Noise after a check
Covariance: TypeAlias = Array | HeteroscedasticNoise

# A warning is given if pure noise would scatter as little as the data with less than this
# probability. Noise on a function that varies scatters as little even more rarely.
_CHANCE = 1e-3
LEAST_NOISE = 1.0 / LARGEST  # least standard deviation or weight


def checked_noise(noise: Noise, n_inputs: int, n_outputs: int) -> Covariance:
    """Check a noise model, and return it in the form that estimators store.

    Args:
        noise: Standard deviations, Σ_noise or a HeteroscedasticNoise.
        n_inputs: Number of inputs.
        n_outputs: Number of outputs.

    Returns:
        Σ_noise, (n_out, n_out), or the HeteroscedasticNoise.

    Raises:
        ValueError: If the noise does not match these numbers, or has heavy tails.

    Examples:
        >>> import bnn
        >>> bnn.noise.checked_noise(0.1, n_inputs=1, n_outputs=2)
        array([[0.01, 0.  ],
               [0.  , 0.01]])
    """
    if isinstance(noise, StudentNoise):
        raise ValueError(
            "noise: StudentNoise is only supported by GPRegressor and evidence.fit_prior"
        )
    if not isinstance(noise, HeteroscedasticNoise):
        return noise_covariance(noise, n_outputs)
    sizes = noise.n_inputs, noise.coefficients.shape[1]
    if sizes != (n_inputs, n_outputs):
        needed = f"{n_inputs} inputs and {n_outputs} outputs"
        raise ValueError(f"noise of {sizes[0]} inputs and {sizes[1]} outputs: must be of {needed}")
    return noise


def checked_tails(
    noise: Noise | StudentNoise, n_inputs: int, n_outputs: int
) -> Covariance | StudentNoise:
    """Check a noise model like `checked_noise`, but also allow a StudentNoise.

    Args:
        noise: As for `checked_noise`, or a StudentNoise.
        n_inputs: Number of inputs.
        n_outputs: Number of outputs.

    Returns:
        Σ_noise, (n_out, n_out), the HeteroscedasticNoise or the StudentNoise; a StudentNoise with
        infinite ν is replaced by its Gaussian noise.

    Raises:
        ValueError: If the noise does not match these numbers.

    Examples:
        >>> import bnn
        >>> bnn.noise.checked_tails(bnn.StudentNoise(0.1), n_inputs=1, n_outputs=1).df
    """
    if not isinstance(noise, StudentNoise):
        return checked_noise(noise, n_inputs, n_outputs)
    gaussian = checked_noise(noise.noise, n_inputs, n_outputs)
    return gaussian if noise.df == np.inf else replace(noise, noise=gaussian)


def covariance_at(noise: Covariance | StudentNoise, X: Array) -> Array:
    """Evaluate the covariance of a noise model at points.

    Args:
        noise: What `checked_tails` returned.
        X: Points, (..., n_in).

    Returns:
        Σ_noise, (n_out, n_out), or Σ(x) at the points, (..., n_out, n_out).

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> bnn.noise.covariance_at(np.eye(2), np.zeros((3, 1)))
        array([[1., 0.],
               [0., 1.]])
    """
    gaussian = noise.noise if isinstance(noise, StudentNoise) else noise
    if not isinstance(gaussian, HeteroscedasticNoise):
        return np.asarray(gaussian)
    at = gaussian(X.reshape(-1, X.shape[-1]))
    return at.reshape(*X.shape[:-1], *at.shape[1:])


def warn_of_excess(covariances: Array, y: Array, stacklevel: int) -> None:
    """Warn if an output of y (N, n_out) scatters less than noise with these covariances would."""
    present = ~np.isnan(y)
    counts = present.sum(axis=0)
    variances = np.einsum("...jj->...j", covariances) * present
    # Satterthwaite's degrees of freedom, because the variances may differ; relative to the largest
    # variance, so that squares neither overflow nor vanish.
    largest = np.maximum(variances.max(axis=0), np.finfo(float).tiny)
    relative = variances / largest
    total = relative.sum(axis=0)
    squares = np.square(relative).sum(axis=0)
    least = chi2.ppf(_CHANCE, total**2 / squares - 1.0) * (squares / total) * largest
    excess = counts * np.nanvar(y, axis=0) < least
    if excess.any():  # a constant output gives no information about its noise
        excess &= varies(filled(y))
    for j in np.flatnonzero(excess)[:1]:
        std_noise = f"{np.sqrt(total[j] / counts[j] * largest[j]):.3g}"
        std_y = f"{np.nanstd(y[:, j]):.3g}"
        message = f"noise: standard deviation {std_noise} of output {j} exceeds that of y, {std_y}"
        warnings.warn(message, NoiseWarning, stacklevel=stacklevel)


def without_zeros(noise: Noise, y: Array) -> Noise:
    """Replace noise of zero by the rounding errors of the outputs.

    Args:
        noise: Standard deviations, Σ_noise or a HeteroscedasticNoise.
        y: Outputs, (N, n_out).

    Returns:
        The noise. A standard deviation of zero becomes ε times the largest absolute value of its
        output, where ε is the machine epsilon. A variance of zero becomes the square of this, if
        the covariances of its output are zero.
    """
    if isinstance(noise, HeteroscedasticNoise):
        return noise
    values = as_array("noise", noise)
    n_out = y.shape[1]
    if values.shape == (n_out, n_out):
        none = ~(values.any(axis=0) | values.any(axis=1))
        return values + np.diag(np.where(none, rounding_of(y) ** 2, 0.0)) if none.any() else noise
    if values.shape not in {(), (n_out,)} or not np.any(values == 0.0):
        return noise
    return np.where(values == 0.0, rounding_of(y), values)


def rounding_of(y: Array) -> Array:
    """Return the rounding errors of outputs y (N, n_out): ε times the largest size, (n_out,)."""
    largest = np.nanmax(np.abs(y), axis=0)
    rounding = np.finfo(float).eps * np.where(largest > 0.0, largest, 1.0)
    return np.maximum(rounding, 2.0 * LEAST_NOISE)  # allowed as noise


def noise_gradient(noise: Covariance | StudentNoise, X: Array) -> Array:
    """Return the gradient of the variances of the noise.

    Args:
        noise: The attribute `noise_` of an estimator.
        X: Points, (n, n_in).

    Returns:
        ∂σ_j²/∂x, (n, n_out, n_in), or zeros of shape (1, 1, 1) if the noise is constant.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> noise = bnn.HeteroscedasticNoise([[-1.0], [2.0]])  # log σ = -1 + 2 x
        >>> bnn.noise.noise_gradient(noise, np.array([[0.0], [0.5]])).round(3)
        array([[[0.541]],
        <BLANKLINE>
               [[4.   ]]])
    """
    gaussian = noise.noise if isinstance(noise, StudentNoise) else noise
    if not isinstance(gaussian, HeteroscedasticNoise):
        return np.zeros((1, 1, 1))
    # σ² = exp(2 l(x)) and ∂σ²/∂x = 2 σ² ∂l/∂x
    variances = np.einsum("njj->nj", gaussian(X))
    return np.asarray(2.0 * variances[:, :, None] * gaussian.log_slopes(X))


def is_heavy_tailed(noise: object) -> bool:
    """Return whether noise is, or is to be estimated as, that of Student's t with finite ν."""
    if isinstance(noise, StudentNoise):
        return noise.df != np.inf
    return isinstance(noise, str) and noise == "student_t"


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
        >>> from bnn.noise.models import DataNoise
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
            for i, j in np.argwhere(std < LEAST_NOISE)[:1]:
                needed = f"must be > {LEAST_NOISE:g}; noise=0.0 of a GPRegressor means no noise"
                raise ValueError(f"noise_std = {std[i, j]:.3g} of row {i}: {needed}")
            std = np.ascontiguousarray(np.broadcast_to(std, tuple(shape)))
        weights = None
        if sample_weight is not None:
            weights = as_finite("sample_weight", sample_weight)
            if weights.shape != (shape[0],):
                raise ValueError(f"sample_weight has shape {weights.shape}: must be ({shape[0]},)")
            for i in np.flatnonzero((weights != 0.0) & (weights < LEAST_NOISE))[:1]:
                needed = f"must be zero or > {LEAST_NOISE:g}"
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
    """Return the covariance of the noise of data: Σ_noise, or one per datum, (N, n_out, n_out)."""
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
    """Check noise like `checked_tails`, but allow zeros if the prescribed noise is all noise."""
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
