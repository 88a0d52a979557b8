"""Return mapping, tangent and plasticity at one point."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

from fe_data.geometry.mesh import generate_mesh
from fe_data.geometry.microstructure import random_microstructure
from fe_data.geometry.outline import Outline
from fe_data.loading import Loading
from fe_data.mechanics.elements import Elements, discretise
from fe_data.mechanics.load_stepping import IncrementalRVE
from fe_data.mechanics.plasticity import (
    BLOCK,
    HistoryVariables,
    j2_law,
    return_map,
)
from fe_data.mechanics.problem import RVEProblem
from fe_data.mechanics.rve import solve_rve
from fe_data.path_following import follow
from fe_data.settings import HardeningTable, Inputs, PaperPhases, Settings
from fe_data.sparse.compilation import compiled

MU = 1e5 / 2.6


def _law(b, c):
    return j2_law(MU, 0.0, 400.0, b, c)


@compiled(error_model="numpy")
def plastic_increment(q_trial, p_old, hardening_old, law):
    mu = law.shear_modulus
    return law.increment(q_trial, p_old, hardening_old, mu, law.yield_stress, law.parameters)


def _discretised(vf, n_fibres=30, resolution=None):
    micro = random_microstructure(vf, 1, n_fibres)
    return discretise(generate_mesh(Outline(micro, resolution)))


def test_the_return_mapping_ends_on_the_yield_surface():
    """All combinations of exponent, coefficient, plastic strain before and excess stress."""
    exponents = [0.01, 0.2, 0.5, 0.9, 1.0]
    coefficients = [0.0, 1e-3, 400.0, 1e5]
    strains = [0.0, 1e-15, 1e-6, 0.05]
    stresses = [1e-8, 1e-3, 1.0, 100.0, 1e4]
    cases = itertools.product(exponents, coefficients, strains, stresses)
    c, b, p_old, excess = np.array(list(cases)).T
    hardening = np.where(p_old > 0, b * p_old**c, 0.0)
    q_trial = 400.0 + hardening + excess
    starts = np.column_stack([q_trial, p_old, hardening])
    points = zip(starts, np.column_stack([b, c]), strict=True)
    dp, slope = np.array([plastic_increment(*start, _law(*law)) for start, law in points]).T
    zero = dp == 0.0  # hardening takes up the excess stress at a p too small to be stored
    assert (p_old[zero] == 0.0).all()
    assert (b[zero] * 1e-290 ** c[zero] > excess[zero] / 2).all()
    assert (slope[zero] == np.inf).all()
    assert 0 < zero.sum() < len(zero) / 10
    c, b, p_old, excess, q_trial, dp, slope = (
        values[~zero] for values in (c, b, p_old, excess, q_trial, dp, slope)
    )
    assert (dp > 0).all()
    assert q_trial - 3 * MU * dp == pytest.approx(400.0 + b * (p_old + dp) ** c, rel=1e-12)
    conditioning = 1e-11 * q_trial / excess  # a stress just above yield is a difference of equals
    exact = b * c * (p_old + dp) ** (c - 1)
    assert (np.abs(slope - exact) <= (1e-9 + conditioning) * exact).all()


def _tabulated(table):
    return j2_law(MU, 0.0, table.stress[0], 0.0, 1.0, table)


# Steep, flat and steep again: neither concave nor convex.
UNEVEN = HardeningTable([0.0, 0.002, 0.01, 0.03, 0.2], [400.0, 430.0, 430.0, 600.0, 620.0])


@pytest.mark.parametrize("law", [(1e5, 0.01), (300.0, 1.0), UNEVEN], ids=str)
@pytest.mark.parametrize("stress", [450.0, 1e4])
def test_a_block_of_points_ends_where_single_points_do(law, stress):
    """Elements of no size under one macro strain, each with a plastic strain of its own before."""
    m = BLOCK + 3
    p_old = np.append([0.0, 1e-200], np.logspace(-12, -1, 3 * m - 2)).reshape(m, 3)
    if law is UNEVEN:
        law = _tabulated(UNEVEN)
        hardening = UNEVEN.yield_stress(p_old) - 400.0
    else:
        b, c = law
        law = _law(b, c)
        hardening = b * p_old**c
    old = HistoryVariables(np.zeros((m, 3, 3)), p_old, hardening)
    new = HistoryVariables(*(np.full_like(values, np.nan) for values in old))
    nothing = np.zeros((m, 3, 6, 2))
    elements = Elements(np.zeros((m, 12), np.int32), nothing, np.ones((m, 3)), *3 * [nothing])
    strain = np.array([0.0, 0.0, stress / (np.sqrt(3) * MU)])
    force = np.zeros(12)
    integrals = np.zeros(11)
    tangent = np.full((m, 3, 6), np.nan)
    return_map(force, strain, elements, law, old, new, tangent, np.zeros(12), integrals)
    single = [
        plastic_increment(stress, p, h, law) if stress > 400.0 + h + 1e-9 else (0.0, np.inf)
        for p, h in zip(p_old.flat, hardening.flat, strict=True)
    ]
    dp, slope = np.array(single).T.reshape(2, m, 3)
    assert new.p == pytest.approx(p_old + dp, rel=1e-11, abs=1e-290)
    end = np.maximum(hardening, stress - 3 * MU * dp - 400.0)
    assert new.hardening == pytest.approx(end, rel=1e-9, abs=1e-9)
    assert new.plastic_strain[..., 2] == pytest.approx(np.sqrt(3) / 2 * dp, rel=1e-9, abs=1e-290)
    relief = 3 * MU * dp / stress
    shear = MU * (1 - relief) - MU * (3 * MU / (3 * MU + slope) - relief)
    assert tangent[..., 5] == pytest.approx(shear, rel=1e-8, abs=1e-6)
    assert integrals[3] == pytest.approx((stress - 3 * MU * dp).sum() / np.sqrt(3), rel=1e-12)


LAWS = {  # b, c, law: stress above the initial yield stress at a plastic strain
    (400.0, 0.4, "power"): lambda p: 400.0 * p**0.4,
    (500.0, 1.0, "power"): lambda p: 500.0 * p,
    (0.0, 0.5, "power"): lambda p: 0.0 * p,
    (400.0, 0.02, "voce"): lambda p: 400.0 * (1 - np.exp(-p / 0.02)),
    (400.0, 1e-4, "voce"): lambda p: 400.0 * (1 - np.exp(-p / 1e-4)),
    (0.0, 1.0, UNEVEN): lambda p: np.interp(p, UNEVEN.plastic_strain, UNEVEN.stress) - 400.0,
}


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_matrix_under_pure_shear_follows_its_law(law):
    """3 mu (2 e / sqrt(3) - p) = sqrt(3) tau = a + h(p): the direction of the flow is constant.

    The second solver is compared with this one in tests/fe_data/reference.
    """
    b, c, name = law
    settings = Settings(increments=4, tolerance=1e-10, resolution=1.0, hardening=name)
    shear = Loading((None, None, 0.03))
    rve = solve_rve(Inputs(0.0, 400.0, b, c), settings, shear, seed=1)
    strains = rve.history["strain"][1:, 3]
    stresses = rve.history["stress"][1:, 3]
    for e, stress in zip(strains, stresses, strict=True):
        total = 2 * e / np.sqrt(3)
        p = brentq(lambda p, q=total: 3 * MU * (q - p) - 400.0 - LAWS[law](p), 0, total)
        assert np.sqrt(3) * stress == pytest.approx(400.0 + LAWS[law](p), rel=1e-9)


@pytest.mark.parametrize("hardening", ["power", HardeningTable([0.0, 0.5], [400.0, 3400.0])])
def test_tangent_is_the_derivative_of_the_force(hardening):
    b_and_c = (400.0, 0.4) if hardening == "power" else (0.0, 1.0)
    inputs = Inputs(0.2, 300.0, *b_and_c)
    settings = Settings(hardening=hardening)
    problem = RVEProblem(
        _discretised(vf=0.2, n_fibres=4, resolution=4), PaperPhases.of(inputs, settings)
    )
    path = follow(IncrementalRVE(problem), Loading((0.02, None, None)), 10, 1e-6)
    state = path.state
    rng = np.random.default_rng(0)
    before = state.old.p.copy()
    x = path.x * 1.05
    direction = rng.standard_normal(len(x)) * 1e-3
    problem.internal_force(x, state)
    problem.assemble_tangent(state)
    product = problem.system.product(direction, *problem.system.tangent[1:])
    h = 1e-5
    plus, minus = (problem.internal_force(x + s * h * direction, state)[0] for s in (1, -1))
    difference = (plus - minus) / (2 * h)
    assert (state.new.p > state.old.p).mean() > 0.5
    assert (state.old.p == before).all()  # a trial leaves it untouched
    assert np.linalg.norm(product - difference) < 2e-5 * np.linalg.norm(product)


def test_newton_converges_quadratically():
    inputs = Inputs(0.2, 300.0, 400.0, 0.4)
    problem = RVEProblem(
        _discretised(vf=0.2, n_fibres=4, resolution=4), PaperPhases.of(inputs, Settings())
    )
    path = follow(IncrementalRVE(problem), Loading((0.03, None, None)), 30, 1e-8)
    x = path.x.copy()
    state = path.state
    free = np.array([1, 2])
    x[problem.n] += 0.001
    unknown = np.append(np.arange(problem.n), problem.n + free)
    errors = []
    for _ in range(7):
        residual = -problem.internal_force(x, state)[0][unknown]
        errors.append(np.linalg.norm(residual))
        problem.assemble_tangent(state)
        border, macro = problem.system.tangent[1:]
        problem.system.factorise(border[:, free], macro[np.ix_(free, free)])
        x[unknown] += problem.system.solve(residual, free, 1e-13)
    e = np.array(errors) / errors[0]
    # e -> C e^2 with one C; steps of a linear rate 0.03 would need C = 3e4 at e = 1e-6.
    late = [i for i in range(len(e) - 1) if 1e-7 < e[i] < 1e-2]
    assert len(late) >= 2
    assert all(e[i + 1] < 300 * e[i] ** 2 + 1e-12 for i in late)
