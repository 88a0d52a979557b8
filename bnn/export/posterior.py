"""Exact posteriors as tables for C."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array
from bnn.estimators.exact_posterior import ExactPosterior
from bnn.export.stack import part_that_fits
from bnn.noise.covariances import is_diagonal
from bnn.priors import kernels
from bnn.priors.conditioning import ProcessPosterior
from bnn.priors.gaussian_process import GaussianProcessPrior
from bnn.priors.means import LinearMean

Table: TypeAlias = int | str | NDArray[Any]
NAMES = "RBF", "Matern12", "Matern32", "Matern52", "RationalQuadratic"
KINDS = [getattr(kernels, name) for name in NAMES]  # posterior.c numbers them in this order


def posterior_tables(model: ExactPosterior) -> dict[str, Table]:
    """Return the constants of posterior.c by name: data, noise and kernels of each component."""
    given = model.posterior_
    X = model.X_
    y = model.y_
    N, n_in = X.shape
    n_out = y.shape[1]
    if isinstance(given, ProcessPosterior):
        processes = [given]
        shares = np.ones((1, n_out))
    else:
        processes = given.posteriors
        shares = given.weights
    first = processes[0]
    if not is_diagonal(first.noise):
        raise ValueError("the noise is correlated between outputs: no C file takes that")
    coefficients, intercept = _mean(first.prior, n_in)
    # Many components share kernels, so each row is written once and the parts hold its number.
    parts = []
    stationary_rows: dict[tuple[float, ...], int] = {}
    linear_rows: dict[tuple[float, ...], int] = {}
    for process in processes:
        for j, kernel in enumerate(process.prior.kernels):
            features = process.prior.features_of(j, n_in)
            stationary, linear = _kernel_rows(kernel, features, n_in)
            stationary_number = stationary_rows.setdefault(stationary, len(stationary_rows))
            linear_number = linear_rows.setdefault(linear, len(linear_rows))
            parts.append([stationary_number, linear_number])
    noise = np.einsum("...jj->...j", first.noise) * np.ones((N, n_out))
    S = len(processes)

    def doubles(inputs: int, outputs: int) -> int:
        return 2 * (N + 1 + n_in) + (1 + inputs) * (2 * S + 1 + 2 * outputs)

    # The C file treats one output at a time, since outputs share no work.
    inputs, outputs = part_that_fits(doubles, n_in, 1, "fewer data")
    return {
        "N_IN": n_in,
        "N_OUT": n_out,
        "INPUTS": inputs,
        "OUTPUTS": outputs,
        "N": N,
        "S": S,
        **{name.upper(): number for number, name in enumerate(NAMES)},
        "X": X,
        "RESIDUAL": y - first.prior.mean_values(X),
        "NOISE": noise,
        "SLOPES": coefficients,
        "INTERCEPT": intercept,
        "SHARES": shares,
        "STATIONARY": np.array([*stationary_rows]),
        "LINEAR": np.array([*linear_rows]),
        "PARTS": np.array(parts),
    }


def _mean(prior: GaussianProcessPrior, n_in: int) -> tuple[Array, Array]:
    """Return coefficients (n_out, n_in) and intercept (n_out,) of a linear prior mean."""
    mean: Any = prior.mean
    zeros = np.zeros((prior.n_outputs, n_in))
    if isinstance(mean, LinearMean):
        slopes = LinearMean(mean.coefficients)(np.eye(n_in)).T
        return slopes + zeros, np.asarray(mean.intercept, dtype=float) + zeros[:, 0]
    if callable(mean):
        given = type(mean).__name__
        raise ValueError(f"the mean of the prior is a {given}: must be a number or a LinearMean")
    return zeros, float(mean) + zeros[:, 0]


def _kernel_rows(
    kernel: sk.Kernel, features: list[int], n_in: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return (kind, k0, α, 1 / L...) of a Stationary part, (√offset, √k0..., o...) of a Linear."""
    # Inputs that the kernel does not see have 1 / L = 0 and k0 = 0.
    parts = [kernel.k1, kernel.k2] if isinstance(kernel, sk.Sum) else [kernel]
    stationary = np.zeros(3 + n_in)
    linear = np.zeros(1 + 2 * n_in)
    seen = np.array(features)
    for part in parts:
        if type(part) in KINDS and not stationary.any():
            stationary[0] = KINDS.index(type(part))
            stationary[1] = part.variance
            stationary[2] = getattr(part, "alpha", 1.0)
            stationary[3 + seen] = 1.0 / np.asarray(part.lengthscale)
        elif isinstance(part, kernels.Linear) and not linear.any():
            linear[0] = np.sqrt(part.offset)
            linear[1 + seen] = np.sqrt(part.variance)
            linear[1 + n_in + seen] = part.origin
        else:
            known = ", ".join(NAMES)
            needed = f"one of {known}, a Linear, or the sum of a Linear and one of the others"
            instead = "as in ExactPosterior(noise='constant')"
            raise ValueError(f"the kernel {kernel} of the prior: must be {needed}, {instead}")
    return tuple(stationary.tolist()), tuple(linear.tolist())
