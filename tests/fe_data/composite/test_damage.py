"""Damage of a phase: the crack band, its tangent, and RVEs whose matrix breaks."""

import contextlib
import copy
import dataclasses
import json
import sys

import numpy as np
import pytest

from fe_data import (
    Damage,
    Isotropic,
    Loading,
    Material,
    MaterialPoint,
    MeshError,
    Microstructure,
    Phases,
    Settings,
    TransverselyIsotropic,
    VolumeFraction,
    YieldStress,
    design_from_file,
    law,
    load_curves,
    load_phases,
    named_phases,
    solve_composite,
)
from fe_data.__main__ import main
from fe_data.cli.sampling import Sampling
from fe_data.composite.damage import DAMAGE, WORK
from fe_data.composite.laws import j2
from fe_data.composite.material_points import MaterialPoints, uniaxial_stress
from fe_data.composite.model import FEModel
from fe_data.composite.softening import DamagedResponse, mesh_dependences
from fe_data.composite.stepping import IncrementalModel, softening_phases
from fe_data.dataset.requirements import require_elements_for_damage
from fe_data.dataset.worker import MaterialSimulator
from fe_data.geometry.domain import create_domain
from fe_data.geometry.mesh import Mesh
from fe_data.geometry.outline import MATRIX
from fe_data.path_following import follow

RESIN = Isotropic(3.5, 0.35)
LAWS = {
    "j2": {"yield_stress": 60.0},
    "drucker_prager": {"compression": 80.0, "friction_angle_deg": 25.0, "dilation_angle_deg": 5.0},
    "paraboloidal": {"tension": 60.0, "compression": 90.0, "plastic_poisson_ratio": 0.4},
    "chaboche": {"yield_stress": 60.0, "C1_MPa": 200.0, "gamma1": 50.0},
}
SIDE = 0.02  # mm
ENERGY = 30.0  # J/m²
FIBRE = Microstructure([[0.5, 0.5]], 0.35)


def damaged(name, onset=0.0, energy=ENERGY, **parameters):
    damage = Damage(onset, energy, fibre_diameter_um=14.0)
    return Material(RESIN, name, {**LAWS[name], **parameters}, damage)


def bar(columns, rows=2):
    """A periodic bar of squares of two triangles each; the first column is "band"."""
    n, m = 2 * columns + 1, 2 * rows + 1
    x, y = np.meshgrid(np.arange(n) / (n - 1), np.arange(m) / (n - 1), indexing="ij")
    number = np.arange(n * m).reshape(n, m)
    triangles, material = [], []
    for i in range(0, n - 2, 2):
        for j in range(0, m - 2, 2):
            a, b, c, d = number[i, j], number[i + 2, j], number[i + 2, j + 2], number[i, j + 2]
            middle = number[i + 1, j + 1]
            triangles.append([a, b, c, number[i + 2, j + 1], middle, number[i + 1, j]])
            triangles.append([a, c, d, number[i + 1, j + 2], number[i, j + 1], middle])
            material += [0 if i == 0 else MATRIX] * 2
    image_of = number.copy()
    image_of[-1] = number[0]
    image_of[:, -1] = image_of[:, 0]
    points = np.column_stack([x.ravel(), y.ravel()])
    mesh = Mesh(points, np.array(triangles), np.array(material), image_of.ravel())
    return create_domain(mesh, "P2/P0")


def pulled(columns, band, strain=0.08, increments=50, rows=2):
    """History of a bar in uniaxial tension, and its equations.

    The rest of the bar is elastic, and so soft across its axis that it does not hinder the band.
    """
    domain = bar(columns, rows)
    rest = Material(TransverselyIsotropic(3.5, 1e-5, 0.0, 0.0, 1e-3, axis=0.0))
    parts = [("rest", rest, domain.material == MATRIX), ("band", band, domain.material == 0)]
    model = FEModel(domain, parts, out_of_plane=False)
    pull = Loading((strain, *[None] * 5), increments=increments)
    return follow(IncrementalModel(model, side=SIDE), pull, increments, 1e-8).history, model


def per_area(history):
    """Work of the mean stress up to the end, per area across the bar [J/m²]."""
    mean = (history["stress"][1:, 0] + history["stress"][:-1, 0]) / 2
    # MPa times the length of the bar in mm; 1 N/mm = 1e3 J/m²
    return 1e3 * SIDE * float(mean @ np.diff(history["strain"][:, 0]))


@pytest.mark.parametrize("columns", [4, pytest.param(8, marks=pytest.mark.slow), 16])
def test_a_band_dissipates_its_fracture_energy_for_each_mesh_size(columns):
    """The work to break a bar is G per area, within 1 %."""
    history, _ = pulled(columns, damaged("j2"))
    assert history["damaged_area"][-1] == pytest.approx(1 / columns)
    assert history["broken_area"][-1] == pytest.approx(1 / columns)
    assert abs(history["stress"][-1, 0]) < 0.1
    assert per_area(history) == pytest.approx(ENERGY, rel=0.01)
    assert 1e3 * SIDE * history["external_work"][-1] == pytest.approx(ENERGY, rel=0.01)
    assert 1e3 * SIDE * history["softening_energy"][-1] == pytest.approx(ENERGY, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drucker_prager", "paraboloidal"])
def test_a_band_of_each_law_dissipates_its_fracture_energy(name):
    assert per_area(pulled(4, damaged(name))[0]) == pytest.approx(ENERGY, rel=0.01)


def test_plastic_work_before_the_onset_is_not_fracture_energy():
    """A band of 1/4 of the bar, with σ_y p_0 of plastic work per volume up to the onset."""
    history, _ = pulled(4, damaged("j2", onset=0.1), strain=0.1)
    before = 1e3 * SIDE / 4 * 60.0 * 0.1
    assert per_area(history) == pytest.approx(ENERGY + before, rel=0.01)


@pytest.mark.slow
def test_kinematic_hardening_before_the_onset_is_not_fracture_energy():
    """The back stress C/γ (1 - exp(-γ p)) adds to the stress at the onset, and to the work."""
    C, gamma, onset = 20_000.0, 500.0, 0.1
    band = damaged("chaboche", onset, C1_MPa=C, gamma1=gamma)
    grown = (1 - np.exp(-gamma * onset)) / gamma
    assert band.stress_at_onset == pytest.approx(60.0 + C * grown, rel=1e-9)
    history, _ = pulled(4, band, strain=0.1, rows=1)
    before = 1e3 * SIDE / 4 * (60.0 * onset + C / gamma * (onset - grown))
    assert per_area(history) == pytest.approx(ENERGY + before, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [4, 16])
@pytest.mark.parametrize("onset", [0.0, 0.02])
@pytest.mark.parametrize(
    ("name", "curves"),
    [
        ("j2", ["yield_stress"]),
        ("drucker_prager", ["compression"]),
        ("paraboloidal", ["tension", "compression"]),
        ("chaboche", ["yield_stress"]),
    ],
)
def test_a_band_that_hardens_is_weakest_at_its_onset_for_each_mesh_size(
    name, curves, onset, columns
):
    """Otherwise small elements, which soften slowly, would harden on and break later."""
    hardening = {key: YieldStress(60.0, 2000.0) for key in curves}
    numbers = {"C1_MPa": 0.0} if name == "chaboche" else {}
    band = damaged(name, onset, **hardening, **numbers)
    strength = band.stress_at_onset
    at_peak = strength / 3500.0 + onset / columns
    history, _ = pulled(columns, band, strain=1.2 * at_peak, increments=30, rows=1)
    assert 0.95 * strength < history["stress"][:, 0].max() < 1.001 * strength


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters", "onset", "hardens"),
    [
        ("chaboche", {"C1_MPa": 1000.0, "gamma1": 10.0}, 0.02, True),
        ("chaboche", {"C1_MPa": 1000.0, "gamma1": 10.0}, 0.0, True),
        ("chaboche", {"C1_MPa": 1000.0, "gamma1": 200.0}, 0.05, False),
        ("chaboche", {"C1_MPa": 0.0, "yield_stress": YieldStress(60.0, 2000.0)}, 0.02, False),
        ("j2", {"yield_stress": YieldStress(60.0, 2000.0)}, 0.02, False),
        ("paraboloidal", {"tension": YieldStress(60.0, 900.0)}, 0.02, False),
    ],
)
def test_hardening_after_the_onset_is_known(name, parameters, onset, hardens):
    assert damaged(name, onset, **parameters).hardens_after_onset == hardens


@pytest.mark.slow
def test_an_rve_whose_matrix_hardens_after_the_onset_depends_on_the_mesh():
    back_stress = {"C1_MPa": 1000.0, "gamma1": 10.0}
    phases = Phases(damaged("chaboche", 0.02, **back_stress), Material(Isotropic(70.0, 0.2)))
    pull = Loading((0.002, *[None] * 5), increments=1)
    rve = solve_composite(phases, FIBRE, pull, resolution=3.0, silent=True)
    assert rve.warning.startswith("matrix still hardens after the onset of its damage, so small")
    assert solve_composite(phases.unbreakable(), FIBRE, pull, resolution=3.0).warning == ""


@pytest.mark.parametrize(
    "matrix", [Material(RESIN), Material(RESIN, "j2", LAWS["j2"]), damaged("j2")]
)
def test_fibres_that_soften_in_an_elastic_matrix_depend_on_the_mesh(matrix):
    """Half the elements raised the strength in compression from 88.7 to 96.8 MPa."""
    reasons = mesh_dependences({"matrix": matrix, "fibres": damaged("drucker_prager")})
    assert len(reasons) == matrix.is_elastic
    assert mesh_dependences({"matrix": matrix, "fibres": Material(RESIN)}) == []


@pytest.mark.slow
@pytest.mark.parametrize(("C1", "warns"), [(1000.0, True), (0.0, False)])
@pytest.mark.parametrize("command", ["strengths", "envelope", "generate"])
def test_each_command_says_that_strengths_depend_on_the_mesh(
    tmp_path, capsys, monkeypatch, command, C1, warns
):
    monkeypatch.setattr(Sampling, "simulate", lambda *_: sys.exit(0))
    monkeypatch.setattr("fe_data.generate", lambda *_, **__: sys.exit(0))
    chaboche = f"{{yield_stress: 60.0, C1_MPa: {C1}, gamma1: 10.0}}"
    old = "law: j2\n    parameters: {yield_stress: 60.0}"
    content = MATRIX_FILE.replace(old, f"law: chaboche\n    parameters: {chaboche}")
    (tmp_path / "resin.yaml").write_text(content)
    (tmp_path / "design.csv").write_text("vf\n0.4\n")
    design = f"--inputs {tmp_path}/design.csv --strength transverse_tension"
    words = f"{command} --material {tmp_path}/resin.yaml --n-fibres 1 --resolution 3 "
    words += design if command == "generate" else "--vf 0.4 --replicates 1"
    with contextlib.suppress(SystemExit):
        main([*words.split(), "--out", str(tmp_path / "out")])
    said = "matrix still hardens after the onset of its damage" in capsys.readouterr().err
    assert said == warns


VOCE = YieldStress(60.0, 40.0, 0.01, "voce")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("j2", {"yield_stress": YieldStress(60.0, 100.0, 0.3)}),
        ("drucker_prager", {"compression": VOCE}),
        ("paraboloidal", {"tension": VOCE, "compression": YieldStress(90.0, 30.0)}),
    ],
)
def test_uniaxial_tension_reaches_the_yield_stress_at_the_onset(name, parameters):
    """The simulated path agrees with the closed forms."""
    material = damaged(name, 0.1, **parameters)
    stress = uniaxial_stress(material, material.first_yield(tension=True), 0.1)
    assert stress == pytest.approx(material.stress_at_onset, rel=1e-9)


@pytest.fixture
def own_plastic():
    """A law whose yield stress grows by a number up to p = 0.1, not as `first_yield`."""

    @law(
        "own_plastic",
        parameters={"start_MPa": (1.0, 1e3), "hardening_MPa": (0.0, 1e3), "largest_p": (0.0, 10.0)},
        state={"plastic_strain": 6, "p": 0},
        defaults={"largest_p": 10.0},
        first_yield=lambda parameters, _: parameters["start_MPa"],
    )
    def own_plastic(strain, state, material):
        material.yield_stress = lambda p: (
            material.start_MPa + material.hardening_MPa * p.clamp(max=0.1)
        )
        stress, new = j2(strain, state, material)
        return stress, new | {"p": new["p"].clamp(max=material.largest_p)}

    return {"start_MPa": 60.0, "hardening_MPa": 100.0}


@pytest.mark.slow
def test_the_own_law_of_a_user_may_have_damage(own_plastic):
    """The law hardens, and its onset is where its yield stress has grown to 70 MPa."""
    resin = Material(RESIN, "own_plastic", own_plastic, Damage(0.1, ENERGY, 14.0))
    assert resin.stress_at_onset == pytest.approx(70.0, rel=1e-9)
    assert copy.deepcopy(resin).damage == resin.damage  # by __reduce__, as other processes do
    of_j2 = damaged("j2", 0.1, yield_stress=YieldStress(60.0, 100.0))
    stress, expected = (
        pulled(4, band, increments=20, rows=1)[0]["stress"] for band in (resin, of_j2)
    )
    np.testing.assert_allclose(stress, expected, atol=1e-4 * expected.max())


def test_a_law_that_does_not_reach_its_onset_is_refused(own_plastic):
    short = own_plastic | {"largest_p": 0.05}
    resin = Material(RESIN, "own_plastic", short, Damage(0.1, ENERGY, 14.0))
    with pytest.raises(ValueError, match=r"does not reach the equivalent plastic strain 0\.055"):
        resin.stress_at_onset  # noqa: B018


@pytest.mark.parametrize("name", ["j2", "drucker_prager", "paraboloidal"])
def test_the_tangent_is_the_derivative_of_the_forces(name):
    """Points below the onset, softening and broken ones, against central differences."""
    domain = bar(3)
    material = damaged(name, onset=0.01, energy=6.0)
    model = FEModel(domain, [("matrix", material, domain.material < 1)], out_of_plane=False)
    points = MaterialPoints(material, model.size)
    softening = softening_phases(model, SIDE)["matrix"]
    rest = points.rest(model.phases[0].weights.size)
    rng = np.random.default_rng(3)
    x = np.append(rng.normal(scale=0.001, size=model.n), [0.02, -0.01, 0.0, 0.01])

    def response(x):
        strain = model.strain(model.phases[0], x, 0.0).reshape(-1, 6)
        return {"matrix": DamagedResponse(points.evaluate(strain, rest), softening)}

    at_x = response(x)
    damage = at_x["matrix"].state[DAMAGE]
    assert ((damage > 0) & (damage < 1)).sum() > 10
    model.assemble(at_x)
    change = rng.normal(size=len(x))
    step = 1e-7
    shifted = [x + sign * step * change for sign in (1, -1)]
    ends = [model.force(at, 0.0, response(at)) for at in shifted]
    slope = (ends[0] - ends[1]) / (2 * step)
    derivative = model.system.product(change, np.eye(model.size))
    np.testing.assert_allclose(derivative, slope, atol=1e-6 * np.abs(slope).max())
    assert at_x["matrix"].state[WORK].min() == 0.0


def test_the_matrix_of_an_rve_breaks():
    """The mean stress falls past its peak; all energies are found; d grows where p is large."""
    phases = Phases(damaged("j2", onset=0.02, energy=10.0), Material(Isotropic(70.0, 0.2)))
    pull = Loading((0.03, *[None] * 5), increments=100)
    rve = solve_composite(phases, FIBRE, pull, resolution=3.0, silent=True)
    assert rve.stop is None
    strength = rve.strength
    assert strength.is_reached
    assert 0.0 < strength.damaged_area < 0.5
    assert strength.viscous_share < 0.02
    assert abs(strength.energy_error) < 0.01
    state = rve.fields()["matrix"].state
    assert (state["p"][state[DAMAGE].max(axis=1) == 0].mean(axis=1) < 0.1).all()
    assert state[DAMAGE].max() <= 1.0
    assert strength.dissipated_J_m2 > 0.0


def test_damage_that_is_not_reached_changes_nothing(monkeypatch):
    """The same curve as without damage on the same mesh, apart from viscous stresses."""
    monkeypatch.setattr("fe_data.composite.rve.with_layer", lambda mesh, _: mesh)
    tough = Phases(damaged("j2", onset=5.0), Material(Isotropic(70.0, 0.2)))
    pull = Loading((0.01, None, None), increments=4)
    small = {"resolution": 3.0, "silent": True}
    stress = solve_composite(tough, FIBRE, pull, **small).history["stress"]
    expected = solve_composite(tough.unbreakable(), FIBRE, pull, **small).history["stress"]
    np.testing.assert_allclose(stress, expected, atol=1e-4 * np.abs(expected).max())


MATRIX_FILE = """
phases:
  matrix:
    elasticity: {E_GPa: 3.5, nu: 0.35}
    law: j2
    parameters: {yield_stress: 60.0}
    damage: {onset: 0.05, fracture_energy_J_m2: 20.0, fibre_diameter_um: 14.0}
  fibres:
    elasticity: {E_GPa: 70.0, nu: 0.2}
"""


def test_a_file_has_damage(tmp_path):
    path = tmp_path / "resin.yaml"
    path.write_text(MATRIX_FILE)
    phases = load_phases(path)
    assert phases.matrix.damage == Damage(0.05, 20.0, 14.0)
    assert phases.can_break(0.3)
    tougher = phases.with_fields({"matrix.damage.fracture_energy_J_m2": 40.0})
    assert tougher.matrix.damage.fracture_energy_J_m2 == 40.0
    assert tougher.sha256 != phases.sha256
    assert phases.unbreakable().sha256 != phases.sha256


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (", fibre_diameter_um: 14.0", "", r"matrix\.damage: fibre_diameter_um is missing"),
        ("onset: 0.05", "onset: -1", r"matrix\.damage: onset = -1 is out of range: allowed is \[0"),
        ("energy_J_m2: 20.0", "energy_J_m2: 0", r"matrix\.damage: fracture_energy_J_m2 = 0"),
        ("energy_J_m2: 20.0", "energy_J_m2:", r"matrix\.damage: fracture_energy_J_m2 = None"),
        ("onset: 0.05", "onset: ", r"matrix\.damage: onset = None"),
        ("14.0}", "0}", r"matrix\.damage: fibre_diameter_um = 0 is out of range"),
        ("14.0}", "14.0, exponent: 1}", r"matrix\.damage: exponent is unknown"),
        (
            "law: j2\n    parameters: {yield_stress: 60.0}",
            "law: elastic",
            "'elastic': damage needs a law",
        ),
    ],
)
def test_wrong_numbers_are_named(tmp_path, old, new, what):
    path = tmp_path / "resin.yaml"
    assert old in MATRIX_FILE
    path.write_text(MATRIX_FILE.replace(old, new))
    with pytest.raises(ValueError, match=what):
        load_phases(path)


@pytest.mark.slow
def test_the_command_shows_what_has_broken(tmp_path, capsys):
    (tmp_path / "resin.yaml").write_text(MATRIX_FILE)
    words = f"rve --material {tmp_path}/resin.yaml --vf 0.4 --n-fibres 1 --resolution 3 --xdmf "
    words += f"--strength transverse_tension --drop 0.02 --out {tmp_path}/one"
    assert main(words.split()) == 0
    content = json.loads((tmp_path / "one" / "result.json").read_text())
    assert content["strength"]["damaged_area"] == content["history"]["damaged_area"][-1] > 0
    printed = capsys.readouterr().out
    assert f"{content['strength']['damaged_area']:.1%} of the area damaged" in printed
    assert "interfaces" not in printed
    assert 'Name="damage"' in (tmp_path / "one" / "fields.xdmf").read_text()
    assert not (tmp_path / "one" / "interfaces.xdmf").exists()
    curve = load_curves(tmp_path / "one")
    assert curve.histories[0]["softening_energy"][-1] > 0
    assert {"damaged_area", "broken_area", "external_work_MPa"} <= {*curve.to_pandas()}


@pytest.mark.slow
@pytest.mark.parametrize(("strain", "broken"), [(0.001, "nothing damaged"), (0.015, "of the area")])
def test_a_material_without_interface_shows_none(tmp_path, capsys, strain, broken):
    (tmp_path / "resin.yaml").write_text(MATRIX_FILE.replace("onset: 0.05", "onset: 0.0"))
    words = f"rve --material {tmp_path}/resin.yaml --vf 0.4 --n-fibres 1 --resolution 3 "
    words += f"--loading {strain},free,free --increments 10 --drop 0.02 --out {tmp_path}/one"
    assert main(words.split()) == 0
    printed = capsys.readouterr().out
    assert broken in printed
    assert "interfaces" not in printed


def test_diameters_must_agree():
    debonding = named_phases("glass_epoxy_debonding")
    with pytest.raises(
        ValueError, match=r"fibre_diameter_um = 7 in interface, 14 in matrix\.damage"
    ):
        dataclasses.replace(debonding, matrix=damaged("j2"))
    same = dataclasses.replace(debonding.matrix, damage=Damage(0.1, 5.0))
    assert dataclasses.replace(debonding, matrix=same).fibre_diameter_um == 7.0


def test_a_fracture_energy_too_small_for_the_elements_is_refused():
    """Before anything is simulated; the message has a value that works."""
    brittle = Phases(damaged("j2", energy=0.5), Material(Isotropic(70.0, 0.2)))
    pull = Loading((0.01, None, None), increments=2)
    small = "matrix: fracture_energy_J_m2 = 0.5 is too small"
    with pytest.raises(MeshError, match=small) as error:
        solve_composite(brittle, FIBRE, pull, resolution=3.0, silent=True)
    least = float(str(error.value).split("above ")[1].split(",")[0])
    enough = brittle.with_fields({"matrix.damage.fracture_energy_J_m2": 1.01 * least})
    solve_composite(enough, FIBRE, Loading((1e-4, None, None), increments=1), resolution=3.0)


BRITTLE = MATRIX_FILE.replace("energy_J_m2: 20.0", "energy_J_m2: 0.5")
SMALL = "--n-fibres 1 --resolution 3"
TENSION = "--strength transverse_tension"
RANDOM = f"--material {{}}/resin.yaml --vf 0.4 {SMALL}"
OF_DESIGN = f"generate --inputs {{}}/design.csv --material {{}}/resin.yaml {SMALL}"


@pytest.mark.parametrize(
    ("words", "content", "what"),
    [
        (f"rve {RANDOM} {TENSION}", BRITTLE, "matrix: fracture_energy_J_m2 = 0.5 is too small"),
        (f"rve {RANDOM} --loading 0.02,free,free", BRITTLE, "it must be above"),
        (f"strengths {RANDOM} --replicates 1 {TENSION}", BRITTLE, "it must be above"),
        (f"envelope {RANDOM} --replicates 1", BRITTLE, "it must be above"),
        (f"{OF_DESIGN} {TENSION}", MATRIX_FILE, "sample 1 of the design: matrix: fracture_energy"),
        (f"{OF_DESIGN} --loading 0.02,free,free", MATRIX_FILE, "sample 1 of the design"),
    ],
)
def test_each_command_refuses_it_before_a_simulation(
    tmp_path, capsys, monkeypatch, words, content, what
):
    def simulated(*_, **__):
        raise AssertionError("the simulation began")

    monkeypatch.setattr("fe_data.composite.rve.solve_composite", simulated)
    monkeypatch.setattr("fe_data.composite.rve.follow", simulated)
    (tmp_path / "resin.yaml").write_text(content)
    rows = "vf,matrix.damage.fracture_energy_J_m2\n0.3,20\n0.4,0.5\n0.4,20\n"
    (tmp_path / "design.csv").write_text(rows)
    out = tmp_path / "out"
    words = words.replace("{}", str(tmp_path)).split()
    assert main([*words, "--out", str(out)]) == 2
    assert what in capsys.readouterr().err
    assert not any(out.glob("*"))


@pytest.mark.parametrize(
    ("columns", "tough", "brittle"),
    [
        ("matrix.damage.fracture_energy_J_m2", "20", "0.5"),
        ("matrix.damage.fibre_diameter_um", "14", "280"),
        ("matrix.elasticity.E_GPa", "3.5", "0.3"),
        ("matrix.parameters.yield_stress.yield_stress_MPa", "60", "300"),
        ("matrix.damage.onset,matrix.parameters.yield_stress.b_MPa", "0.05,400", "0.5,400"),
    ],
)
def test_of_a_design_the_most_brittle_sample_is_checked(tmp_path, columns, tough, brittle):
    """Whatever makes it brittle: energy, size, modulus, stress at the onset."""
    (tmp_path / "resin.yaml").write_text(MATRIX_FILE)
    path = tmp_path / "design.csv"
    phases = load_phases(tmp_path / "resin.yaml")
    choices = phases, 0.0, False, ("transverse_tension",)
    settings = Settings(n_fibres=1, resolution=3.0)
    for samples in ([tough, tough, tough], [tough, tough, brittle]):
        rows = zip((0.3, 0.3, 0.4), samples, strict=True)
        path.write_text("\n".join([f"vf,{columns}", *(f"{vf},{row}" for vf, row in rows)]))
        design = design_from_file(path, phases=phases)
        refused = pytest.raises(ValueError, match="sample 2 of the design: matrix: fracture_energy")
        with refused if brittle in samples else contextlib.nullcontext():
            require_elements_for_damage(design, settings, MaterialSimulator(*choices))


def test_without_a_fibre_there_is_no_length():
    alone = Phases(damaged("j2"), Material(Isotropic(70.0, 0.2)))
    nothing = Microstructure(np.empty((0, 2)), np.empty(0))
    with pytest.raises(ValueError, match="damage needs a fibre or a void"):
        solve_composite(alone, nothing, Loading((0.01, None, None)), silent=True)


def test_a_material_point_does_not_soften():
    phases = Phases(damaged("j2"), Material(Isotropic(70.0, 0.2)))
    with pytest.raises(ValueError, match="interface or damage"):
        MaterialPoint(VolumeFraction(0.3), phases=phases)
