"""Strengths of RVEs in commands and datasets."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from fe_data import (
    Design,
    Loading,
    MaterialPoint,
    Microstructure,
    Settings,
    VolumeFraction,
    generate,
    load_curves,
    load_table,
    named_phases,
    verify,
)
from fe_data.__main__ import main
from fe_data.cli.sampling import report
from fe_data.composite.interface import Strength
from fe_data.composite.strengths import (
    SampledStrength,
    sample_strength,
    strength_of,
    strength_table,
)
from fe_data.dataset.design import retry_seed
from fe_data.errors import MeshError, SimulationError
from fe_data.schema import OF_STRENGTH

ONE_FIBRE = Microstructure([[0.5, 0.5]], 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transverse_tension", "longitudinal_shear"])
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_full_memory_is_no_property_of_a_microstructure(monkeypatch):
    def fails(*_, **__):
        raise MeshError("gmsh could not mesh the RVE: std::bad_alloc")

    phases, settings = named_phases("glass_epoxy_debonding"), Settings(n_fibres=1, resolution=2.0)
    monkeypatch.setattr("fe_data.composite.strengths.solve_composite", fails)
    for simulate in (
        lambda: sample_strength(phases, "transverse_tension", 0.3, 0, settings),
        lambda: strength_of(phases, ONE_FIBRE, "transverse_tension", settings),
    ):
        with pytest.raises(MemoryError):
            simulate()


def test_settings_of_phases_do_not_go_with_a_material():
    phases = named_phases("glass_epoxy_debonding")
    with pytest.raises(ValueError, match=r"nu_m = 0\.4 cannot be combined with a material"):
        sample_strength(phases, "transverse_tension", 0.3, 0, Settings(nu_m=0.4))


BROKEN = Strength(34.0, 0.003, True, 0.1, 0.2, 3.0, 0.01, 0.02, 0.0)
NO_PEAK = SimulationError("no peak")
# Strength of the first and of the second microstructure, the status, and whose outputs remain
ENDS_BEFORE_A_PEAK = {
    "both": ([NO_PEAK, NO_PEAK], "unfitted", 0),
    "the first": ([NO_PEAK, BROKEN], "retried", 1),
}


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("case", ENDS_BEFORE_A_PEAK)
def test_a_sample_without_a_strength_keeps_its_other_outputs(tmp_path, monkeypatch, case):
    ends, status, number = ENDS_BEFORE_A_PEAK[case]
    shears = iter(ends)

    def strength_of(_phases, _fibres, name, _settings):
        strength = next(shears) if name == "transverse_shear" else BROKEN
        if isinstance(strength, Exception):
            raise strength
        return strength

    monkeypatch.setattr("fe_data.composite.strengths.strength_of", strength_of)
    design = Design("own", 0, np.array([[0.5, 70.0, 300.0, 1.0]]), [0])
    settings = Settings(n_fibres=1, resolution=2.0, increments=4, strain=0.03)
    choices = {"phases": named_phases("glass_epoxy_debonding"), "silent": True}
    names = ["transverse_shear", "transverse_tension"]
    summary = generate(design, settings, tmp_path, strengths=names, **choices)
    assert summary.counts[status] == 1
    assert verify(tmp_path)[0] == []
    sample = pd.read_csv(tmp_path / "dataset.csv").loc[0]
    first = design.sample(0).seed
    assert sample["seed"] == (first, retry_seed(first))[number]
    assert sample["transverse_tension_MPa"] == BROKEN.strength_MPa
    assert sample[["E_eff_GPa", "E_T_GPa"]].gt(0).all()
    shear = [name for name in sample.index if name.startswith("transverse_shear")]
    assert len(shear) == 1 + len(OF_STRENGTH)
    assert sample[shear].isna().all() == (status == "unfitted")
    reasons = pd.read_csv(tmp_path / "failures.csv")["reason"]
    assert reasons[0] == f"transverse_shear: {NO_PEAK}"
    assert summary.warnings[0].endswith(reasons[0]) == (status == "unfitted")
    if status == "unfitted":
        with pytest.warns(UserWarning, match="or a strength, and are left out: index 0"):
            assert load_table(tmp_path).unfitted.tolist() == [0]


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


def test_bonded_only_programs_say_so():
    phases = named_phases("glass_epoxy_debonding")
    with pytest.raises(ValueError, match="phases have an interface"):
        MaterialPoint(VolumeFraction(0.3), phases=phases)
    design = Design("own", 0, np.full((1, 4), [0.3, 70.0, 300.0, 1.0]), [0])
    design = dataclasses.replace(design, fields={"interface.exponent": np.array([1.5])})
    with pytest.raises(ValueError, match="fields of the interface"):
        generate(design, Settings(), "nowhere", phases=phases)
