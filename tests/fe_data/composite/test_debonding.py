"""RVEs whose fibres debond."""

import dataclasses
import functools
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from fe_data import (
    Interface,
    Isotropic,
    Loading,
    Material,
    Microstructure,
    Phases,
    YieldStress,
    named_phases,
    save_interfaces,
    save_mesh,
    solve_composite,
)
from fe_data.composite.rve import cohesive_law, composite_domain, composite_model
from fe_data.composite.stepping import _VISCOSITY as VISCOSITY
from fe_data.composite.stepping import IncrementalModel
from fe_data.composite.strengths import strength_loading
from fe_data.geometry.microstructure import random_microstructure
from tests.fe_data.composite.debonding import CUT, DEBONDING, GLASS_EPOXY, ONE, simulated


@pytest.mark.parametrize("out_of_plane", [False, True])
def test_cut_outlines_have_the_length_of_circles_and_face_each_other(out_of_plane):
    """Also for fibres that the edges of the RVE cut."""
    domain = composite_domain(DEBONDING, CUT, 6.0)
    model = composite_model(DEBONDING, CUT, domain, out_of_plane=out_of_plane)
    points = model.interface
    length = 2 * np.pi * CUT.radii.sum()
    assert points.weights.sum() == pytest.approx(length, rel=1e-3)
    assert len(np.unique(points.nodes)) == points.nodes.size
    # The normals point out of the fibres: their mean over a circle times the radius is the area.
    place = dict(zip(domain.merged, domain.points, strict=True))
    last = domain.n_nodes - 1  # the fixed node has the largest index
    xy = np.array([place[min(node, last)] for node in points.nodes[:, 0]])
    apart = xy[:, None] - CUT.centres
    apart -= np.round(apart)
    nearest = np.linalg.norm(apart, axis=2).argmin(axis=1)
    radial = apart[np.arange(len(nearest)), nearest] / CUT.radii[nearest][:, None]
    np.testing.assert_allclose((radial * points.frames[:, 0, :2]).sum(axis=1), 1.0, atol=2e-3)
    # Normal, tangent and z are orthonormal and right-handed.
    products = points.frames @ points.frames.swapaxes(1, 2)
    np.testing.assert_allclose(products - np.eye(model.block), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(points.frames), 1.0)


def test_with_an_interphase_the_fibres_debond_from_it():
    """The cut has the length of the outlines of the fibres, not of the rings."""
    ring = Material(Isotropic(10.0, 0.35))
    coated = dataclasses.replace(CUT, interphase=0.03)
    phases = dataclasses.replace(DEBONDING, others={"interphase": ring})
    domain = composite_domain(phases, coated, 4.0)
    model = composite_model(phases, coated, domain, out_of_plane=False)
    assert model.interface.weights.sum() == pytest.approx(2 * np.pi * CUT.radii.sum(), rel=1e-3)
    n = len(CUT.radii)
    in_fibre = (domain.material >= 0) & (domain.material < n)
    inside, outside = domain.interfaces[:, :3], domain.interfaces[:, 3:]
    for nodes, elements in ((inside, in_fibre), (outside, domain.material >= n)):
        assert np.isin(nodes, domain.triangles[elements]).all()
        assert not np.isin(nodes, domain.triangles[~elements]).any()


@pytest.mark.parametrize("out_of_plane", [False, True])
def test_assembled_forces_do_the_work_of_the_tractions_and_have_their_derivative(out_of_plane):
    """At openings that are closed, softening, unloading and debonded; also across edges."""
    domain = composite_domain(DEBONDING, CUT, 3.0)
    model = composite_model(DEBONDING, CUT, domain, out_of_plane=out_of_plane)
    law = cohesive_law(DEBONDING, CUT)
    rng = np.random.default_rng(4)
    final = law.openings(np.zeros(1))[1][0]
    x = np.append(rng.normal(scale=0.5 * final, size=model.n), np.zeros(model.size))
    old = rng.choice([0.0, 0.999, 1.0], len(model.interface.weights))

    def force(x):
        forces = np.zeros_like(x)
        model.add_interface_forces(forces, law.evaluate(model.opening(x), old).traction)
        return forces

    at_x = law.evaluate(model.opening(x), old)
    is_closed, grows, is_debonded = model.opening(x)[:, 0] < 0, at_x.damage > old, old == 1
    for some in (is_closed, grows, ~grows & ~is_debonded, is_debonded):
        assert some.sum() > 5
    change = rng.normal(scale=final, size=len(x))
    # Virtual work f · δu = ∫ t · δ(opening)
    done = model.interface.weights @ (at_x.traction * model.opening(change)).sum(axis=1)
    assert force(x) @ change == pytest.approx(done, rel=1e-9)
    slope = (force(x + 1e-7 * change) - force(x - 1e-7 * change)) / 2e-7
    model.assemble({})
    bonded = model.system.product(change, np.eye(model.size))
    model.add_interface_tangent(at_x.tangent)
    derivative = model.system.product(change, np.eye(model.size)) - bonded
    np.testing.assert_allclose(derivative, slope, atol=1e-6 * np.abs(slope).max())


LOADINGS = {
    "transverse": Loading((0.005, None, None, None, None, None)),
    "plane strain": Loading((0.005, None, None)),
    "compression": Loading((-0.01, None, None, None, None, None)),
    "shear": Loading((None, None, None, None, 0.005, None)),
}


@pytest.mark.parametrize("name", LOADINGS)
def test_stiff_and_strong_interfaces_give_the_bonded_curve(monkeypatch, name):
    """On the mesh of the interfaces, which has no layer of thin elements."""
    monkeypatch.setattr("fe_data.composite.rve.with_layer", lambda mesh, _: mesh)
    strong = Interface(1e4, 1e4, 1e5, 1e5, 7.0, stiffness_N_mm3=1e11)
    matrix = Material(Isotropic(3.5, 0.35), "j2", {"yield_stress": YieldStress(30.0, 300.0)})
    bonded = dataclasses.replace(GLASS_EPOXY, matrix=matrix)
    cut = dataclasses.replace(bonded, interface=strong)
    expected = simulated(bonded, CUT, LOADINGS[name]).history["stress"]
    stress = simulated(cut, CUT, LOADINGS[name]).history["stress"]
    np.testing.assert_allclose(stress, expected, atol=1e-3 * np.abs(expected).max())


def test_a_body_of_one_material_that_is_cut_is_the_uncut_body():
    """Uniform stress, for a stiffness that adds 1e-9 of compliance."""
    strong = Interface(1e4, 1e4, 1e5, 1e5, 7.0, stiffness_N_mm3=1e13)
    one = Material(Isotropic(3.5, 0.35))
    solved = simulated(Phases(one, one, interface=strong), CUT, LOADINGS["transverse"])
    stress = solved.history["stress"][-1]
    assert stress[0] == pytest.approx(3500 * 0.005, rel=1e-5)
    for phase in solved.fields().values():
        np.testing.assert_allclose(phase.stress[..., 0], stress[0], rtol=1e-4)


def test_the_energies_are_balanced_and_the_viscous_part_is_small():
    pull = Loading((0.02, None, None, None, None, None))
    history = simulated(DEBONDING, ONE, pull, increments=40).history
    parts = ("work_on_phases", "interface_energy", "debonding_energy")
    parts += ("viscous_energy", "snap_energy")
    total = sum(history[name] for name in parts)
    work = history["external_work"]
    np.testing.assert_allclose(total, work, atol=0.01 * work[-1])
    assert history["debonding_energy"][-1] > 0.05 * work[-1]
    assert history["viscous_energy"][-1] < 0.02 * history["debonding_energy"][-1]
    # The work of the mean stress, by its definition
    mean = (history["stress"][1:] + history["stress"][:-1]) / 2
    expected = (mean * np.diff(history["strain"], axis=0) * [1, 1, 1, 2, 2, 2]).sum()
    assert work[-1] == pytest.approx(expected, rel=0.02)


@pytest.mark.slow
def test_a_tenth_of_the_viscosity_changes_the_viscous_work_but_not_the_energy_of_snaps(monkeypatch):
    """Snaps of brittle interfaces release elastic energy, which is no property of the method."""
    brittle = Interface(50.0, 75.0, 0.5, 1.5, 7.0)
    phases = dataclasses.replace(GLASS_EPOXY, interface=brittle)
    pull = Loading((0.02, *[None] * 5), increments=40)
    default = simulated(phases, THREE, pull, resolution=3.0).strength
    less = functools.partial(IncrementalModel, viscosity=0.1 * VISCOSITY)
    monkeypatch.setattr("fe_data.composite.rve.IncrementalModel", less)
    less_viscous = simulated(phases, THREE, pull, resolution=3.0).strength
    assert default.snap_share == pytest.approx(less_viscous.snap_share, rel=0.2)
    assert 0.1 < default.snap_share < 0.2
    assert default.viscous_share < 0.02
    assert less_viscous.viscous_share < 0.5 * default.viscous_share
    assert less_viscous.strength_MPa == pytest.approx(default.strength_MPa, rel=2e-3)


def test_debonding_begins_at_the_stress_of_goodier():
    """One fibre in a wide matrix under transverse tension in plane strain, within 3 %.

    The normal stress at the pole of a stiff inclusion (J. N. Goodier, J. Appl. Mech. 1 (1933) 39)
    follows from Kolosov's constants: with κ = 3 - 4ν and Γ = μ_f / μ_m

        σ_rr / σ = 1/2 (Γ (κ_m + 1) / (2Γ + κ_f - 1) + Γ (κ_m + 1) / (1 + Γ κ_m)).
    """
    wide = Microstructure([[0.5, 0.5]], 0.08)
    strong = Interface(50.0, 500.0, 2.0, 6.0, 7.0)
    phases = dataclasses.replace(GLASS_EPOXY, interface=strong)
    mu_m, mu_f = 3.5 / (2 * 1.35), 70.0 / (2 * 1.2)
    kappa_m, kappa_f, ratio = 3 - 4 * 0.35, 3 - 4 * 0.2, mu_f / mu_m
    both = ratio * (kappa_m + 1)
    concentration = 0.5 * (both / (2 * ratio + kappa_f - 1) + both / (1 + ratio * kappa_m))
    # In steps of 1 % around the strain at which the matrix has the expected stress
    strain = 50.0 / concentration / (3500.0 / (1 - 0.35**2))
    pull = Loading([(0.9 * strain, None, None), (1.1 * strain, None, None)], increments=(1, 20))
    history = simulated(phases, wide, pull, resolution=10.0).history
    first = int(np.argmax(history["damaged_fraction"] > 0))
    assert first > 1
    onset = history["stress"][first, 0]
    assert onset * concentration == pytest.approx(50.0, rel=0.03)


THREE = random_microstructure(0.5, 0, 3)
BREAK = Loading((0.03, None, None, None, None, None), increments=150)


@pytest.fixture(scope="module")
def broken():
    """Three fibres pulled until the mean stress has fallen by 8 %."""
    return simulated(DEBONDING, THREE, BREAK, resolution=4.0, drop=0.08)


def test_the_path_ends_when_the_stress_has_fallen(broken):
    stress = broken.history["stress"][:, 0]
    strength = broken.strength
    assert broken.stop is None
    assert strength.is_reached
    assert strength.strength_MPa >= stress.max()
    assert strength.strength_MPa == pytest.approx(stress.max(), rel=0.01)
    after = stress[stress.argmax() :]
    assert (after[:-1] >= 0.92 * strength.strength_MPa).all()
    assert stress[-1] < 0.92 * strength.strength_MPa
    assert strength.viscous_share < 0.02
    assert abs(strength.energy_error) < 0.01
    side = 0.007 / (2 * THREE.radii[0])  # mm
    dissipated = broken.history["debonding_energy"][-1] * side * 1e3
    assert strength.dissipated_J_m2 == pytest.approx(dissipated)


@pytest.mark.slow
def test_a_peak_counts_though_the_stress_recovers_after_it():
    """The matrix hardens again when one fibre has debonded; the stress ends just below its peak."""
    one = Microstructure([[0.123, 0.456]], (0.3 / np.pi) ** 0.5)
    path = strength_loading("transverse_tension")
    plastic = named_phases("glass_epoxy_debonding")
    rve = simulated(plastic, one, path, resolution=3.0, drop=0.2)
    stress = rve.history["stress"][:, 0]
    peak = stress.argmax()
    assert 0 < peak < len(stress) - 1
    assert stress[peak:].min() < 0.93 * stress[peak]
    assert stress[-1] > 0.99 * stress[peak]
    assert rve.strength.is_reached


def test_the_mesh_opens_where_the_interface_is_damaged(broken):
    """The displacements of both faces differ by the opening."""
    fields = broken.interface_fields()
    sides = broken.model.domain.interfaces
    inside, outside = broken.displacement()[sides[:, :3]], broken.displacement()[sides[:, 3:]]
    apart = np.linalg.norm(outside - inside, axis=2)
    opening = fields["opening"][sides]
    np.testing.assert_allclose(opening[:, :3], opening[:, 3:])
    np.testing.assert_allclose(np.linalg.norm(opening[:, :3], axis=2), apart, atol=1e-12)
    assert fields["interface_damage"][sides].max() == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("increments", "resolution", "allowed"),
    [(300, 4.0, 0.01), (150, 8.0, 0.03)],
)
def test_half_the_step_and_half_the_elements_change_the_strength_little(
    broken, increments, resolution, allowed
):
    finer = Loading(BREAK.strain, increments=increments)
    strength = simulated(DEBONDING, THREE, finer, resolution=resolution, drop=0.08).strength
    assert strength.strength_MPa == pytest.approx(broken.strength.strength_MPa, rel=allowed)


def test_the_file_of_interfaces_has_their_openings(broken, tmp_path):
    """The numbers of the last step, read back by the places that the XDMF file names."""
    save_interfaces(broken, tmp_path / "lines.xdmf")
    root = ET.parse(tmp_path / "lines.xdmf").getroot()
    numbers = (tmp_path / "lines.bin").read_bytes()

    def read(item):
        kind = "<i4" if item.attrib["NumberType"] == "Int" else "<f4"
        shape = [int(size) for size in item.attrib["Dimensions"].split()]
        count = int(np.prod(shape))
        return np.frombuffer(numbers, kind, count, int(item.attrib["Seek"])).reshape(shape)

    (grid,) = (element for element in root.iter("Grid") if element.find("Time") is not None)
    sides = broken.model.domain.interfaces[:, :3]
    lines = read(grid.find("Topology/DataItem"))
    points = read(grid.find("Geometry/DataItem"))
    np.testing.assert_allclose(points[lines], broken.model.domain.points[sides], atol=1e-6)
    fields = {element.attrib["Name"]: read(element[0]) for element in grid.iter("Attribute")}
    expected = broken.interface_fields()
    assert fields.keys() == {"displacement", *expected}
    for name, values in expected.items():
        values_on_lines = fields[name].reshape(-1, *values.shape[1:])[lines]
        np.testing.assert_allclose(values_on_lines, values[sides], rtol=1e-6, atol=1e-9)
    bonded = simulated(GLASS_EPOXY, ONE, Loading((1e-4, None, None)), increments=1, resolution=3.0)
    with pytest.raises(ValueError, match="no interfaces"):
        save_interfaces(bonded, tmp_path / "none.xdmf")


def test_unloading_is_no_failure():
    """The last part goes back to zero stress."""
    cycle = Loading([(0.004, *[None] * 5), (None,) * 6])
    solved = simulated(DEBONDING, ONE, cycle, increments=8, resolution=4.0)
    assert solved.stop is None
    assert len(solved.history["strain"]) == 17
    assert solved.strength is None


def test_debonded_faces_do_not_penetrate():
    """A pull debonds fibres. Then compression presses them together, and they slide freely.

    So the RVE is softer than a bonded one in compression, and much softer in tension.
    """
    pull, push = 0.02, -0.006
    cycle = Loading([(pull, *[None] * 5), (push, *[None] * 5)], increments=(20, 4))
    solved = simulated(DEBONDING, CUT, cycle, resolution=3.0)
    assert solved.stop is None
    debonding, history = solved.steps[-1].debonding, solved.history
    is_debonded = debonding.damage == 1
    assert is_debonded.sum() > 5
    assert debonding.opening[:, 0].min() > -1e-3 * CUT.radii.min()
    assert debonding.traction[is_debonded, 0].max() < 0
    assert (debonding.traction[is_debonded, 1] == 0).all()
    np.testing.assert_array_equal(history["debonding_energy"][20:], history["debonding_energy"][20])
    bonded = simulated(GLASS_EPOXY, CUT, Loading((push, *[None] * 5)), resolution=3.0)
    modulus = bonded.history["stress"][-1, 0] / push
    assert history["stress"][20, 0] / pull < 0.5 * modulus
    assert 0.85 * modulus < history["stress"][-1, 0] / push < modulus


@pytest.mark.parametrize("kelvin", [0.0, -50.0])
def test_a_hold_and_a_temperature_without_expansion_open_nothing(kelvin):
    """The phases do not expand and do not creep, so the stress stays where it is."""
    hold = (0.001, None, None)
    loading = Loading([hold, hold], temperature=(0.0, kelvin), time=(1.0, 2.0))
    choices = {"increments": 2, "resolution": 3.0, "silent": True}
    solved = solve_composite(named_phases("glass_epoxy_debonding"), ONE, loading, **choices)
    stress = solved.history["stress"]
    np.testing.assert_allclose(stress[-1], stress[2], rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_the_strength_of_tension_in_a_direction_is_in_its_axes():
    """A square array at 45 degrees is a square array turned: its strength is that along x."""
    phases = named_phases("glass_epoxy_debonding")
    side = np.sqrt(0.5)
    turned = Microstructure([[0.0, 0.0], [0.5, 0.5]], 0.25)  # at 45° an array of side √½
    one = Microstructure([[0.5, 0.5]], 0.25 / side)
    choices = {"increments": 100, "resolution": 4.0, "silent": True}
    pull = (0.03, *[None] * 5)
    along = solve_composite(phases, one, Loading(pull), **choices).strength
    across = solve_composite(phases, turned, Loading(pull, angle=45.0), **choices).strength
    assert across.strength_MPa == pytest.approx(along.strength_MPa, rel=0.02)


def test_the_exported_mesh_of_a_cut_rve_is_joined(tmp_path):
    """Nodes that two sides of an interface share are one node in the file."""
    phases = named_phases("glass_epoxy_debonding")
    small = {"increments": 1, "resolution": 3.0, "silent": True}
    pull = Loading((1e-4, None, None))
    save_mesh(solve_composite(phases, ONE, pull, **small), tmp_path / "cut.inp")
    lines = (tmp_path / "cut.inp").read_text().split("*ELEMENT")[0].splitlines()
    nodes = np.array([line.split(",")[1:3] for line in lines if line[:1].strip().isdigit()], float)
    assert len(np.unique(nodes.round(9), axis=0)) == len(nodes) > 100
