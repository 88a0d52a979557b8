"""Exact posteriors as tables for C."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, Ints
from bnn.export.stack import part_that_fits
from bnn.export.tables import Table
from bnn.gp import kernels
from bnn.gp.conditioning import ProcessPosterior
from bnn.gp.means import LinearMean
from bnn.gp.process import GaussianProcessPrior
from bnn.gp.regressor import GPRegressor
from bnn.gp.warping import Warped, straightened
from bnn.noise.covariances import is_diagonal

Row: TypeAlias = tuple[float, ...]
NAMES = "RBF", "Matern12", "Matern32", "Matern52", "RationalQuadratic"
KINDS = [getattr(kernels, name) for name in NAMES]  # posterior.c numbers them in this order


class _Rows(NamedTuple):
    """Rows of the tables for one kernel."""

    stationary: list[Row]  # kind, k0, α, 1 / L... of each part
    linear: Row  # √offset, √k0..., o..., reach...
    warps: tuple[Row, ...]  # low, width, λ, C... of each input


def posterior_tables(model: GPRegressor) -> dict[str, Table]:
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
    rows = [
        _kernel_rows(kernel, process.prior.features_of(j, n_in), n_in)
        for process in processes
        for j, kernel in enumerate(process.prior.kernels)
    ]
    terms = max(1, *(len(each.stationary) for each in rows))
    noise = np.einsum("...jj->...j", first.noise) * np.ones((N, n_out))
    S = len(processes)

    def doubles(inputs: int, outputs: int) -> int:
        of_process = (1 + terms) * (N + 1 + n_in) + 4 * n_in
        return of_process + (1 + inputs) * (2 * S + 1 + 2 * outputs)

    # The C file treats one output at a time, since outputs share no work.
    inputs, outputs = part_that_fits(doubles, n_in, 1, "fewer data")
    return {
        "N_IN": n_in,
        "N_OUT": n_out,
        "INPUTS": inputs,
        "OUTPUTS": outputs,
        "N": N,
        "S": S,
        "TERMS": terms,
        **{name.upper(): number for number, name in enumerate(NAMES)},
        "X": X,
        "RESIDUAL": y - first.prior.mean_values(X),
        "NOISE": noise,
        "SLOPES": coefficients,
        "INTERCEPT": intercept,
        "SHARES": shares,
        **_kernel_tables(rows, terms, n_in),
    }


def _kernel_tables(kernels_in_c: list[_Rows], terms: int, n_in: int) -> dict[str, Table]:
    """Return each different row once, and the numbers of the rows of each kernel."""
    stationary: dict[Row, int] = {}
    linear: dict[Row, int] = {}
    warps: dict[tuple[Row, ...], int] = {}
    nothing = (0.0,) * (3 + n_in)
    parts = []
    for rows in kernels_in_c:
        padded = rows.stationary + [nothing] * (terms - len(rows.stationary))
        numbers = [stationary.setdefault(row, len(stationary)) for row in padded]
        numbers.append(linear.setdefault(rows.linear, len(linear)))
        numbers.append(warps.setdefault(rows.warps, len(warps)))
        parts.append(numbers)
    columns = max(len(rows[0]) for rows in warps)
    table = np.zeros((len(warps), n_in, columns))
    for number, rows_of_inputs in enumerate(warps):
        table[number, :, : len(rows_of_inputs[0])] = rows_of_inputs
    return {
        "STATIONARY": np.array([*stationary]),
        "LINEAR": np.array([*linear]),
        "WARPS": table,
        "N_WARPS": len(warps),
        "MIXED": columns - 3,
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


def _kernel_rows(kernel: sk.Kernel, features: list[int], n_in: int) -> _Rows:
    """Return a kernel as rows of the tables."""
    # Inputs that the kernel does not see have 1 / L = 0 and k0 = 0.
    seen = np.array(features)
    stationary: list[Row] = []
    linear: Row | None = None
    for part in _summands(kernel.kernel if type(kernel) is Warped else kernel):
        if type(part) in KINDS:
            row = np.zeros(3 + n_in)
            row[0] = KINDS.index(type(part))
            row[1] = part.variance
            row[2] = getattr(part, "alpha", 1.0)
            row[3 + seen] = 1.0 / np.asarray(part.lengthscale)
            stationary.append(tuple(row.tolist()))
        elif type(part) is kernels.Linear and linear is None:
            row = np.zeros(1 + 3 * n_in)
            row[0] = np.sqrt(part.offset)
            row[1 + seen] = np.sqrt(part.variance)
            row[1 + n_in + seen] = part.origin
            row[1 + 2 * n_in + seen] = part.reach
            linear = tuple(row.tolist())
        else:
            known = ", ".join(NAMES)
            needed = f"one of {known}, a Linear, or a sum of any of these with at most one Linear"
            whole = "which may stand in a Warped as a whole"
            raise ValueError(f"the kernel {kernel} of the prior: must be {needed}, {whole}")
    return _Rows(stationary, linear or (0.0,) * (1 + 3 * n_in), _warp_rows(kernel, seen, n_in))


def _summands(kernel: sk.Kernel) -> list[sk.Kernel]:
    """Return the parts of a sum, or the kernel itself."""
    if isinstance(kernel, sk.Sum):
        return _summands(kernel.k1) + _summands(kernel.k2)
    return [kernel]


def _warp_rows(kernel: sk.Kernel, seen: Ints, n_in: int) -> tuple[Row, ...]:
    """Return (low, width, λ) of each input, 0, 1 and 0 without warps, and C where there is one."""
    rows = np.zeros((n_in, 3))
    rows[:, 1] = 1.0
    if type(kernel) is Warped:
        rows[seen] = np.transpose([kernel.low, kernel.width, straightened(kernel.warps)])
        if kernel.mixing is not None:
            C = np.zeros((n_in, n_in))
            C[np.ix_(seen, seen)] = kernel.mixing
            rows = np.hstack([rows, C])
    return tuple(tuple(row) for row in rows.tolist())
