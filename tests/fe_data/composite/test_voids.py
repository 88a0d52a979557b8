"""Voids are holes in the mesh: perforated plates against closed forms, and averages."""

import dataclasses
import math

import numpy as np
import pytest

from fe_data import (
    Inputs,
    Isotropic,
    Loading,
    Material,
    Microstructure,
    Settings,
    effective_constants,
    load_phases,
    microstructures_from_file,
    named_phases,
    solve_composite,
    solve_rve,
)
from fe_data.composite.cell import Cell
from fe_data.composite.constants import homogenised
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.composite.materials import Phases
from fe_data.composite.rve import composite_domain
from fe_data.geometry.microstructure import clear_of_edges, random_microstructure

E, NU = 70.0, 0.3
MATRIX = Material(Isotropic(E, NU))
PLATE = Phases(MATRIX, MATRIX)


@pytest.mark.parametrize("centre", [[0.5, 0.5], [0.0, 0.5], [0.0, 0.0]], ids=str)
def test_a_void_has_its_area_and_opposite_edges_still_match(centre):
    """Also one that crosses an edge or a corner of the square."""
    hole = Microstructure([centre, [0.5, 0.25]], [0.2, 0.04], ["void", "fibres"])
    domain = composite_domain(hole, 8.0)
    assert not (domain.material == 0).any()
    assert set(np.unique(domain.triangles)) == set(range(len(domain.points)))
    for axis in range(2):
        low, high = (domain.points[:, axis] == end for end in (0.0, 1.0))
        assert low.sum() == high.sum() > 3
        assert set(domain.merged[low]) == set(domain.merged[high])
    solved = solve_composite(PLATE, hole, Loading((0.01, None, None)), increments=1)
    area = sum(part.weights.sum() for part in solved.cell.parts)
    assert area == pytest.approx(1 - math.pi * 0.2**2, rel=1e-9)


@pytest.mark.parametrize("porosity", [pytest.param(0.002, marks=pytest.mark.slow), 0.3])
def test_along_the_pores_a_plate_follows_the_law_of_mixtures(porosity):
    """E_L = (1 - φ) E and ν_LT = ν, for any pores; G_LT = G (1 - φ) / (1 + φ) to O(φ⁴)."""
    hole = Microstructure([[0.5, 0.5]], math.sqrt(porosity / math.pi), "void")
    found = effective_constants(PLATE, hole, resolution=16).constants
    assert found.E_L_GPa == pytest.approx((1 - porosity) * E, rel=1e-8)
    assert found.nu_LT == pytest.approx(NU, rel=1e-8)
    G = E / (2 * (1 + NU))
    assert found.G_LT_GPa == pytest.approx(G * (1 - porosity) / (1 + porosity), rel=3e-3)


def test_a_plate_with_few_pores_has_the_compliance_of_one_pore_in_an_infinite_plate():
    """1 / E_T = (1 + (3 - 2 ν²) φ) / E: factor 3 in plane strain, and the law along z."""
    porosity = 0.002
    hole = Microstructure([[0.5, 0.5]], math.sqrt(porosity / math.pi), "void")
    found = effective_constants(PLATE, hole, resolution=16).constants
    assert (E / found.E_T_GPa - 1) / porosity == pytest.approx(3 - 2 * NU**2, rel=0.02)


def test_a_void_beside_a_fibre_is_the_limit_of_a_soft_phase():
    """The stiffness of the cell differs by a share of the soft modulus, which vanishes with it."""
    two = clear_of_edges(Microstructure([[0.25, 0.3], [0.75, 0.7]], [0.2, 0.15]))
    phases = named_phases("glass_epoxy")
    domain = composite_domain(two, 5)
    in_phases = [domain.material == number for number in (-1, 0, 1)]
    porous = dataclasses.replace(two, phases=["fibres", "void"])
    found = effective_constants(phases, porous, resolution=5)
    assert found.lower is None
    empty = found.stiffness_GPa
    distances = []
    for modulus in (1e-3, 1e-5):
        soft = Material(Isotropic(modulus, 0.3))
        materials = [phases.matrix, phases.fibres, soft]
        parts = list(zip("mfs", materials, in_phases, strict=True))
        stiffness, _ = homogenised(Cell(domain, parts, out_of_plane=True, elastic=True))
        engineering = stiffness / np.outer(TO_KELVIN, TO_KELVIN) / 1e3
        distances.append(np.linalg.norm(engineering - empty) / np.linalg.norm(empty))
    assert distances[0] < 1e-3
    assert distances[1] == pytest.approx(distances[0] / 100, rel=0.02)


def test_mean_stress_counts_the_void_with_zero():
    hole = Microstructure([[0.5, 0.5]], 0.3, "void")
    loading = Loading((1e-3, None, None))
    solved = solve_composite(PLATE, hole, loading, increments=1, resolution=6)
    (stress,) = [
        np.einsum("mq,mqk->k", each.weights, each.stress) for each in solved.fields().values()
    ]
    np.testing.assert_allclose(stress[:2], solved.history["stress"][-1][:2], atol=1e-8)


def test_a_third_phase_is_that_of_the_material():
    """Two of three fibres of the same stuff under another name are the same composite."""
    three = clear_of_edges(Microstructure([[0.2, 0.3], [0.7, 0.2], [0.6, 0.7]], [0.15, 0.15, 0.2]))
    phases = named_phases("carbon_epoxy")
    expected = effective_constants(phases, three, resolution=4)
    several = dataclasses.replace(three, phases=["carbon", "fibres", "carbon"])
    more = dataclasses.replace(phases, others={"carbon": phases.fibres})
    found = effective_constants(more, several, resolution=4)
    np.testing.assert_allclose(found.stiffness_GPa, expected.stiffness_GPa, rtol=1e-9, atol=1e-9)
    stiffer = dataclasses.replace(phases, others={"carbon": Material(Isotropic(500.0, 0.2))})
    mixed = effective_constants(stiffer, several, resolution=4)
    areas = np.pi * three.radii**2
    E_m, E_f = phases.matrix.elasticity.E_GPa, phases.fibres.elasticity.E_L_GPa
    voigt = np.array([500.0, E_f, 500.0]) @ areas + E_m * (1 - areas.sum())
    assert mixed.constants.E_L_GPa == pytest.approx(voigt, rel=1e-3)
    assert mixed.upper is None


def test_each_fibre_may_have_its_modulus(tmp_path):
    """As fibres of phases of these moduli; an empty one is that of the phase."""
    three = clear_of_edges(Microstructure([[0.2, 0.3], [0.7, 0.2], [0.6, 0.7]], [0.15, 0.15, 0.2]))
    phases = named_phases("glass_epoxy")
    nu = phases.fibres.elasticity.nu
    others = {"soft": Material(Isotropic(40.0, nu)), "stiff": Material(Isotropic(90.0, nu))}
    named = dataclasses.replace(three, phases=["soft", "fibres", "stiff"])
    expected = effective_constants(dataclasses.replace(phases, others=others), named, resolution=4)
    rows = zip(*three.centres.T.tolist(), three.radii.tolist(), (40.0, "", 90.0), strict=True)
    lines = ["x,y,radius,E_GPa", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "fibres.csv").write_text("\n".join(lines))
    (read,) = microstructures_from_file(tmp_path / "fibres.csv")
    found = effective_constants(phases, read, resolution=4)
    np.testing.assert_allclose(found.stiffness_GPa, expected.stiffness_GPa, rtol=1e-9, atol=1e-9)
    assert found.upper is None
    with pytest.raises(ValueError, match="E_GPa of a fibre needs isotropic elasticity"):
        effective_constants(named_phases("carbon_epoxy"), read, resolution=4)
    with pytest.raises(ValueError, match="microstructure has E_GPa of each fibre: give a material"):
        solve_rve(Inputs(read.volume_fraction, 400.0, 400.0, 0.4), read, Settings())
    with pytest.raises(ValueError, match=r"E_GPa\[0\] = 70 is of a void"):
        Microstructure([[0.5, 0.5]], 0.3, "void", E_GPa=[70.0])
    with pytest.raises(ValueError, match=r"E_GPa\[1\] = -1\.0 is out of range"):
        dataclasses.replace(three, E_GPa=[70.0, -1.0, np.nan])


def test_a_file_of_phases_may_have_more_than_two(tmp_path):
    glass = "{elasticity: {E_GPa: 74.0, nu: 0.2}}"
    text = f"phases: {{matrix: {glass}, fibres: {glass}, flint: {glass}}}"
    (tmp_path / "three.yaml").write_text(text)
    phases = load_phases(tmp_path / "three.yaml")
    assert phases.of("flint").elasticity.E_GPa == 74.0
    (tmp_path / "three.yaml").write_text(text.replace("flint", "void"))
    with pytest.raises(ValueError, match="others has 'void', which is the name of another phase"):
        load_phases(tmp_path / "three.yaml")


@pytest.mark.parametrize("radius", [0.4, 1.0, 1.7])
def test_random_voids_have_their_fraction_and_keep_their_distance(radius):
    given = {"n_fibres": 12, "min_spacing": 1.05, "void_fraction": 0.03, "void_radius": radius}
    micro = random_microstructure(0.5, 3, **given)
    assert micro.volume_fraction == pytest.approx(0.5, rel=1e-12)
    assert micro.porosity == pytest.approx(0.03, rel=1e-12)
    assert micro.nearest_distances.min() >= 1.05 * (1 - 1e-9)
    fibre, void = (micro.radii[micro.is_void == kind] for kind in (False, True))
    assert len(fibre) == 12
    assert np.ptp(void) == 0
    n = 12 * 0.03 / 0.5 / radius**2  # voids of exactly this radius
    assert len(void) == max(1, round(n))
    assert void[0] / fibre[0] == pytest.approx(radius * math.sqrt(n / len(void)))


def test_what_is_no_phase_of_the_material_is_refused():
    odd = Microstructure([[0.5, 0.5]], 0.3, "steel")
    with pytest.raises(ValueError, match=r"'steel' is unknown: allowed are fibres, void"):
        effective_constants(PLATE, odd)
    with pytest.raises(
        ValueError,
        match="'steel' in place of fibre 0: give a material, as --material",
    ):
        solve_rve(Inputs(odd.volume_fraction, 400.0, 400.0, 0.4), odd, Settings())
    with pytest.raises(ValueError, match="phases has 2 names for 1 fibres"):
        Microstructure([[0.5, 0.5]], 0.3, ["void", "void"])
    with pytest.raises(ValueError, match=r"void_fraction = 0\.4 is out of range: 30 fibres and 20"):
        random_microstructure(0.6, 0, min_spacing=1.02, void_fraction=0.4)
    with pytest.raises(
        ValueError, match=r"void_radius = 0\.01 is out of range: it takes 1500 voids"
    ):
        random_microstructure(0.2, 0, void_fraction=0.001, void_radius=0.01)
