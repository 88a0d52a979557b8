"""The sparse Cholesky factorisation against dense linear algebra."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from fe_data.sparse.cholesky import MultifrontalCholesky
from fe_data.sparse.symbolic import plan_elimination

ACCURACY = 2e-4  # single precision, condition numbers up to a thousand


def _grid(nx, ny, block, rng, periodic=False):
    """Random positive definite matrix on a grid with diagonals, and its nodes."""
    x, y = np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij")
    xy = np.column_stack([x.ravel() / nx, y.ravel() / ny])
    distance = np.abs(xy[:, None] - xy[None]) * [nx, ny]
    if periodic:
        distance = np.minimum(distance, [nx, ny] - distance)
    joined = np.kron((distance <= 1.5).all(axis=2), np.ones((block, block)))
    a = rng.standard_normal(joined.shape) * joined
    a = np.triu(a, 1) + np.triu(a, 1).T
    a += np.diag(1.02 * np.abs(a).sum(axis=1) + 0.01)
    return a, joined, xy


def _solver(a, joined, xy):
    upper = sp.csr_matrix(np.triu(joined))
    upper.sort_indices()
    solver = MultifrontalCholesky(upper.indptr, upper.indices, xy)
    rows = np.repeat(np.arange(len(a)), np.diff(upper.indptr))
    solver.values[:] = a[rows, upper.indices]
    return solver


@settings(max_examples=20, deadline=None)
@given(
    nx=st.integers(1, 14),
    ny=st.integers(1, 14),
    block=st.integers(1, 3),
    periodic=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_solutions_are_those_of_dense_algebra(nx, ny, block, periodic, seed):
    rng = np.random.default_rng(seed)
    a, joined, xy = _grid(nx, ny, block, rng, periodic)
    solver = _solver(a, joined, xy)
    n = len(a)
    values = solver.values.copy()
    for scale in (1.0, 3.0):
        solver.values[:] = scale * values
        solver.factorise()
        for shape in ((n,), (n, 1), (n, 3), (n, 0)):
            b = rng.standard_normal(shape)
            exact = np.linalg.solve(scale * a, b)
            x = solver.solve(b)
            assert x.shape == b.shape
            assert np.linalg.norm(x - exact) <= ACCURACY * np.linalg.norm(exact)


def test_fill_on_a_grid_grows_as_nested_dissection_lets_it():
    flops = []
    for side in (16, 32):
        _, joined, xy = _grid(side, side, 1, np.random.default_rng(0))
        upper = sp.csr_matrix(np.triu(joined))
        plan = plan_elimination(upper.indptr, upper.indices, xy)
        assert sorted(plan.position) == list(range(side**2))
        assert plan.eliminated.sum() == side**2
        size = plan.size.astype(float)
        updated = (plan.size - plan.eliminated).astype(float)
        flops.append((size**3 - updated**3).sum() / 3)
    assert flops[1] < 11 * flops[0]  # n^(3/2): 8 times; a band matrix: 16 times


def test_a_matrix_singular_in_single_precision_is_shifted():
    # A chain of springs that is held by next to nothing.
    n = 30
    a = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    a[0, 0] = a[-1, -1] = 1.0
    a[0, 0] += 1e-9
    joined = (np.abs(a) > 0).astype(float)
    solver = _solver(a, joined, np.column_stack([np.arange(n), np.zeros(n)]))
    solver.factorise()
    b = np.random.default_rng(2).standard_normal(n)
    b -= b.mean()
    x = solver.solve(b)
    assert np.linalg.norm(a @ x - b) < 1e-2 * np.linalg.norm(b)
