"""The variances of the noise in the form that other programs evaluate."""

import numpy as np

from bnn._validation import Array
from bnn.noise import Covariance, HeteroscedasticNoise, StudentNoise


def log_noise(noise: Covariance | StudentNoise, n_inputs: int) -> tuple[Array, Array]:
    """Return coefficients of the logarithms of standard deviations of the noise, and bounds.

    Args:
        noise: The attribute `noise_` of an estimator.
        n_inputs: Number of inputs.

    Returns:
        Coefficients of 1, of each input and of the square of each, (1 + 2 n_in, n_out), and the
        bounds to which the inputs are clipped before, (2, n_in).

    Raises:
        ValueError: If outputs have bounds of their own.
    """
    kept = noise.noise if isinstance(noise, StudentNoise) else noise
    if not isinstance(kept, HeteroscedasticNoise):
        with np.errstate(divide="ignore"):  # no noise beside that of each datum
            levels = 0.5 * np.log(np.diag(np.asarray(kept)))
        bounds = np.outer([-np.inf, np.inf], np.ones(n_inputs))
        return np.vstack([levels, np.zeros((2 * n_inputs, len(levels)))]), bounds
    if kept.limits.ndim > 2:
        needed = "noise whose bounds differ between outputs cannot be exported"
        raise ValueError(f"include_noise = True: {needed}, as rows of y lack outputs")
    linear = kept.coefficients[: 1 + n_inputs]
    squares = np.zeros((n_inputs, linear.shape[1]))
    for row, i in zip(kept.coefficients[1 + n_inputs :], kept.squares, strict=True):
        squares[i] += row
    return np.vstack([linear, squares]), kept.limits
