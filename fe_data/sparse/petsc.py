"""Sparse Cholesky factorisations by CHOLMOD and MUMPS, through PETSc."""

import numpy as np
from petsc4py import PETSc

from fe_data.arrays import Floats, Ints
from safe_files.text import Short

_PACKAGES = {"cholmod": "cholmod", "petsc": "mumps"}
# With these options CHOLMOD rejects an indefinite matrix. By default it factorises a small matrix
# as L D Lᵀ, even if it is indefinite.
PETSc.Options().setValue("mat_cholmod_final_asis", 0)
PETSc.Options().setValue("mat_cholmod_final_ll", 1)


class PetscCholesky(Short):
    """CHOLMOD or MUMPS (name "petsc") in double precision, with the `SparseCholesky` protocol."""

    def __init__(self, indptr: Ints, indices: Ints, name: str):
        PETSc.garbage_cleanup()  # frees objects of earlier solvers
        n = len(indptr) - 1
        self.name = name
        self.values = np.zeros(len(indices))
        csr = (indptr.astype(np.int32), indices.astype(np.int32), self.values)
        self._matrix = PETSc.Mat().createAIJWithArrays((n, n), csr, comm=PETSc.COMM_SELF)
        self._matrix.setOption(PETSc.Mat.Option.SPD, True)
        self._ksp = PETSc.KSP().create(PETSc.COMM_SELF)
        self._ksp.setType("preonly")
        self._ksp.getPC().setType("cholesky")
        self._ksp.getPC().setFactorSolverType(_PACKAGES[name])
        self._b, self._x = self._matrix.createVecs()

    def factorise(self) -> None:
        """Factorise the current values; the symbolic phase is done only once."""
        self._matrix.assemble()
        self._matrix.stateIncrease()
        self._ksp.setOperators(self._matrix)
        try:
            self._ksp.setUp()
            # MUMPS counts negative pivots; CHOLMOD fails on the first one.
            pc = self._ksp.getPC()
            self._definite = self.name == "cholmod" or pc.getFactorMatrix().getMumpsInfog(12) == 0
        except PETSc.Error:
            self._definite = False

    def solve(self, rhs: Floats) -> Floats:
        """Solve for right-hand sides (n,) or (n, k); NaN if the factorisation failed."""
        columns = rhs.reshape(len(rhs), -1)
        x = np.full_like(columns, np.nan)
        if self._definite:
            for j, column in enumerate(columns.T):
                self._b.setArray(column)
                self._ksp.solve(self._b, self._x)
                if self._ksp.getConvergedReason() > 0:
                    x[:, j] = self._x.getArray()
        return x.reshape(rhs.shape)
