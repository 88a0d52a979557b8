"""Cells on paths in C against the same in Python, and the tangent by finite differences."""

import ctypes
import re
import shutil
import subprocess
import time

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from bnn.export import path_to_c
from bnn.paths import MaterialPointBasis, PathScatter, StrainPathEnsemble
from tests.bnn.concentration import concentration
from tests.bnn.export.conftest import FLAGS

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
    bank = MaterialPointBasis(concentration, BOUNDS, n_points=n_points)
    X = np.random.default_rng(1).uniform(BOUNDS[0] + 0.1, BOUNDS[1], (6, 4))
    strain = np.stack([walk(30, seed=i) for i in range(6)])
    stress = 1.1 * bank.features(X, strain).mean_fields
    return StrainPathEnsemble(bank, SCATTER, n_members=n_members, random_state=0).fit(
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
        given = [np.ascontiguousarray(old), np.ascontiguousarray(strain), new, stress, slope]
        pointers = [each.ctypes.data_as(POINTER) for each in given]
        assert self.function(member, *pointers[:4], pointers[4] if tangent else None) == 0
        return new, stress, slope

    def path(self, member, strain):
        """Stress (T, 3), with one array for the state at both ends of a step."""
        state = self.rest.copy()
        strain = np.ascontiguousarray(strain)
        stress = np.empty_like(strain)
        at = state.ctypes.data_as(POINTER)
        for E, S in zip(strain, stress, strict=True):
            given = E.ctypes.data_as(POINTER), at, S.ctypes.data_as(POINTER), None
            assert self.function(member, at, *given) == 0
        return stress


@pytest.fixture
def compiled(tmp_path):
    """Gives the function of a cell."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, cc")

    def build(model, X=CELL, **options):
        source = tmp_path / "model.c"
        library = tmp_path / "model.so"
        path_to_c(model, source, X, **options)
        text = source.read_text()
        includes = [line for line in text.splitlines() if "#include" in line]
        assert includes == ["#include <math.h>"]
        subprocess.run(["cc", *FLAGS, source, "-o", library, "-lm"], check=True)
        return Compiled(ctypes.CDLL(str(library)), text, options.get("name", "cell"))

    return build


def agree(found, wanted, tolerance=1e-9):
    assert np.abs(found - wanted).max() < tolerance * np.abs(wanted).max()


@pytest.mark.parametrize("X", CELLS, ids=str)
def test_stress_is_that_of_the_members_and_of_the_mean_in_python(compiled, model, X):
    cell = compiled(model, X)
    assert cell.members == 4
    assert len(cell.rest) == 4 * model.bank.n_histories
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


def test_a_closed_cycle_of_ten_thousand_steps_is_that_of_python(compiled, model):
    cell = compiled(model)
    angle = 2.0 * np.pi * np.arange(1, 10_001) / 500
    strain = 0.01 * np.stack([np.sin(angle), -0.4 * np.sin(angle), np.sin(2.0 * angle)], axis=1)
    found = cell.path(1, strain)
    assert np.isfinite(found).all()
    agree(found, model.predict_members([CELL], strain[None])[1, 0])


def test_an_elastic_loop_returns_to_its_stress_without_drift(compiled, model):
    """After flow, about a strain to which the load has turned back."""
    cell = compiled(model)
    loop = 1e-5 * np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    for member in (-1, 0):
        flow = np.linspace(0.0, 0.02, 11)[1:, None] * [1.0, -0.5, 0.3]
        begin = flow[-1] - [0.001, -0.0005, 0.0003]
        state = cell.rest
        for strain in [*flow, begin]:
            state, first, _ = cell.step(member, state, strain)
        flowed = state
        assert (flowed[3::4] > 0.0).mean() > 0.9  # an image strains little in this direction
        for strain in np.tile(begin + loop, (1000, 1)):
            state, stress, _ = cell.step(member, state, strain, tangent=False)
        np.testing.assert_array_equal(state, flowed)
        np.testing.assert_array_equal(stress, first)


def test_results_that_nobody_wants_may_be_null_pointers(compiled, model):
    cell = compiled(model, name="plate", members=2)
    assert cell.members == 2
    strain = np.array([0.01, -0.004, 0.003])
    new, stress, tangent = cell.step(1, cell.rest, strain)
    given = [each.ctypes.data_as(POINTER) for each in (cell.rest, strain)]
    for i, wanted in enumerate((new, stress, tangent)):
        alone = np.full(wanted.shape, np.nan)
        pointers = [alone.ctypes.data_as(POINTER) if i == j else None for j in range(3)]
        assert cell.function(1, *given, *pointers) == 0
        np.testing.assert_array_equal(alone, wanted)


def test_what_is_not_admissible_returns_one_and_writes_nothing(compiled, model):
    cell = compiled(model)

    def returned(member=0, old=None, strain=(0.0, 0.0, 0.0)):
        old = cell.rest if old is None else old
        written = [np.full(shape, 7.0) for shape in (len(cell.rest), 3, 9)]
        given = [np.array(old), np.array(strain), *written]
        found = cell.function(member, *(each.ctypes.data_as(POINTER) for each in given))
        assert all((each == 7.0).all() == (found == 1) for each in written)
        return found

    assert returned() == returned(-1) == returned(3) == 0
    assert returned(-2) == returned(4) == 1
    for wrong in (np.nan, np.inf, -np.inf, 1e101):
        for i in range(3):
            assert returned(strain=np.where(np.arange(3) == i, wrong, 0.0)) == 1
        for i in (0, len(cell.rest) - 1):
            assert returned(old=np.where(np.arange(len(cell.rest)) == i, wrong, 0.0)) == 1
    assert returned(old=np.where(np.arange(len(cell.rest)) == 3, -1e-3, 0.0)) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"X": CELL[None]}, r"X has shape \(1, 4\): must be \(4,\), vf, E_f_GPa"),
        ({"X": CELL[:3]}, r"X has shape \(3,\): must be \(4,\)"),
        ({"X": [0.3, np.nan, 400.0, 0.4]}, r"X\[1\] = nan: must be finite"),
        ({"X": [0.5, 350.0, 400.0, 0.4]}, "vf = 0.5: the bounds of the bank are 0 and 0.4"),
        ({"X": [0.3, 350.0, 400.0, 0.1]}, "c_m = 0.1: the bounds of the bank are 0.2 and 1"),
        ({"members": 5}, "members = 5: the ensemble has 4"),
        ({"members": 0}, "members = 0: must be an integer >= 1"),
        ({"name": "2d"}, "name = '2d': must be a name in C that begins with a letter"),
        ({"name": "exp"}, "name = 'exp': C, C\\+\\+ or their libraries have 'exp'"),
        ({"name": "LAW"}, "name = 'LAW': the file itself has another 'LAW'"),
        ({"name": "advance"}, "name = 'advance': the file itself has another 'advance'"),
        ({"max_bytes": 0}, "max_bytes = 0: must be an integer >= 1"),
        ({"max_bytes": 5000}, r"have \d+ bytes, more than max_bytes = 5000: take fewer members"),
    ],
    ids=str,
)
def test_wrong_options_are_named(tmp_path, model, options, words):
    with pytest.raises(ValueError, match=words):
        path_to_c(model, tmp_path / "model.c", **{"X": CELL} | options)
    assert not (tmp_path / "model.c").exists()


def test_other_models_and_such_that_are_not_fitted_are_refused(tmp_path, model):
    with pytest.raises(TypeError, match="instance of LinearRegression: must be a bnn"):
        path_to_c(LinearRegression(), tmp_path / "model.c", CELL)
    with pytest.raises(NotFittedError, match="not fitted: call fit first"):
        path_to_c(StrainPathEnsemble(model.bank, SCATTER), tmp_path / "model.c", CELL)


@pytest.mark.parametrize("name", ["x", "K_", "step", "EXP", "surrogate_members", "a" * 300])
@pytest.mark.parametrize("compiler", ["cc -std=c99", "c++ -x c++ -std=c++11"], ids=["C", "C++"])
def test_odd_names_compile_in_c_and_in_cpp(tmp_path, model, name, compiler):
    command = compiler.split()
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no compiler {command[0]}")
    path_to_c(model, tmp_path / "model.c", CELL, name=name)
    warnings = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    subprocess.run([*command, *warnings, tmp_path / "model.c"], check=True)


def test_size_and_time_of_a_file_of_the_default_bank(compiled, tmp_path):
    """Print what docs/bnn.md says, and assert the size."""
    cell = compiled(fitted(n_points=MaterialPointBasis.n_points, n_members=20))
    size = (tmp_path / "model.c").stat().st_size
    strain = walk(1000)
    stress = np.empty(3)
    tangent = np.empty(9)
    for name, slope in (("without", None), ("with", tangent.ctypes.data_as(POINTER))):
        state = cell.rest.copy()
        at, S = (each.ctypes.data_as(POINTER) for each in (state, stress))
        steps = [E.ctypes.data_as(POINTER) for E in strain]
        start = time.process_time()
        for E in steps:
            cell.function(0, at, E, at, S, slope)
        seconds = (time.process_time() - start) / len(steps)
        print(f"{size} bytes, {seconds * 1e6:.0f} µs a step {name} tangent")
    assert (state[3::4] > 0.0).all()
    assert size < 100_000
