"""The choice of the sparse Cholesky solver by the environment variable FE_DATA_SOLVER."""

import os
from typing import Protocol

from fe_data.arrays import Floats, Ints

VARIABLE = "FE_DATA_SOLVER"
SOLVERS = ("own", "cholmod", "petsc")


class SparseCholesky(Protocol):
    """A factorisation A = L Lᵀ for one sparsity pattern.

    Change `values` in place, factorise, and solve.
    """

    name: str  # what results say about their solver
    values: Floats  # (entries,) upper triangle of the matrix, in the order of the pattern

    def factorise(self) -> None:
        """Factorise the current values."""

    def solve(self, rhs: Floats) -> Floats:
        """Solve for right-hand sides (n,) or (n, k); NaN where the factorisation failed."""


def chosen_solver() -> str:
    """Name of the solver that FE_DATA_SOLVER chooses, the first when the variable is not set.

    Returns:
        One of SOLVERS.

    Raises:
        ValueError: If the variable names no solver.

    >>> chosen_solver() in SOLVERS
    True
    """
    name = os.environ.get(VARIABLE) or SOLVERS[0]
    if name not in SOLVERS:
        raise ValueError(f"{VARIABLE} = {name!r} is unknown: allowed are {', '.join(SOLVERS)}")
    return name


def sparse_cholesky(indptr: Ints, indices: Ints, coordinates: Floats) -> SparseCholesky:
    """The chosen solver for one sparsity pattern, see `cholesky.MultifrontalCholesky`."""
    name = chosen_solver()
    if name == "own":
        from fe_data.sparse.cholesky import MultifrontalCholesky

        return MultifrontalCholesky(indptr, indices, coordinates)
    from fe_data.sparse.petsc import PetscCholesky

    return PetscCholesky(indptr, indices, name)
