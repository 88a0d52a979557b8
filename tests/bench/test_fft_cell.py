"""The cell by FFT beside closed forms, itself on a deeper grid, and the finite elements."""

import numpy as np
import pytest
import torch
from scipy.optimize import root

from bench.fft_cell import Cell, curve, hardening, solve, voxels
from fe_data.geometry.microstructure import random_microstructure
from fe_data.mechanics.rve import solve_rve
from fe_data.settings import Inputs, Settings

INPUTS = Inputs(0.2, 200.0, 400.0, 0.4)
EXACT = 1e-11  # residual of Newton's method


def lame(E, nu):
    """First constant of Lamé, and that plus two shear moduli."""
    return E * nu / (1 + nu) / (1 - 2 * nu), E * (1 - nu) / (1 + nu) / (1 - 2 * nu)


def test_strain_and_force_are_transposes_and_the_green_operator_inverts_the_homogeneous_cell():
    cell = Cell(torch.zeros((6, 6, 5), dtype=torch.bool), INPUTS, Settings())
    torch.manual_seed(1)
    x, stress = torch.randn(3 * 180 + 6).double(), torch.randn(6, 6, 6, 5).double()
    x[-6:] *= cell.free
    work = float((cell.strain(x) * stress).sum()) / 180
    assert work == pytest.approx(float(x @ cell.force(stress)), rel=1e-12)
    plastic = torch.zeros(6, 6, 6, 5).double()
    _, tangent, _ = cell.return_map(plastic, (plastic, plastic[0]))
    force = cell.force(stress)
    again = cell.force(tangent(cell.strain(cell.precondition(force))))
    torch.testing.assert_close(again, force, rtol=0, atol=1e-10)


def test_hardening_solves_the_yield_condition():
    over = torch.tensor([1e-6, 1.0, 300.0, 3000.0]).double()[:, None]
    p, b, c, stiff = torch.tensor([0.0, 1e-9, 1e-2, 0.3]).double(), 400.0, 0.3, 1.2e5
    over = over + b * p**c  # above what has hardened already
    h = hardening(over, p, stiff, b, c)
    back = h + stiff * ((h / b) ** (1 / c) - p)
    torch.testing.assert_close(back, over, rtol=1e-12, atol=0)


def test_tangent_is_the_derivative_of_the_stress():
    fibre = torch.zeros((1, 1, 4), dtype=torch.bool)
    fibre[..., 0] = True
    cell, rng = Cell(fibre, INPUTS, Settings()), torch.Generator().manual_seed(2)
    strain, direction = torch.randn(2, 6, 1, 1, 4, generator=rng).double() * 0.01
    strain[..., 3] *= 0.01  # elastic
    old = cell.return_map(0.5 * strain, (0 * strain, 0 * strain[0]))[2]
    _, tangent, (_, p) = cell.return_map(strain, old)
    assert (p[..., 1:3] > 1e-3).all()
    assert not p[..., [0, 3]].any()
    ahead, behind = (cell.return_map(strain + h * direction, old)[0] for h in (1e-5, -1e-5))
    torch.testing.assert_close((ahead - behind) / 2e-5, tangent(direction), rtol=1e-6, atol=1e-3)


def test_homogeneous_cell_follows_the_implicit_euler_step_of_one_point():
    settings, steps = Settings(strain=0.02, increments=4, tolerance=EXACT), 4
    cell = Cell(torch.zeros((4, 4, 1), dtype=torch.bool), INPUTS, settings)
    history = solve(cell, steps)
    E, nu = 1e3 * settings.E_m_GPa, settings.nu_m
    plastic, p = np.zeros(3), 0.0

    def residual(z, strain):
        """Hooke's law for the strains xx and zz (which is zero), and the yield condition."""
        stress, dp = np.array([z[0], 0.0, z[1]]) * E, z[2]
        deviator = stress - stress.mean()
        mises = np.sqrt(1.5 * deviator @ deviator)
        now = plastic + 1.5 * dp * deviator / mises
        elastic = ((1 + nu) * stress - nu * stress.sum()) / E + now - [strain, 0.0, 0.0]
        yielding = mises - settings.a_MPa - INPUTS.b_m_MPa * (p + dp) ** INPUTS.c_m
        return np.array([elastic[0], elastic[2], yielding / E]), now

    for i in range(1, steps + 1):
        strain = 0.02 * i / steps
        found = root(lambda z, e=strain: residual(z, e)[0], [5e-3, 2e-3, 4e-3], tol=1e-14).x
        plastic, p = residual(found, strain)[1], p + found[2]
        np.testing.assert_allclose(history["stress"][i, [0, 2]], E * found[:2], rtol=1e-8)
        np.testing.assert_allclose(history["plastic_strain"][i, :3], plastic, atol=1e-10)


def test_elastic_laminate_has_the_averages_of_the_closed_form():
    fibre = torch.zeros((8, 8, 2), dtype=torch.bool)
    fibre[2:5] = True  # layers across x
    settings = Settings(a_MPa=1e6, strain=4e-3, increments=4, tolerance=EXACT)
    history = solve(Cell(fibre, INPUTS, settings), 1)
    share = np.array([5, 3]) / 8
    L, M = np.transpose([
        lame(1e3 * settings.E_m_GPa, settings.nu_m), lame(1e3 * INPUTS.E_f_GPa, settings.nu_f)
    ])  # fmt: skip
    # One stress xx and one strain yy for both: mean strain xx is given, mean stress yy is zero.
    system = [[share @ (1 / M), -share @ (L / M)], [share @ (L / M), share @ (M - L**2 / M)]]
    stress, yy = np.linalg.solve(system, [1e-3, 0.0])
    zz = share @ (L * ((stress - L * yy) / M + yy))
    np.testing.assert_allclose(history["stress"][1], [stress, 0, zz, 0], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(history["strain"][1], [1e-3, yy, 0, 0], rtol=1e-9, atol=1e-13)


def test_depth_along_the_fibres_changes_nothing():
    micro, settings = random_microstructure(0.2, 1, 2), Settings(increments=10, tolerance=EXACT)
    flat, deep = (solve(Cell(voxels(micro, 12, m), INPUTS, settings), 3) for m in (1, 4))
    for name, values in flat.items():
        np.testing.assert_allclose(deep[name], values, rtol=0, atol=1e-10 * np.abs(values).max())


def test_curve_is_near_that_of_the_finite_elements():
    settings = Settings(n_fibres=1, increments=5, resolution=10, strain=0.02)
    micro = random_microstructure(INPUTS.vf, 1, 1)
    by_fe = curve(solve_rve(INPUTS, micro, settings, fit=False).history)[1]
    found = curve(solve(Cell(voxels(micro, 32), INPUTS, settings), 5))[1]
    np.testing.assert_allclose(found, by_fe, rtol=0.01)


@pytest.mark.parametrize(("law", "b"), [("power", 0.0), ("voce", 400.0)])
def test_hardening_other_than_a_power_law_is_refused(law, b):
    fibre, inputs = torch.zeros((4, 4, 1), dtype=torch.bool), Inputs(0.2, 200.0, b, 0.4)
    with pytest.raises(ValueError, match="must harden by a power law"):
        Cell(fibre, inputs, Settings(hardening=law))
