"""The law of cohesive interfaces, and RVEs whose fibres debond."""

import dataclasses
import functools
import json
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from fe_data import (
    Design,
    Interface,
    Isotropic,
    Loading,
    Material,
    MaterialPoint,
    Microstructure,
    Phases,
    Settings,
    VolumeFraction,
    YieldStress,
    generate,
    load_curves,
    load_phases,
    load_table,
    named_phases,
    save_interfaces,
    save_mesh,
    solve_composite,
    verify,
)
from fe_data.__main__ import main
from fe_data.cli.sampling import report
from fe_data.composite.interface import CohesiveLaw, Strength
from fe_data.composite.phases import EXAMPLES
from fe_data.composite.rve import cohesive_law, composite_domain, composite_model
from fe_data.composite.stepping import _VISCOSITY as VISCOSITY
from fe_data.composite.stepping import IncrementalModel
from fe_data.composite.strengths import SampledStrength, sample_strength, strength_table
from fe_data.geometry.microstructure import random_microstructure
from fe_data.schema import OF_STRENGTH

GLASS_EPOXY = Phases(Material(Isotropic(3.5, 0.35)), Material(Isotropic(70.0, 0.2)))
INTERFACE = Interface(50.0, 75.0, 2.0, 6.0, 7.0, stiffness_N_mm3=1e8)
DEBONDING = dataclasses.replace(GLASS_EPOXY, interface=INTERFACE)
SIDE = 0.03  # mm
LAW = CohesiveLaw.of(INTERFACE, 3.5, SIDE)
ONE = Microstructure([[0.5, 0.5]], np.sqrt(0.4 / np.pi))
CUT = Microstructure([[0.1, 0.5], [0.6, 0.03]], np.sqrt(0.15 / np.pi))  # by the edges of the RVE


def opened(mode, share=1.0, steps=400, law=LAW):
    """Openings in steps to a share of the final opening of a mode, and the law along them."""
    direction = np.array([np.cos(mode), np.sin(mode)])
    final = law.openings(np.array([np.sin(mode) ** 2]))[1][0]
    path = np.linspace(0.0, share * final, steps + 1)[:, None] * direction
    damage = np.zeros(1)
    responses = [law.evaluate(path[:1], damage)]
    for opening in path[1:]:
        responses.append(law.evaluate(opening[None], responses[-1].damage))
    return path, responses


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_the_work_to_separate_is_the_toughness_of_the_mode(share):
    """G_Ic, G_IIc, and between them the value of Benzeggagh and Kenane, to 1e-6."""
    mode = np.arcsin(np.sqrt(share))
    expected = 2.0 + (6.0 - 2.0) * share**1.45  # J/m²
    path, responses = opened(mode, steps=2000)
    kink = LAW.openings(np.array([np.sin(mode) ** 2]))[0]
    assert responses[-1].damage == 1.0
    # The path with the kink at the onset, so that the trapezoidal rule is exact
    traction = np.array([response.traction[0] for response in responses])
    path = np.concatenate([path, kink * [[np.cos(mode), np.sin(mode)]]])
    at_kink = LAW.evaluate(path[-1:], np.zeros(1)).traction
    order = np.argsort(np.linalg.norm(path, axis=1))
    forces = np.concatenate([traction, at_kink])[order]
    done = ((forces[1:] + forces[:-1]) / 2 * np.diff(path[order], axis=0)).sum()
    to_J_m2 = 0.03 * 1e3  # MPa of relative openings, a side of 0.03 mm
    assert done * to_J_m2 == pytest.approx(expected, rel=1e-6)
    dissipated = sum(response.dissipated[0] for response in responses)
    assert dissipated * to_J_m2 == pytest.approx(expected, rel=1e-6)


def test_the_largest_tractions_are_the_strengths():
    for mode, strength in ((0.0, 50.0), (np.pi / 2, 75.0)):
        onset = LAW.openings(np.array([np.sin(mode) ** 2]))[0][0]
        at = onset * np.array([[np.cos(mode), np.sin(mode)]])
        response = LAW.evaluate(at, np.zeros(1))
        assert np.linalg.norm(response.traction) == pytest.approx(strength)
        assert response.damage[0] == pytest.approx(0.0, abs=1e-12)


def test_unloading_goes_to_the_origin_and_reloading_dissipates_nothing():
    path, responses = opened(0.6, share=0.5)
    damage, traction = responses[-1].damage, responses[-1].traction
    for share in (0.7, 0.0, 0.3, 1.0):
        back = LAW.evaluate(share * path[-1:], damage)
        np.testing.assert_allclose(back.traction, share * traction, atol=1e-9)
        assert back.damage == damage
        assert back.dissipated[0] == 0.0


def test_a_debonded_interface_resists_compression_only():
    closed = LAW.evaluate(np.array([[-1e-5, 1e-3]]), np.ones(1))
    assert closed.traction[0, 0] == pytest.approx(-1e-5 * LAW.stiffness)
    assert closed.traction[0, 1] == 0.0


def published(opening, largest):
    """Traction (c,), damage and largest opening of diffcohesive 0.1.2, for equal stiffnesses.

    Its onset is that of A. Turon et al. (Mech. Mater. 38 (2006) 1072) with the exponent 1, and its
    history is the largest opening so far. Its smoothing of max(x, 0) is left out.
    """
    K, N, S, G_I, G_II, eta = 1e8, 50.0, 75.0, 0.002, 0.006, 1.45  # N, mm
    normal, shear = max(opening[0], 0.0), np.linalg.norm(opening[1:])
    size = np.hypot(normal, shear)
    B = shear**2 / size**2
    onset = np.sqrt((N / K) ** 2 + ((S / K) ** 2 - (N / K) ** 2) * B)
    final = 2 * (G_I + (G_II - G_I) * B**eta) / (K * onset)
    largest = max(largest, size)
    damage = np.clip(final * (largest - onset) / (largest * (final - onset)), 0.0, 1.0)
    traction = K * opening - damage * K * np.append(normal, opening[1:])
    return traction, damage, largest


def mixed(sizes, shares):
    """Openings [mm], in parts of the final opening, with two components of the shear."""
    modes = np.arcsin(np.sqrt(shares))
    final = SIDE * LAW.openings(np.asarray(shares))[1]
    direction = np.stack([np.cos(modes), 0.6 * np.sin(modes), 0.8 * np.sin(modes)], axis=1)
    return (final * sizes)[:, None] * direction


RELOADED = np.concatenate([np.linspace(0, 0.6, 60)[1:], [0.3, 0.1, 0.4], np.linspace(0.5, 1.1, 31)])
CHANGING = np.linspace(0.0, 1.0, 92)
MIXED = {
    **{f"B = {B:g}": mixed(RELOADED, np.full(93, B)) for B in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)},
    "from opening to sliding": mixed(1e-3 + CHANGING, CHANGING**2),
    "from sliding to more opening": mixed(1e-3 + CHANGING, 1 - CHANGING**2 / 3),
    "closed and sheared": mixed(RELOADED, np.ones(93)) - [1e-6, 0.0, 0.0],
}


@pytest.mark.parametrize("path", MIXED)
def test_traction_and_damage_are_those_of_another_implementation(path):
    """Along paths with unloading and reloading, or with a mode that changes, to 1e-6."""
    damage, largest = np.zeros(1), 0.0
    for opening in MIXED[path]:
        ours = LAW.evaluate(opening[None] / SIDE, damage)
        damage = ours.damage
        traction, expected, largest = published(opening, largest)
        np.testing.assert_allclose(ours.traction[0], traction, atol=1e-6 * 50.0)
        assert damage[0] == pytest.approx(expected, abs=1e-6)
    assert damage[0] == 1.0


def test_a_debonded_interface_stays_debonded_if_the_mode_changes():
    """If the largest opening were the history, it would carry half its shear strength again."""
    opened_by = mixed(np.ones(1), np.zeros(1))[0]
    sheared = np.linalg.norm(opened_by) * np.array([0.0, 1.0, 0.0])
    _, damage, largest = published(opened_by, 0.0)
    assert damage == pytest.approx(1.0)
    assert np.linalg.norm(published(sheared, largest)[0]) == pytest.approx(37.5, rel=0.01)
    assert (LAW.evaluate(sheared[None] / SIDE, np.ones(1)).traction == 0.0).all()


@pytest.mark.parametrize("size", [2, 3])
def test_the_tangent_is_the_derivative_of_the_traction(size):
    rng = np.random.default_rng(1)
    final = LAW.openings(np.zeros(1))[1][0]
    opening = rng.normal(scale=0.3 * final, size=(400, size))
    damage = rng.uniform(0.0, 1.0, 400) ** 0.1
    damage[::2] = 0.0
    tangent = LAW.evaluate(opening, damage).tangent
    step = 1e-7 * final
    for i in range(size):
        change = np.zeros(size)
        change[i] = step
        ends = [LAW.evaluate(opening + sign * change, damage).traction for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(tangent[:, :, i], slope, atol=1e-6 * LAW.stiffness)
    assert (LAW.evaluate(opening, damage).damage > damage).sum() > 50


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


def simulated(phases, fibres, loading, **choices):
    choices = {"increments": 5, "resolution": 6.0, "silent": True, **choices}
    return solve_composite(phases, fibres, loading, **choices)


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


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"normal_strength_MPa": 0.0}, "normal_strength_MPa"),
        ({"shear_strength_MPa": -75.0}, "shear_strength_MPa"),
        ({"toughness_I_J_m2": 0.001}, "toughness_I_J_m2"),
        ({"toughness_II_J_m2": 0.002}, "toughness_II_J_m2"),
        ({"exponent": 0.5}, "exponent"),
        ({"fibre_diameter_um": 0.0}, "fibre_diameter_um"),
        ({"stiffness_N_mm3": 1e5}, "toughness_I_J_m2"),
    ],
)
def test_wrong_numbers_are_named(change, field):
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(GLASS_EPOXY, interface=dataclasses.replace(INTERFACE, **change))


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


@pytest.mark.parametrize(
    ("increments", "resolution", "allowed"),
    [(300, 4.0, 0.01), pytest.param(150, 8.0, 0.03, marks=pytest.mark.slow)],
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


def test_a_file_has_an_interface(tmp_path):
    phases = named_phases("glass_epoxy_debonding")
    assert phases.interface == INTERFACE
    tougher = phases.with_fields({"interface.toughness_I_J_m2": 4.0})
    assert tougher.interface.toughness_I_J_m2 == 4.0
    assert tougher.sha256 != phases.sha256
    shipped = (EXAMPLES / "glass_epoxy_debonding.yaml").read_text()
    for wrong, what in (
        (shipped.replace("    fibre_diameter_um: 7.0\n", ""), "fibre_diameter_um is missing"),
        (shipped.replace("toughness_I_J_m2: 2.0", "toughness_I_J_m2: 0.01"), "is too small"),
        (shipped.replace("normal_strength_MPa: 50.0", "normal_strength_MPa: 0"), "normal_strength"),
    ):
        (tmp_path / "wrong.yaml").write_text(wrong)
        with pytest.raises(ValueError, match=rf"wrong\.yaml: interface.*{what}"):
            load_phases(tmp_path / "wrong.yaml")


@pytest.mark.parametrize(
    "name",
    ["transverse_tension", pytest.param("longitudinal_shear", marks=pytest.mark.slow)],
)
def test_the_command_breaks_an_rve(tmp_path, capsys, name):
    words = "rve --material glass_epoxy_debonding --vf 0.5 --n-fibres 1 --resolution 3 --xdmf "
    words += f"--strength {name} --drop 0.05 --out {tmp_path}"
    assert main(words.split()) == 0
    content = json.loads((tmp_path / "result.json").read_text())
    assert content["status"] == "complete"
    strength = content["strength"]
    assert strength["is_reached"]
    assert 10.0 < strength["strength_MPa"] < 75.0
    printed = capsys.readouterr().out
    assert f"strength {strength['strength_MPa']:.2f} MPa" in printed
    for file in ("fields.xdmf", "interfaces.xdmf"):
        assert f"wrote {tmp_path / file}" in printed
    assert {"rve.png", "fields.xdmf", "fields.bin"} <= {file.name for file in tmp_path.iterdir()}
    assert "interface_damage" in (tmp_path / "fields.xdmf").read_text()
    lines = (tmp_path / "interfaces.xdmf").read_text()
    for field in ("Edge_3", "opening", "interface_damage", "traction_MPa"):
        assert field in lines
    assert load_curves(tmp_path).histories[0]["debonding_energy"][-1] > 0
    # A run whose fibres cannot debond removes the file.
    bonded = "rve --material glass_epoxy --vf 0.3 --n-fibres 1 --resolution 3 --loading 1e-4,0,0"
    assert main([*bonded.split(), "--increments", "4", "--out", str(tmp_path)]) == 0
    assert not (tmp_path / "interfaces.xdmf").exists()
    assert "wrote" not in capsys.readouterr().out


def test_the_command_prints_the_scatter_of_strengths(tmp_path, capsys):
    words = "strengths --material glass_epoxy_debonding --vf 0.5 --n-fibres 2 --resolution 3 "
    words += f"--replicates 2 --strength transverse_tension --jobs 1 --out {tmp_path}/found.csv"
    assert main(words.split()) == 0
    rows = (tmp_path / "found.csv").read_text().splitlines()
    values = [float(row.split(",")[2]) for row in rows[1:]]
    printed = capsys.readouterr().out
    mean, std = np.mean(values), np.std(values, ddof=1)
    assert f"{mean:9.2f}{std:9.2f}{np.quantile(values, 0.05):9.2f}" in printed
    assert "2 of 2" in printed


def test_measured_strengths_are_beside_those_of_the_rves():
    strength = Strength(34.0, 0.003, True, 0.1, 0.2, 3.0, 0.01, 0.02, 0.0)
    names = "transverse_tension", "transverse_shear"
    samples = [SampledStrength(name, 0, strength, "") for name in names]
    measured = named_phases("glass_epoxy_ly556_breaking").measured
    header, _, tension, shear = strength_table(samples, measured).splitlines()
    assert header.endswith("measured at v_f 0.62")
    assert tension.endswith("35 MPa")
    assert shear.endswith("1 of 1")  # not measured
    assert "measured" not in strength_table(samples)


@pytest.mark.usefixtures("brief_picture")
def test_the_exit_code_says_whether_a_strength_was_reached(tmp_path, capsys, monkeypatch):
    short = Loading((1e-4, *[None] * 5), increments=1)
    monkeypatch.setattr("fe_data.composite.interface.strength_loading", lambda _: short)
    words = "rve --material glass_epoxy_debonding --vf 0.3 --n-fibres 1 --resolution 3 "
    assert main([*words.split(), "--strength", "transverse_tension", "--out", str(tmp_path)]) == 1
    assert "transverse_tension was not reached" in capsys.readouterr().err
    assert json.loads((tmp_path / "result.json").read_text())["status"] == "complete"


def test_a_reason_is_printed_once_for_all_seeds(capsys):
    samples = [SampledStrength("transverse_shear", seed, None, "why") for seed in range(3)]
    assert report("", samples, None) == 1
    assert capsys.readouterr().err == "fe_data: transverse_shear, seeds 0, 1, 2: why\n"


@pytest.mark.usefixtures("in_this_process")
def test_a_dataset_has_strengths(tmp_path):
    phases = named_phases("glass_epoxy_debonding")
    design = Design("own", 0, np.array([[0.5, 70.0, 300.0, 1.0]]), [0])
    settings = Settings(n_fibres=1, resolution=3.0, increments=4, strain=0.03)
    names = ["transverse_tension"]
    choices = {"phases": phases, "silent": True}
    generate(design, settings, tmp_path, strengths=names, **choices)
    assert verify(tmp_path)[0] == []
    header, row = (line.split(",") for line in (tmp_path / "dataset.csv").read_text().splitlines())
    sample = dict(zip(header, row, strict=True))
    expected = sample_strength(phases, names[0], 0.5, int(sample["seed"]), settings).strength
    assert float(sample["transverse_tension_MPa"]) == expected.strength_MPa
    for name, *_ in OF_STRENGTH:
        assert float(sample[f"transverse_tension_{name}"]) == getattr(expected, name)
    assert expected.dissipated_J_m2 > 0.0
    table = load_table(tmp_path / "dataset.csv")
    assert table.to_pandas()["transverse_tension_dissipated_J_m2"][0] == expected.dissipated_J_m2
    with pytest.raises(ValueError, match="another configuration"):
        generate(design, settings, tmp_path, **choices)


def test_strengths_of_a_dataset_need_an_interface(tmp_path):
    design = Design("own", 0, np.full((1, 4), [0.3, 400.0, 400.0, 0.4]), [0])
    for names, material, what in (
        (["transverse_tension"], None, "needs the phases of a material"),
        (["transverse_tension"], named_phases("glass_epoxy"), "no interface"),
        (["tension"], named_phases("glass_epoxy_debonding"), "allowed are"),
    ):
        with pytest.raises(ValueError, match=what):
            generate(design, Settings(), tmp_path / "new", strengths=names, phases=material)
    assert not (tmp_path / "new").exists()


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


def test_bonded_only_programs_say_so():
    phases = named_phases("glass_epoxy_debonding")
    with pytest.raises(ValueError, match="phases have an interface"):
        MaterialPoint(VolumeFraction(0.3), phases=phases)
    design = Design("own", 0, np.full((1, 4), [0.3, 70.0, 300.0, 1.0]), [0])
    design = dataclasses.replace(design, fields={"interface.exponent": np.array([1.5])})
    with pytest.raises(ValueError, match="fields of the interface"):
        generate(design, Settings(), "nowhere", phases=phases)


def test_the_exported_mesh_of_a_cut_rve_is_joined(tmp_path):
    """Nodes that two sides of an interface share are one node in the file."""
    phases = named_phases("glass_epoxy_debonding")
    small = {"increments": 1, "resolution": 3.0, "silent": True}
    pull = Loading((1e-4, None, None))
    save_mesh(solve_composite(phases, ONE, pull, **small), tmp_path / "cut.inp")
    lines = (tmp_path / "cut.inp").read_text().split("*ELEMENT")[0].splitlines()
    nodes = np.array([line.split(",")[1:3] for line in lines if line[:1].strip().isdigit()], float)
    assert len(np.unique(nodes.round(9), axis=0)) == len(nodes) > 100
