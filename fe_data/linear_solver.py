"""Positive definite systems whose matrix changes slowly: sparse Cholesky as preconditioner.

A factorisation costs as much as ten solves. An old factor is kept as the preconditioner of
conjugate gradients on the current stiffness, and renewed only when it has aged too much.
"""

import weakref

import numba
import numpy as np
from petsc4py import PETSc

from fe_data.pardiso import PardisoSolver
from fe_data.pardiso import library as pardiso_library


@numba.njit(cache=True)
def symmetric_product(indptr, indices, values, x, y):
    """Write A x to y, from the upper triangle of A."""
    y[:] = 0.0
    for i in range(len(indptr) - 1):
        total = 0.0
        xi = x[i]
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            total += values[k] * x[j]
            if j != i:
                y[j] += values[k] * xi
        y[i] += total


def cholesky_solver(indptr: np.ndarray, indices: np.ndarray):
    """Return the fastest solver here for a pattern: Pardiso where it is installed, else CHOLMOD."""
    if pardiso_library() is not None:
        return PardisoSolver(indptr, indices)
    return PetscSolver(indptr, indices, "cholmod" if _has("suitesparse") else "mumps")


def _has(package: str) -> bool:
    return PETSc.Sys.hasExternalPackage(package)


def _destroy(*objects) -> None:
    for item in objects:
        item.destroy()


class PetscSolver:
    """CHOLMOD or MUMPS through PETSc, for one sparsity pattern; the upper triangle is stored.

    Change `values` in place, call `factorise`, then `solve`. The symbolic phase is done once.
    """

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, name: str):
        n = len(indptr) - 1
        self.name = name
        self.values = np.zeros(len(indices))
        csr = (indptr.astype(np.int32), indices.astype(np.int32), self.values)
        self._matrix = PETSc.Mat().createAIJWithArrays((n, n), csr, comm=PETSc.COMM_SELF)
        self._matrix.setOption(PETSc.Mat.Option.SPD, True)
        self._ksp = PETSc.KSP().create(PETSc.COMM_SELF)
        self._ksp.setType("preonly")
        self._ksp.getPC().setType("cholesky")
        self._ksp.getPC().setFactorSolverType(name)
        self._b, self._x = self._matrix.createVecs()
        # Left to themselves these objects outlive this one, and so do the factors.
        weakref.finalize(self, _destroy, self._ksp, self._matrix, self._b, self._x).atexit = False

    def factorise(self) -> None:
        """Factorise the current values."""
        self._matrix.assemble()
        self._matrix.stateIncrease()
        self._ksp.setOperators(self._matrix)
        self._ksp.setUp()

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Solve for one right-hand side (n,) or several (n, k)."""
        if rhs.ndim == 1:
            self._b.setArray(rhs)
            self._ksp.solve(self._b, self._x)
            return self._x.getArray().copy()
        solution = np.empty_like(rhs)
        for i, column in enumerate(rhs.T):
            solution[:, i] = self.solve(np.ascontiguousarray(column))
        return solution
