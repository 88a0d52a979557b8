"""A volume element at a point of a larger structure."""

import numpy as np
import pytest

from fe_data import (
    ConvergenceError,
    Inputs,
    Loading,
    MaterialPoint,
    Settings,
    VolumeFraction,
    named_phases,
    solve_rve,
)

INPUTS = Inputs(0.2, 400.0, 400.0, 0.4)
SETTINGS = Settings(n_fibres=2, resolution=3, tolerance=1e-9)
END = np.array([0.02, -0.008, 0.004])


@pytest.fixture
def point():
    return MaterialPoint(INPUTS, 1, SETTINGS)


def test_accepted_steps_are_the_increments_of_a_simulated_path(point):
    loading = Loading(strain=[tuple(END), tuple(-END)], increments=4)
    expected = solve_rve(INPUTS, 1, SETTINGS, loading, silent=True).history["stress"][1:]
    found = []
    for strain in [*np.outer([0.25, 0.5, 0.75, 1.0], END), *np.outer([0.5, 0, -0.5, -1.0], END)]:
        stress, _ = point.respond(strain)
        point.accept()
        found.append(stress)
    np.testing.assert_allclose(found, expected[:, [0, 1, 3]], rtol=1e-7, atol=1e-5)


def _answer(point, strain):
    """Stress and tangent in one array; NaN where there is no equilibrium."""
    try:
        return np.concatenate([values.ravel() for values in point.respond(strain)])
    except ConvergenceError:
        return np.full(12, np.nan)


@pytest.mark.parametrize("seed", range(2))
def test_answers_depend_on_accepted_states_alone(seed):
    """A point that tries other strains first answers as one that is asked once, to the last bit."""
    rng = np.random.default_rng(seed)
    coarse = Settings(n_fibres=2, resolution=3)
    searching, direct = (MaterialPoint(INPUTS, 1, coarse) for _ in range(2))
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
    assert direct._stepper.counts["cutbacks"] > 0


def test_an_answer_that_failed_cannot_be_accepted(monkeypatch, point):
    """What is accepted is the last answer, not the state in which a search for one ended."""
    point.respond(0.5 * END)
    point.accept()
    expected = point.respond(END)

    advance = point._stepper.advance

    def fail_in_the_middle(end):
        advance(0.4)
        raise ConvergenceError(f"no equilibrium at {end}")

    point.respond(0.5 * END)
    with monkeypatch.context() as patch:
        patch.setattr(point._stepper, "advance", fail_in_the_middle)
        with pytest.raises(ConvergenceError):
            point.respond(-END)
    point.accept()
    for found, value in zip(point.respond(END), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-6, atol=1e-6 * abs(value).max())


@pytest.mark.parametrize("name", [None, "glass_epoxy"])
def test_the_tangent_is_the_derivative_of_the_stress(name):
    """Whose tangent is symmetric with the law of Mises alone."""
    point = MaterialPoint(INPUTS, 1, SETTINGS, name and named_phases(name))
    point.respond(0.5 * END)
    point.accept()
    _, tangent = point.respond(END)
    h = 1e-7
    columns = []
    for direction in np.diag([1.0, 1.0, 0.5]):  # the last one is a unit of engineering shear
        ahead, behind = (point.respond(END + sign * h * direction)[0] for sign in (1.0, -1.0))
        columns.append((ahead - behind) / (2.0 * h))
    np.testing.assert_allclose(np.transpose(columns), tangent, atol=2e-4 * tangent.max())
    asymmetry = np.abs(tangent - tangent.T).max() / tangent.max()
    assert asymmetry < 1e-7 if name is None else asymmetry > 1e-4


def test_the_material_of_the_paper_answers_as_the_fast_solver():
    fast = MaterialPoint(INPUTS, 1, SETTINGS)
    general = MaterialPoint(VolumeFraction(INPUTS.vf), 1, SETTINGS, named_phases("paper"))
    for share in (0.05, 0.5, 1.0, 0.7):
        expected = fast.respond(share * END)
        found = general.respond(share * END)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-4)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-5 * 1e5)
        fast.accept()
        general.accept()
