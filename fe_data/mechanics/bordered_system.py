"""The linearised equations of the volume element: conjugate gradients with an ageing factor.

    [ K    B_f  ] [du  ]   [r_u]
    [ B_f^T C_ff ] [dE_f] = [r_E]

K is the tangent of the displacements, B its border by the macro strain and C the tangent of the
macro stress; f are the free components of the macro strain. The preconditioner is the same block
elimination with an earlier factor of K, which is renewed when it needs too many iterations.
"""

import numpy as np

from fe_data.arrays import Floats, Ints
from fe_data.mechanics.plasticity import BorderedMatrix
from fe_data.sparse.cholesky import symmetric_product
from fe_data.sparse.solver import sparse_cholesky

# A factorisation costs eight iterations. Measured: limits from 10 to 28 are within 5 % of the time.
_MAX_ITERATIONS = 12  # in one solve
_REFACTORISE_AFTER = 20  # iterations beyond those of a fresh factor


class BorderedSystem:
    """Tangent of n displacements and three macro strains, and its solution.

    Fill `tangent` in place, then `solve`.

    Args:
        indptr: (n + 1,) of the upper triangle of K with a full diagonal (CSR).
        indices: Its columns.
        coordinates: (nodes, 2), see `fe_data.sparse`.
    """

    def __init__(self, indptr: Ints, indices: Ints, coordinates: Floats):
        self.indptr, self.indices, self.n = indptr, indices, len(indptr) - 1
        self.solver = sparse_cholesky(indptr, indices, coordinates)
        self.tangent = BorderedMatrix(self.solver.values, np.zeros((self.n, 3)), np.zeros((3, 3)))
        self.counts = {"factorisations": 0, "cg_iterations": 0}
        self._factor_free: Ints | None = None
        self._age = 0  # iterations spent beyond those of a fresh factor

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
        """Solve for the displacements and the free macro strains.

        Args:
            rhs: (n + len(free),) out-of-balance forces.
            free: Components of the macro strain that are unknown; the others do not change.
            accuracy: Relative residual that may be left [-].

        Returns:
            (n + len(free),) step; NaN where the tangent is not positive definite.
        """
        fresh = self._factor_free is not None and np.array_equal(free, self._factor_free)
        if self._age > _REFACTORISE_AFTER or not fresh:
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
