"""`--material`: an RVE or a dataset of given phases, from the command to tables and fields."""

import copy
import dataclasses
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

import fe_data
from fe_data import (
    Design,
    Inputs,
    Isotropic,
    Loading,
    Material,
    Phases,
    Settings,
    VolumeFraction,
    law,
    named_phases,
)
from fe_data.__main__ import main
from fe_data.composite.laws import deviator, pressure_stress
from fe_data.composite.laws import von_mises as von_mises_of
from fe_data.composite.phases import EXAMPLES, load_phases
from fe_data.composite.properties import solve_material
from fe_data.dataset.design import named_design
from fe_data.geometry.microstructure import random_microstructure
from fe_data.mechanics.plots import plot_rve
from fe_data.mechanics.properties import von_mises
from tests.fe_data.fields.test_paraview import read

SMALL = Settings(n_fibres=2, resolution=2.0, increments=6)
PAPER = named_phases("paper")
WORDS = ["--n-fibres", "2", "--resolution", "2", "--increments", "6"]


@pytest.mark.usefixtures("fast_elements")
@pytest.mark.parametrize("increments", [6, 4])  # the first of four increments yields
def test_the_material_of_the_paper_has_the_outputs_of_the_fast_solver(increments):
    inputs = Inputs(0.3, 400.0, 400.0, 0.4)
    settings = dataclasses.replace(SMALL, increments=increments, tolerance=1e-8)
    fast = fe_data.solve_rve(inputs, settings, seed=5).result()
    general = solve_material(PAPER, inputs, 5, settings).result()
    across = general.effective.pop("E_T_GPa")
    assert across == pytest.approx(fast.info["transverse_modulus_GPa"], rel=1e-6)
    assert general.effective == pytest.approx(fast.effective, rel=1e-6)
    for name, values in fast.history.items():
        # Residuals are below 1e-8 of a stress of 650 MPa.
        np.testing.assert_allclose(general.history[name], values, rtol=1e-6, atol=1e-5)


@pytest.mark.slow
def test_both_elements_converge_to_one_solution(monkeypatch):
    """Modulus with the order of quadratic elements, and stress at 5 % with that of plasticity.

    Both are on meshes without layers of thin elements, which only one of the solvers has.
    """
    monkeypatch.setattr("fe_data.composite.rve.with_layer", lambda mesh, _: mesh)
    inputs = Inputs(0.3, 400.0, 400.0, 0.4)
    moduli, stresses = [], []
    for resolution in (3.0, 12.0):
        settings = dataclasses.replace(SMALL, resolution=resolution)
        fast = fe_data.solve_rve(inputs, settings, seed=5, silent=True).result()
        general = solve_material(PAPER, inputs, 5, settings, silent=True).result()
        moduli.append(general.effective["E_T_GPa"] / fast.info["transverse_modulus_GPa"] - 1)
        stresses.append(general.history["stress"][-1, 0] / fast.history["stress"][-1, 0] - 1)
    for (coarse, fine), most in ((moduli, 5e-4), (stresses, 3e-3)):
        assert abs(fine) < most
        assert abs(coarse) > 3 * abs(fine)


def test_rve_writes_result_curve_and_fields_of_a_material(tmp_path):
    out = tmp_path / "one"
    path = tmp_path / "path.csv"
    path.write_text("strain_zz,strain_xz,temperature,increments\n,,-50,2\n0.002,0.003,-50,3\n")
    words = f"rve --vf 0.3 --material carbon_epoxy --seed 4 --loading {path} --xdmf --out {out}"
    assert main([*words.split(), *WORDS]) == 0
    phases = named_phases("carbon_epoxy")
    result = json.loads((out / "result.json").read_text())
    assert result["material"]["name"] == "carbon_epoxy"
    assert result["material"]["sha256"] == phases.sha256
    assert "E_m_GPa" not in result["settings"]
    (loading,) = fe_data.loadings_from_file(path)
    x, y, radii = np.transpose(result["fibres"])
    fibres = fe_data.Microstructure(np.column_stack([x, y]), radii)
    direct = fe_data.solve_composite(phases, fibres, loading, resolution=2.0)
    np.testing.assert_allclose(result["history"]["stress"], direct.history["stress"], atol=1e-6)
    curves = fe_data.load_curves(out)
    np.testing.assert_array_equal(curves.histories[0]["stress"], result["history"]["stress"])
    assert main(["curves", str(out), "--out", str(tmp_path / "curves.csv")]) == 0
    header, *rows = (tmp_path / "curves.csv").read_text().splitlines()
    row = dict(zip(header.split(","), map(float, rows[-1].split(",")), strict=True))
    assert row["temperature_K"] == -50.0
    assert row["stress_xz_MPa"] == pytest.approx(direct.history["stress"][-1, 4], abs=1e-6)
    steps = read(out / "fields.xdmf")
    assert len(steps) == len(rows)
    last = steps[-1]
    corners = last["Geometry"][last["Topology"][:, :3]]
    areas = np.linalg.det(corners[:, 1:] - corners[:, :1])  # sides of fibres are nearly straight
    mean = np.average(last["stress_MPa"], axis=0, weights=areas)
    mean_xz = direct.history["stress"][-1, 4]
    assert mean[0, 2] == pytest.approx(mean_xz, rel=0.05)
    # x of a displacement by a mean shear xz is in z
    assert np.ptp(last["displacement"][:, 2]) > 0.003
    assert last["plastic_strain"][last["material"].ravel() >= 0].max() == 0
    (out / "result.json").write_text('{"history": {"strain": [[0, 0, 0, 0]]}}')
    with pytest.raises(fe_data.TableError, match=r"result\.json was not written by `rve`"):
        fe_data.load_curves(out)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_dataset_depends_on_the_content_of_a_material_and_not_on_its_file(tmp_path, capsys):
    mine = tmp_path / "mine.yaml"
    mine.write_text((EXAMPLES / "glass_epoxy.yaml").read_text().replace("usual", "own"))
    design = tmp_path / "design.csv"
    design.write_text("vf\n0.2\n0.3\n")
    words = ["generate", "--inputs", design, "--strain", "-0.03", *WORDS, "--n-fibres", "1"]

    def run(out, material, *others):
        command = [*words, "--out", tmp_path / out, "--material", material, *others]
        return main([str(word) for word in command])

    assert run("whole", "glass_epoxy") == 0
    table = (tmp_path / "whole" / "dataset.csv").read_bytes()
    assert run("parts", "glass_epoxy", "--shard", "2/2") == 0
    (tmp_path / "parts" / "records" / "0000" / "0000001.npz").unlink()
    assert run("parts", mine, "--shard", "2/2") == 0  # made again, from a copy of the file
    assert run("parts", mine, "--shard", "1/2") == 0
    assert (tmp_path / "parts" / "dataset.csv").read_bytes() == table
    table_read = fe_data.load_table(tmp_path / "whole")
    assert table_read.inputs[:, 0].tolist() == [0.2, 0.3]
    assert set(map(tuple, table_read.inputs[:, 1:].tolist())) == {(74.0, 0.0, 1.0)}
    curves = fe_data.load_curves(tmp_path / "whole")
    assert (curves.stress[:, -1] < -60).all()
    assert main(["verify", str(tmp_path / "whole")]) == 0
    # A dataset can be simulated again from its table.
    again = tmp_path / "whole" / "dataset.csv"
    assert len(fe_data.design_from_file(again, phases=load_phases(mine))) == 2
    capsys.readouterr()
    mine.write_text(mine.read_text().replace("E_GPa: 3.35", "E_GPa: 3.4"))
    assert run("whole", mine) == 2
    what = "(material.matrix.elasticity.E_GPa = 3.35 there, 3.4 here)"
    assert what in capsys.readouterr().err


@pytest.mark.usefixtures("in_this_process")
def test_paths_of_six_components_make_a_dataset(tmp_path):
    path = tmp_path / "paths.csv"
    path.write_text("path,strain_zz\n0,0.002\n1,-0.002\n")
    words = f"generate train_beta --count 2 --material carbon_epoxy --loading {path} --jobs 2"
    assert main([*words.split(), *WORDS, "--out", str(tmp_path / "data")]) == 0
    curves = fe_data.load_curves(tmp_path / "data")
    ends = [history["stress"][-1, 2] for history in curves.histories]
    assert ends[0] > 50
    assert ends[1] < -50
    with pytest.raises(fe_data.TableError, match="a material, which a set of paths cannot"):
        fe_data.collect_paths(tmp_path / "data")


@law("flows_at_zero", parameters={}, state={"plastic_strain": 6, "p": 0})
def flows_at_zero(strain, state, material):
    return material.stiffness @ strain, state


@pytest.mark.slow
def test_a_custom_law_reaches_the_workers_and_has_no_fit(tmp_path):
    custom = Phases(Material(Isotropic(3.0, 0.3), "flows_at_zero"), Material(Isotropic(70.0, 0.2)))
    design = named_design("train_beta", count=2)
    summary = fe_data.generate(design, SMALL, tmp_path, phases=custom, jobs=1, silent=True)
    assert summary.counts["unfitted"] == 2
    assert "no initial yield stress" in next(iter(summary.warnings.values()))
    assert len(fe_data.load_curves(tmp_path).histories) == 2


PLAIN = "rve --vf 0.3 --E-f 400 --b-m 400 --c-m 0.4"
DEBONDING = "rve --material glass_epoxy_debonding"
BROKEN = f"{DEBONDING} --strength transverse_tension"
CONSTANTS = "constants --material paper"
REFUSED = [
    ("rve --vf 0.3 --material paper --E-f 400", "--E-f cannot be combined with --material"),
    ("rve --vf 0.3 --material paper --nu-f 0.3", "nu_f = 0.3 cannot be combined with a mat"),
    ("rve --vf 0.3 --material paper --solver dolfinx", "--solver cannot be combined"),
    (
        "rve --vf 0.7543 --n-fibres 1 --min-spacing 1 --material paper",
        "1 fibre at least 1 diameters apart is limited to vf <= 0.7542",
    ),
    ("rve --vf 30 --material paper", "vf is a fraction: 30 % is 0.3"),
    ("rve --vf 0.3 --material brass", "name = 'brass' is no known material: allowed are boron"),
    ("rve --vf 0.3 --material .", "fe_data: . is a folder: a regular file is needed"),
    ("constants --vf 0.3 --material {}/", "is a folder: a regular file is needed"),
    ("rve --vf 0.3", "give either --E-f with --b-m and --c-m, or --material"),
    ("generate noise --material paper --hardening voce", "hardening = 'voce' cannot be comb"),
    ("generate noise --material paper --anisotropy", "phases cannot be combined with anis"),
    ("generate --inputs {}/table.csv --material paper", "E_f_GPa = 300 must be 400, as in the mat"),
    ("generate train_beta --count 1 --loading {}/six.csv", "loading of six components"),
    ("rve --microstructure {}/fibres.csv --E-f 80 --b-m 0 --c-m 1", "has E_GPa of each fibre"),
    ("rve --vf 0.3 --height 2 --material paper", "--height needs --microstructure"),
    ("rve --vf 0.3 --interphase 0.1 --material paper", "'interphase' is unknown: allowed are fib"),
    (f"{PLAIN} --interphase 0.1", "--interphase needs --mater"),
    (
        "rve --vf 0.3 --interphase 0.2 --material {}/odd.yaml",
        "min_spacing (option --min-spacing) above 1.2",
    ),
    ("rve --vf 0.3 --interphase 1e-4 --material {}/odd.yaml", "give 0, or at least 0.001 mean"),
    # A number that is usual in another unit
    (f"{PLAIN} --E-f 400000", "its unit is GPa: 400000 MPa are 400 GPa"),
    (f"{PLAIN} --sigma-y0 0.0004", "its unit is MPa: 0.0004 GPa are 0.4 MPa"),
    # What no material has gets a warning; then the two paths of a file are refused.
    (f"{PLAIN} --loading {{}}/two.csv --E-m 3350", "a modulus of 3350 GPa (matrix) is more"),
    (f"{PLAIN} --loading {{}}/two.csv --sigma-y0 0.4", "in MPa, and 0.4 GPa are 400 MPa"),
    ("constants --material {}/odd.yaml", "0.04 GPa are 40 MPa"),
    ("constants --material {}/odd.yaml", "74000 MPa are 74 GPa"),
    (CONSTANTS, "give either --vf or --microstructure FILE"),
    (f"{CONSTANTS} --vf 30", "; vf is a fraction: 30 % is 0.3"),
    (f"{CONSTANTS} --vf 0.3 --void-radius 0.5", "void"),
    (f"{CONSTANTS} --vf 0.3 --void-fraction 1", "is [0, 0.5]; it is a fraction: 1 % is 0.01"),
    (f"{CONSTANTS} --vf 0.3 --n-fibres 8 --seed 1 --interphase 10", "--interphase 10: interphase"),
    (f"{CONSTANTS} --microstructure {{}}/kinds.csv", "'kind' is unknown: allowed are x, y, radius"),
    (f"{CONSTANTS} --microstructure {{}}/fibres.csv --seed 1", "--seed, --n-fibres, "),
    ("rve --material glass_epoxy --strength transverse_tension --vf 0.3", "has no interface"),
    (f"{DEBONDING} --strength tension --vf 0.3", "allowed are"),
    ("rve --strength transverse_tension --vf 0.3 --E-f 70 --b-m 1 --c-m 1", "--material"),
    (f"{BROKEN} --vf 0.3 --loading 0.01,free,free", "cannot be combined"),
    (f"{DEBONDING} --vf 0.3 --drop 2", "drop = 2.0 is out of range: allowed is [0.01, 1]"),
    ("rve --material glass_epoxy --vf 0.3 --drop 0.2", "--drop needs an RVE that can break"),
    ("rve --material {}/ring.yaml --vf 0.3 --drop 0.2", "--drop needs an RVE that can break"),
    (
        "rve --material {}/ring.yaml --vf 0.3 --strength transverse_tension",
        "no damage in its phases (matrix, fibres)",
    ),
    (
        "generate --inputs {}/ring.csv --material {}/ring.yaml",
        "no RVE has the phase interphase: give interphase (option --interphase)",
    ),
    ("strengths --material {}/ring.yaml --vf 0.3", "no damage in its phases (matrix, fibres)"),
    (f"{BROKEN} --microstructure {{}}/voids.csv", "no damage in its phases (matrix)"),
    (f"{PLAIN} --drop 7", "--drop needs an RVE that can break"),
    (f"{BROKEN} --vf 0.3 --strain 0.1", "--strain cannot be combined with --strength"),
    (f"{BROKEN} --vf 0.3 --increments 9", "--increments cannot be combined with --strength"),
    (f"{BROKEN} --vf 0", "vf > 0"),
    ("strengths --material glass_epoxy_debonding --vf 0", "vf > 0"),
    ("envelope --material glass_epoxy_debonding --vf 0", "vf > 0"),
    (
        "strengths --material glass_epoxy_debonding --vf 0.5 --n-fibres 1",
        "replicates = 20 is out of range: one fibre",
    ),
    (
        "envelope --material glass_epoxy_debonding --vf 0.5 --n-fibres 1",
        "replicates = 3 is out of range: one fibre",
    ),
    ("generate replicates --n-fibres 1", "replicates = 10 is out of range: one fibre"),
]


def test_what_does_not_go_with_a_material_or_has_another_unit_is_refused_before_a_simulation(
    tmp_path, capsys, monkeypatch
):
    def simulated(*_, **__):
        raise AssertionError("the simulation began")

    monkeypatch.setattr("fe_data.composite.rve.generate_mesh", simulated)
    content = yaml_of("glass_epoxy")
    content["phases"]["interphase"] = copy.deepcopy(content["phases"]["fibres"])
    content["phases"]["fibres"]["elasticity"]["E_GPa"] = 74000
    content["phases"]["matrix"]["parameters"]["tension"] = 0.04
    (tmp_path / "odd.yaml").write_text(json.dumps(content))  # which is YAML
    ring = yaml_of("glass_epoxy")
    ring["phases"]["interphase"] = copy.deepcopy(ring["phases"]["matrix"])
    damage = {"onset": 0.02, "fracture_energy_J_m2": 20.0, "fibre_diameter_um": 14.0}
    ring["phases"]["interphase"]["damage"] = damage
    (tmp_path / "ring.yaml").write_text(json.dumps(ring))
    (tmp_path / "ring.csv").write_text("vf,interphase.elasticity.E_GPa\n0.3,3\n")
    (tmp_path / "voids.csv").write_text("x,y,radius,phase\n0.5,0.5,0.2,void\n")
    (tmp_path / "fibres.csv").write_text("x,y,radius,E_GPa\n0.5,0.5,0.2,80\n")
    (tmp_path / "kinds.csv").write_text("x,y,radius,kind\n0.3,0.3,0.2,fibres\n")
    (tmp_path / "table.csv").write_text("vf,E_f_GPa\n0.3,300\n")
    (tmp_path / "two.csv").write_text("path,strain_xx\n0,0.01\n1,0.02\n")
    (tmp_path / "six.csv").write_text("strain_zz\n0.001\n")
    out = tmp_path / "out"
    for words, reason in REFUSED:
        assert main([*words.replace("{}", str(tmp_path)).split(), "--out", str(out)]) == 2, words
        assert reason in capsys.readouterr().err, words
        assert not out.exists()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"phases": "rubber"}, "the phase 'rubber' in place of fibre 0, which needs a material"),
        ({"E_GPa": [70.0]}, "microstructure has E_GPa of each fibre, which needs a material"),
        ({"height": 1.5}, r"has the height 1\.5, which needs a material"),
        ({"interphase": 0.01}, r"has an interphase of 0\.01, which needs a material"),
    ],
)
def test_the_fast_solver_refuses_what_needs_a_material(tmp_path, changed, reason):
    micro = fe_data.Microstructure([[0.5, 0.5]], 0.3, **changed)
    inputs = Inputs(micro.volume_fraction, 400.0, 400.0, 0.4)
    with pytest.raises(ValueError, match=reason):
        fe_data.solve_rve(inputs, SMALL, microstructure=micro)
    design = Design("file", 0, [list(vars(inputs).values())], [0], (), (micro,), [0])
    with pytest.raises(ValueError, match=reason):
        fe_data.generate(design, SMALL, tmp_path / "data", silent=True)
    if "phases" in changed:
        unknown = "'rubber' is unknown: allowed are fibres, void"
        with pytest.raises(ValueError, match=unknown):
            fe_data.generate(design, SMALL, tmp_path / "data", phases=PAPER, silent=True)
        with pytest.raises(ValueError, match=unknown):
            fe_data.effective_constants(PAPER, micro)


def test_only_fibres_count_for_the_share_of_fibres_above_a_stress():
    phases = dataclasses.replace(PAPER, others={"soft": Material(Isotropic(1.0, 0.3))})
    mixed = fe_data.Microstructure([[0.3, 0.3], [0.75, 0.7]], [0.22, 0.18], ["fibres", "soft"])
    inputs = Inputs(mixed.volume_fraction, **PAPER.fixed_inputs)
    settings = Settings(resolution=2.0, increments=4, p_sigma_threshold_MPa=300.0)
    rve = solve_material(phases, inputs, mixed, settings)
    assert von_mises(rve.solution.fields()["soft"].stress).max() < 300.0
    assert rve.p_sigma == 1.0


@pytest.mark.parametrize("state", ["plastic_strain", "flow"])
def test_a_law_without_p_has_the_moduli_of_small_strains(state):
    @law(f"j2_{state}", parameters={}, state={state: 6})
    def update(strain, before, material):
        trial = 2 * material.shear * (deviator(strain) - before[state])
        q = von_mises_of(trial)
        dp = torch.relu(q - 20.0) / (3 * material.shear)
        plastic = before[state] + dp * 1.5 * trial / torch.clamp(q, min=1e-9)
        relaxed = trial * (1 - 3 * material.shear * dp / torch.clamp(q, min=1e-9))
        return pressure_stress(strain, material) + relaxed, {state: plastic}

    fibres = Material(Isotropic(70.0, 0.2))
    elastic = Phases(Material(Isotropic(3.0, 0.3), "j2", {"yield_stress": 1e6}), fibres)
    custom = Phases(Material(Isotropic(3.0, 0.3), f"j2_{state}"), fibres)
    arguments = Inputs(0.3, 70.0, 0.0, 1.0), 0, dataclasses.replace(SMALL, strain=0.05)
    expected = solve_material(elastic, *arguments).effective
    rve = solve_material(custom, *arguments)
    assert rve.effective.E_eff_GPa == pytest.approx(expected.E_eff_GPa, rel=1e-4)
    assert rve.effective.nu_eff == pytest.approx(expected.nu_eff, rel=1e-4)
    if state == "plastic_strain":
        assert rve.history["yielded_fraction"][-1] > 0.5


def test_a_picture_of_free_cooling_has_strain_over_temperature_and_counts_voids():
    mixed = fe_data.Microstructure([[0.3, 0.3], [0.75, 0.7]], [0.22, 0.18], ["fibres", "void"])
    inputs = Inputs(mixed.volume_fraction, **PAPER.fixed_inputs)
    cooling = Loading((None,) * 6, temperature=-100.0, increments=2)
    settings = Settings(resolution=2.0)
    rve = solve_material(named_phases("glass_epoxy"), inputs, mixed, settings, cooling)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        axes = {panel.get_title(): panel for panel in plot_rve(rve).axes}
    lines = axes["Mean strain over change of temperature"].lines
    assert [line.get_xdata()[-1] for line in lines] == [-100.0] * 3
    assert lines[2].get_ydata()[-1] == rve.history["strain"][-1, 2]
    assert "Microstructure\n1 fibre, 15.2% of the area, 1 void, 10.2%" in axes
    (line,) = axes["Yielded fraction over change of temperature"].lines
    assert line.get_ydata().tolist() == rve.history["yielded_fraction"].tolist()
    assert "Averaged curve" not in axes  # of rounding alone


def test_a_temperature_without_expansion_is_said(tmp_path, capsys):
    content = yaml_of("glass_epoxy")
    for phase in content["phases"].values():
        phase["elasticity"]["alpha_per_K"] = 0.0
    (tmp_path / "mine.yaml").write_text(json.dumps(content))
    path = tmp_path / "cooling.csv"
    path.write_text("path,strain_xx,strain_zz,temperature\n0,,,-100\n1,,,-50\n")
    content = yaml_of("glass_epoxy")
    content["phases"]["interphase"] = {"elasticity": {"E_GPa": 5.0, "nu": 0.3}}
    (tmp_path / "ring.yaml").write_text(json.dumps(content))
    nothing, rigid = "the temperature has no effect", "alpha_per_K of interphase is zero"
    for material, reason in (
        ("glass_epoxy", ""),
        (f"{tmp_path}/mine.yaml", nothing),
        (f"{tmp_path}/ring.yaml", ""),  # it has no interphase
        (f"{tmp_path}/ring.yaml --interphase 0.1", rigid),
    ):
        words = f"rve --vf 0.3 --material {material} --loading {path} --out {tmp_path}/out"
        assert main(words.split()) == 2  # it has two paths
        said = capsys.readouterr().err
        assert [text for text in (nothing, rigid) if text in said] == list(filter(None, [reason]))


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_numbers_of_a_material_vary_between_the_rows_of_a_file(tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    names = ["matrix.elasticity.E_GPa", "matrix.parameters.tension.yield_stress_MPa"]
    rows.write_text(f"vf,{names[0]},{names[1]}\n0.3,3.35,40\n0.3,4,35\n")
    words = f"generate --inputs {rows} --material glass_epoxy --strain 0.03".split()

    def run(out, *others):
        return main([*words, *WORDS, "--jobs", "1", "--out", str(tmp_path / out), *others])

    assert run("whole", "--shard", "1/2") == 0
    assert run("whole") == 0  # resumed
    table = fe_data.load_table(tmp_path / "whole")
    assert table.fields == tuple(names)
    assert main(["verify", str(tmp_path / "whole")]) == 0
    stress = fe_data.load_curves(tmp_path / "whole").stress
    glass = named_phases("glass_epoxy")
    settings = dataclasses.replace(SMALL, strain=0.03)
    for row, values in enumerate([(3.35, 40.0), (4.0, 35.0)]):
        of_row = glass.with_fields(dict(zip(names, values, strict=True)))
        assert of_row.measured == glass.measured
        seed = int(table.seed[row])
        alone = solve_material(of_row, VolumeFraction(0.3), seed, settings).history["stress"]
        assert stress[row].tolist() == alone[1:, 0].tolist()
    again = fe_data.design_from_file(tmp_path / "whole" / "dataset.csv", phases=glass)
    assert {name: again.fields[name].tolist() for name in names} == {
        names[0]: [3.35, 4.0],
        names[1]: [40.0, 35.0],
    }
    assert fe_data.replicate_statistics(table).fields == table.fields
    with pytest.raises(ValueError, match=r"design has fields matrix\.elasticity\.E_GPa, .*give"):
        fe_data.generate(again, SMALL, tmp_path / "other")
    capsys.readouterr()
    for old, new, reason in [
        ("elasticity.E", "E", "line 2: matrix.E_GPa is not a number of the material: allowed are"),
        (",4,", ",-4,", "line 3: matrix.elasticity: E_GPa = -4.0 is out of range"),
        (",4,", ",,", "line 3: matrix.elasticity.E_GPa = '' is not a number"),
        (",4,", ",4.5,", "samples of another configuration (inputs_sha256 = "),
    ]:
        before = rows.read_text()
        rows.write_text(before.replace(old, new))
        assert run("whole") == 2
        assert reason in capsys.readouterr().err
        rows.write_text(before)


PHASES = "x,y,radius,phase\n0.3,0.3,0.2,\n0.8,0.7,0.15,void\n0.2,0.8,0.12,hard\n"
MODULI = "x,y,radius,E_GPa\n0.3,0.4,0.2,\n0.8,0.9,0.15,400\n"


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process", "brief_picture")
def test_rve_and_generate_follow_given_fibres_as_the_solver_does(tmp_path):
    """Voids, further phases, moduli by fibre, rectangles, rings; and one soft fibre, very dense."""
    content = yaml_of("glass_epoxy")
    content["phases"]["hard"] = copy.deepcopy(content["phases"]["fibres"])
    content["phases"]["fibres"]["elasticity"]["E_GPa"] = 0.005
    content["phases"]["interphase"] = {"elasticity": {"E_GPa": 10.0, "nu": 0.3}}
    (tmp_path / "more.yaml").write_text(json.dumps(content))
    phases = load_phases(tmp_path / "more.yaml")
    design = tmp_path / "rows.csv"
    fibres = tmp_path / "fibres.csv"
    options = (
        f"--material {tmp_path}/more.yaml --resolution 3 --increments 4 --loading 0.004,free,free"
    )
    pull = Loading((0.004, None, None))
    digests = set()
    cases = [
        (PHASES, 1.0, 0.0),
        (MODULI, 1.2, 0.1),
        ("x,y,radius\n0.5,0.5,0.48\n", 1.0, 0.0),
    ]
    for number, (text, height, ring) in enumerate(cases):
        rve, data = tmp_path / f"rve{number}", tmp_path / f"data{number}"
        fibres.write_text(text)
        design.write_text("microstructure\n0\n")
        words = f"{options} --microstructure {fibres} --height {height}"
        words += f" --interphase {ring}" if ring else ""
        assert main(f"rve {words} --out {rve}".split()) in (0, 1)  # 1 is without a fit
        main(f"generate {words} --inputs {design} --jobs 1 --out {data}".split())
        (micro,) = fe_data.microstructures_from_file(fibres, height)
        micro = micro.coated(ring)
        direct = fe_data.solve_composite(phases, micro, pull, increments=4, resolution=3.0)
        stress = direct.history["stress"][:, 0].tolist()
        result = json.loads((rve / "result.json").read_text())
        assert np.array(result["history"]["stress"])[:, 0].tolist() == stress
        assert fe_data.load_curves(data).stress[0].tolist() == stress[1:]
        if text == MODULI:
            recorded = [result[name] for name in ("E_GPa", "height", "interphase")]
            assert recorded == [[None, 400.0], micro.height, micro.interphase]
        elif text == PHASES:
            assert result["phases"] == list(micro.phases)
        digests.add(json.loads((data / "config.json").read_text())["digest"])
    assert len(digests) == len(cases)
    design.write_text("vf\n0.3\n")
    words = f"{options} --n-fibres 2 --interphase 0.1 --inputs {design} --jobs 1"
    main(f"generate {words} --out {tmp_path}/random".split())  # without a fit
    seed = int(pd.read_csv(tmp_path / "random" / "dataset.csv")["seed"][0])
    micro = random_microstructure(0.3, seed, 2).coated(0.1)
    direct = fe_data.solve_composite(phases, micro, pull, increments=4, resolution=3.0)
    stress = fe_data.load_curves(tmp_path / "random").stress[0]
    assert stress.tolist() == direct.history["stress"][1:, 0].tolist()


def yaml_of(name):
    return {"phases": named_phases(name).as_dict()}


@pytest.mark.slow
def test_glass_epoxy_has_the_stresses_of_the_guide():
    """docs/own_composite.md: 76 MPa in compression and 59 MPa in tension at 1 %."""
    phases = named_phases("glass_epoxy")
    inputs = Inputs(0.4, **phases.fixed_inputs)
    ends = [
        solve_material(phases, inputs, 0, Settings(increments=20, strain=strain), silent=True)
        .history["stress"][-1, 0]
        .item()
        for strain in (-0.01, 0.01)
    ]
    assert [round(end) for end in ends] == [-76, 59]
