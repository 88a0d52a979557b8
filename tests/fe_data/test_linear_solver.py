"""Sparse solvers against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp

from fe_data.linear_solver import PetscSolver, cholesky_solver, symmetric_product
from fe_data.pardiso import PardisoSolver, library

SOLVERS = [
    pytest.param(lambda *pattern: PetscSolver(*pattern, "cholmod"), id="cholmod"),
    pytest.param(lambda *pattern: PetscSolver(*pattern, "mumps"), id="mumps"),
    pytest.param(
        PardisoSolver,
        id="pardiso",
        marks=pytest.mark.skipif(library() is None, reason="MKL's Pardiso is not installed"),
    ),
]


@pytest.fixture
def matrix():
    rng = np.random.default_rng(0)
    a = sp.random(60, 60, 0.1, random_state=rng)
    return (a @ a.T + 0.1 * sp.eye(60)).tocsr()


def _upper(matrix):
    upper = sp.triu(matrix, format="csr")
    upper.sort_indices()
    return upper


@pytest.mark.parametrize("kind", SOLVERS)
def test_solves_and_refactorises(matrix, kind):
    upper, rng = _upper(matrix), np.random.default_rng(1)
    solver = kind(upper.indptr, upper.indices)
    for scale in (1.0, 3.0):
        solver.values[:] = scale * upper.data
        solver.factorise()
        for shape in ((60,), (60, 1), (60, 3), (60, 0)):
            b = rng.standard_normal(shape)
            exact = np.linalg.solve(scale * matrix.toarray(), b)
            assert solver.solve(b) == pytest.approx(exact, rel=1e-9)


def test_product_from_the_upper_triangle(matrix):
    upper, x = _upper(matrix), np.random.default_rng(2).standard_normal(60)
    y = np.empty(60)
    symmetric_product(upper.indptr, upper.indices, upper.data, x, y)
    assert y == pytest.approx(matrix @ x, rel=1e-12)


def test_a_solver_is_found(matrix):
    upper = _upper(matrix)
    solver = cholesky_solver(upper.indptr, upper.indices)
    assert solver.name in ({"cholmod", "mumps"} if library() is None else {"pardiso"})
