"""The linearised equations of the volume element: assembly of the tangent and its solution.

    [ K      B_f  ] [ du   ]   [ r_u ]
    [ B_f^T  C_ff ] [ dE_f ] = [ r_E ]

K is the tangent of the displacements, B its border by the macro strain and C the tangent of the
macro stress; f are the free components of the macro strain. The preconditioner is the same block
elimination with an earlier factor of K, which is renewed when it needs too many iterations.
"""

from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.mechanics.elements import Elements
from fe_data.sparse.cholesky import symmetric_product
from fe_data.sparse.compilation import compiled, inlined
from fe_data.sparse.solver import sparse_cholesky

# A factorisation costs eight iterations. Measured: limits from 10 to 28 are within 5 % of the time.
_MAX_ITERATIONS = 12  # in one solve
_REFACTORISE_AFTER = 20  # iterations beyond those of a fresh factor


class BorderedMatrix(NamedTuple):
    """Tangent of n displacements, bordered by the macro strain xx, yy, engineering xy."""

    values: Floats  # (entries,) upper triangle of d force / d displacement
    border: Floats  # (n, 3) d force / d macro strain
    macro: Floats  # (3, 3) d macro stress / d macro strain


class BorderedSystem:
    """Tangent of n displacements and three macro strains: fill `tangent` in place, then `solve`."""

    def __init__(self, indptr: Ints, indices: Ints, coordinates: Floats):
        self.indptr, self.indices, self.n = indptr, indices, len(indptr) - 1
        self.solver = sparse_cholesky(indptr, indices, coordinates)
        self.tangent = BorderedMatrix(self.solver.values, np.zeros((self.n, 3)), np.zeros((3, 3)))
        self.counts = {"factorisations": 0, "cg_iterations": 0}
        self._factor_free: Ints = np.empty(0, int)
        self._age = _REFACTORISE_AFTER + 1  # iterations beyond those of a fresh factor

    def factorise(self, border: Floats, macro: Floats) -> None:
        """Renew the preconditioner at the current tangent, bordered by some macro strains."""
        self.solver.factorise()
        self._factor_border = border
        self._factor_solution = self.solver.solve(border)
        self._factor_schur = macro - border.T @ self._factor_solution
        self._age = 0
        self.counts["factorisations"] += 1

    def product(self, x: Floats, border: Floats, macro: Floats) -> Floats:
        """Tangent of displacements, bordered by k macro strains, times a vector (n + k,)."""
        n, y = self.n, np.empty_like(x)
        symmetric_product(self.indptr, self.indices, self.tangent.values, x[:n], y[:n])
        y[:n] += border @ x[n:]
        y[n:] = border.T @ x[:n] + macro @ x[n:]
        return y

    def solve(self, rhs: Floats, free: Ints, accuracy: float) -> Floats:
        """Step (n + len(free),), to a relative residual; NaN unless K is positive definite."""
        bordered = self.tangent.border[:, free], self.tangent.macro[np.ix_(free, free)]
        if self._age > _REFACTORISE_AFTER or not np.array_equal(free, self._factor_free):
            self._factor_free = free
            self.factorise(*bordered)
        with np.errstate(over="ignore", invalid="ignore"):
            solution, iterations = self._conjugate_gradients(rhs, *bordered, accuracy)
            if iterations > _MAX_ITERATIONS:
                self.factorise(*bordered)
                solution, iterations = self._conjugate_gradients(rhs, *bordered, accuracy)
        self._age += iterations - 1
        return solution

    def _precondition(self, r: Floats) -> Floats:
        n, z = self.n, np.empty_like(r)
        y = self.solver.solve(r[:n])
        if len(r) > n:
            z[n:] = np.linalg.solve(self._factor_schur, r[n:] - self._factor_border.T @ y)
        z[:n] = y - self._factor_solution @ z[n:]
        return z

    def _conjugate_gradients(
        self, rhs: Floats, border: Floats, macro: Floats, rtol: float
    ) -> tuple[Floats, int]:
        """Solution and number of iterations, `_MAX_ITERATIONS` + 1 without convergence."""
        x, r = np.zeros_like(rhs), rhs.copy()
        z = self._precondition(r)
        p, rz = z, r @ z
        stop = rtol * np.linalg.norm(rhs)
        for iteration in range(1, _MAX_ITERATIONS + 1):
            ap = self.product(p, border, macro)
            curvature = p @ ap
            if not 0.0 < curvature < np.inf:  # a limit load: no stable equilibrium
                return np.full_like(rhs, np.nan), iteration
            alpha = rz / curvature
            x += alpha * p
            r -= alpha * ap
            self.counts["cg_iterations"] += 1
            if np.linalg.norm(r) <= stop:
                return x, iteration
            z = self._precondition(r)
            rz, old = r @ z, rz
            p = z + (rz / old) * p
        return x, _MAX_ITERATIONS + 1


def assemble_tangent(
    elements: Elements, tangent: Floats, slots: Ints, matrix: BorderedMatrix
) -> None:
    """Add the sum over points of w B^T D B, bordered by B^T D and D, for a `tangent` D (m, q, 6).

    `slots` (m, 78) are the places in `matrix.values` of the upper triangle of each element's
    matrix, row by row.
    """
    xx, xx_yy, xx_xy, yy, yy_xy, xy = np.tensordot(elements.weights, tangent, 2)
    matrix.macro[:] += [[xx, xx_yy, xx_xy], [xx_yy, yy, yy_xy], [xx_xy, yy_xy, xy]]
    _add_elements(*elements[:3], tangent, slots, matrix.values, matrix.border)


@compiled(error_model="numpy")
def _add_elements(
    dofs: Ints, gradients: Floats, weights: Floats, tangent: Floats, slots: Ints,
    values: Floats, border: Floats,
) -> None:  # fmt: skip
    """Add the elements to two parts of a `BorderedMatrix`."""
    db, k = np.empty((3, 3, 12)), np.empty(78)  # w D B at the points; the upper triangle
    for m in range(dofs.shape[0]):
        for q in range(3):
            _multiply(gradients[m, q], weights[m, q], tangent[m, q], db[q])
        _upper_triangle(gradients[m], db, k)
        # Apart from the sums above, which take longer with writes to arrays of all dofs.
        for i in range(78):
            values[slots[m, i]] += k[i]
        for i in range(12):
            for j in range(3):
                border[dofs[m, i], j] += db[0, j, i] + db[1, j, i] + db[2, j, i]


@inlined
def _multiply(gradients: Floats, w: float, tangent: Floats, db: Floats) -> None:
    """Write w D B of a point to db (3, 12)."""
    d00, d01, d02 = w * tangent[0], w * tangent[1], w * tangent[2]
    d11, d12, d22 = w * tangent[3], w * tangent[4], w * tangent[5]
    for i in range(6):
        gx, gy = gradients[i, 0], gradients[i, 1]
        db[0, 2 * i], db[0, 2 * i + 1] = d00 * gx + d02 * gy, d01 * gy + d02 * gx
        db[1, 2 * i], db[1, 2 * i + 1] = d01 * gx + d12 * gy, d11 * gy + d12 * gx
        db[2, 2 * i], db[2, 2 * i + 1] = d02 * gx + d22 * gy, d12 * gy + d22 * gx


@inlined
def _upper_triangle(gradients: Floats, db: Floats, k: Floats) -> None:
    """Write the upper triangle (78,) of the sum of B^T D B over the points of an element."""
    even = 0
    for i in range(6):  # the rows of a node
        odd = even + 12 - 2 * i
        for j in range(2 * i, 12):
            x, y = 0.0, 0.0
            for q in range(3):
                gx, gy = gradients[q, i, 0], gradients[q, i, 1]
                x += gx * db[q, 0, j] + gy * db[q, 2, j]
                y += gy * db[q, 1, j] + gx * db[q, 2, j]
            k[even + j - 2 * i] = x
            if j > 2 * i:
                k[odd + j - 2 * i - 1] = y
        even = odd + 11 - 2 * i
