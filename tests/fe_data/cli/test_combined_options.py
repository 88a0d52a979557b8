"""Options that meet: what cannot be simulated is refused before files of an earlier run go."""

import json
import re

import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from fe_data import Design, Settings, generate, load_phases, named_phases, random_microstructure
from fe_data.__main__ import main
from fe_data.composite.phases import EXAMPLES
from fe_data.composite.strengths import SampledStrength, sample_envelope, sample_strength
from fe_data.dataset import storage

TWO = "x,y,radius,phase,E_GPa\n0.3,0.3,0.25,{},{}\n0.8,0.75,0.1,,\n"
DAMAGED = (EXAMPLES / "glass_epoxy_ly556_breaking.yaml").read_text()
COARSE = "--resolution 2 --increments 4"
EARLIER = json.dumps({"inputs": {}, "seed": 0, "settings": {}, "history": {}, "status": "complete"})
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


def an_earlier_result(folder):
    """Write the result of an earlier run of `rve` into the folder `one`, and return its path."""
    (folder / "one").mkdir()
    result = folder / "one" / "result.json"
    result.write_text(EARLIER)
    return result


@pytest.mark.parametrize(("material", "fibres", "words", "reason"), REFUSED)
def test_fibres_that_the_material_cannot_have_are_refused_before_files_are_removed(
    folder, capsys, material, fibres, words, reason
):
    (folder / "fibres.csv").write_text(fibres)
    (folder / "design.csv").write_text("group\n0\n")
    result = an_earlier_result(folder)
    common = f"--material {material} --microstructure fibres.csv {COARSE} {words}".split()
    assert main(["rve", *common, "--out", "one"]) == 2
    assert reason in capsys.readouterr().err
    assert result.read_text() == EARLIER
    assert main(["generate", "--inputs", "design.csv", *common, "--out", "many"]) == 2
    assert reason in capsys.readouterr().err
    assert not (folder / "many").exists()
    if not words:
        (folder / "c.json").write_text('{"components": "of an earlier run"}')
        constants = f"--material {material} --microstructure fibres.csv --out c.json"
        assert main(["constants", *constants.split()]) == 2
        assert reason in capsys.readouterr().err
        assert (folder / "c.json").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("rve --vf 0.3 --E-f 400 --b-m 400 --c-m 0.4 --loading 0,0,0,0,0.01,0", "six components"),
        ("rve --vf 0.3 --material paper --hardening table:table.csv", "hardening = "),
        ("rve --vf 0.3 --material zero.yaml", "compression: yield_stress_MPa = 0"),
    ],
)
def test_what_another_option_needs_is_refused_before_files_are_removed(
    folder, capsys, words, reason
):
    (folder / "table.csv").write_text("plastic_strain,stress_MPa\n0,350\n1,400\n")
    text = (EXAMPLES / "glass_epoxy.yaml").read_text()
    (folder / "zero.yaml").write_text(re.sub("compression: {.*}", "compression: 0", text))
    result = an_earlier_result(folder)
    assert main([*words.split(), "--out", "one"]) == 2
    assert reason in capsys.readouterr().err
    assert result.read_text() == EARLIER


@pytest.mark.usefixtures("in_this_process")
def test_a_modulus_that_each_fibre_has_cannot_be_varied(folder, capsys):
    (folder / "design.csv").write_text("fibres.elasticity.E_GPa\n60\n80\n")
    words = (
        "generate --inputs design.csv --material glass_epoxy --microstructure fibres.csv --out x"
    )
    for second, code in (("70", 2), ("", 0)):
        fibres = f"x,y,radius,E_GPa\n0.3,0.3,0.25,80\n0.8,0.75,0.1,{second}\n"
        (folder / "fibres.csv").write_text(fibres)
        loading = "--loading 0.001,free,free --resolution 2 --increments 4 --jobs 1"
        assert main([*words.split(), *loading.split()]) == code
        refused = "each of its fibres has a separate E_GPa" in capsys.readouterr().err
        assert refused == (code == 2)


@pytest.mark.parametrize(
    "words", ["rve --vf 0", "generate --inputs design.csv --loading 0.01,free,free"]
)
def test_damage_without_a_fibre_is_refused(folder, capsys, words):
    (folder / "design.csv").write_text("vf\n0.2\n0\n")
    command = f"{words} --material damaged.yaml {COARSE} --out x"
    assert main(command.split()) == 2
    assert "damage needs a fibre or a void" in capsys.readouterr().err
    assert not (folder / "x").exists()


def only_json(text):
    """Read JSON without NaN, which other programs reject."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.slow
@pytest.mark.parametrize("material", ["glass_epoxy", "a$_$.yaml"])
def test_a_fibre_without_a_separate_modulus_has_none_in_all_results(folder, capsys, material):
    """A dollar in the name of the material is no formula in the figure."""
    (folder / "a$_$.yaml").write_text((EXAMPLES / "glass_epoxy.yaml").read_text())
    (folder / "fibres.csv").write_text(TWO.format("", 80))
    words = ["--material", material, "--microstructure", "fibres.csv", "--resolution", "2", "--out"]
    assert main(["rve", "--loading", "0.001,free,free", "--increments", "4", *words, "one"]) == 0
    assert main(["constants", *words, "constants.json"]) == 0
    result = only_json((folder / "one" / "result.json").read_text())
    assert result["settings"]["n_fibres"] == 2
    for content in (result, only_json((folder / "constants.json").read_text())):
        assert content["E_GPa"] == [80.0, None]
    (title,) = [line for line in capsys.readouterr().out.splitlines() if "measured at" in line]
    assert title.split()[:3] == ["constant", "value", "measured"]  # these fibres have no bounds


def test_given_fibres_may_be_more_than_random_ones(folder, monkeypatch):
    place = (np.arange(32) + 0.5) / 32
    rows = [f"{x},{y},0.013" for x in place for y in place]
    (folder / "many.csv").write_text("\n".join(["x,y,radius", *rows]))
    monkeypatch.setattr("fe_data.cli.rve_folder.run_rve", lambda *_, **__: ("", "", None))
    words = "--material glass_epoxy --microstructure many.csv --out x"
    assert main(["rve", *words.split()]) == 0


def test_the_order_of_strengths_does_not_matter(folder, monkeypatch):
    (folder / "design.csv").write_text("vf\n0.2\n")
    configurations = []
    monkeypatch.setattr(storage, "open_folder", lambda _, config: configurations.append(config))
    monkeypatch.setattr(storage, "locked", lambda *_: pytest.fail("no lock"))
    for names in (("transverse_shear", "transverse_tension"), ("transverse_tension",) * 2):
        words = [word for name in (*names, "transverse_shear") for word in ("--strength", name)]
        common = "generate --inputs design.csv --material glass_epoxy_debonding --out x"
        with pytest.raises(pytest.fail.Exception):
            main([*common.split(), *words])
    assert configurations[0] == configurations[1]


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("interphase", [np.float32(0.125), np.int64(1), 1])
def test_numbers_of_any_type_give_the_same_configuration(tmp_path, interphase):
    ring = "phases:\n  interphase: {elasticity: {E_GPa: 3.0, nu: 0.3}}\n"
    text = (EXAMPLES / "glass_epoxy.yaml").read_text().replace("phases:\n", ring)
    (tmp_path / "coated.yaml").write_text(text)
    phases = load_phases(tmp_path / "coated.yaml")
    design = Design("one", 0, np.array([[0.05, 74.0, 0.0, 1.0]]), np.array([0]))
    settings = Settings(n_fibres=1, min_spacing=2.5, resolution=2, increments=4)
    small = {"phases": phases, "silent": True}
    generate(design, settings, tmp_path / "out", interphase=float(interphase), **small)
    again = generate(design, settings, tmp_path / "out", interphase=interphase, **small)
    assert again.simulated == 0


def test_strengths_of_a_sample_have_the_radii_of_the_settings(monkeypatch):
    loaded = []
    monkeypatch.setattr(
        "fe_data.composite.strengths._break",
        lambda _, fibres, *__: loaded.append(fibres) or (None, ""),
    )
    settings = Settings(n_fibres=5, radii="lognormal", radii_cov=0.3)
    phases = named_phases("glass_epoxy_debonding")
    sample_strength(phases, "transverse_tension", 0.3, 1, settings)
    sample_envelope(phases, 45.0, 0.3, 1, settings)
    expected = random_microstructure(0.3, 1, 5, radii="lognormal", radii_cov=0.3)
    for fibres in loaded:
        np.testing.assert_array_equal(fibres.radii, expected.radii)


@pytest.mark.parametrize("signal", ["SIGKILL(-9)", "SIGSEGV(-11)"])
def test_a_worker_that_dies_is_named_and_finished_strengths_are_written(
    folder, capsys, monkeypatch, signal
):
    def results(*_, **__):
        yield SampledStrength("transverse_tension", 0, None, "no peak")
        raise TerminatedWorkerError(signal)

    monkeypatch.setattr("joblib.Parallel", lambda **_: results)
    words = "--material glass_epoxy_debonding --vf 0.2 --replicates 2 --jobs 2 --out s.csv"
    assert main(["strengths", *words.split()]) == 1
    assert ("memory is full" in capsys.readouterr().err) == ("KILL" in signal)
    assert len((folder / "s.csv").read_text().splitlines()) == 2
