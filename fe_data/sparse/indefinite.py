"""Sparse factorisation P A Pᵀ = L S Lᵀ of an indefinite matrix, with a diagonal S of signs ±1.

An RVE with softening interfaces has an indefinite tangent. The fronts are those of `cholesky`, and
a front whose pivots are all positive is factorised in the same way. Otherwise

    A_11 = L_11 S L_11ᵀ,    L_21 = A_21 L_11⁻ᵀ S,    update = Σ updates of children - L_21 S L_21ᵀ,

without a choice of pivots. Pivots near zero are moved away from it, so that the factor is always
finite; the iteration that it preconditions corrects this.
"""

import numpy as np

from fe_data.arrays import Floats, Ints, Singles
from fe_data.sparse.cholesky import (
    MultifrontalCholesky,
    _add_update,
    _factorise_front,
    _strsm,
)
from fe_data.sparse.compilation import compiled
from fe_data.sparse.substitution import substitute_signed
from fe_data.sparse.symbolic import Elimination

_LEAST_PIVOT = 1e-6  # relative to the diagonal entry before elimination


class MultifrontalLDL(MultifrontalCholesky):
    """The factorisation of an indefinite matrix, with the `SparseCholesky` protocol.

    Attributes:
        negative: Number of negative pivots of the last factorisation, which is the number of
            negative eigenvalues of the matrix.

    >>> import scipy.sparse as sp
    >>> upper = sp.csr_matrix([[1.0, 2.0], [0.0, 1.0]])  # of [[1, 2], [2, 1]]
    >>> solver = MultifrontalLDL(upper.indptr, upper.indices, coordinates=np.eye(2))
    >>> solver.values[:] = upper.data
    >>> solver.factorise()
    >>> solver.solve(np.array([3.0, 3.0])).round(6), solver.negative
    (array([1., 1.]), 1)
    """

    def __init__(self, indptr: Ints, indices: Ints, coordinates: Floats):
        super().__init__(indptr, indices, coordinates)
        self._signs = np.ones(len(self.plan.position), np.float32)
        self.negative = 0

    def factorise(self) -> None:
        """Factorise the current values."""
        self._factor[:] = 0.0
        self._factor[self._slots] = self.values
        self._signs[:] = 1.0
        self._valid = _factorise_signed(
            self._factor,
            self.plan,
            self._panels,
            self._stack,
            self._place,
            self._updates,
            self._signs,
        )
        self.negative = int((self._signs < 0).sum())

    def solve(self, rhs: Floats) -> Floats:
        """Solve for right-hand sides (n,) or (n, k); NaN if the matrix was not finite."""
        x = np.array(rhs.reshape(len(rhs), -1).T, order="C", dtype=float)
        scratch = self._y, self._rest
        for column in x:
            if self._valid:
                substitute_signed(
                    self._factor, self.plan, self._panels, self._signs, column, *scratch
                )
            else:
                column[:] = np.nan
        return x.T.reshape(rhs.shape)


@compiled(error_model="numpy")
def _factorise_signed(
    factor: Singles,
    plan: Elimination,
    panels: Ints,
    stack: Ints,
    place: Ints,
    updates: Singles,
    signs: Singles,
) -> bool:
    """Factorise the panels in place, with reciprocals on the diagonal; False if not finite."""
    # The arguments are those of `cholesky._factorise`, and the signs (n,) of the pivots.
    k = plan.eliminated
    m = plan.size
    start = plan.start
    children = plan.children
    letters = np.array([76, 82, 84, 78], np.int8)  # L, R, T, N
    ones = np.array([1.0, -1.0], np.float32)
    sizes = np.empty(3, np.int32)
    info = np.zeros(1, np.int32)
    before = np.empty(np.int64(k.max()) ** 2, np.float32)
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
        for j in range(k[f]):
            for i in range(j, k[f]):
                before[j * k[f] + i] = panel[j * m[f] + i]
        _factorise_front(panel, update, sizes, letters, ones, info)
        if info[0] != 0:
            front_signs = signs[plan.first[f] : plan.first[f + 1]]
            for j in range(k[f]):
                for i in range(j, k[f]):
                    panel[j * m[f] + i] = before[j * k[f] + i]
            _split(panel, k[f], m[f], front_signs)
            _eliminate(panel, update, sizes, letters, ones, front_signs)
        for j in range(k[f]):
            pivot = panel[j * m[f] + j]
            if not np.isfinite(pivot):
                return False
            panel[j * m[f] + j] = 1.0 / pivot
    return True


@compiled(error_model="numpy")
def _split(panel: Singles, k: int, m: int, signs: Singles) -> None:
    """Write A_11 = L_11 S L_11ᵀ to the first k rows of a panel."""
    for j in range(k):
        pivot = panel[j * m + j]
        least = np.float32(_LEAST_PIVOT) * (abs(pivot) + np.float32(1e-30))
        for i in range(j + 1, k):
            least = max(least, np.float32(_LEAST_PIVOT) * abs(panel[j * m + i]))
        signs[j] = 1.0 if pivot >= 0.0 else -1.0
        root = np.sqrt(max(abs(pivot), least))
        panel[j * m + j] = root
        scale = signs[j] / root
        for i in range(j + 1, k):
            panel[j * m + i] *= scale
        for c in range(j + 1, k):
            factor = signs[j] * panel[j * m + c]
            if factor != 0.0:
                for i in range(c, k):
                    panel[c * m + i] -= factor * panel[j * m + i]


@compiled(error_model="numpy")
def _eliminate(
    panel: Singles, update: Singles, sizes: Ints, letters: Ints, ones: Singles, signs: Singles
) -> None:
    """Write L_21 to the other rows of a panel, and subtract L_21 S L_21ᵀ from its update."""
    k = sizes[0]
    m = sizes[1]
    u = sizes[2]
    if u == 0:
        return
    # L_21 S = A_21 L_11⁻ᵀ
    _strsm(
        letters[1:].ctypes,
        letters[0:].ctypes,
        letters[2:].ctypes,
        letters[3:].ctypes,
        sizes[2:].ctypes,
        sizes[0:].ctypes,
        ones[0:].ctypes,
        panel.ctypes,
        sizes[1:].ctypes,
        panel[k:].ctypes,
        sizes[1:].ctypes,
    )
    for j in range(k):
        column = panel[j * m + k : (j + 1) * m]
        for i in range(u):
            column[i] *= signs[j]
        for c in range(u):
            factor = signs[j] * column[c]
            if factor != 0.0:
                for i in range(c, u):
                    update[c * u + i] -= factor * column[i]
