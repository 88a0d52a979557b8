"""A volume element at a point of a larger structure."""

import numpy as np
import pytest

from fe_data import Inputs, Loading, MaterialPoint, Settings, solve_rve

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


def test_what_is_not_accepted_leaves_no_trace(point):
    point.respond(0.5 * END)
    point.accept()
    stress, tangent = point.respond(END)
    point.respond(-2.0 * END)
    again = point.respond(END)
    np.testing.assert_allclose(again[0], stress, rtol=1e-7)
    np.testing.assert_allclose(again[1], tangent, rtol=1e-6, atol=1e-6 * tangent.max())


def test_the_tangent_is_the_derivative_of_the_stress(point):
    point.respond(0.5 * END)
    point.accept()
    _, tangent = point.respond(END)
    h = 1e-7
    columns = []
    for direction in np.diag([1.0, 1.0, 0.5]):  # the last one is a unit of engineering shear
        ahead, behind = (point.respond(END + sign * h * direction)[0] for sign in (1.0, -1.0))
        columns.append((ahead - behind) / (2.0 * h))
    np.testing.assert_allclose(np.transpose(columns), tangent, atol=2e-4 * tangent.max())
    np.testing.assert_allclose(tangent, tangent.T, atol=1e-7 * tangent.max())


def test_wrong_strains_and_inputs_are_refused(point):
    for wrong in ([0.0, 0.0], [np.nan, 0.0, 0.0], [5.0, 0.0, 0.0]):
        with pytest.raises(ValueError, match=r"strain = .* must be three numbers"):
            point.respond(wrong)
    with pytest.raises(TypeError, match="inputs"):
        MaterialPoint([0.2, 400.0, 400.0, 0.4])
    with pytest.raises(ValueError, match="arrangement"):
        MaterialPoint(INPUTS, -1)
