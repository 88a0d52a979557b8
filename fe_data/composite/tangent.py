"""The linearised equations of an RVE and their solution; the tangent may be unsymmetric.

    [ K    B ] [ du ]   [ r_u ]
    [ Bᵀ*  C ] [ dE ] = [ r_E ]

K is the derivative of the nodal forces by the displacements, and B their derivative by the free
mean strains. Bᵀ* is the derivative of the mean stresses by the displacements; for an associated law
it is Bᵀ. GMRES (Saad & Schultz, 1986) solves the system. The preconditioner is block elimination
with a factor of the symmetric part of an earlier tangent: L Lᵀ, or L S Lᵀ if phases or interfaces
can soften. The factor is renewed when GMRES needs many iterations. If GMRES fails even with the new
factor, LU factors of the tangent replace it until `drop_factor`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from fe_data.arrays import Floats, Ints
from fe_data.errors import ConvergenceError, memory_errors
from fe_data.sparse.solver import sparse_cholesky, sparse_ldl
from safe_files.text import Short

_MAX_ITERATIONS = 30  # of one call of GMRES
# The same if phases or interfaces can soften. With 30 fibres these iterations take less time than
# an LU factor.
_MAX_ITERATIONS_SOFTENING = 60
_REFINEMENTS = 4  # calls of GMRES for a solution to machine precision
_REFACTORISE_AFTER = 10  # after more iterations than this, the next solve begins with a new factor


class TangentSystem(Short):
    """Tangent of n displacements and of the mean strain: fill the arrays, then `solve`.

    Args:
        indptr: Row pointers of the pattern of nodes.
        indices: Column indices of this pattern.
        coordinates: (nodes, 2) positions of the nodes.
        block: Number of displacements of a node.
        size: Number k of components of the mean strain.
        indefinite: Whether the tangent may be indefinite, so that its symmetric part is factorised
            as L S Lᵀ.

    Attributes:
        values: (pairs, c, c) blocks of K between nodes, in the order of a BSR matrix.
        border: (n, k) derivative of the nodal forces by the mean strain.
        across: (k, n) derivative of the mean stress by the displacements.
        macro: (k, k) derivative of the mean stress by the mean strain.
    """

    def __init__(
        self,
        indptr: Ints,
        indices: Ints,
        coordinates: Floats,
        block: int,
        size: int,
        *,
        indefinite: bool = False,
    ):
        nodes = len(indptr) - 1
        n = nodes * block
        self.values = np.zeros((len(indices), block, block))
        self._K = sp.bsr_matrix((self.values, indices, indptr), shape=(n, n))
        self.values = self._K.data
        self.border = np.zeros((n, size))
        self.across = np.zeros((size, n))
        self.macro = np.zeros((size, size))
        # Places of the entries of the upper triangle, and of their mirror images, in the blocks.
        places = np.arange(1.0, self.values.size + 1).reshape(self.values.shape)
        numbered = sp.bsr_matrix((places, indices, indptr), shape=(n, n)).tocsr()
        upper, mirrored = (sp.triu(matrix, format="csr") for matrix in (numbered, numbered.T))
        for matrix in (upper, mirrored):
            matrix.sort_indices()
        self._upper: Ints = upper.data.astype(np.int64) - 1
        self._mirrored: Ints = mirrored.data.astype(np.int64) - 1
        solver = sparse_ldl if indefinite else sparse_cholesky
        self._solver = solver(upper.indptr, upper.indices, coordinates)
        self._refactorise_after = 2 if indefinite else _REFACTORISE_AFTER
        self._max_iterations = _MAX_ITERATIONS_SOFTENING if indefinite else _MAX_ITERATIONS
        self.counts = {"factorisations": 0, "iterations": 0, "lu_factorisations": 0}
        self._free: Floats = np.empty((size, 0))
        self.drop_factor()

    def drop_factor(self) -> None:
        """Make the next `solve` begin with a new factor, so that it does not depend on the past."""
        self._last_iterations = _REFACTORISE_AFTER + 1
        self._is_symmetric = True  # nearly symmetric, so that a Cholesky factor can be used

    def constant_product(self, u: Floats, values: Floats) -> Floats:
        """Multiply displacements (n,) by a matrix with other values in the pattern of K."""
        matrix = sp.bsr_matrix((values, self._K.indices, self._K.indptr), shape=self._K.shape)
        return np.asarray(matrix @ u)

    def product(self, x: Floats, free: Floats) -> Floats:
        """Multiply the tangent by a vector (n + k,) of displacements and free mean strains."""
        n = len(self.border)
        y = np.empty_like(x)
        y[:n] = self._K @ x[:n] + self.border @ (free @ x[n:])
        y[n:] = free.T @ (self.across @ x[:n] + self.macro @ (free @ x[n:]))
        return y

    def factorise(self, free: Floats) -> None:
        """Renew the preconditioner at the current tangent, for these free mean strains."""
        if self._is_symmetric:
            flat = self.values.reshape(-1)
            # (K + Kᵀ) / 2 = L Lᵀ
            self._solver.values[:] = 0.5 * (flat[self._upper] + flat[self._mirrored])
            self._solver.factorise()
            self._solve_factor: Callable[[Floats], Floats] = self._solver.solve
        else:
            self._solve_factor = self._lu_solve()
        self._free = free
        self._factor_across = free.T @ self.across
        # W = K⁻¹ B,   S = C - Bᵀ* W
        self._factor_border = self._solve_factor(self.border @ free)
        self._schur = free.T @ self.macro @ free - self._factor_across @ self._factor_border
        self.counts["factorisations"] += 1

    def _lu_solve(self) -> Callable[[Floats], Floats]:
        """Factorise K by LU, and return the solve function; it returns NaN if K is singular."""
        self.counts["lu_factorisations"] += 1
        options = {"SymmetricMode": True}
        try:
            with memory_errors():
                lu = splu(self._K.tocsc(), permc_spec="MMD_AT_PLUS_A", options=options)
        except RuntimeError:
            return lambda r: np.full_like(r, np.nan)
        return lambda r: np.asarray(lu.solve(r))

    def _precondition(self, r: Floats) -> Floats:
        """Apply block elimination with the last factor."""
        n = len(self.border)
        z = np.empty_like(r)
        # y = K⁻¹ r_u,   z_E = S⁻¹ (r_E - Bᵀ* y),   z_u = y - W z_E
        y = self._solve_factor(r[:n])
        z[n:] = np.linalg.solve(self._schur, r[n:] - self._factor_across @ y)
        z[:n] = y - self._factor_border @ z[n:]
        return z

    def solve(self, rhs: Floats, free: Floats, accuracy: float) -> Floats:
        """Solve for a Newton step.

        Args:
            rhs: (n + k,) residual of nodal forces and of the mean stresses of free components.
            free: (k, f) orthonormal directions of the f free mean strains.
            accuracy: Relative residual to reach.

        Returns:
            The step (n + k,) of displacements and free mean strains; NaN if GMRES fails.
        """
        stale = self._last_iterations > self._refactorise_after or not np.array_equal(
            free, self._free
        )
        if not stale:
            x, iterations = self._iterate(rhs, free, accuracy)
            if iterations <= self._max_iterations:
                return x
        self.factorise(free)
        x, iterations = self._iterate(rhs, free, accuracy)
        if iterations > self._max_iterations and self._is_symmetric:
            self._is_symmetric = False
            self.factorise(free)
            x, iterations = self._iterate(rhs, free, accuracy)
        return x

    def _iterate(self, rhs: Floats, free: Floats, accuracy: float) -> tuple[Floats, int]:
        """Solve by GMRES with the last factor; return the solution and the iterations."""
        product = partial(self.product, free=free)
        x, iterations = gmres(product, self._precondition, rhs, accuracy, self._max_iterations)
        self.counts["iterations"] += iterations
        self._last_iterations = iterations
        return x, iterations

    def solve_columns(self, right: Floats) -> Floats:
        """Solve K x = right to machine precision, with one factorisation.

        Args:
            right: (n, k) right-hand sides.

        Returns:
            Solutions (n, k).

        Raises:
            ConvergenceError: If K is singular.
        """
        x = self._columns(right)
        if self._is_symmetric and not np.isfinite(x).all():
            self._is_symmetric = False
            x = self._columns(right)
        if not np.isfinite(x).all():
            raise ConvergenceError("the tangent of the RVE cannot be computed: it is singular")
        return x

    def _columns(self, right: Floats) -> Floats:
        """Solve like `solve_columns`; NaN if GMRES fails."""
        self.factorise(np.empty((len(self.macro), 0)))
        x = np.zeros_like(right)
        for column, solution in zip(right.T, x.T, strict=True):
            residual = column
            for _ in range(_REFINEMENTS):
                step, _ = gmres(lambda v: self._K @ v, self._solve_factor, residual, 1e-6)
                solution += step
                residual = column - self._K @ solution
                if np.linalg.norm(residual) <= 1e-12 * np.linalg.norm(column):
                    break
        return x


def gmres(
    product: Callable[[Floats], Floats],
    precondition: Callable[[Floats], Floats],
    rhs: Floats,
    accuracy: float,
    max_iterations: int = _MAX_ITERATIONS,
) -> tuple[Floats, int]:
    """Solve A x = b by GMRES with right preconditioning, A M⁻¹ y = b, x = M⁻¹ y.

    Args:
        product: Product of A with a vector (n,).
        precondition: Product of M⁻¹ with a vector (n,).
        rhs: (n,) right-hand side b.
        accuracy: Relative residual to reach.
        max_iterations: Largest number of iterations.

    Returns:
        The solution (n,) and the number of iterations. If the accuracy is not reached or a number
        is not finite, the solution is NaN and the number is `max_iterations` + 1.

    >>> A = np.array([[4.0, 1.0], [-1.0, 3.0]])
    >>> x, iterations = gmres(lambda v: A @ v, lambda v: v, np.array([5.0, 2.0]), 1e-12)
    >>> x.round(12), iterations
    (array([1., 1.]), 2)
    """
    size = float(np.linalg.norm(rhs))
    if size == 0.0:
        return np.zeros_like(rhs), 0
    V = np.empty((max_iterations + 1, len(rhs)))  # orthonormal, A M⁻¹ V_k = V_k+1 H
    Z = np.empty((max_iterations, len(rhs)))  # M⁻¹ V
    H = np.zeros((max_iterations + 1, max_iterations))
    e1 = np.zeros(max_iterations + 1)
    e1[0] = size
    V[0] = rhs / size
    for k in range(max_iterations):
        Z[k] = precondition(V[k])
        w = product(Z[k])
        if not np.isfinite(w @ w):
            break
        for _ in range(2):  # Gram-Schmidt, repeated to reduce rounding errors
            h = V[: k + 1] @ w
            w -= h @ V[: k + 1]
            H[: k + 1, k] += h
        H[k + 1, k] = np.linalg.norm(w)
        # min | b - A M⁻¹ V y | = min | size e1 - H y |
        y, *_ = np.linalg.lstsq(H[: k + 2, : k + 1], e1[: k + 2], rcond=None)
        error = np.linalg.norm(e1[: k + 2] - H[: k + 2, : k + 1] @ y)
        if error <= accuracy * size:
            return y @ Z[: k + 1], k + 1
        V[k + 1] = w / H[k + 1, k]
    return np.full_like(rhs, np.nan), max_iterations + 1
