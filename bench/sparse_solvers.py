"""Sparse solvers on the tangent matrix of an RVE: python -m bench.sparse_solvers prints a table.

The table has the milliseconds of a factorisation and of one solve, with one thread, on the default
mesh. Times are medians over nine repetitions.
"""

import argparse
import statistics
import timeit
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from fe_data.mechanics.bordered_system import BorderedSystem
from fe_data.mechanics.rve import solve_rve
from fe_data.settings import Inputs, Settings
from fe_data.sparse.petsc import PetscCholesky

REPEATS = 9


def plastic_tangent() -> BorderedSystem:
    """Return the tangent system of an RVE at 1 % strain."""
    settings = Settings(strain=0.01, increments=10, tolerance=1e-4)
    rve = solve_rve(Inputs(0.23, 400.0, 400.0, 0.4), settings, seed=3, fit=False)
    rve.problem.assemble_tangent(rve.path.state)
    return rve.problem.system


class SuperLU:
    """SciPy's SuperLU, symmetric mode."""

    def __init__(self, matrix: sp.csr_matrix):
        self.matrix = matrix.tocsc()

    def factorise(self) -> None:
        """Factorise; the symbolic phase cannot be stored, so it is included."""
        options = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
        self.solve = splu(self.matrix, diag_pivot_thresh=0.0, **options).solve


def milliseconds(action: Callable) -> float:
    """Return the median wall time of an action [ms]."""
    return 1e3 * statistics.median(timeit.repeat(action, number=1, repeat=REPEATS))


def main() -> None:
    """Print the table."""
    system = plastic_tangent()
    values = system.solver.values.copy()
    n = system.n
    pattern = (system.indptr, system.indices)
    upper = sp.csr_matrix((values, *reversed(pattern)), shape=(n, n))
    full = (upper + sp.triu(upper, 1).T).tocsr()
    solvers = {
        "own multifrontal": system.solver,
        "CHOLMOD (PETSc)": PetscCholesky(*pattern, "cholmod"),
        "MUMPS (PETSc)": PetscCholesky(*pattern, "petsc"),
        "SuperLU (SciPy)": SuperLU(full),
    }
    rhs = np.random.default_rng(0).standard_normal(n)
    print(f"{n} unknowns, {full.nnz} entries")
    print(f"{'solver':18s} factor [ms]  solve [ms]    residual")
    for name, solver in solvers.items():
        if hasattr(solver, "values"):
            solver.values[:] = values
        factor = milliseconds(solver.factorise)  # the first one includes symbolic work
        one = milliseconds(lambda s=solver: s.solve(rhs))
        residual = np.linalg.norm(full @ solver.solve(rhs) - rhs) / np.linalg.norm(rhs)
        print(f"{name:18s} {factor:11.1f} {one:11.2f} {residual:11.1e}", flush=True)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
