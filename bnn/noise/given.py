"""Noise models that users give: checks, covariances at points, and comparison with data."""

import warnings
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from scipy.stats import chi2

from bnn._validation import Array, as_array, filled, varies
from bnn.noise.covariances import NoiseWarning, noise_covariance
from bnn.noise.heteroscedastic import HeteroscedasticNoise, Noise
from bnn.noise.student import StudentNoise

# The form of a Noise after a check
Covariance: TypeAlias = Array | HeteroscedasticNoise

# A warning is given if pure noise would scatter as little as the data with less than this
# probability. Noise on a function that varies scatters as little even more rarely.
_CHANCE = 1e-3


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
    # A constant output gives no information about its noise.
    seen = varies(filled(y))
    for j in np.flatnonzero(seen & (counts * np.nanvar(y, axis=0) < least))[:1]:
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
    return np.asarray(np.finfo(float).eps * np.where(largest > 0.0, largest, 1.0))


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
