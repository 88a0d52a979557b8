"""Posteriors of Gaussian processes as tables of constants for C."""

from dataclasses import fields
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Ints
from bnn.export.stack import part_that_fits
from bnn.export.tables import Table
from bnn.gp.kernel import Stationary
from bnn.gp.kernels import Linear
from bnn.gp.mixture import mixed
from bnn.gp.regressor import GPRegressor
from bnn.gp.warping import Warped, straightened
from bnn.noise.covariances import is_diagonal

Row: TypeAlias = tuple[float, ...]


class _Term(NamedTuple):
    """A stationary part of a kernel."""

    kind: type[Stationary]
    variance: float
    parameters: Row  # its fields except variance and length scale
    inverse: Row  # 1 / L of each input


class _Rows(NamedTuple):
    """Rows of the tables for one kernel."""

    stationary: list[_Term]
    linear: Row  # √offset, √k0..., o..., reach..., √b..., e...
    warps: tuple[Row, ...]  # low, width, λ, C... of each input


def posterior_tables(model: GPRegressor) -> tuple[dict[str, Table], str]:
    """Return the constants of posterior.c by name, and the C code of the correlations.

    The constants are the data, the noise and the kernels of each component.

    Raises:
        ValueError: If a part of the model cannot be written in C.
    """
    processes, shares = mixed(model.posterior_)
    X = model.X_
    y = model.y_
    N, n_in = X.shape
    n_out = y.shape[1]
    if np.isnan(y).any():
        raise ValueError("some rows of y lack outputs, which the C export does not support")
    first = processes[0]
    if not is_diagonal(first.noise):
        raise ValueError(
            "the noise is correlated between outputs, which the C export does not support: export "
            "a model of each output"
        )
    coefficients, intercept = first.prior.linear_mean(n_in)
    rows = [
        _kernel_rows(kernel, process.prior.active_dims_of(j, n_in), n_in)
        for process in processes
        for j, kernel in enumerate(process.prior.kernels)
    ]
    terms = max(1, *(len(row.stationary) for row in rows))
    noise = np.einsum("...jj->...j", first.noise) * np.ones((N, n_out))
    S = len(processes)
    # Functions of each input in the linear basis: a straight one, one beyond either end, and one
    # beyond the reach.
    columns = np.array([row.linear for row in rows]).T
    slopes, reach, bends = (columns[1 + i * n_in : 1 + (i + 1) * n_in] for i in (0, 2, 3))
    limited = np.any(slopes[np.isfinite(reach)])
    sides = 4 if limited else 3 if bends.any() else 1

    def doubles(inputs: int, outputs: int) -> int:
        of_process = (1 + terms) * (N + 1 + sides * n_in) + 4 * n_in
        return of_process + (1 + inputs) * (2 * S + 1 + 2 * outputs)

    # The C file treats one output at a time, because outputs have no common work.
    inputs, outputs = part_that_fits(doubles, n_in, 1, "fewer data")
    kinds = sorted({term.kind for row in rows for term in row.stationary}, key=_name)
    tables: dict[str, Table] = {
        "N_IN": n_in,
        "N_OUT": n_out,
        "INPUTS": inputs,
        "OUTPUTS": outputs,
        "N": N,
        "S": S,
        "TERMS": terms,
        "SIDES": sides,
        "X": X,
        "RESIDUAL": y - first.prior.mean_values(X),
        "NOISE": noise,
        "SLOPES": coefficients,
        "INTERCEPT": intercept,
        "SHARES": shares,
        **_kernel_tables(rows, terms, n_in, kinds),
    }
    return tables, "".join(_case(number, kind) for number, kind in enumerate(kinds))


def _name(kind: type) -> str:
    return kind.__name__


def _own_fields(kind: type[Stationary]) -> list[str]:
    """Return the names of the fields of a kernel, except variance and length scale."""
    return [f.name for f in fields(kind) if f.name not in {"variance", "lengthscale"}]


def _case(number: int, kind: type[Stationary]) -> str:
    """Return the branch for a kind of kernel in the C function `correlation`."""
    names = enumerate(_own_fields(kind))
    unpacked = "".join(f"        double {name} = parameters[{i}];\n" for i, name in names)
    code = f"{unpacked}        {kind.c_code}\n        break;\n"
    return f"    case {number}: {{ /* {kind.__name__} */\n{code}    }}\n"


def _kernel_tables(
    kernels_in_c: list[_Rows], terms: int, n_in: int, kinds: list[type[Stationary]]
) -> dict[str, Table]:
    """Return tables of the different rows, and for each kernel the numbers of its rows."""
    most = max([len(_own_fields(kind)) for kind in kinds], default=0)

    def row_of(term: _Term) -> Row:
        padded = term.parameters + (0.0,) * (most - len(term.parameters))
        return (float(kinds.index(term.kind)), term.variance, *term.inverse, *padded)

    stationary: dict[Row, int] = {}
    linear: dict[Row, int] = {}
    warps: dict[tuple[Row, ...], int] = {}
    nothing = (-1.0, *(0.0,) * (1 + n_in + most))  # kind -1: no term
    parts = []
    for rows in kernels_in_c:
        of_terms = [row_of(term) for term in rows.stationary]
        padded = of_terms + [nothing] * (terms - len(of_terms))
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


def _kernel_rows(kernel: sk.Kernel, features: list[int], n_in: int) -> _Rows:
    """Return the rows of the tables for a kernel."""
    # Inputs that the kernel does not depend on have 1 / L = 0 and k0 = 0.
    seen = np.array(features)
    stationary: list[_Term] = []
    linear: Row | None = None
    for term in _summands(kernel.kernel if type(kernel) is Warped else kernel):
        if isinstance(term, Stationary) and term.c_code is not None:
            inverse = np.zeros(n_in)
            inverse[seen] = 1.0 / np.asarray(term.lengthscale)
            parameters = tuple(float(getattr(term, name)) for name in _own_fields(type(term)))
            terms = float(term.variance), parameters, tuple(inverse.tolist())
            stationary.append(_Term(type(term), *terms))
        elif type(term) is Linear and linear is None:
            row = np.zeros(1 + 5 * n_in)
            row[0] = np.sqrt(term.offset)
            row[1 + seen] = np.sqrt(term.variance)
            row[1 + n_in + seen] = term.origin
            row[1 + 2 * n_in + seen] = term.reach
            bent = np.isfinite(term.ends)
            row[1 + 3 * n_in + seen] = np.where(bent, np.sqrt(term.bends), 0.0)
            row[1 + 4 * n_in + seen] = np.where(bent, term.ends, 1.0)
            linear = tuple(row.tolist())
        else:
            needed = "stationary kernels with c_code, at most one Linear, or a sum of these"
            whole = "or a Warped with such a kernel"
            raise ValueError(
                f"the kernel {kernel} of the prior cannot be exported to C; supported are "
                f"{needed}, {whole}"
            )
    return _Rows(stationary, linear or (0.0,) * (1 + 5 * n_in), _warp_rows(kernel, seen, n_in))


def _summands(kernel: sk.Kernel) -> list[sk.Kernel]:
    """Return the parts of a sum, or the kernel itself."""
    if isinstance(kernel, sk.Sum):
        return _summands(kernel.k1) + _summands(kernel.k2)
    return [kernel]


def _warp_rows(kernel: sk.Kernel, seen: Ints, n_in: int) -> tuple[Row, ...]:
    """Return (low, width, λ) of each input, (0, 1, 0) without warp, and its row of C, if any."""
    rows = np.zeros((n_in, 3))
    rows[:, 1] = 1.0
    if type(kernel) is Warped:
        rows[seen] = np.transpose([kernel.low, kernel.width, straightened(kernel.warps)])
        if kernel.mixing is not None:
            C = np.zeros((n_in, n_in))
            C[np.ix_(seen, seen)] = kernel.mixing
            rows = np.hstack([rows, C])
    return tuple(tuple(row) for row in rows.tolist())
