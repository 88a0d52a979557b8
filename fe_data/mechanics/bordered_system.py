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
        self._age = _REFACTORISE_AFTER + 1  # iterations beyond those of a fresh factor

    def factorise(self, free: Ints) -> None:
        """Renew the preconditioner at the current tangent, for some free macro strains."""
        self.solver.factorise()
        self._factor_free = free
        self._factor_border = self.tangent.border[:, free].copy()
        self._factor_solution = self.solver.solve(self._factor_border)
        self._factor_schur = (
            self.tangent.macro[np.ix_(free, free)] - self._factor_border.T @ self._factor_solution
        )
        self._age = 0
        self.counts["factorisations"] += 1

    def product(self, x: Floats, free: Ints) -> Floats:
        """Tangent times displacements and free macro strains, (n + len(free),)."""
        n, y = self.n, np.empty_like(x)
        symmetric_product(self.indptr, self.indices, self.tangent.values, x[:n], y[:n])
        border = self.tangent.border[:, free]
        y[:n] += border @ x[n:]
        y[n:] = border.T @ x[:n] + self.tangent.macro[np.ix_(free, free)] @ x[n:]
        return y

    def solve(self, rhs: Floats, free: Ints, accuracy: float) -> Floats:
        """Step (n + len(free),), to a relative residual; NaN unless K is positive definite."""
        if self._age > _REFACTORISE_AFTER or not np.array_equal(free, self._factor_free):
            self.factorise(free)
        with np.errstate(over="ignore", invalid="ignore"):
            solution, iterations = self._conjugate_gradients(rhs, free, accuracy)
            if iterations > _MAX_ITERATIONS:
                self.factorise(free)
                solution, iterations = self._conjugate_gradients(rhs, free, accuracy)
        self._age += iterations - 1
        return solution

    def _precondition(self, r: Floats) -> Floats:
        n, z = self.n, np.empty_like(r)
        y = self.solver.solve(r[:n])
        if len(r) > n:
            z[n:] = np.linalg.solve(self._factor_schur, r[n:] - self._factor_border.T @ y)
        z[:n] = y - self._factor_solution @ z[n:]
        return z

    def _conjugate_gradients(self, rhs: Floats, free: Ints, rtol: float) -> tuple[Floats, int]:
        """Solution and number of iterations, `_MAX_ITERATIONS` + 1 without convergence."""
        x, r = np.zeros_like(rhs), rhs.copy()
        z = self._precondition(r)
        p, rz = z, r @ z
        stop = rtol * np.linalg.norm(rhs)
        for iteration in range(1, _MAX_ITERATIONS + 1):
            ap = self.product(p, free)
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


@compiled(error_model="numpy")
def assemble_tangent(
    elements: Elements, kappa: float, tangent: Floats, slots: Ints, matrix: BorderedMatrix
) -> None:
    """Add the consistent tangent, the sum over points of w B^T D B, bordered by B^T D and D.

    The deviatoric tangent is (m, q, 6); `slots` (m, 78) are the places in `matrix.values` of the
    upper triangle of each element's matrix, row by row.
    """
    dofs, gradients, weights, dilatation, root_area, _ = elements
    values, border, macro = matrix
    k = np.empty((15, 15))  # upper triangle; rows of the dofs, then of the macro strain xx, yy, xy
    db = np.empty((12, 3))
    for m in range(dofs.shape[0]):
        k[:] = 0.0
        _add_bulk(dilatation[m], root_area[m], kappa, k)
        for q in range(weights.shape[1]):
            _add_shear(gradients[m, q], weights[m, q], tangent[m, q], db, k)
        _scatter(k, dofs[m], slots[m], values, border, macro)


@inlined
def _add_bulk(dilatation: Floats, root_area: float, kappa: float, k: Floats) -> None:
    """Add the volumetric part of an element to its matrix k (15, 15)."""
    for r in range(dilatation.shape[0]):
        for i in range(12):
            gi = kappa * dilatation[r, i]
            for j in range(i, 12):
                k[i, j] += gi * dilatation[r, j]
            if r == 0:
                k[i, 12] += gi * root_area
                k[i, 13] += gi * root_area
    bulk = kappa * root_area * root_area
    k[12, 12] += bulk
    k[12, 13] += bulk
    k[13, 13] += bulk


@inlined
def _add_shear(gradients: Floats, w: float, tangent: Floats, db: Floats, k: Floats) -> None:
    """Add the deviatoric part of one point to k (15, 15); db (12, 3) is scratch for (D B)^T."""
    d00, d01, d02 = w * tangent[0], w * tangent[1], w * tangent[2]
    d11, d12, d22 = w * tangent[3], w * tangent[4], w * tangent[5]
    for i in range(6):
        gx, gy = gradients[i, 0], gradients[i, 1]
        db[2 * i, 0] = d00 * gx + d02 * gy
        db[2 * i, 1] = d01 * gx + d12 * gy
        db[2 * i, 2] = d02 * gx + d22 * gy
        db[2 * i + 1, 0] = d01 * gy + d02 * gx
        db[2 * i + 1, 1] = d11 * gy + d12 * gx
        db[2 * i + 1, 2] = d12 * gy + d22 * gx
    for i in range(6):
        gx, gy = gradients[i, 0], gradients[i, 1]
        for j in range(2 * i, 12):
            k[2 * i, j] += gx * db[j, 0] + gy * db[j, 2]
            k[2 * i + 1, j] += gy * db[j, 1] + gx * db[j, 2]
    for i in range(12):
        for j in range(3):
            k[i, 12 + j] += db[i, j]
    k[12, 12] += d00
    k[12, 13] += d01
    k[12, 14] += d02
    k[13, 13] += d11
    k[13, 14] += d12
    k[14, 14] += d22


@inlined
def _scatter(
    k: Floats, dofs: Ints, slots: Ints, values: Floats, border: Floats, macro: Floats
) -> None:
    """Add the matrix k (15, 15) of an element to the parts of a `BorderedMatrix`."""
    slot = 0
    for i in range(12):
        for j in range(i, 12):
            values[slots[slot]] += k[i, j]
            slot += 1
        for j in range(3):
            border[dofs[i], j] += k[i, 12 + j]
    for i in range(3):
        macro[i, i] += k[12 + i, 12 + i]
        for j in range(i + 1, 3):
            macro[i, j] += k[12 + i, 12 + j]
            macro[j, i] += k[12 + i, 12 + j]
