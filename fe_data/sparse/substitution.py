"""Forward and backward substitution with the fronts of a sparse Cholesky factor."""

import numpy as np

from fe_data.arrays import Floats, Ints, Singles
from fe_data.sparse.compilation import compiled, inlined
from fe_data.sparse.symbolic import Elimination

# Sums may be reordered for vectorisation. Functions called by such a function must be inlined: if
# compiled separately, they would add in another order, so results would depend on numba's cache.
_vectorised = compiled(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@_vectorised
def substitute(
    factor: Singles, plan: Elimination, panels: Ints, x: Floats, y: Singles, w: Singles
) -> None:
    """Solve A x = b with the factor P A Pᵀ = L Lᵀ.

    Args:
        factor: Panels of L, with reciprocals on the diagonal.
        plan: The fronts.
        panels: (nf + 1,) starts of the panels.
        x: (n,) right-hand side b, overwritten by the solution.
        y: (n,) scratch.
        w: Scratch for the rows of the largest front.
    """
    # x = Pᵀ L⁻ᵀ L⁻¹ P b
    for i in range(len(x)):
        y[plan.position[i]] = x[i]
    _forward(factor, plan, panels, y, w)
    _backward(factor, plan, panels, y, w)
    for i in range(len(x)):
        x[i] = y[plan.position[i]]


@_vectorised
def substitute_signed(
    factor: Singles,
    plan: Elimination,
    panels: Ints,
    signs: Singles,
    x: Floats,
    y: Singles,
    w: Singles,
) -> None:
    """Solve A x = b with the factor P A Pᵀ = L S Lᵀ, with signs S (n,), like `substitute`."""
    # x = Pᵀ L⁻ᵀ S L⁻¹ P b
    for i in range(len(x)):
        y[plan.position[i]] = x[i]
    _forward(factor, plan, panels, y, w)
    for i in range(len(x)):
        y[i] *= signs[i]
    _backward(factor, plan, panels, y, w)
    for i in range(len(x)):
        x[i] = y[plan.position[i]]


@inlined
def _forward(factor: Singles, plan: Elimination, panels: Ints, y: Singles, w: Singles) -> None:
    """Write L⁻¹ y to y."""
    # Loops over four columns take two thirds of the time of BLAS, because most fronts are small.
    # Functions do not take slices as arguments, because passing one costs as much as ten numbers.
    first = plan.first
    start = plan.start
    rows = plan.rows
    for f in range(len(plan.size)):
        k = int(plan.eliminated[f])
        m = int(plan.size[f])
        offset = int(first[f])
        updated = rows[start[f] : start[f + 1]]
        for i in range(k):
            w[i] = y[offset + i]
        for i in range(k, m):
            w[i] = 0.0
        four = k // 4 * 4
        for j in range(0, four, 4):
            at = panels[f] + j * m
            end = j + 4
            for c in range(j, end):
                t = w[c] * factor[at + (c - j) * m + c]
                w[c] = t
                for i in range(c + 1, end):
                    w[i] -= factor[at + (c - j) * m + i] * t
            _subtract_four(factor, at, m, end, w, w[j], w[j + 1], w[j + 2], w[j + 3])
        for j in range(four, k):
            at = panels[f] + j * m
            t = w[j] * factor[at + j]
            w[j] = t
            column = factor[at + j + 1 : at + m]
            rest = w[j + 1 : m]
            for i in range(len(rest)):
                rest[i] -= column[i] * t
        for i in range(k):
            y[offset + i] = w[i]
        for i in range(len(updated)):
            y[updated[i]] += w[k + i]


@inlined
def _backward(factor: Singles, plan: Elimination, panels: Ints, y: Singles, w: Singles) -> None:
    """Write L⁻ᵀ y to y."""
    first = plan.first
    start = plan.start
    rows = plan.rows
    for f in range(len(plan.size) - 1, -1, -1):
        k = int(plan.eliminated[f])
        m = int(plan.size[f])
        offset = int(first[f])
        updated = rows[start[f] : start[f + 1]]
        for i in range(k):
            w[i] = y[offset + i]
        for i in range(len(updated)):
            w[k + i] = y[updated[i]]
        four = k // 4 * 4
        for j in range(k - 1, four - 1, -1):
            at = panels[f] + j * m
            t = w[j]
            column = factor[at + j + 1 : at + m]
            rest = w[j + 1 : m]
            for i in range(len(rest)):
                t -= column[i] * rest[i]
            w[j] = t * factor[at + j]
        for j in range(four - 4, -1, -4):
            at = panels[f] + j * m
            t0, t1, t2, t3 = _four_products(factor, at, m, j + 4, w)
            at += 3 * m + j
            w3 = (w[j + 3] - t3) * factor[at + 3]
            at -= m
            w2 = (w[j + 2] - t2 - factor[at + 3] * w3) * factor[at + 2]
            at -= m
            w1 = (w[j + 1] - t1 - factor[at + 3] * w3 - factor[at + 2] * w2) * factor[at + 1]
            at -= m
            w0 = w[j] - t0 - factor[at + 3] * w3 - factor[at + 2] * w2 - factor[at + 1] * w1
            w[j] = w0 * factor[at]
            w[j + 1] = w1
            w[j + 2] = w2
            w[j + 3] = w3
        for i in range(k):
            y[offset + i] = w[i]


@inlined
def _subtract_four(
    factor: Singles,
    at: int,
    m: int,
    row: int,
    w: Singles,
    x0: float,
    x1: float,
    x2: float,
    x3: float,
) -> None:
    """Subtract four columns, multiplied by x0 to x3, from w, beginning at `row`."""
    a = factor[at + row : at + m]
    b = factor[at + m + row : at + 2 * m]
    c = factor[at + 2 * m + row : at + 3 * m]
    d = factor[at + 3 * m + row : at + 4 * m]
    rest = w[row:m]
    for i in range(len(rest)):
        rest[i] -= a[i] * x0 + b[i] * x1 + c[i] * x2 + d[i] * x3


@inlined
def _four_products(
    factor: Singles, at: int, m: int, row: int, w: Singles
) -> tuple[np.float32, ...]:
    """Return the scalar products of four columns with w, beginning at `row`."""
    a = factor[at + row : at + m]
    b = factor[at + m + row : at + 2 * m]
    c = factor[at + 2 * m + row : at + 3 * m]
    d = factor[at + 3 * m + row : at + 4 * m]
    rest = w[row:m]
    t0 = np.float32(0.0)
    t1 = np.float32(0.0)
    t2 = np.float32(0.0)
    t3 = np.float32(0.0)
    for i in range(len(rest)):
        t0 += a[i] * rest[i]
        t1 += b[i] * rest[i]
        t2 += c[i] * rest[i]
        t3 += d[i] * rest[i]
    return t0, t1, t2, t3
