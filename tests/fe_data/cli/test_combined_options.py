"""Options that meet: what cannot be simulated is refused before files of an earlier run go."""

import json

import pytest

from fe_data.__main__ import main
from fe_data.composite.phases import EXAMPLES

TWO = "x,y,radius,phase,E_GPa\n0.3,0.3,0.25,{},{}\n0.8,0.75,0.1,,\n"
DAMAGED = (EXAMPLES / "glass_epoxy_ly556_breaking.yaml").read_text()
COARSE = "--resolution 2 --increments 4"
REFUSED = [
    ("glass_epoxy", TWO.format("glass", ""), "", "'glass' is unknown"),
    ("carbon_epoxy", TWO.format("", 80), "", "needs isotropic elasticity"),
    ("coated.yaml", TWO.format("", ""), "--interphase 1", "with their interphase overlap"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ring = "  interphase:\n    elasticity: {E_GPa: 3.0, nu: 0.3}\n  interface:\n"
    (tmp_path / "coated.yaml").write_text(DAMAGED.replace("  interface:\n", ring))
    (tmp_path / "damaged.yaml").write_text(DAMAGED)
    return tmp_path


@pytest.mark.parametrize(("material", "fibres", "words", "reason"), REFUSED)
def test_fibres_that_the_material_cannot_have_are_refused_before_files_are_removed(
    folder, capsys, material, fibres, words, reason
):
    (folder / "fibres.csv").write_text(fibres)
    (folder / "design.csv").write_text("group\n0\n")
    earlier = {"inputs": {}, "seed": 0, "settings": {}, "history": {}, "status": "complete"}
    (folder / "one").mkdir()
    (folder / "one" / "result.json").write_text(json.dumps(earlier))
    common = f"--material {material} --microstructure fibres.csv {COARSE} {words}".split()
    assert main(["rve", *common, "--out", "one"]) == 2
    assert reason in capsys.readouterr().err
    assert json.loads((folder / "one" / "result.json").read_text()) == earlier
    assert main(["generate", "--inputs", "design.csv", *common, "--out", "many"]) == 2
    assert reason in capsys.readouterr().err
    assert not (folder / "many").exists()


@pytest.mark.parametrize(
    "words", ["rve --vf 0", "generate --inputs design.csv --loading 0.01,free,free"]
)
def test_damage_without_a_fibre_is_refused(folder, capsys, words):
    (folder / "design.csv").write_text("vf\n0.2\n0\n")
    command = f"{words} --material damaged.yaml {COARSE} --out x"
    assert main(command.split()) == 2
    assert "damage needs a fibre or a void" in capsys.readouterr().err
    assert not (folder / "x").exists()
