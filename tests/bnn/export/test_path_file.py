"""Cells on paths in C against the same in Python, and the tangent by finite differences."""

import ctypes
import re
import time

import numpy as np
import pytest

from bnn.export import path_to_c
from bnn.paths import MaterialPointBasis, PathScatter, StrainPathEnsemble
from fe_data import strain_concentration
from tests.bnn.export.conftest import built

BOUNDS = np.array([[0.0, 200.0, 0.0, 0.2], [0.4, 600.0, 500.0, 1.0]])
CELL = np.array([0.3, 350.0, 400.0, 0.4])
# Hardening with an infinite slope at rest, linear hardening, and none
CELLS = [CELL, [0.2, 250.0, 300.0, 1.0], [0.1, 500.0, 0.0, 0.5]]
POINTER = ctypes.POINTER(ctypes.c_double)
SCATTER = PathScatter(np.tile([5.0, 3.0, 0.0, 0.0], (3, 1)))


def walk(steps, size=0.001, seed=0):
    """Strain (steps, 3) that turns often, in steps of some quarter of the strain at yield."""
    return np.cumsum(size * np.random.default_rng(seed).standard_normal((steps, 3)), axis=0)


def fitted(n_points=5, n_members=4):
    """An ensemble that learnt from stress which mean fields do not say."""
    basis = MaterialPointBasis(strain_concentration, BOUNDS, n_points=n_points)
    X = np.random.default_rng(1).uniform(BOUNDS[0] + 0.1, BOUNDS[1], (6, 4))
    strain = np.stack([walk(30, seed=i) for i in range(6)])
    stress = 1.1 * basis.features(X, strain).mean_fields
    return StrainPathEnsemble(basis, SCATTER, n_members=n_members, random_state=0).fit(
        X, strain, stress
    )


@pytest.fixture(scope="module")
def model():
    return fitted()


class Compiled:
    """The function of a file, with arrays of NumPy."""

    def __init__(self, library, source, name):
        self.function = getattr(library, name)
        self.members = getattr(library, f"{name}_members")()
        points = int(re.search(r"#define POINTS (\d+)", source)[1])
        self.rest = np.zeros(4 * points)

    def step(self, member, old, strain, tangent=True):
        """New state, stress and tangent, none of which was there before."""
        new = np.full(len(self.rest), np.nan)
        stress = np.full(3, np.nan)
        slope = np.full((3, 3), np.nan)
        arrays = [np.ascontiguousarray(old), np.ascontiguousarray(strain), new, stress, slope]
        pointers = [array.ctypes.data_as(POINTER) for array in arrays]
        assert self.function(member, *pointers[:4], pointers[4] if tangent else None) == 0
        return new, stress, slope

    def path(self, member, strain):
        """Stress (T, 3), with one array for the state at both ends of a step."""
        state = self.rest.copy()
        strain = np.ascontiguousarray(strain)
        stress = np.empty_like(strain)
        at = state.ctypes.data_as(POINTER)
        for E, S in zip(strain, stress, strict=True):
            arguments = E.ctypes.data_as(POINTER), at, S.ctypes.data_as(POINTER), None
            assert self.function(member, at, *arguments) == 0
        return stress


@pytest.fixture
def compiled(tmp_path):
    """Gives the function of a cell."""

    def build(model, X=CELL, **options):
        source = tmp_path / "model.c"
        path_to_c(model, source, X, **options)
        library = built(source, tmp_path / "model.so")
        return Compiled(library, source.read_text(), options.get("name", "rve"))

    return build


def agree(computed, wanted, tolerance=1e-9):
    assert np.abs(computed - wanted).max() < tolerance * np.abs(wanted).max()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a strain of")  # beyond those of the short training
@pytest.mark.parametrize("X", CELLS, ids=str)
def test_stress_is_that_of_the_members_and_of_the_mean_in_python(compiled, model, X):
    cell = compiled(model, X)
    assert cell.members == 4
    assert len(cell.rest) == 4 * model.basis.n_histories
    for seed in (0, 1):
        strain = walk(100, seed=seed)
        members = model.predict_members([X], strain[None])[:, 0]
        assert np.ptp(members, axis=0).max() > 1e-3 * np.abs(members).max()  # MPa, they differ
        for k in range(4):
            agree(cell.path(k, strain), members[k])
        agree(cell.path(-1, strain), model.predict([X], strain[None])[0])


@pytest.mark.parametrize("X", CELLS, ids=str)
@pytest.mark.parametrize("member", [-1, 2])
def test_the_tangent_is_symmetric_and_that_of_finite_differences(compiled, model, X, member):
    cell = compiled(model, X)
    state = cell.rest
    h = 1e-8
    flowing = []
    for strain in [1e-5 * np.ones(3), *walk(20, seed=3), *walk(20, size=0.02, seed=3)]:
        tangent = cell.step(member, state, strain)[2]
        # half a step of the tensor's xy is one of the engineering shear
        steps = h * np.diag([1.0, 1.0, 0.5])
        ahead = [cell.step(member, state, strain + step)[1] for step in steps]
        behind = [cell.step(member, state, strain - step)[1] for step in steps]
        differences = (np.array(ahead) - behind).T / (2.0 * h)
        agree(tangent, differences, 1e-6)
        np.testing.assert_array_equal(tangent, tangent.T)
        old = state
        state = cell.step(member, state, strain, tangent=False)[0]
        flowing.append(np.mean(state[3::4] > old[3::4]))
    # elastic steps, such in which some points yield, and such in which all do
    assert min(flowing) == 0.0
    assert max(flowing) == 1.0


def test_an_elastic_loop_returns_to_its_stress_without_drift(compiled, model):
    """After flow, about a strain to which the load has turned back."""
    cell = compiled(model)
    flow = np.linspace(0.0, 0.02, 11)[1:, None] * [1.0, -0.5, 0.3]
    begin = flow[-1] - [0.001, -0.0005, 0.0003]
    state = cell.rest
    for strain in [*flow, begin]:
        state, first, _ = cell.step(-1, state, strain)
    for strain in (*(begin + 1e-5 * np.eye(3)), begin):
        after, stress, _ = cell.step(-1, state, strain, tangent=False)
        np.testing.assert_array_equal(after, state)
    np.testing.assert_array_equal(stress, first)


def test_what_is_not_admissible_returns_one_and_writes_nothing(compiled, model):
    cell = compiled(model, name="plate", members=2)
    assert cell.members == 2

    def returned(member=0, old=(None, 0.0), strain=(0, 0.0)):
        """Of a state and a strain of zeros in which one value is another."""
        inputs_of_c = [cell.rest.copy(), np.zeros(3)]
        inputs_of_c[0][old[0] or 0] = old[1]
        inputs_of_c[1][strain[0]] = strain[1]
        written = [np.full(shape, 7.0) for shape in (len(cell.rest), 3, 9)]
        pointers = [array.ctypes.data_as(POINTER) for array in (*inputs_of_c, *written)]
        status = cell.function(member, *pointers)
        assert all((array == 7.0).all() == (status == 1) for array in written)
        assert all(np.isfinite(array).all() for array in written)
        return status

    assert returned() == returned(-1) == returned(1) == 0
    assert returned(-2) == returned(2) == 1
    for wrong in (np.nan, np.inf, 1e101):
        assert all(returned(strain=(i, wrong)) == 1 for i in range(3))
        assert all(returned(old=(i, wrong)) == 1 for i in (0, len(cell.rest) - 1))
    assert returned(old=(3, -1e-3)) == 1
    for large in (1e100, -1e100):
        assert all(returned(strain=(i, large)) == 0 for i in range(3))


def test_size_and_time_of_a_file_of_the_default_basis(compiled, tmp_path):
    """Print what docs/paths.md says, and assert the size."""
    cell = compiled(fitted(n_points=MaterialPointBasis.n_points, n_members=20))
    size = (tmp_path / "model.c").stat().st_size
    strain = walk(1000)
    stress = np.empty(3)
    tangent = np.empty(9)
    for name, slope in (("without", None), ("with", tangent.ctypes.data_as(POINTER))):
        state = cell.rest.copy()
        at, S = (array.ctypes.data_as(POINTER) for array in (state, stress))
        steps = [E.ctypes.data_as(POINTER) for E in strain]
        start = time.process_time()
        for E in steps:
            cell.function(0, at, E, at, S, slope)
        seconds = (time.process_time() - start) / len(steps)
        print(f"{size} bytes, {seconds * 1e6:.0f} µs a step {name} tangent")
    assert (state[3::4] > 0.0).all()
    assert size < 100_000
