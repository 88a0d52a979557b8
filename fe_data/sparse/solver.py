"""Select the sparse Cholesky solver by the environment variable FE_DATA_SOLVER."""

import os
from typing import Protocol

from fe_data.arrays import Floats, Ints

VARIABLE = "FE_DATA_SOLVER"
SOLVERS = ("own", "cholmod", "petsc")


class SparseCholesky(Protocol):
    """A factorisation A = L Lᵀ for one sparsity pattern.

    Change `values` in place, call `factorise`, then `solve`.
    """

    name: str  # of the solver, as written to results
    values: Floats  # (entries,) upper triangle of the matrix, in the order of the pattern

    def factorise(self) -> None:
        """Factorise the current values."""

    def solve(self, rhs: Floats) -> Floats:
        """Solve for right-hand sides (n,) or (n, k); NaN if the factorisation failed."""


def chosen_solver() -> str:
    """Return the name of the solver in FE_DATA_SOLVER; the default is the first of SOLVERS.

    Returns:
        One of SOLVERS.

    Raises:
        ValueError: If the variable has another value.

    >>> chosen_solver() in SOLVERS
    True
    """
    name = os.environ.get(VARIABLE) or SOLVERS[0]
    if name not in SOLVERS:
        raise ValueError(f"{VARIABLE} = {name!r:.60} is unknown: allowed are {', '.join(SOLVERS)}")
    return name


def sparse_cholesky(indptr: Ints, indices: Ints, coordinates: Floats) -> SparseCholesky:
    """Make the selected solver for a sparsity pattern, see `cholesky.MultifrontalCholesky`."""
    name = chosen_solver()
    if name == "own":
        from fe_data.sparse.cholesky import MultifrontalCholesky

        return MultifrontalCholesky(indptr, indices, coordinates)
    from fe_data.sparse.petsc import PetscCholesky

    return PetscCholesky(indptr, indices, name)


def sparse_ldl(indptr: Ints, indices: Ints, coordinates: Floats) -> SparseCholesky:
    """Make the solver for a matrix that may be indefinite; others than "own" then need LU."""
    if chosen_solver() != "own":
        return sparse_cholesky(indptr, indices, coordinates)
    from fe_data.sparse.indefinite import MultifrontalLDL

    return MultifrontalLDL(indptr, indices, coordinates)
