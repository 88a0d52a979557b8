"""What all exports share: checks of models, and noise variances in the form that files evaluate."""

import numpy as np

from bnn._validation import Array
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.gp.regressor import GPRegressor
from bnn.noise import Covariance, HeteroscedasticNoise, StudentNoise
from bnn.noise.models import noise_of_new


def check_estimator(model: object) -> None:
    """Raise TypeError unless model is a GPRegressor or an ensemble."""
    if not isinstance(model, GPRegressor | EnsembleRegressor):
        what = f"model is an instance of {type(model).__name__}"
        raise TypeError(f"{what}: must be a GPRegressor or an ensemble")


def check_no_members(members: object) -> None:
    """Raise ValueError unless members is None, because a GPRegressor has no members."""
    if members is not None:
        needed = "must be None, a GPRegressor has no members"
        raise ValueError(f"members = {members!r:.60}: {needed}")


def log_noise(noise: Covariance | StudentNoise, n_inputs: int) -> tuple[Array, Array]:
    """Return the coefficients of log σ(x) of the noise, and the bounds of its inputs.

    Args:
        noise: The attribute `noise_` of an estimator.
        n_inputs: Number of inputs.

    Returns:
        Coefficients of 1, of each input and of each squared input, (1 + 2 n_in, n_out), and the
        bounds to which inputs are clipped first, (2, n_in). For a StudentNoise they describe its
        covariance.

    Raises:
        ValueError: If the bounds of the noise differ between outputs, or the noise is only known
            at the training data.
    """
    covariance = noise.noise if isinstance(noise, StudentNoise) else noise
    if not isinstance(covariance, HeteroscedasticNoise):
        variances = np.diag(noise_of_new(np.asarray(covariance), np.zeros((1, n_inputs))))
        levels = 0.5 * np.log(variances)
        bounds = np.outer([-np.inf, np.inf], np.ones(n_inputs))
        return np.vstack([levels, np.zeros((2 * n_inputs, len(levels)))]), bounds
    if covariance.limits.ndim > 2:
        reason = "the bounds of the noise differ between outputs, because y has missing outputs"
        raise ValueError(f"include_noise = True: must be False, since {reason}")
    linear = covariance.coefficients[: 1 + n_inputs]
    squares = np.zeros((n_inputs, linear.shape[1]))
    for row, i in zip(covariance.coefficients[1 + n_inputs :], covariance.squares, strict=True):
        squares[i] += row
    return np.vstack([linear, squares]), covariance.limits
