"""A volume element at a point of a larger structure."""

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fe_data import (
    ConvergenceError,
    Inputs,
    Isotropic,
    Loading,
    Material,
    MaterialPoint,
    Microstructure,
    Phases,
    Settings,
    VolumeFraction,
    YieldStress,
    named_phases,
    solve_composite,
    solve_rve,
)
from tests.fe_data.perzyna import perzyna

INPUTS = Inputs(0.2, 400.0, 400.0, 0.4)
SETTINGS = Settings(n_fibres=2, resolution=3, tolerance=1e-9)
END = np.array([0.02, -0.008, 0.004])


@pytest.fixture
def point():
    return MaterialPoint(INPUTS, SETTINGS, seed=1)


def test_accepted_steps_are_the_increments_of_a_simulated_path(point):
    loading = Loading(strain=[tuple(END), tuple(-END)], increments=4)
    expected = solve_rve(INPUTS, SETTINGS, loading, seed=1, silent=True).history["stress"][1:]
    responses = []
    for strain in [*np.outer([0.25, 0.5, 0.75, 1.0], END), *np.outer([0.5, 0, -0.5, -1.0], END)]:
        stress, _ = point.respond(strain)
        point.accept()
        responses.append(stress)
    np.testing.assert_allclose(responses, expected[:, [0, 1, 3]], rtol=1e-7, atol=1e-5)


def _answer(point, strain):
    """Stress and tangent in one array; NaN where there is no equilibrium."""
    try:
        return np.concatenate([values.ravel() for values in point.respond(strain)])
    except ConvergenceError:
        return np.full(12, np.nan)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_answers_depend_on_accepted_states_alone(seed):
    """A point that tries other strains first answers as one that is asked once, to the last bit."""
    rng = np.random.default_rng(seed)
    coarse = Settings(n_fibres=2, resolution=3)
    searching, direct = (MaterialPoint(INPUTS, coarse, seed=1) for _ in range(2))
    accepted = np.zeros(3)
    for _ in range(3):
        strain = accepted + 0.06 * rng.normal(size=3)  # large steps, of which some are cut back
        nearly = strain * (1 + 0.2 * rng.normal(size=3))
        elsewhere = 0.1 * rng.normal(size=3)
        for trial in rng.permutation([nearly, elsewhere, strain, nearly])[: rng.integers(4)]:
            _answer(searching, trial)
        expected = _answer(direct, strain)
        np.testing.assert_array_equal(_answer(searching, strain), expected)
        np.testing.assert_array_equal(_answer(searching, strain), expected)
        if np.isfinite(expected).all():
            searching.accept()
            direct.accept()
            accepted = strain
    assert direct._follower.counts["cutbacks"] > 0


def test_a_trial_that_failed_cannot_be_accepted(monkeypatch, point):
    """Neither the failed trial nor the one before becomes the state; the accepted state stays."""
    point.respond(0.5 * END)
    point.accept()
    expected = point.respond(END)

    advance = point._follower.advance

    def fail_in_the_middle(end):
        advance(0.4)
        raise ConvergenceError(f"no equilibrium at {end}")

    point.respond(-0.5 * END)
    with monkeypatch.context() as patch:
        patch.setattr(point._follower, "advance", fail_in_the_middle)
        with pytest.raises(ConvergenceError):
            point.respond(-END)
    with pytest.raises(RuntimeError, match="the last trial ended in an error"):
        point.accept()
    point.respond(-0.5 * END)
    with pytest.raises(ValueError, match="strain"):
        point.respond([np.nan, 0.0, 0.0])
    with pytest.raises(RuntimeError, match="the last trial ended in an error"):
        point.accept()
    for response, value in zip(point.respond(END), expected, strict=True):
        np.testing.assert_array_equal(response, value)


ONE_FIBRE = Microstructure([[0.5, 0.5]], [0.3])
VF = VolumeFraction(ONE_FIBRE.volume_fraction)
EXACT = Settings(resolution=2, tolerance=1e-11)
HARDENING = YieldStress(40.0, 40.0, 0.01, "voce")
METAL, POLYMER = Isotropic(70.0, 0.3), Isotropic(3.76, 0.39)


CREEP = {"yield_stress_MPa": 20.0, "viscosity_MPa_s": 100.0}
MATRICES = {
    "j2": Material(METAL, "j2", {"yield_stress": HARDENING}),
    "chaboche": Material(
        METAL, "chaboche", {"yield_stress": HARDENING, "C1_MPa": 5000.0, "gamma1": 100.0}
    ),
    "drucker_prager": Material(
        POLYMER,
        "drucker_prager",
        {"compression": HARDENING, "friction_angle_deg": 20.0, "dilation_angle_deg": 10.0},
    ),
    "paraboloidal": Material(
        POLYMER,
        "paraboloidal",
        {
            "tension": YieldStress(29.0, 64.0, 0.01, "voce"),
            "compression": HARDENING,
            "plastic_poisson_ratio": 0.45,
        },
    ),
    "perzyna": Material(POLYMER, perzyna.__name__, CREEP),
}
SUBSTEPS = 0.25, 0.75, 1.0


def composite(matrix):
    return Phases(MATRICES[matrix], Material(Isotropic(400.0, 0.2)))


@pytest.fixture
def _in_steps(request, monkeypatch):
    """Responses reach the end of an increment at once, or in substeps as after a cutback."""

    def advance(start, end, attempt, state, longest, _):
        for fraction in SUBSTEPS:
            assert attempt(start + fraction * (end - start)) == 0.0, state
        return 0, longest

    if request.param == "substeps":
        monkeypatch.setattr("fe_data.path_following.advance", advance)


LAWS = [None, *MATRICES]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("_in_steps", "matrix"),
    [
        *(("whole", law) for law in LAWS),
        ("substeps", None),
        ("substeps", "paraboloidal"),  # alike for all laws
    ],
    indirect=["_in_steps"],
)
def test_the_tangent_is_the_derivative_of_the_stress_by_the_whole_increment(_in_steps, matrix):
    """By central differences, from an accepted state with plastic strain."""
    if matrix is None:
        point = MaterialPoint(Inputs(VF.vf, 400.0, 400.0, 0.4), EXACT, microstructure=ONE_FIBRE)
        step = {}
    else:
        point = MaterialPoint(VF, EXACT, composite(matrix), microstructure=ONE_FIBRE)
        step = {"duration": 0.1}
    point.respond(0.2 * END, **step)
    point.accept()
    strain = np.array([0.01, -0.012, 0.02])
    _, tangent = point.respond(strain, **step)
    columns = []
    for change in 1e-7 * np.diag([1.0, 1.0, 0.5]):  # the last one changes engineering shear
        ahead, behind = (point.respond(strain + sign * change, **step)[0] for sign in (1, -1))
        columns.append((ahead - behind) / 2e-7)
    error = np.abs(np.transpose(columns) - tangent).max() / np.abs(tangent).max()
    assert error < 1e-6


@pytest.mark.parametrize("matrix", [None, "paraboloidal"])
def test_a_tangent_is_symmetric_only_with_an_associated_law(matrix):
    """In a single step; substeps depend on the path, and have no potential."""
    if matrix is None:
        point = MaterialPoint(Inputs(VF.vf, 400.0, 400.0, 0.4), EXACT, microstructure=ONE_FIBRE)
    else:
        point = MaterialPoint(VF, EXACT, composite(matrix), microstructure=ONE_FIBRE)
    _, tangent = point.respond(0.25 * END)
    asymmetry = np.abs(tangent - tangent.T).max() / tangent.max()
    assert asymmetry < 1e-8 if matrix is None else asymmetry > 1e-4


@pytest.mark.usefixtures("fast_elements")
def test_the_material_of_the_paper_answers_as_the_fast_solver():
    fast = MaterialPoint(INPUTS, SETTINGS, seed=1)
    general = MaterialPoint(VolumeFraction(INPUTS.vf), SETTINGS, named_phases("paper"), seed=1)
    for share in (0.05, 0.5, 1.0, 0.7):
        expected = fast.respond(share * END)
        response = general.respond(share * END)
        np.testing.assert_allclose(response[0], expected[0], rtol=1e-6, atol=1e-4)
        np.testing.assert_allclose(response[1], expected[1], rtol=1e-5, atol=1e-5 * 1e5)
        fast.accept()
        general.accept()


@pytest.mark.slow
def test_after_a_cutback_newtons_method_of_a_structure_converges_quadratically():
    """It finds the strain of a given stress in few iterations, as FE² needs."""
    point = MaterialPoint(VF, EXACT, composite("paraboloidal"), microstructure=ONE_FIBRE)
    end = np.array([0.02, -0.02, 0.15])
    target = point.respond(end)[0]
    assert point._follower.counts["cutbacks"] > 0
    strain = end * 0.995
    errors = []
    for _ in range(5):
        stress, tangent = point.respond(strain)
        errors.append(np.linalg.norm(stress - target) / np.linalg.norm(target))
        strain = strain + np.linalg.solve(tangent, target - stress) * [1.0, 1.0, 0.5]
    assert errors[-1] < 1e-9, errors


POINTS = {
    "fast": lambda: MaterialPoint(INPUTS, SETTINGS, seed=1),
    "general": lambda: MaterialPoint(
        VF, EXACT, composite("paraboloidal"), microstructure=ONE_FIBRE
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", POINTS)
def test_a_stored_state_continues_in_an_equal_point_to_the_last_bit(kind, tmp_path):
    """From a file, a pickle or a copy; trials that were not accepted are not part of the state."""
    point = POINTS[kind]()
    for share in (0.5, 1.0):
        point.respond(share * END)
        point.accept()
    np.savez(tmp_path / "state.npz", **point.state())
    point.respond(1.2 * END)
    other = POINTS[kind]()
    with np.load(tmp_path / "state.npz", allow_pickle=False) as stored:
        other.restore(stored)
    copies = [other, copy.deepcopy(point), pickle.loads(pickle.dumps(point))]  # noqa: S301
    expected = point.respond(-0.3 * END)
    for copied in copies:
        for response, value in zip(copied.respond(-0.3 * END), expected, strict=True):
            np.testing.assert_array_equal(response, value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", POINTS)
def test_one_point_serves_many_with_a_state_for_each(kind):
    """The recipe of the guide: equal RVEs share a mesh, and states are exchanged."""
    paths = [END, -0.5 * END]
    shared = POINTS[kind]()
    states = [shared.state()] * 2
    responses = []
    for share in (0.5, 1.0):
        for i, path in enumerate(paths):
            shared.restore(states[i])
            responses.append(shared.respond(share * path)[0])
            shared.accept()
            states[i] = shared.state()
    for i, path in enumerate(paths):
        alone = POINTS[kind]()
        for k, share in enumerate((0.5, 1.0)):
            np.testing.assert_array_equal(responses[2 * k + i], alone.respond(share * path)[0])
            alone.accept()


@pytest.mark.slow
@pytest.mark.parametrize("kind", POINTS)
def test_points_answer_in_threads_as_one_after_the_other(kind):
    strains = [share * END for share in (0.3, 0.6, 0.9)]
    points = [POINTS[kind]() for _ in strains]
    expected = [point.respond(strain)[0] for point, strain in zip(points, strains, strict=True)]
    with ThreadPoolExecutor(3) as pool:
        stresses = pool.map(lambda point, strain: point.respond(strain)[0], points, strains)
        np.testing.assert_array_equal(list(stresses), expected)


def changed(point, **changes):
    arguments = {field.name: getattr(point, field.name) for field in dataclasses.fields(point)}
    return MaterialPoint(**arguments | changes)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("fast", {"seed": 2}, "other fibres"),
        ("fast", {"settings": dataclasses.replace(SETTINGS, resolution=3.5)}, "another mesh"),
        ("fast", {"settings": dataclasses.replace(SETTINGS, sigma_y0_MPa=380.0)}, "other phases"),
        ("fast", {"inputs": dataclasses.replace(INPUTS, c_m=0.5)}, "other phases"),
        ("general", {"phases": composite("j2")}, "other phases"),
        (
            "fast",
            {"phases": named_phases("paper"), "settings": EXACT, "inputs": VolumeFraction(0.2)},
            "kind of",
        ),
    ],
)
def test_a_state_of_another_rve_is_named(kind, changes, message):
    point = POINTS[kind]()
    with pytest.raises(ValueError, match=f"state: belongs to .*{message}"):
        changed(point, **changes).restore(point.state())


def test_a_damaged_state_is_named_and_changes_nothing(point):
    point.respond(END)
    point.accept()
    state = point.state()
    before = point.respond(0.5 * END)[0]
    for name, value in {"unknowns": np.zeros(3), "matrix/p": np.nan * state["matrix/p"]}.items():
        with pytest.raises(ValueError, match=f"state: {name} of shape"):
            point.restore(state | {name: value})
    with pytest.raises(ValueError, match="differs in unknowns"):
        point.restore({name: value for name, value in state.items() if name != "unknowns"})
    np.testing.assert_array_equal(point.respond(0.5 * END)[0], before)


def test_duration_and_temperature_are_those_of_a_simulated_path():
    """Cooling first, then slow and fast shear of a matrix whose stress depends on the rate."""
    phases = named_phases("glass_epoxy")
    phases = Phases(Material(phases.matrix.elasticity, perzyna.__name__, CREEP), phases.fibres)
    point = MaterialPoint(VF, EXACT, phases, microstructure=ONE_FIBRE)
    responses = []
    for strain, step in (
        ([0.0, 0.0, 0.0], {"temperature": -50.0}),
        ([0.0, 0.0, 0.004], {"duration": 100.0}),
        ([0.0, 0.0, 0.008], {"duration": 0.1}),
    ):
        responses.append(point.respond(strain, **step)[0])
        point.accept()
    assert point._follower.counts["cutbacks"] == 0  # substeps would differ from those of the path
    shear = [(0.0, 0.0, xy) for xy in (0.0, 0.004, 0.008)]
    loading = Loading(shear, temperature=-50.0, time=(1.0, 101.0, 101.1), increments=1)
    expected = solve_composite(phases, ONE_FIBRE, loading, resolution=2, tolerance=1e-11).history
    np.testing.assert_allclose(responses, expected["stress"][1:, [0, 1, 3]], rtol=1e-8, atol=1e-6)
    assert responses[0][0] > 1.0  # held while it cools


@pytest.mark.parametrize("step", [{"temperature": 10.0}, {"duration": 2.0}])
def test_duration_and_temperature_need_a_material(point, step):
    with pytest.raises(ValueError, match=f"{next(iter(step))} = .* needs the phases of a material"):
        point.respond(END, **step)
