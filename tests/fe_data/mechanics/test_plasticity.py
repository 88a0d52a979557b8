"""Return map, tangent and one-point plasticity."""

import numpy as np
import pytest
from scipy.optimize import brentq

from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import random_microstructure
from fe_data.mechanics.condensation import moduli
from fe_data.mechanics.elements import discretise
from fe_data.mechanics.load_stepping import Loading, solve
from fe_data.mechanics.plasticity import plastic_increment
from fe_data.mechanics.problem import PeriodicCell, State
from fe_data.mechanics.properties import von_mises
from fe_data.settings import Inputs, Settings

MU = 1e5 / 2.6


@pytest.mark.parametrize("c", [0.01, 0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("b", [0.0, 1e-3, 400.0, 1e5])
@pytest.mark.parametrize("p_old", [0.0, 1e-15, 1e-6, 0.05])
@pytest.mark.parametrize("excess", [1e-8, 1e-3, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("guess", [0.0, 1e-200, 1e-9, 1e-3, 10.0])
def test_return_map_ends_on_the_yield_surface(c, b, p_old, excess, guess):
    hardening = b * p_old**c if p_old else 0.0
    q_trial = 400.0 + hardening + excess
    dp, slope = plastic_increment(q_trial, p_old, hardening, guess, MU, 400.0, b, c)
    if dp == 0.0:  # the hardening takes the excess up before p is a number that can be stored
        assert p_old == 0.0
        assert b * 1e-290**c > excess / 2
        assert slope == np.inf
        return
    assert dp > 0
    strength = 400.0 + b * (p_old + dp) ** c
    assert q_trial - 3 * MU * dp == pytest.approx(strength, rel=1e-12)
    conditioning = 1e-11 * q_trial / excess  # a stress just above yield is a difference of equals
    exact = b * c * (p_old + dp) ** (c - 1)
    assert slope == pytest.approx(exact, rel=1e-9 + conditioning)


@pytest.mark.parametrize("c", [1e-3, 0.01])
@pytest.mark.parametrize("excess", [1e-3, 50.0, 1e4])
def test_hardening_goes_on_after_an_increment_too_small_to_store(c, excess):
    hardening = 400.0 * 1e-290**c  # the most that an increment of zero leaves behind
    q_trial = 400.0 + hardening + excess
    dp, _ = plastic_increment(q_trial, 0.0, hardening, 0.0, MU, 400.0, 400.0, c)
    assert dp > 0
    assert q_trial - 3 * MU * dp == pytest.approx(400.0 + 400.0 * dp**c, rel=1e-12)


def test_small_increments_with_a_small_exponent_follow_the_law():
    """The first increment beyond yield, of less than 1 MPa, is too small to store."""
    d = discretise(generate_mesh(random_microstructure(0.0, 1)))
    cell = PeriodicCell(d, Inputs(0.0, 400.0, 400.0, 0.01), Settings())
    solution = solve(cell, Loading((0.0045, None, None)), 500, 1e-8)
    p = solution.state.p_old
    stress = von_mises(solution.history["stress"][-1])
    assert (p > 0).all()
    assert 400.0 + 400.0 * p**0.01 == pytest.approx(np.full(p.shape, stress), rel=1e-6)


def test_tangent_is_the_derivative_of_the_force():
    inputs = Inputs(0.2, 300.0, 400.0, 0.4)
    cell = PeriodicCell(
        discretise(generate_mesh(random_microstructure(0.2, 1, 4), 4)), inputs, Settings()
    )
    solution = solve(cell, Loading((0.02, None, None)), 10, 1e-6)
    state, rng = solution.state, np.random.default_rng(0)
    x = solution.x * 1.05
    direction = rng.standard_normal(len(x)) * 1e-3
    cell.evaluate(x, state)
    cell.linearise(state)
    product = cell._apply(direction, np.arange(3))
    h = 1e-5
    plus, minus = (cell.evaluate(x + s * h * direction, state)[0] for s in (1, -1))
    difference = (plus - minus) / (2 * h)
    assert (state.p > state.p_old).mean() > 0.5
    held = np.zeros(len(x), dtype=bool)
    held[cell.dofs[0, :2]] = True  # springs are in both
    assert np.linalg.norm(product - difference) < 2e-5 * np.linalg.norm(product)


def test_newton_converges_quadratically():
    inputs = Inputs(0.2, 300.0, 400.0, 0.4)
    cell = PeriodicCell(
        discretise(generate_mesh(random_microstructure(0.2, 1, 4), 4)), inputs, Settings()
    )
    solution = solve(cell, Loading((0.03, None, None)), 30, 1e-8)
    x, state, free = solution.x.copy(), solution.state, np.array([1, 2])
    x[cell.n] += 0.001
    unknown = np.append(np.arange(cell.n), cell.n + free)
    errors = []
    for _ in range(7):
        residual = -cell.evaluate(x, state)[0][unknown]
        errors.append(np.linalg.norm(residual))
        cell.linearise(state)
        cell.factorise(free)
        x[unknown] += cell.solve(residual, free, 1e-13)
    e = np.array(errors) / errors[0]
    # e -> C e^2 with one C; steps of a linear rate 0.03 would need C = 3e4 at e = 1e-6.
    late = [i for i in range(len(e) - 1) if 1e-7 < e[i] < 1e-2]
    assert len(late) >= 2
    assert all(e[i + 1] < 300 * e[i] ** 2 + 1e-12 for i in late)


def _one_point(inputs: Inputs, settings: Settings):
    """Plane strain, sigma_yy = 0, implicit Euler, one point at a time with a bracketing solver."""
    mu, kappa = moduli(1e3 * settings.E_m_GPa, settings.nu_m)
    a, b, c = settings.a_MPa, inputs.b_m_MPa, inputs.c_m
    ep, p = np.zeros(4), 0.0

    def respond(exx, eyy):
        e = np.array([exx, eyy, 0.0, 0.0])
        mean = e[:3].sum() / 3
        s = 2 * mu * (e - mean * np.array([1, 1, 1, 0]) - ep)
        q = np.sqrt(1.5 * (s[:3] @ s[:3] + 2 * s[3] ** 2))
        dp = 0.0
        if q > a + b * p**c:
            dp = brentq(
                lambda d: q - 3 * mu * d - a - b * (p + d) ** c, 0, q / (3 * mu), xtol=1e-18
            )
        flow = 1.5 * s / q * dp if q else 0 * s
        return s - 2 * mu * flow + 3 * kappa * mean * np.array([1, 1, 1, 0]), ep + flow, p + dp

    rows = []
    for i in range(1, settings.increments + 1):
        exx = settings.strain * i / settings.increments
        eyy = brentq(lambda y, x=exx: respond(x, y)[0][1], -exx, 0.0, xtol=1e-16)
        stress, ep, p = respond(exx, eyy)
        rows.append((stress, ep, p))
    return rows


@pytest.mark.parametrize(("b", "c"), [(400.0, 0.4), (300.0, 0.2), (500.0, 1.0), (0.0, 0.5)])
def test_without_fibres_the_cell_is_one_point(b, c):
    inputs, settings = Inputs(0.0, 400.0, b, c), Settings(tolerance=1e-10)
    cell = PeriodicCell(discretise(generate_mesh(random_microstructure(0.0, 1))), inputs, settings)
    solution = solve(cell, Loading((0.05, None, None)), 50, settings.tolerance)
    stress, plastic, p = zip(*_one_point(inputs, settings), strict=True)
    assert solution.history["stress"][1:] == pytest.approx(np.array(stress), rel=1e-6, abs=1e-4)
    assert solution.history["plastic_strain"][1:] == pytest.approx(
        np.array(plastic), rel=1e-6, abs=1e-10
    )
    assert solution.state.p_old == pytest.approx(
        np.full(solution.state.p_old.shape, p[-1]), rel=1e-6
    )


def test_state_is_untouched_by_a_trial():
    inputs = Inputs(0.2, 300.0, 400.0, 0.4)
    cell = PeriodicCell(
        discretise(generate_mesh(random_microstructure(0.2, 1, 2), 3)), inputs, Settings()
    )
    state = State(*cell.matrix.weights.shape)
    x = np.zeros(cell.n + 3)
    x[cell.n] = 0.05
    cell.evaluate(x, state)
    assert state.p.max() > 0
    assert not state.p_old.any()
