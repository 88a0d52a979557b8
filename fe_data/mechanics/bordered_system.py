"""The linearised equations of the RVE: assembly of the tangent and its solution.

    [ K      B_f  ] [ du   ]   [ r_u ]
    [ B_fᵀ   C_ff ] [ dE_f ] = [ r_E ]

K and B are the derivatives of the nodal forces by the displacements and by the macro strain. C is
the derivative of the macro stress by the macro strain, and f are its free components. Conjugate
gradients solve the system. Their preconditioner is block elimination with an earlier factor of K.
The factor is renewed if conjugate gradients need too many iterations or, with a limit by the
caller, if the tangent has changed too much:

    S = C_ff - B_fᵀ K⁻¹ B_f,    dE_f = S⁻¹ (r_E - B_fᵀ K⁻¹ r_u),    du = K⁻¹ r_u - K⁻¹ B_f dE_f.
"""

from typing import NamedTuple

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.errors import ConvergenceError
from fe_data.mechanics.elements import Elements
from fe_data.sparse.cholesky import symmetric_product
from fe_data.sparse.compilation import compiled, inlined
from fe_data.sparse.solver import sparse_cholesky
from safe_files.text import Short

# A factorisation costs as much as eight iterations. Limits from 10 to 28 change the total time by
# less than 5 %.
_MAX_ITERATIONS = 12  # of one solve
_MACHINE_PRECISION = 1e-13  # relative residual of a solution in double precision
_REFACTORISE_AFTER = 20  # more iterations than with a fresh factor, summed over solves


class BorderedMatrix(NamedTuple):
    """Tangent of n displacements, bordered by the macro strain xx, yy and engineering shear xy."""

    values: Floats  # (entries,) upper triangle of K = d force / d displacement
    border: Floats  # (n, 3) B = d force / d macro strain
    macro: Floats  # (3, 3) C = d macro stress / d macro strain


class BorderedSystem(Short):
    """The linear system of n displacements and three macro strains.

    Fill `tangent` in place, then call `solve`.
    """

    def __init__(self, indptr: Ints, indices: Ints, coordinates: Floats):
        self.indptr = indptr
        self.indices = indices
        self.n = len(indptr) - 1
        self.solver = sparse_cholesky(indptr, indices, coordinates)
        self.tangent = BorderedMatrix(self.solver.values, np.zeros((self.n, 3)), np.zeros((3, 3)))
        self.counts = {"factorisations": 0, "cg_iterations": 0}
        self._factor_free: Ints = np.empty(0, int)
        self._factor_diagonal = np.ones(self.n)
        self.drop_factor()

    def drop_factor(self) -> None:
        """Make the next `solve` begin with a new factor, so that it does not depend on the past.

        An earlier factor changes a solution within the accuracy of the solve.
        """
        self._age = _REFACTORISE_AFTER + 1  # more iterations than with a fresh factor, summed

    def factorise(self, border: Floats, macro: Floats) -> None:
        """Renew the preconditioner at the current tangent, bordered by k macro strains.

        Args:
            border: (n, k) columns of B for k macro strains.
            macro: (k, k) rows and columns of C.
        """
        # K = L Lᵀ
        self.solver.factorise()
        self._factor_border = border
        self._factor_diagonal = self._diagonal()
        # K⁻¹ B
        self._factor_solution = self.solver.solve(border)
        # S = C - Bᵀ K⁻¹ B
        self._factor_schur = macro - border.T @ self._factor_solution
        self._age = 0
        self.counts["factorisations"] += 1

    def product(self, x: Floats, border: Floats, macro: Floats) -> Floats:
        """Return the product of the tangent, bordered by macro strains (k,), with (n + k,)."""
        n = self.n
        y = np.empty_like(x)
        # y_u = K x_u + B x_E
        symmetric_product(self.indptr, self.indices, self.tangent.values, x[:n], y[:n])
        y[:n] += border @ x[n:]
        # y_E = Bᵀ x_u + C x_E
        y[n:] = border.T @ x[:n] + macro @ x[n:]
        return y

    def solve(
        self, rhs: Floats, free: Ints, accuracy: float, largest_change: float = np.inf
    ) -> Floats:
        """Solve for a Newton step.

        Args:
            rhs: (n + k,) residual of nodal forces and of the macro stresses of free components.
            free: (k,) indices of the free macro strains.
            accuracy: Relative residual to reach.
            largest_change: If the diagonal of K has changed by more than this since the last factor
                (mean relative change, 0 to 1), the earlier factor is not used.

        Returns:
            The step (n + k,) of displacements and free macro strains; NaN unless the matrix is
            positive definite.
        """
        border = self.tangent.border[:, free]
        macro = self.tangent.macro[np.ix_(free, free)]
        aged = self._age > _REFACTORISE_AFTER or self._change() > largest_change
        if aged or not np.array_equal(free, self._factor_free):
            self._factor_free = free
            self.factorise(border, macro)
        with np.errstate(over="ignore", invalid="ignore"):
            solution, iterations = self._conjugate_gradients(rhs, border, macro, accuracy)
            if iterations > _MAX_ITERATIONS:
                self.factorise(border, macro)
                solution, iterations = self._conjugate_gradients(rhs, border, macro, accuracy)
        self._age += iterations - 1
        return solution

    def solve_columns(self, right: Floats) -> Floats:
        """Solve K x = right to machine precision, with one factorisation.

        Args:
            right: (n, k) right-hand sides.

        Returns:
            Solutions (n, k).

        Raises:
            ConvergenceError: If K is not positive definite.
        """
        border = self.tangent.border[:, :0]
        macro = self.tangent.macro[:0, :0]
        self._factor_free = np.empty(0, int)
        self.factorise(border, macro)
        solved = [
            self._conjugate_gradients(column, border, macro, _MACHINE_PRECISION)[0]
            for column in right.T
        ]
        if not np.isfinite(solved).all():
            raise ConvergenceError("the tangent of the RVE cannot be computed: it is singular")
        return np.column_stack(solved)

    def _diagonal(self) -> Floats:
        """Return the diagonal (n,) of K: the first entry of each row of the upper triangle."""
        diagonal: Floats = self.tangent.values[self.indptr[:-1]]
        return diagonal

    def _change(self) -> float:
        """Return the mean relative change of the diagonal of K since the last factor."""
        now = self._diagonal()
        before = self._factor_diagonal
        return float(np.mean(np.abs(now - before) / np.maximum(now, before)))

    def _precondition(self, r: Floats) -> Floats:
        """Apply block elimination with the last factor."""
        n = self.n
        z = np.empty_like(r)
        # y = K⁻¹ r_u
        y = self.solver.solve(r[:n])
        if len(r) > n:
            # z_E = S⁻¹ (r_E - Bᵀ y)
            z[n:] = np.linalg.solve(self._factor_schur, r[n:] - self._factor_border.T @ y)
        # z_u = y - K⁻¹ B z_E
        z[:n] = y - self._factor_solution @ z[n:]
        return z

    def _conjugate_gradients(
        self, rhs: Floats, border: Floats, macro: Floats, rtol: float
    ) -> tuple[Floats, int]:
        """Apply preconditioned conjugate gradients (Hestenes & Stiefel, 1952).

        Args:
            rhs: (n + k,) right-hand side.
            border: (n, k) columns of B.
            macro: (k, k) rows and columns of C.
            rtol: Relative residual to reach.

        Returns:
            The solution (n + k,) and the number of iterations, which is `_MAX_ITERATIONS` + 1
            without convergence. The solution is NaN if the matrix is not positive definite.
        """
        x = np.zeros_like(rhs)
        r = rhs.copy()
        z = self._precondition(r)
        p = z
        rz = r @ z
        stop = rtol * np.linalg.norm(rhs)
        for iteration in range(1, _MAX_ITERATIONS + 1):
            ap = self.product(p, border, macro)
            curvature = p @ ap
            if not 0.0 < curvature < np.inf:  # limit load, no stable equilibrium
                return np.full_like(rhs, np.nan), iteration
            # α = rᵀz / pᵀAp,   x ← x + α p,   r ← r - α A p
            alpha = rz / curvature
            x += alpha * p
            r -= alpha * ap
            self.counts["cg_iterations"] += 1
            if np.linalg.norm(r) <= stop:
                return x, iteration
            # z = M⁻¹ r,   β = rᵀz / (rᵀz)_before,   p ← z + β p
            z = self._precondition(r)
            rz_before = rz
            rz = r @ z
            p = z + (rz / rz_before) * p
        return x, _MAX_ITERATIONS + 1


def assemble_tangent(
    elements: Elements, tangent: Floats, slots: Ints, matrix: BorderedMatrix
) -> None:
    """Add the tangent of elements to a bordered matrix.

    Let G be the strain operator of an element, D the tangent at a point, and w the integration
    weight. Gu is the strain of the displacements u. The sums over points are

        K += Σ w Gᵀ D G,    B += Σ w Gᵀ D,    C += Σ w D.

    Args:
        elements: The m elements.
        tangent: (m, q, 6) entries 00, 01, 02, 11, 12, 22 of D.
        slots: (m, 78) places in `matrix.values` of the upper triangle of each element matrix, row
            by row.
        matrix: Matrix to which the sums are added.
    """
    xx, xx_yy, xx_xy, yy, yy_xy, xy = np.tensordot(elements.weights, tangent, 2)
    matrix.macro[:] += [[xx, xx_yy, xx_xy], [xx_yy, yy, yy_xy], [xx_xy, yy_xy, xy]]
    dofs, gradients, weights = elements[:3]
    _add_elements(dofs, gradients, weights, tangent, slots, matrix.values, matrix.border)


@compiled(error_model="numpy")
def _add_elements(
    dofs: Ints,
    gradients: Floats,
    weights: Floats,
    tangent: Floats,
    slots: Ints,
    values: Floats,
    border: Floats,
) -> None:
    """Add the elements to `values` and `border` of a `BorderedMatrix`."""
    db = np.empty((3, 3, 12))  # w D G at each of three points
    k = np.empty(78)  # upper triangle of an element matrix
    for m in range(dofs.shape[0]):
        for q in range(3):
            _multiply(gradients[m, q], weights[m, q], tangent[m, q], db[q])
        _upper_triangle(gradients[m], db, k)
        # Separate from the sums above, which would be slower with writes to the global arrays.
        for i in range(78):
            values[slots[m, i]] += k[i]
        for i in range(12):
            for j in range(3):
                border[dofs[m, i], j] += db[0, j, i] + db[1, j, i] + db[2, j, i]


@inlined
def _multiply(gradients: Floats, w: float, tangent: Floats, db: Floats) -> None:
    """Write w D G of a point to db (3, 12); G has the rows [gx 0], [0 gy], [gy gx] per node."""
    d00 = w * tangent[0]
    d01 = w * tangent[1]
    d02 = w * tangent[2]
    d11 = w * tangent[3]
    d12 = w * tangent[4]
    d22 = w * tangent[5]
    for i in range(6):
        gx = gradients[i, 0]
        gy = gradients[i, 1]
        db[0, 2 * i] = d00 * gx + d02 * gy
        db[0, 2 * i + 1] = d01 * gy + d02 * gx
        db[1, 2 * i] = d01 * gx + d12 * gy
        db[1, 2 * i + 1] = d11 * gy + d12 * gx
        db[2, 2 * i] = d02 * gx + d22 * gy
        db[2, 2 * i + 1] = d12 * gy + d22 * gx


@inlined
def _upper_triangle(gradients: Floats, db: Floats, k: Floats) -> None:
    """Write the upper triangle (78,) of Σ w Gᵀ D G over the points of an element."""
    even = 0  # beginning of the row of the first dof of a node
    for i in range(6):
        odd = even + 12 - 2 * i  # beginning of the row of its second dof
        for j in range(2 * i, 12):
            x = 0.0
            y = 0.0
            for q in range(3):
                gx = gradients[q, i, 0]
                gy = gradients[q, i, 1]
                x += gx * db[q, 0, j] + gy * db[q, 2, j]
                y += gy * db[q, 1, j] + gx * db[q, 2, j]
            k[even + j - 2 * i] = x
            if j > 2 * i:
                k[odd + j - 2 * i - 1] = y
        even = odd + 11 - 2 * i
