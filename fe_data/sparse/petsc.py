"""Sparse Cholesky factorisations of libraries, through PETSc."""

import numpy as np
from petsc4py import PETSc

from fe_data.arrays import Floats, Ints

_PACKAGES = {"cholmod": "cholmod", "petsc": "mumps"}


class PetscCholesky:
    """CHOLMOD or MUMPS in double precision, a `solver.SparseCholesky`.

    Args:
        indptr: (n + 1,) of the upper triangle with a full diagonal (CSR).
        indices: Its columns.
        name: "cholmod", or "petsc" for MUMPS.
    """

    def __init__(self, indptr: Ints, indices: Ints, name: str):
        n = len(indptr) - 1
        self.name, self.values = name, np.zeros(len(indices))
        csr = (indptr.astype(np.int32), indices.astype(np.int32), self.values)
        self._matrix = PETSc.Mat().createAIJWithArrays((n, n), csr, comm=PETSc.COMM_SELF)
        self._matrix.setOption(PETSc.Mat.Option.SPD, True)
        self._ksp = PETSc.KSP().create(PETSc.COMM_SELF)
        self._ksp.setType("preonly")
        self._ksp.getPC().setType("cholesky")
        self._ksp.getPC().setFactorSolverType(_PACKAGES[name])
        self._b, self._x = self._matrix.createVecs()

    def factorise(self) -> None:
        """Factorise the current values; the symbolic phase is done once."""
        self._matrix.assemble()
        self._matrix.stateIncrease()
        self._ksp.setOperators(self._matrix)
        self._ksp.setUp()

    def solve(self, rhs: Floats) -> Floats:
        """Solve for right-hand sides (n,) or (n, k); NaN where the factorisation failed."""
        columns = rhs.reshape(len(rhs), -1)
        x = np.empty_like(columns)
        for j, column in enumerate(columns.T):
            self._b.setArray(column)
            self._ksp.solve(self._b, self._x)
            x[:, j] = self._x.getArray() if self._ksp.getConvergedReason() > 0 else np.nan
        return x.reshape(rhs.shape)
