"""Numeric phase of the sparse Cholesky factorisation, and products with the matrix.

With the order of elimination P from `symbolic`, P A Pᵀ = L Lᵀ. Each front has a panel of k columns
and m rows, which becomes a part of L. It also has an update, which is added to its parent
(multifrontal method; Duff & Reid, 1983). Let A_11 be the first k rows of the panel, and A_21 the
other rows:

    A_11 = L_11 L_11ᵀ,    L_21 = A_21 L_11⁻ᵀ,    update = Σ updates of children - L_21 L_21ᵀ.

Dense factors and products are computed by the LAPACK and BLAS of SciPy, called by symbol.
"""

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types as _types
from numba.extending import get_cython_function_address

from fe_data.arrays import Floats, Ints, Singles
from fe_data.sparse.compilation import compiled
from fe_data.sparse.substitution import substitute
from fe_data.sparse.symbolic import Elimination, place_of, plan_elimination
from safe_files.text import Short

# Relative shifts of the diagonal, tried in turn if the factorisation fails because of rounding.
_SHIFTS = (0.0, 1e-6, 1e-4, 1e-2)

types: Any = _types
_POINTERS = {
    "c": types.CPointer(types.int8),  # character
    "i": types.CPointer(types.int32),  # integer
    "s": types.CPointer(types.float32),  # single precision
}


def _routine(module: str, name: str, arguments: str) -> Any:
    """Return a routine of BLAS or LAPACK for compiled code."""
    # As in Fortran all arguments are pointers (`array.ctypes` of an array), and matrices are stored
    # column by column.
    # The cache of numba stores symbols, because addresses differ between processes.
    symbol = f"fe_data_{name}"
    llvm.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{module}", name))
    return types.ExternalFunction(symbol, types.void(*(_POINTERS[kind] for kind in arguments)))


# uplo, n, a, lda, info
_spotrf = _routine("cython_lapack", "spotrf", "cisii")
# side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb
_strsm = _routine("cython_blas", "strsm", "cccciissisi")
# uplo, trans, n, k, alpha, a, lda, beta, c, ldc
_ssyrk = _routine("cython_blas", "ssyrk", "cciississi")


@compiled()
def symmetric_product(indptr: Ints, indices: Ints, values: Floats, x: Floats, y: Floats) -> None:
    """Write y = A x, from the upper triangle (CSR) of A with two unknowns at each node.

    Args:
        indptr: (n + 1,) row pointers of the triangle, whose diagonal is full.
        indices: Column indices of the triangle.
        values: Entries of the triangle.
        x: (n,) vector.
        y: (n,) receives the product.

    >>> import scipy.sparse as sp
    >>> upper = sp.csr_matrix([[2.0, 1.0], [0.0, 4.0]])
    >>> y = np.empty(2)
    >>> symmetric_product(upper.indptr, upper.indices, upper.data, np.array([1.0, 10.0]), y)
    >>> y
    array([12., 41.])
    """
    # Loops over blocks of two nodes take half the time of loops over single entries.
    y[:] = 0.0
    for i in range(0, len(indptr) - 1, 2):
        a = indptr[i]
        b = indptr[i + 1]
        x0 = x[i]
        x1 = x[i + 1]
        y0 = values[a] * x0 + values[a + 1] * x1
        y1 = values[a + 1] * x0 + values[b] * x1
        for t in range(2, b - a, 2):
            j = indices[a + t]
            k00 = values[a + t]
            k01 = values[a + t + 1]
            k10 = values[b + t - 1]
            k11 = values[b + t]
            y0 += k00 * x[j] + k01 * x[j + 1]
            y1 += k10 * x[j] + k11 * x[j + 1]
            y[j] += k00 * x0 + k10 * x1
            y[j + 1] += k01 * x0 + k11 * x1
        y[i] += y0
        y[i + 1] += y1


class MultifrontalCholesky(Short):
    """Sparse Cholesky in single precision for one pattern, with the `SparseCholesky` protocol.

    Args:
        indptr: (n + 1,) row pointers of the upper triangle (CSR), whose diagonal is full.
        indices: Column indices of the upper triangle.
        coordinates: (nodes, 2) positions of the nodes. The unknowns of a node are adjacent and have
            the same pattern.

    >>> import scipy.sparse as sp
    >>> upper = sp.csr_matrix([[2.0, 1.0], [0.0, 4.0]])  # of [[2, 1], [1, 4]]
    >>> solver = MultifrontalCholesky(upper.indptr, upper.indices, coordinates=np.eye(2))
    >>> solver.values[:] = upper.data
    >>> solver.factorise()
    >>> solver.solve(np.array([3.0, 5.0])).round(6)
    array([1., 1.])
    """

    name = "multifrontal"

    def __init__(self, indptr: Ints, indices: Ints, coordinates: Floats):
        plan = plan_elimination(indptr, indices, coordinates)
        self.plan = plan
        self.values = np.zeros(len(indices))
        sizes = plan.eliminated.astype(np.int64) * plan.size
        self._panels = np.concatenate([[0], np.cumsum(sizes)])
        self._slots = _entry_slots(indptr, indices, plan, self._panels)
        self._diagonal = self._slots[indptr[:-1]]
        self._factor = np.empty(self._panels[-1], np.float32)
        self._stack, self._place, depth = _stack_places(plan)
        self._updates = np.empty((2, depth), np.float32)
        # Scratch for the substitution.
        self._y = np.empty(len(plan.position), np.float32)
        self._rest = np.empty(plan.size.max(initial=0), np.float32)
        self._valid = False

    def factorise(self) -> None:
        """Factorise the current values."""
        for shift in _SHIFTS:
            # P (A + shift diag A) Pᵀ = L Lᵀ
            self._factor[:] = 0.0
            self._factor[self._slots] = self.values
            self._factor[self._diagonal] *= 1.0 + shift
            self._valid = _factorise(
                self._factor, self.plan, self._panels, self._stack, self._place, self._updates
            )
            if self._valid:
                return

    def solve(self, rhs: Floats) -> Floats:
        """Solve for right-hand sides (n,) or (n, k); NaN if the matrix was indefinite."""
        x = np.array(rhs.reshape(len(rhs), -1).T, order="C", dtype=float)
        for column in x:
            if self._valid:
                substitute(self._factor, self.plan, self._panels, column, self._y, self._rest)
            else:
                column[:] = np.nan
        return x.T.reshape(rhs.shape)


@compiled()
def _entry_slots(indptr: Ints, indices: Ints, plan: Elimination, panels: Ints) -> Ints:
    """Return the place of each entry of the upper triangle in the panels of the factor."""
    position = plan.position
    first = plan.first
    start = plan.start
    rows = plan.rows
    k = plan.eliminated
    m = plan.size
    owner = np.empty(first[-1], np.int64)  # front that eliminates each column
    for f in range(len(k)):
        owner[first[f] : first[f + 1]] = f
    slots = np.empty(len(indices), np.int64)
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            a = position[i]
            b = position[indices[t]]
            column = min(a, b)
            row = max(a, b)
            f = owner[column]
            if row < first[f + 1]:
                at = row - first[f]
            else:
                at = k[f] + place_of(row, rows, start[f], start[f + 1]) - start[f]
            slots[t] = panels[f] + (column - first[f]) * m[f] + at
    return slots


@compiled()
def _stack_places(plan: Elimination) -> tuple[Ints, Ints, int]:
    """Return where updates wait for their parents: stack (nf,), place (nf,), stack depth."""
    # There are two stacks: for fronts of even and of odd levels.
    k = plan.eliminated
    m = plan.size
    parent = plan.parent
    nf = len(k)
    level = np.zeros(nf, np.int64)
    for f in range(nf - 1, -1, -1):
        if parent[f] >= 0:
            level[f] = 1 - level[parent[f]]
    place = np.empty(nf, np.int64)
    lowest = np.full(nf, -1)  # place of the update of the first child of each front
    top = np.zeros(2, np.int64)
    depth = 0
    for f in range(nf):
        if lowest[f] >= 0:  # the updates of its children are no longer needed
            top[1 - level[f]] = lowest[f]
        place[f] = top[level[f]]
        updated = np.int64(m[f] - k[f])
        top[level[f]] += updated * updated
        depth = max(depth, top[level[f]])
        if parent[f] >= 0 and lowest[parent[f]] < 0:
            lowest[parent[f]] = place[f]
    return level, place, depth


@compiled(error_model="numpy")
def _factorise(
    factor: Singles,
    plan: Elimination,
    panels: Ints,
    stack: Ints,
    place: Ints,
    updates: Singles,
) -> bool:
    """Factorise the panels in place, with reciprocals on the diagonal; False if indefinite."""
    # `panels` (nf + 1,) are the starts of panels, which have k columns of m rows. `updates`
    # (2, depth) are the two stacks. An update is a lower triangle that is stored as a square.
    k = plan.eliminated
    m = plan.size
    start = plan.start
    children = plan.children
    letters = np.array([76, 82, 84, 78], np.int8)  # L, R, T, N
    signs = np.array([1.0, -1.0], np.float32)
    sizes = np.empty(3, np.int32)
    info = np.zeros(1, np.int32)
    for f in range(len(k)):
        u = m[f] - k[f]
        panel = factor[panels[f] : panels[f + 1]]
        update = updates[stack[f], place[f] : place[f] + u * u]
        update[:] = 0.0
        child = children[f]
        while child >= 0:
            uc = m[child] - k[child]
            waiting = updates[stack[child], place[child] : place[child] + uc * uc]
            rows = plan.in_parent[start[child] : start[child + 1]]
            _add_update(waiting, rows, panel, update, k[f], m[f])
            child = plan.sibling[child]
        sizes[0] = k[f]
        sizes[1] = m[f]
        sizes[2] = u
        _factorise_front(panel, update, sizes, letters, signs, info)
        if info[0] != 0:
            return False
        for j in range(k[f]):
            panel[j * m[f] + j] = 1.0 / panel[j * m[f] + j]
    return True


@compiled(error_model="numpy")
def _factorise_front(
    panel: Singles, update: Singles, sizes: Ints, letters: Ints, signs: Singles, info: Ints
) -> None:
    """Factorise a panel and subtract from its update; `info` is nonzero if it is indefinite."""
    # `sizes` are k, m and m - k; `letters` and `signs` are arguments of BLAS and LAPACK.
    k = sizes[0:].ctypes
    m = sizes[1:].ctypes
    u = sizes[2:].ctypes
    lower = letters[0:].ctypes
    right = letters[1:].ctypes
    transposed = letters[2:].ctypes
    plain = letters[3:].ctypes
    one = signs[0:].ctypes
    minus = signs[1:].ctypes
    l_11 = panel.ctypes
    # A_11 = L_11 L_11ᵀ
    _spotrf(lower, k, l_11, m, info.ctypes)
    if info[0] == 0 and sizes[2] > 0:
        l_21 = panel[sizes[0] :].ctypes
        # L_21 = A_21 L_11⁻ᵀ
        _strsm(right, lower, transposed, plain, u, k, one, l_11, m, l_21, m)
        # update ← update - L_21 L_21ᵀ
        _ssyrk(lower, plain, u, k, minus, l_21, m, one, update.ctypes, u)


@compiled(error_model="numpy")
def _add_update(
    child: Singles, rows: Ints, panel: Singles, update: Singles, k: int, m: int
) -> None:
    """Add the update of a child, a lower triangle, to the panel and the update of its parent."""
    n = len(rows)
    u = m - k
    for j in range(n):
        if rows[j] < k:
            column = panel
            top = rows[j] * m
        else:
            column = update
            top = (rows[j] - k) * u - k
        for i in range(j, n):
            column[top + rows[i]] += child[j * n + i]
