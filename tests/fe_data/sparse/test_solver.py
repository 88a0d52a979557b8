"""The solver that FE_DATA_SOLVER chooses, and what a volume element gives with each of them."""

import numpy as np
import pytest

from fe_data.mechanics.rve import solve_rve
from fe_data.settings import Inputs, Settings
from fe_data.sparse.solver import SOLVERS, VARIABLE, sparse_cholesky


def _solve():
    settings = Settings(n_fibres=4, increments=10, tolerance=1e-11)
    return solve_rve(Inputs(0.3, 400.0, 400.0, 0.4), settings, seed=1, fit=False)


@pytest.fixture(scope="module")
def averages():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        return _solve()


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVERS[1:])
def test_every_solver_gives_the_averages_of_our_own(monkeypatch, averages, name):
    monkeypatch.setenv(VARIABLE, name)
    other = _solve()
    assert averages.problem.system.solver.name == "multifrontal"  # without the variable
    assert other.problem.system.solver.name == name
    for quantity, values in averages.history.items():
        assert np.abs(other.history[quantity] - values).max() <= 1e-8 * np.abs(values).max()


def test_an_unknown_solver_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "pardiso")
    with pytest.raises(ValueError, match="FE_DATA_SOLVER = 'pardiso' is unknown"):
        _solve()


@pytest.mark.parametrize("name", SOLVERS)
def test_an_indefinite_matrix_gives_no_numbers_and_the_next_one_does(monkeypatch, name):
    monkeypatch.setenv(VARIABLE, name)
    solver = sparse_cholesky(np.array([0, 2, 3], np.int32), np.array([0, 1, 1]), np.eye(2))
    for values, definite in (((1.0, 2.0, 1.0), False), ((2.0, 1.0, 4.0), True)) * 2:
        solver.values[:] = values
        solver.factorise()
        assert np.isfinite(solver.solve(np.ones(2))).all() == definite
        assert np.isnan(solver.solve(np.ones(2))).all() != definite
