"""Sparse solvers on the stiffness of a cell: python -m bench.fe_solvers prints the table.

Milliseconds of the symbolic phase, of a numeric factorisation and of one solve, one thread, at the
default mesh; medians of several. Pardiso is measured where MKL is installed.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from fe_data.cell import PeriodicCell
from fe_data.discretisation import discretise
from fe_data.homogenisation import solve
from fe_data.linear_solver import PetscSolver
from fe_data.mesh import generate_mesh
from fe_data.microstructure import random_microstructure
from fe_data.pardiso import PardisoSolver, library
from fe_data.rve import uniaxial
from fe_data.settings import Inputs, Settings

REPEATS = 9


def plastic_stiffness() -> PeriodicCell:
    """A cell at 1 % strain, its consistent stiffness assembled."""
    inputs = Inputs(0.23, 400.0, 400.0, 0.4)
    cell = PeriodicCell(
        discretise(generate_mesh(random_microstructure(0.23, 3))), inputs, Settings()
    )
    cell.linearise(solve(cell, uniaxial(0.01), 10, 1e-4).state)
    return cell


class SuperLU:
    """SciPy's SuperLU, symmetric mode."""

    def __init__(self, matrix: sp.csr_matrix):
        self.matrix = matrix.tocsc()

    def factorise(self) -> None:
        """Factorise, symbolic phase included: it cannot be kept."""
        options = {"SymmetricMode": True}
        self.lu = splu(
            self.matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
        )

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Solve one right-hand side."""
        return self.lu.solve(rhs)


def milliseconds(action: Callable, repeats: int = REPEATS) -> float:
    """Median wall time of an action."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def main() -> None:
    """Print the table."""
    cell = plastic_stiffness()
    values, n = cell.solver.values.copy(), cell.n
    upper = sp.csr_matrix((values, cell.indices, cell.indptr), shape=(n, n))
    full = (upper + sp.triu(upper, 1).T).tocsr()
    solvers = {
        "CHOLMOD (PETSc)": PetscSolver(cell.indptr, cell.indices, "cholmod"),
        "MUMPS (PETSc)": PetscSolver(cell.indptr, cell.indices, "mumps"),
        "SuperLU (SciPy)": SuperLU(full),
    }
    if library() is not None:
        solvers["Pardiso (MKL)"] = PardisoSolver(cell.indptr, cell.indices)
    rhs = np.random.default_rng(0).standard_normal(n)
    print(f"{n} unknowns, {full.nnz} entries")
    titles = ("first [ms]", "factor [ms]", "solve [ms]", "residual")
    print(f"{'solver':18s}" + "".join(f" {title:>11s}" for title in titles))
    for name, solver in solvers.items():
        if hasattr(solver, "values"):
            solver.values[:] = values
        first = milliseconds(solver.factorise, 1)
        factor = milliseconds(solver.factorise)
        one = milliseconds(lambda s=solver: s.solve(rhs))
        residual = np.linalg.norm(full @ solver.solve(rhs) - rhs) / np.linalg.norm(rhs)
        print(f"{name:18s} {first:11.1f} {factor:11.1f} {one:11.2f} {residual:11.1e}", flush=True)


if __name__ == "__main__":
    main()
