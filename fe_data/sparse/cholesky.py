"""Numeric phase of the sparse Cholesky factorisation, and products with the matrix.

Each front holds a panel of k columns and m rows, which becomes a part of the factor, and an update
that its parent takes over (multifrontal method; Duff & Reid, 1983).
"""

import numpy as np

from fe_data.arrays import Floats, Ints, Singles
from fe_data.sparse.compilation import compiled
from fe_data.sparse.lapack import spotrf, ssyrk, strsm
from fe_data.sparse.substitution import substitute
from fe_data.sparse.symbolic import Elimination, plan_elimination

# Relative shifts of the diagonal, tried in turn when rounding makes the factorisation fail.
_SHIFTS = (0.0, 1e-6, 1e-4, 1e-2)


@compiled()
def symmetric_product(indptr: Ints, indices: Ints, values: Floats, x: Floats, y: Floats) -> None:
    """Write A x (n,) to y (n,), from the upper triangle of A (CSR) of two unknowns at each node."""
    # Blocks of a node and another take half the time of single entries.
    y[:] = 0.0
    for i in range(0, len(indptr) - 1, 2):
        a, b = indptr[i], indptr[i + 1]
        x0, x1 = x[i], x[i + 1]
        y0 = values[a] * x0 + values[a + 1] * x1
        y1 = values[a + 1] * x0 + values[b] * x1
        for t in range(2, b - a, 2):
            j = indices[a + t]
            k00, k01, k10, k11 = values[a + t], values[a + t + 1], values[b + t - 1], values[b + t]
            y0 += k00 * x[j] + k01 * x[j + 1]
            y1 += k10 * x[j] + k11 * x[j + 1]
            y[j] += k00 * x0 + k10 * x1
            y[j + 1] += k01 * x0 + k11 * x1
        y[i] += y0
        y[i + 1] += y1


class MultifrontalCholesky:
    """Sparse Cholesky in single precision for one pattern, a `solver.SparseCholesky`.

    The pattern is that of the upper triangle, with a full diagonal (CSR). `coordinates` (nodes, 2)
    are positions of the unknowns; those of a node follow each other and have one pattern.
    """

    name = "multifrontal"

    def __init__(self, indptr: Ints, indices: Ints, coordinates: Floats):
        self.values = np.zeros(len(indices))
        self.plan = plan = plan_elimination(indptr, indices, coordinates)
        sizes = plan.eliminated.astype(np.int64) * plan.size
        self._panels = np.concatenate([[0], np.cumsum(sizes)])
        self._slots = _entry_slots(indptr, indices, plan, self._panels)
        self._diagonal = self._slots[indptr[:-1]]
        self._factor = np.empty(self._panels[-1], np.float32)
        self._stack, self._place, depth = _stack_places(plan)
        self._updates = np.empty((2, depth), np.float32)
        self._y = np.empty(len(plan.position), np.float32)
        self._rest = np.empty(plan.size.max(initial=0), np.float32)
        self._valid = False

    def factorise(self) -> None:
        """Factorise the current values."""
        for shift in _SHIFTS:
            self._factor[:] = 0.0
            self._factor[self._slots] = self.values
            self._factor[self._diagonal] *= 1.0 + shift
            self._valid = _factorise(
                self._factor, self.plan, self._panels, self._stack, self._place, self._updates
            )
            if self._valid:
                return

    def solve(self, rhs: Floats) -> Floats:
        """Solve for right-hand sides (n,) or (n, k); nan where the matrix was indefinite."""
        x = np.array(rhs.reshape(len(rhs), -1).T, order="C", dtype=float)
        for column in x:
            if self._valid:
                substitute(self._factor, self.plan, self._panels, column, self._y, self._rest)
            else:
                column[:] = np.nan
        return x.T.reshape(rhs.shape)


@compiled()
def _entry_slots(indptr: Ints, indices: Ints, plan: Elimination, panels: Ints) -> Ints:
    """Place of each entry of the upper triangle in the panels of the factor."""
    position, first, start, rows = plan.position, plan.first, plan.start, plan.rows
    k, m = plan.eliminated, plan.size
    owner = np.empty(first[-1], np.int64)  # front that eliminates each column
    for f in range(len(k)):
        owner[first[f] : first[f + 1]] = f
    slots = np.empty(len(indices), np.int64)
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            a, b = position[i], position[indices[t]]
            column, row = min(a, b), max(a, b)
            f = owner[column]
            if row < first[f + 1]:
                at = row - first[f]
            else:
                at = k[f] + np.searchsorted(rows[start[f] : start[f + 1]], row)
            slots[t] = panels[f] + (column - first[f]) * m[f] + at
    return slots


@compiled()
def _stack_places(plan: Elimination) -> tuple[Ints, Ints, int]:
    """Stack of each front, for even or odd levels, place of its update there, and depth needed."""
    k, m, parent = plan.eliminated, plan.size, plan.parent
    nf = len(k)
    level, place, lowest = np.zeros(nf, np.int64), np.empty(nf, np.int64), np.full(nf, -1)
    for f in range(nf - 1, -1, -1):
        if parent[f] >= 0:
            level[f] = 1 - level[parent[f]]
    top, depth = np.zeros(2, np.int64), 0
    for f in range(nf):
        if lowest[f] >= 0:  # its children's updates are used up
            top[1 - level[f]] = lowest[f]
        place[f] = top[level[f]]
        top[level[f]] += np.int64(m[f] - k[f]) ** 2
        depth = max(depth, top[level[f]])
        if parent[f] >= 0 and lowest[parent[f]] < 0:
            lowest[parent[f]] = place[f]
    return level, place, depth


@compiled(error_model="numpy")
def _factorise(
    factor: Singles, plan: Elimination, panels: Ints, stack: Ints, place: Ints,
    updates: Singles,
) -> bool:  # fmt: skip
    """Factorise the panels in place, with reciprocals on the diagonal; False where indefinite."""
    # `panels` (nf + 1,) are their starts; each has k columns of m rows. `updates` (2, depth) are
    # the two stacks, on which an update is a lower triangle that is stored as a square.
    k, m, start, in_parent = plan.eliminated, plan.size, plan.start, plan.in_parent
    children, sibling = plan.children, plan.sibling
    lower, right = np.array([76], np.int8), np.array([82], np.int8)
    transposed, plain = np.array([84], np.int8), np.array([78], np.int8)
    one, minus = np.ones(1, np.float32), -np.ones(1, np.float32)
    sizes, info = np.empty(3, np.int32), np.zeros(1, np.int32)
    for f in range(len(k)):
        u = m[f] - k[f]
        panel = factor[panels[f] : panels[f + 1]]
        update = updates[stack[f], place[f] : place[f] + u * u]
        update[:] = 0.0
        child = children[f]
        while child >= 0:
            uc = m[child] - k[child]
            _add_update(
                updates[stack[child], place[child] : place[child] + uc * uc],
                in_parent[start[child] : start[child + 1]], panel, update, k[f], m[f],
            )  # fmt: skip
            child = sibling[child]
        sizes[0], sizes[1], sizes[2] = k[f], m[f], u
        nk, nm, nu = sizes.ctypes, sizes[1:].ctypes, sizes[2:].ctypes
        spotrf(lower.ctypes, nk, panel.ctypes, nm, info.ctypes)
        if info[0] != 0:
            return False
        if u > 0:
            below = panel[k[f] :].ctypes
            strsm(
                right.ctypes, lower.ctypes, transposed.ctypes, plain.ctypes, nu, nk,
                one.ctypes, panel.ctypes, nm, below, nm,
            )  # fmt: skip
            ssyrk(
                lower.ctypes, plain.ctypes, nu, nk, minus.ctypes, below, nm, one.ctypes,
                update.ctypes, nu,
            )  # fmt: skip
        for j in range(k[f]):
            panel[j * m[f] + j] = 1.0 / panel[j * m[f] + j]
    return True


@compiled(error_model="numpy")
def _add_update(
    child: Singles, rows: Ints, panel: Singles, update: Singles, k: int, m: int
) -> None:
    """Add a child's update, a lower triangle, to the panel and the update of its parent."""
    n, u = len(rows), m - k
    for j in range(n):
        if rows[j] < k:
            column, top = panel, rows[j] * m
        else:
            column, top = update, (rows[j] - k) * u - k
        for i in range(j, n):
            column[top + rows[i]] += child[j * n + i]
