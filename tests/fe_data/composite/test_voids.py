"""Voids are holes in the mesh: perforated plates against closed forms, and averages."""

import dataclasses
import math

import numpy as np
import pytest

from fe_data import (
    Isotropic,
    Loading,
    Material,
    Microstructure,
    effective_constants,
    microstructures_from_file,
    named_phases,
    solve_composite,
)
from fe_data.composite.constants import homogenised
from fe_data.composite.elasticity import TO_KELVIN
from fe_data.composite.model import FEModel
from fe_data.composite.phases import Phases
from fe_data.composite.rve import composite_domain
from fe_data.geometry.microstructure import clear_of_edges, random_microstructure

E, NU = 70.0, 0.3
MATRIX = Material(Isotropic(E, NU))
PLATE = Phases(MATRIX, MATRIX)


@pytest.mark.parametrize("centre", [[0.5, 0.5], [0.0, 0.5], [0.0, 0.0]], ids=str)
def test_a_void_has_its_area_and_opposite_edges_still_match(centre):
    """Also one that crosses an edge or a corner of the square."""
    hole = Microstructure([centre, [0.5, 0.25]], [0.2, 0.04], ["void", "fibres"])
    domain = composite_domain(PLATE, hole, 8.0)
    assert not (domain.material == 0).any()
    assert set(np.unique(domain.triangles)) == set(range(len(domain.points)))
    for axis in range(2):
        low, high = (domain.points[:, axis] == end for end in (0.0, 1.0))
        assert low.sum() == high.sum() > 3
        assert set(domain.merged[low]) == set(domain.merged[high])
    solved = solve_composite(PLATE, hole, Loading((0.01, None, None)), increments=1)
    fields = solved.fields().values()
    area = sum(phase.weights.sum() for phase in fields)
    assert area == pytest.approx(1 - math.pi * 0.2**2, rel=1e-9)
    stress = sum(np.einsum("mq,mqk->k", phase.weights, phase.stress) for phase in fields)
    np.testing.assert_allclose(stress[:2], solved.history["stress"][-1][:2], atol=1e-8)


def test_along_the_pores_a_plate_follows_the_law_of_mixtures():
    """E_L = (1 - φ) E and ν_LT = ν, for any pores; G_LT = G (1 - φ) / (1 + φ) to O(φ⁴)."""
    porosity = 0.3
    hole = Microstructure([[0.5, 0.5]], math.sqrt(porosity / math.pi), "void")
    constants = effective_constants(PLATE, hole, resolution=16).constants
    assert constants.E_L_GPa == pytest.approx((1 - porosity) * E, rel=1e-8)
    assert constants.nu_LT == pytest.approx(NU, rel=1e-8)
    G = E / (2 * (1 + NU))
    assert constants.G_LT_GPa == pytest.approx(G * (1 - porosity) / (1 + porosity), rel=3e-3)


@pytest.mark.parametrize("nu", [0.0, 0.45, 0.4501, 0.499])
def test_the_ratio_of_in_plane_moduli_does_not_depend_on_poissons_ratio(nu):
    """E* / E of a plate with holes (Cherkaev, Lurie & Milton 1992); .39247 from a fine mesh."""
    matrix = Material(Isotropic(E, nu))
    hole = Microstructure([[0.5, 0.5]], math.sqrt(0.4 / math.pi), "void")
    stiffness = effective_constants(Phases(matrix, matrix), hole).stiffness_GPa
    compliance = np.linalg.inv(stiffness)
    in_plane = 1 / (compliance[0, 0] - compliance[0, 2] ** 2 / compliance[2, 2])
    assert in_plane * (1 - nu**2) / E == pytest.approx(0.39247, rel=1e-3)


@pytest.mark.parametrize("kind", ["fibres", "void"])
@pytest.mark.parametrize("name", ["glass_epoxy", "boron_aluminium"])
def test_a_small_strain_has_the_stress_of_the_effective_constants(name, kind):
    """Apart from the error of the mesh, which has thin elements only if a phase can yield."""
    micro = Microstructure([[0.5, 0.5]], 0.3, kind)
    phases = named_phases(name)
    expected = effective_constants(phases, micro).stiffness_GPa[:4, 0] * 1e3
    pull = Loading((1e-5, 0.0, 0.0), increments=1)
    solved = solve_composite(phases, micro, pull, tolerance=1e-9, silent=True)
    np.testing.assert_allclose(solved.history["stress"][-1, :3], expected[:3] * 1e-5, rtol=1e-3)


def test_a_void_beside_a_fibre_is_the_limit_of_a_soft_phase():
    """The stiffness of the model differs by a share of the soft modulus, which vanishes with it."""
    two = clear_of_edges(Microstructure([[0.25, 0.3], [0.75, 0.7]], [0.2, 0.15]))
    phases = named_phases("glass_epoxy")
    domain = composite_domain(phases, two, 5, elastic=True)
    in_phases = [domain.material == number for number in (-1, 0, 1)]
    porous = dataclasses.replace(two, phases=["fibres", "void"])
    constants = effective_constants(phases, porous, resolution=5)
    assert constants.lower is None
    empty = constants.stiffness_GPa
    distances = []
    for modulus in (1e-3, 1e-5):
        soft = Material(Isotropic(modulus, 0.3))
        materials = [phases.matrix, phases.fibres, soft]
        parts = list(zip("mfs", materials, in_phases, strict=True))
        stiffness, _ = homogenised(FEModel(domain, parts, out_of_plane=True, elastic=True))
        engineering = stiffness / np.outer(TO_KELVIN, TO_KELVIN) / 1e3
        distances.append(np.linalg.norm(engineering - empty) / np.linalg.norm(empty))
    assert distances[0] < 1e-3
    assert distances[1] == pytest.approx(distances[0] / 100, rel=0.02)


@pytest.mark.filterwarnings("ignore:alpha_per_K of")  # nothing here expands
def test_a_third_phase_is_that_of_the_material():
    """Two of three fibres of the same stuff under another name are the same composite."""
    three = clear_of_edges(Microstructure([[0.2, 0.3], [0.7, 0.2], [0.6, 0.7]], [0.15, 0.15, 0.2]))
    phases = named_phases("carbon_epoxy")
    expected = effective_constants(phases, three, resolution=4)
    several = dataclasses.replace(three, phases=["carbon", "fibres", "carbon"])
    more = dataclasses.replace(phases, others={"carbon": phases.fibres})
    constants = effective_constants(more, several, resolution=4)
    np.testing.assert_allclose(
        constants.stiffness_GPa, expected.stiffness_GPa, rtol=1e-9, atol=1e-9
    )
    stiffer = dataclasses.replace(phases, others={"carbon": Material(Isotropic(500.0, 0.2))})
    mixed = effective_constants(stiffer, several, resolution=4)
    areas = np.pi * three.radii**2
    E_m, E_f = phases.matrix.elasticity.E_GPa, phases.fibres.elasticity.E_L_GPa
    voigt = np.array([500.0, E_f, 500.0]) @ areas + E_m * (1 - areas.sum())
    assert mixed.constants.E_L_GPa == pytest.approx(voigt, rel=1e-3)
    assert mixed.upper is None


@pytest.mark.filterwarnings("ignore:alpha_per_K of")  # nothing here expands
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
    constants = effective_constants(phases, read, resolution=4)
    np.testing.assert_allclose(
        constants.stiffness_GPa, expected.stiffness_GPa, rtol=1e-9, atol=1e-9
    )
    assert constants.upper is None
    with pytest.raises(ValueError, match="E_GPa of a fibre needs isotropic elasticity"):
        effective_constants(named_phases("carbon_epoxy"), read, resolution=4)


@pytest.mark.parametrize("radius", [0.4, 1.0, 1.7])
def test_random_voids_have_their_fraction_and_keep_their_distance(radius):
    settings = {"n_fibres": 12, "min_spacing": 1.05, "void_fraction": 0.03, "void_radius": radius}
    micro = random_microstructure(0.5, 3, **settings)
    assert micro.volume_fraction == pytest.approx(0.5, rel=1e-12)
    assert micro.porosity == pytest.approx(0.03, rel=1e-12)
    assert micro.nearest_distances.min() >= 1.05 * (1 - 1e-9)
    fibre, void = (micro.radii[micro.is_void == kind] for kind in (False, True))
    assert len(fibre) == 12
    assert np.ptp(void) == 0
    n = 12 * 0.03 / 0.5 / radius**2  # voids of exactly this radius
    assert len(void) == max(1, round(n))
    assert void[0] / fibre[0] == pytest.approx(radius * math.sqrt(n / len(void)))
