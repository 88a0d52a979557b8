"""The command `constants`."""

import json
import os

import numpy as np
import pytest

from fe_data import Microstructure, effective_constants, named_phases
from fe_data.__main__ import main
from fe_data.geometry.microstructure import random_microstructure
from fe_data.geometry.outline import default_size


def test_the_command_prints_and_writes_the_constants(tmp_path, capsys):
    constants = effective_constants(
        named_phases("carbon_epoxy"), random_microstructure(0.6, 2, 4, 1.05), resolution=3.0
    )
    words = "constants --material carbon_epoxy --vf 0.6 --seed 2 --n-fibres 4 --min-spacing 1.05 "
    words += f"--resolution 3 --out {tmp_path}/constants.json"
    for _ in range(2):  # its own file is replaced
        assert main(words.split()) == 0
    measured = named_phases("carbon_epoxy").measured
    printed = capsys.readouterr().out
    assert constants.table(measured) in printed
    rows = {line.split()[0]: line.split() for line in printed.splitlines()}
    assert (rows["E_T_GPa"][-1], rows["alpha_T_per_K"][-1]) == ("11", "2.6e-05")  # of the ply
    assert rows["G_TT_GPa"][-1] == f"{constants.upper.G_TT_GPa:.5g}"  # not measured
    assert "measured transverse_tension_MPa 48\n" in printed
    content = json.loads((tmp_path / "constants.json").read_text())
    assert content["measured"]["longitudinal_shear_MPa"] == 79.0
    np.testing.assert_allclose(content["stiffness_GPa"], constants.stiffness_GPa, rtol=1e-12)
    assert content["lower"]["E_T_GPa"] == constants.lower.E_T_GPa


def test_the_command_writes_no_expansion_that_no_phase_has_and_states_few_fibres(tmp_path, capsys):
    words = "constants --material paper --vf 0.3 --n-fibres 3 --resolution 2 --out"
    assert main([*words.split(), str(tmp_path / "x.json")]) == 0
    out, err = capsys.readouterr()
    assert "alpha" not in out
    assert "one RVE of 3 fibres" in err
    content = json.loads((tmp_path / "x.json").read_text())
    assert (
        content["alpha_L_per_K"] is content["alpha_T_per_K"] is content["expansion_per_K"] is None
    )
    assert set(content["by_direction"]) >= {"E_x_GPa", "G_xy_GPa"}


def test_the_command_takes_voids_by_fraction_and_by_file(tmp_path, capsys):
    start = "constants --material glass_epoxy --resolution 3 "
    words = (
        start + "--vf 0.6 --min-spacing 1.03 --n-fibres 6 --void-fraction 0.02 --void-radius 0.5"
    )
    assert main(words.split()) == 0
    printed = capsys.readouterr().out
    voids = "voids 0.0200 (1 of 0.447 mean fibre radii)"
    assert f"7 inclusions: v_f 0.6000, {voids}; nearest fibres 1.0" in printed
    assert "(hexagonal: 1.229)" in printed
    rows = "x,y,radius,phase\n0.3,0.3,0.2,fibres\n0.8,0.7,0.1,void\n"
    (tmp_path / "fibres.csv").write_text(rows)
    fibre_and_void = Microstructure([[0.3, 0.3], [0.8, 0.7]], [0.2, 0.1], ["fibres", "void"])
    assert main([*start.split(), "--microstructure", str(tmp_path / "fibres.csv")]) == 0
    phases = named_phases("glass_epoxy")
    constants = effective_constants(phases, fibre_and_void, resolution=3.0)
    assert constants.table(phases.measured) in capsys.readouterr().out


OF_THE_PAPER = "rve --vf 0.3 --n-fibres 2 --E-f 400 --b-m 400 --c-m 0.4"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "finer"),  # than the default of the solver of the paper's phases
    [
        (OF_THE_PAPER, 1.0),
        ("rve --material glass_epoxy --vf 0.3 --n-fibres 2", 1.5),
        ("rve --material glass_epoxy --microstructure fibres.csv", 2.0),
        ("rve --material glass_epoxy_debonding --vf 0.3 --n-fibres 2", 1.0),
        ("constants --material glass_epoxy --microstructure fibres.csv", 1.5),
    ],
)
def test_a_result_has_the_resolution_of_the_default_mesh(tmp_path, monkeypatch, words, finer):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fibres.csv").write_text("x,y,radius,phase\n0.3,0.3,0.2,\n0.8,0.7,0.2,void\n")
    is_rve = words.startswith("rve")
    words += " --loading 0.001,free,free --increments 4 --out one" if is_rve else " --out one.json"

    def run(*further):
        assert main([*words.split(), *further]) == 0
        content = json.loads((tmp_path / ("one/result.json" if is_rve else "one.json")).read_text())
        return content, content["settings"] if is_rve else content

    content, settings = run()
    radius = max(r for *_, r in content["fibres"])
    assert settings["resolution"] == pytest.approx(finer * 2 * radius / default_size(2))
    again, _ = run("--resolution", str(settings["resolution"]))
    values = [x["history"]["stress"] if is_rve else x["stiffness_GPa"] for x in (content, again)]
    np.testing.assert_allclose(*values, rtol=1e-8, atol=1e-8)


RESULT_OF_AN_RVE = '{\n "components": "xx, yy, zz, xy, xz, yz of tensors; MPa, K and s"\n}\n'


@pytest.fixture
def unsimulated(monkeypatch):
    """No simulation may begin."""

    def simulated(*_, **__):
        raise AssertionError("the simulation began")

    monkeypatch.setattr("fe_data.effective_constants", simulated)
    monkeypatch.setattr("fe_data.cli.rve_folder.solve_rve", simulated)


@pytest.mark.usefixtures("unsimulated")
@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("file/x.json", "this is not a folder"),
        ("missing/x.json", "No such file or directory"),
        (".", "a folder has this name"),
        ("/proc/x.json", "no file can be written into this folder"),
    ],
)
def test_an_impossible_output_is_refused_before_the_simulation(
    tmp_path, capsys, monkeypatch, out, reason
):
    (tmp_path / "file").write_text("")
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: "/proc" not in str(path) and access(path, mode)
    )
    words = f"constants --material paper --vf 0.1 --n-fibres 1 --out {tmp_path / out}"
    assert main(words.split()) == 1
    assert reason in capsys.readouterr().err


@pytest.mark.usefixtures("unsimulated")
def test_rve_refuses_a_folder_that_cannot_be_written_before_the_simulation(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(os, "access", lambda *_: False)
    words = f"rve --vf 0.1 --E-f 400 --b-m 400 --c-m 0.4 --n-fibres 1 --out {tmp_path}"
    assert main(words.split()) == 1
    assert "no file can be written into this folder" in capsys.readouterr().err


@pytest.mark.usefixtures("unsimulated")
@pytest.mark.parametrize("content", ["{}", RESULT_OF_AN_RVE])
def test_the_command_keeps_a_file_that_is_not_its_own(tmp_path, content):
    (tmp_path / "mine.json").write_text(content)
    words = f"constants --material paper --vf 0.1 --n-fibres 1 --out {tmp_path}/mine.json"
    assert main([*words.split(), "--resolution", "2"]) == 1
    assert (tmp_path / "mine.json").read_text() == content


def test_the_command_says_where_the_voids_have_another_radius(capsys):
    words = "constants --material glass_epoxy --vf 0.3 --n-fibres 6 --resolution 2"
    assert main([*words.split(), "--void-fraction", "0.001"]) == 0
    assert "the radius of voids is 0.141 mean fibre radii, not 1, so" in capsys.readouterr().err
