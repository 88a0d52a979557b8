"""Effective constants against closed forms, exact relations and published lattices."""

import dataclasses

import numpy as np
import pytest

from fe_data import (
    Isotropic,
    Loading,
    Material,
    Phases,
    TransverselyIsotropic,
    effective_constants,
    named_phases,
    solve_composite,
)
from fe_data.composite import rve
from fe_data.composite.constants import Constants, bounds, homogenised, transversely_isotropic
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.geometry.microstructure import random_microstructure
from tests.fe_data.composite.lattices import hexagonal, hexagonal_cell, square, square_cell

METAL = named_phases("boron_aluminium")
GLASS = named_phases("glass_epoxy")
CARBON = named_phases("carbon_epoxy")


@pytest.mark.parametrize("phases", [METAL, CARBON], ids=["metal", "carbon"])
def test_a_hexagonal_array_is_close_to_composite_cylinders(phases):
    """E_L, ν_LT, k_T and G_LT are those of composite cylinders with the matrix outside."""
    stiffness, _ = homogenised(hexagonal_cell(phases, 0.47, 12.0))
    nearest = transversely_isotropic(stiffness)
    assert np.linalg.norm(stiffness - nearest) < 2e-4 * np.linalg.norm(stiffness)
    constants = Constants.of(nearest)
    lower, upper = bounds(phases, 0.47)
    assert constants.E_L_GPa == pytest.approx(lower.E_L_GPa, rel=1e-4)
    assert constants.nu_LT == pytest.approx(upper.nu_LT, rel=1e-3)
    assert constants.k_T_GPa == pytest.approx(lower.k_T_GPa, rel=1e-2)
    assert constants.G_LT_GPa == pytest.approx(lower.G_LT_GPa, rel=2e-3)
    for constant in dataclasses.asdict(lower):
        assert (
            getattr(lower, constant) <= getattr(constants, constant) <= getattr(upper, constant)
        ), constant


def test_a_square_array_of_boron_and_aluminium_has_published_moduli():
    """Sun & Vaidya, Composites Science and Technology 56 (1996) 171: E_1, E_2, G_23 and ν_12.

    The numbers were not checked against the paper.
    """
    stiffness, _ = homogenised(square_cell(METAL, 0.47, 10.0))
    S = np.linalg.inv(stiffness / 1e3)
    assert 1 / S[2, 2] == pytest.approx(215.0, abs=0.5)
    assert 1 / S[0, 0] == pytest.approx(144.0, abs=0.5)
    assert 1 / (2 * S[3, 3]) == pytest.approx(45.9, abs=0.15)
    assert -S[0, 2] / S[2, 2] == pytest.approx(0.19, abs=0.006)


def test_a_square_array_prints_its_moduli_by_direction():
    """E_x and G_xy are those published; E at 45 degrees follows from the rotated compliance."""
    constants = effective_constants(METAL, square(0.47), resolution=10)
    assert constants.misfit > 0.01
    directions = constants.by_direction
    assert directions["E_x_GPa"] == pytest.approx(144.0, abs=0.5)
    assert directions["E_x_GPa"] == pytest.approx(directions["E_y_GPa"], rel=1e-6)
    assert directions["G_xy_GPa"] == pytest.approx(45.9, abs=0.15)
    # 4 / E_45 = 2 (1 - ν_xy) / E_x + 1 / G_xy
    expected = 2 * (1 - directions["nu_xy"]) / directions["E_x_GPa"] + 1 / directions["G_xy_GPa"]
    assert 4 / directions["E_45_GPa"] == pytest.approx(expected, rel=1e-6)
    *_, title = constants.table().partition("above 1 %")
    for name, value in directions.items():
        assert f"{name:12s}{value:13.5g}" in title
    hexagons = effective_constants(METAL, hexagonal(0.47), resolution=6)
    assert hexagons.misfit < 0.01
    assert "E_x_GPa" not in hexagons.table()
    for name in ("E_x_GPa", "E_y_GPa", "E_45_GPa"):
        assert hexagons.by_direction[name] == pytest.approx(hexagons.constants.E_T_GPa, rel=1e-2)


def test_constants_by_direction_of_a_known_stiffness_are_those_of_its_material():
    material = TransverselyIsotropic(225.0, 15.0, 0.2, 0.4, 12.0, axis=0.0)
    one = Phases(Material(material), Material(material))
    by_direction = effective_constants(one, square(0.2), resolution=2).by_direction
    assert by_direction["E_x_GPa"] == pytest.approx(225.0, rel=1e-8)
    assert by_direction["E_y_GPa"] == pytest.approx(15.0, rel=1e-8)
    assert by_direction["nu_xy"] == pytest.approx(0.2, rel=1e-8)
    assert by_direction["nu_Ly"] == pytest.approx(0.4, rel=1e-8)
    assert by_direction["G_xy_GPa"] == pytest.approx(12.0, rel=1e-8)
    assert by_direction["G_Ly_GPa"] == pytest.approx(15.0 / 2.8, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fibres", "void"])
@pytest.mark.parametrize("name", ["glass_epoxy", "boron_aluminium"])
def test_moduli_of_the_default_mesh_err_by_less_than_3_per_mille(monkeypatch, name, kind):
    """By comparison with a mesh three times as fine; simulated tension has the modulus too."""
    micro = random_microstructure(0.2 if kind == "void" else 0.5, 1, 6)
    micro = dataclasses.replace(micro, phases=kind)
    phases = named_phases(name)
    constants = effective_constants(phases, micro)
    pull = Loading((1e-5, *[None] * 5), increments=1)
    stress = solve_composite(phases, micro, pull, tolerance=1e-9, silent=True).history["stress"]
    assert stress[-1, 0] / 1e-2 == pytest.approx(constants.by_direction["E_x_GPa"], rel=1e-3)
    monkeypatch.setattr(rve, "_FINENESS", 3.0 * rve._FINENESS)
    fine = dataclasses.asdict(effective_constants(phases, micro).constants)
    for constant, value in dataclasses.asdict(constants.constants).items():
        assert value == pytest.approx(fine[constant], rel=3e-3), constant


def expanding(matrix, fibres, ring):
    others = {"interphase": Material(Isotropic(10.0, 0.3, ring))}
    return Phases(
        Material(Isotropic(3.0, 0.3, matrix)), Material(Isotropic(70.0, 0.2, fibres)), others=others
    )


@pytest.mark.parametrize(
    ("phases", "names", "coated"),
    [
        (expanding(5e-5, 0.0, 0.0), "fibres", False),
        (expanding(0.0, 5e-6, 0.0), "matrix", False),
        (expanding(5e-5, 5e-6, 0.0), "interphase", True),
        (expanding(5e-5, 0.0, 0.0), "fibres and interphase", True),
    ],
)
def test_a_phase_that_does_not_expand_is_named(phases, names, coated):
    micro = square(0.2).coated(0.1) if coated else square(0.2)
    with pytest.warns(UserWarning, match=f"alpha_per_K of {names} is zero, while other phases"):
        constants = effective_constants(phases, micro, resolution=2)
    assert "alpha_L_per_K" in constants.table()


def test_without_expansion_of_any_phase_none_is_printed():
    constants = effective_constants(expanding(0.0, 0.0, 1e-5), square(0.2), resolution=2)
    assert "alpha" not in constants.table()


@pytest.mark.parametrize("phases", [METAL, CARBON], ids=["metal", "carbon"])
def test_expansion_and_stiffness_of_two_phases_are_related(phases):
    """Levin (1967): α* = <α> + (α_f - α_m) : (S_f - S_m)⁻¹ : (S* - <S>), whatever the geometry."""
    stiffness, expansion = homogenised(square_cell(phases, 0.4, 4.0))
    f, m = phases.fibres.elasticity, phases.matrix.elasticity
    S_f, S_m = (np.linalg.inv(phase.stiffness) for phase in (f, m))
    mixed = 0.4 * S_f + 0.6 * S_m
    shares = np.linalg.solve((S_f - S_m).T, f.expansion - m.expansion)
    expected = 0.4 * f.expansion + 0.6 * m.expansion + shares @ (np.linalg.inv(stiffness) - mixed)
    np.testing.assert_allclose(expansion, expected, atol=1e-12 + 1e-6 * np.abs(expected).max())


def test_load_cases_give_the_columns_of_the_stiffness():
    """A strain of each component, in the solver for paths, has the stress of its column."""
    elastic = Phases(Material(CARBON.matrix.elasticity), CARBON.fibres)
    micro = hexagonal(0.5)
    constants = effective_constants(elastic, micro, resolution=3)
    for column in range(6):
        strain = np.zeros(6)
        strain[column] = 1e-3
        loading = Loading(tuple(strain))
        rve = solve_composite(elastic, micro, loading, increments=1, resolution=3, tolerance=1e-10)
        engineering = strain * [1, 1, 1, 2, 2, 2]
        expected = 1e3 * constants.stiffness_GPa @ engineering
        np.testing.assert_allclose(rve.history["stress"][-1], expected, rtol=1e-7, atol=1e-7)
    free = Loading((None,) * 6, temperature=10.0)
    rve = solve_composite(elastic, micro, free, increments=1, resolution=3)
    strain = 10 * constants.expansion_per_K / [1, 1, 1, 2, 2, 2]
    np.testing.assert_allclose(rve.history["strain"][-1], strain, atol=1e-9)


def concentric_cylinders(phases, vf):
    """Stress in the fibre (radial, axial) and strains of cylinders that cool by one kelvin.

    The displacement is a r in the fibre, b r + c / r in the matrix, and the axial strain e is one.
    """
    f, m = phases.fibres.elasticity, phases.matrix.elasticity

    def hooke(elasticity):  # stress (r, θ, z) = C (ε_r, ε_θ, ε_z) - s ΔT
        C = elasticity.stiffness[:3, :3]
        return C, C @ elasticity.expansion[:3]

    (C_f, s_f), (C_m, s_m) = hooke(f), hooke(m)
    r2 = vf  # radius of the fibre squared, where that of the cylinder is one
    strain_f = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1.0]])  # of (a, b, c, e)

    def strain_m(square):
        return np.array([[0, 1, -1 / square, 0], [0, 1, 1 / square, 0], [0, 0, 0, 1.0]])

    mean_m = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1.0]])
    rows = [
        np.array([1, -1, -1 / r2, 0]),  # the displacement is continuous
        (C_f @ strain_f)[0] - (C_m @ strain_m(r2))[0],  # so is the radial stress
        (C_m @ strain_m(1.0))[0],  # which is zero outside
        vf * (C_f @ strain_f)[2] + (1 - vf) * (C_m @ mean_m)[2],  # no axial force
    ]
    right = [0, s_f[0] - s_m[0], s_m[0], vf * s_f[2] + (1 - vf) * s_m[2]]
    a, b, c, e = np.linalg.solve(rows, -np.array(right))
    stress = C_f @ strain_f @ [a, b, c, e] + s_f
    return stress[[0, 2]], np.array([b + c, e])


@pytest.mark.parametrize("phases", [METAL, CARBON], ids=["metal", "carbon"])
def test_thermal_strain_is_that_of_concentric_cylinders(phases):
    _, expansion = homogenised(hexagonal_cell(phases, 0.47, 12.0))
    _, (across, along) = concentric_cylinders(phases, 0.47)
    assert -expansion[2] == pytest.approx(along, rel=1e-3, abs=1e-9)
    assert -expansion[:2].mean() == pytest.approx(across, rel=1e-3)


def test_thermal_stress_of_a_thin_fibre_is_that_of_concentric_cylinders():
    """At v_f = 0.03 neighbours hardly matter: residual stress in the fibre after cooling."""
    elastic = Phases(Material(GLASS.matrix.elasticity), GLASS.fibres)
    rve = solve_composite(
        elastic,
        square(0.03),
        Loading((None,) * 6, temperature=-1.0),
        increments=1,
        resolution=8,
        tolerance=1e-9,
        silent=True,
    )
    stress = rve.fields()["fibres"].stress
    (radial, axial), _ = concentric_cylinders(elastic, 0.03)
    np.testing.assert_allclose(stress[..., 0], radial, rtol=0.02)
    np.testing.assert_allclose(stress[..., 2], axial, rtol=0.01)
    assert radial < 0
    assert axial < 0


@pytest.mark.slow
def test_a_plate_with_few_holes_has_the_moduli_of_a_dilute_one():
    """E_L = (1 - φ) E, G_LT = (1 - φ) / (1 + φ) G, in the plane E' (1 - 3φ) to first order."""
    porosity = 0.002
    plate = Material(Isotropic(3.0, 0.3))
    phases = Phases(plate, plate)
    hole = dataclasses.replace(square(porosity), phases="void")
    constants = effective_constants(phases, hole, resolution=6.0).constants
    assert constants.E_L_GPa == pytest.approx((1 - porosity) * 3.0, rel=1e-8)
    assert constants.nu_LT == pytest.approx(0.3, rel=1e-8)
    assert constants.G_LT_GPa == pytest.approx((1 - porosity) / (1 + porosity) * 3 / 2.6, rel=1e-5)
    # In plane strain 1 / E' = 1 / E_T - ν_LT² / E_L
    plane = 1 / (1 / constants.E_T_GPa - constants.nu_LT**2 / constants.E_L_GPa)
    assert plane == pytest.approx(3.0 / (1 - 0.3**2) * (1 - 3 * porosity), rel=1e-4)


def test_bounds_of_equal_phases_are_the_phase():
    one = Material(Isotropic(70.0, 0.3))
    for bound in bounds(Phases(one, one), 0.4):
        for name, value in dataclasses.asdict(Constants.of(one.elasticity.stiffness)).items():
            assert getattr(bound, name) == pytest.approx(value, rel=1e-12)
    turned = Material(TransverselyIsotropic(225.0, 15.0, 0.2, 0.07, 15.0, axis=0.0))
    assert bounds(Phases(one, turned), 0.4) == (None, None)


def test_nearest_transversely_isotropic_stiffness_is_the_mean_over_rotations():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(6, 6))
    stiffness = half @ half.T
    from fe_data.composite.elasticity import rotation

    total = np.zeros((6, 6))
    for angle in np.arange(16) * np.pi / 8:
        c, s = np.cos(angle), np.sin(angle)
        for mirror in (1.0, -1.0):
            turn = rotation(np.array([[c, -s * mirror, 0], [s, c * mirror, 0], [0, 0, 1.0]]))
            total += turn @ stiffness @ turn.T / 32
    np.testing.assert_allclose(transversely_isotropic(stiffness), total, atol=1e-12)


def test_constants_of_random_fibres_lie_within_the_bounds():
    of_rve = effective_constants(GLASS, random_microstructure(0.4, 3, 8), resolution=3)
    for name, value in dataclasses.asdict(of_rve.constants).items():
        assert getattr(of_rve.lower, name) <= value <= getattr(of_rve.upper, name), name
    assert of_rve.misfit < 0.05
    assert "E_T_GPa" in of_rve.table()
    C = of_rve.stiffness_GPa * np.outer(TO_KELVIN, TO_KELVIN)
    np.testing.assert_allclose(C, C.T, atol=1e-9 * np.abs(C).max())
