"""The command `constants`."""

import json

import numpy as np
import pytest

from fe_data import Microstructure, effective_constants, named_phases
from fe_data.__main__ import main
from fe_data.geometry.microstructure import random_microstructure


def test_the_command_prints_and_writes_the_constants(tmp_path, capsys):
    found = effective_constants(
        named_phases("carbon_epoxy"), random_microstructure(0.6, 2, 4, 1.05), resolution=3.0
    )
    words = "constants --material carbon_epoxy --vf 0.6 --seed 2 --n-fibres 4 --min-spacing 1.05 "
    words += f"--resolution 3 --out {tmp_path}/constants.json"
    for _ in range(2):  # its own file is replaced
        assert main(words.split()) == 0
    assert found.table() in capsys.readouterr().out
    content = json.loads((tmp_path / "constants.json").read_text())
    np.testing.assert_allclose(content["stiffness_GPa"], found.stiffness_GPa, rtol=1e-12)
    assert content["lower"]["E_T_GPa"] == found.lower.E_T_GPa


def test_the_command_takes_voids_by_fraction_and_by_file(tmp_path, capsys):
    start = "constants --material glass_epoxy --resolution 3 "
    words = (
        start + "--vf 0.6 --min-spacing 1.03 --n-fibres 6 --void-fraction 0.02 --void-radius 0.5"
    )
    assert main(words.split()) == 0
    printed = capsys.readouterr().out
    voids = "voids 0.0200 (1 of 0.447 mean fibre radii)"
    assert f"7 in all: v_f 0.6000, {voids}; nearest fibres 1.0" in printed
    assert "(hexagonal: 1.229)" in printed
    rows = "x,y,radius,phase\n0.3,0.3,0.2,fibres\n0.8,0.7,0.1,void\n"
    (tmp_path / "fibres.csv").write_text(rows)
    given = Microstructure([[0.3, 0.3], [0.8, 0.7]], [0.2, 0.1], ["fibres", "void"])
    assert main([*start.split(), "--microstructure", str(tmp_path / "fibres.csv")]) == 0
    found = effective_constants(named_phases("glass_epoxy"), given, resolution=3.0)
    assert found.table() in capsys.readouterr().out
    (tmp_path / "fibres.csv").write_text(rows.replace("phase", "kind"))
    assert main([*start.split(), "--microstructure", str(tmp_path / "fibres.csv")]) == 2
    assert "column 'kind' is unknown: allowed are x, y, radius, " in capsys.readouterr().err


def test_the_command_refuses_what_is_not_its_own(tmp_path, capsys):
    (tmp_path / "mine.json").write_text("{}")
    words = ["constants", "--material", "paper", "--out", str(tmp_path / "mine.json")]
    one = ["--vf", "0.1", "--n-fibres", "1", "--resolution", "2"]
    assert main([*words, *one]) == 1
    assert (tmp_path / "mine.json").read_text() == "{}"
    assert main(words) == 2
    assert "give either --vf or --microstructure FILE" in capsys.readouterr().err
    assert main(["constants", "--material", "no.yaml", *one]) == 1
    assert main(["constants", "--material", "paper", "--vf", "30"]) == 2
    assert "; vf is a fraction: 30 % is 0.3" in capsys.readouterr().err
    assert main(["constants", "--material", "paper", "--vf", "0.3", "--void-radius", "0.5"]) == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--void-fraction 1", "is [0, 0.5]; it is a fraction: 1 % is 0.01"),
        ("--interphase 10", "--interphase 10: interphase = 1.0"),
    ],
)
def test_the_command_names_a_number_as_it_was_given(capsys, words, reason):
    start = "constants --material paper --vf 0.3 --n-fibres 8 --seed 1"
    assert main([*start.split(), *words.split()]) == 2
    assert reason in capsys.readouterr().err


def test_the_command_says_where_the_voids_have_another_radius(capsys):
    words = "constants --material glass_epoxy --vf 0.3 --n-fibres 6 --resolution 2"
    assert main([*words.split(), "--void-fraction", "0.001"]) == 0
    printed = capsys.readouterr()
    assert "voids 0.0010 (1 of 0.141 mean fibre radii)" in printed.out
    assert "the voids have 0.141 mean fibre radii, not 1: a whole number" in printed.err


def test_the_command_does_not_replace_the_result_of_an_rve(tmp_path):
    result = tmp_path / "result.json"
    result.write_text('{\n "components": "xx, yy, zz, xy, xz, yz of tensors; MPa, K and s"\n}\n')
    words = f"constants --material paper --vf 0.1 --n-fibres 1 --resolution 2 --out {result}"
    assert main(words.split()) == 1
    assert "of tensors" in result.read_text()
