"""The command `constants`."""

import json

import numpy as np

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
    assert "7 in all: v_f 0.6000, voids 0.0200; nearest fibres 1.0" in printed
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
