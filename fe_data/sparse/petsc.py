"""Sparse Cholesky factorisations of libraries, through PETSc."""

import numpy as np
from petsc4py import PETSc

from fe_data.arrays import Floats, Ints

_PACKAGES = {"cholmod": "cholmod", "petsc": "mumps"}
# CHOLMOD then refuses an indefinite matrix, small ones too, which it else factorises as L D L^T.
for _option, _value in (("final_asis", 0), ("final_ll", 1)):
    PETSc.Options().setValue(f"mat_cholmod_{_option}", _value)


class PetscCholesky:
    """CHOLMOD or MUMPS ("petsc") in double precision, a `solver.SparseCholesky`."""

    def __init__(self, indptr: Ints, indices: Ints, name: str):
        PETSc.garbage_cleanup()  # frees what earlier solvers left behind
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
        try:
            self._ksp.setUp()
            factor = self._ksp.getPC().getFactorMatrix()  # MUMPS counts the negative pivots
            self._definite = self.name == "cholmod" or factor.getMumpsInfog(12) == 0
        except PETSc.Error:
            self._definite = False

    def solve(self, rhs: Floats) -> Floats:
        """Solve for right-hand sides (n,) or (n, k); NaN where the factorisation failed."""
        columns = rhs.reshape(len(rhs), -1)
        x = np.full_like(columns, np.nan)
        for j, column in enumerate(columns.T if self._definite else ()):
            self._b.setArray(column)
            self._ksp.solve(self._b, self._x)
            x[:, j] = self._x.getArray() if self._ksp.getConvergedReason() > 0 else np.nan
        return x.reshape(rhs.shape)
