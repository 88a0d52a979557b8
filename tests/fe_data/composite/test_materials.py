"""Phases: files, shipped examples and what is refused; PyTorch is imported only when needed."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import yaml

from fe_data import (
    HardeningTable,
    Isotropic,
    Material,
    TransverselyIsotropic,
    YieldStress,
    load_phases,
    named_phases,
)
from fe_data.composite.phases import EXAMPLES

NAMES = sorted(file.stem for file in EXAMPLES.glob("*.yaml"))

GOOD = """
source: a test
phases:
  matrix:
    elasticity: {E_GPa: 100, nu: 0.3, alpha_per_K: 23e-6}
    law: j2
    parameters: {yield_stress: {plastic_strain: [0, 0.01, 1], stress: [400, 450, 500]}}
  fibres:
    elasticity: {E_L_GPa: 225, E_T_GPa: 15, nu_LT: 0.2, nu_TT: 0.07, G_LT_GPa: 15, axis: z}
"""


def test_a_file_has_the_phases_that_it_describes(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text(GOOD)
    phases = load_phases(file)
    assert phases.source == "a test"
    assert phases.matrix.elasticity == Isotropic(100.0, 0.3, 23e-6)
    assert phases.matrix.parameters["yield_stress"] == HardeningTable([0, 0.01, 1], [400, 450, 500])
    assert phases.fibres.elasticity == TransverselyIsotropic(225.0, 15.0, 0.2, 0.07, 15.0)
    assert phases.fibres.is_elastic


@pytest.mark.parametrize("name", NAMES)
def test_shipped_phases_name_their_source_and_their_content_makes_them_again(tmp_path, name):
    phases = named_phases(name)
    assert len(phases.source) > 40
    path = tmp_path / "again.yaml"
    path.write_text(yaml.safe_dump({"phases": phases.as_dict()}))
    assert load_phases(path).as_dict() == phases.as_dict()
    assert load_phases(path).sha256 == phases.sha256
    assert copy.deepcopy(phases).as_dict() == phases.as_dict()  # as a worker gets it


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nu: 0.3", "nu: 0.6", r"matrix.elasticity: nu = 0.6 is out of range: allowed is \["),
        ("nu: 0.3", "nue: 0.3", "matrix.elasticity: nue is unknown; allowed are E_GPa, alpha"),
        ("E_GPa: 100, ", "", "matrix.elasticity: E_GPa is missing"),
        ("law: j2", "law: j3", "matrix: law = 'j3' is unknown: allowed are elastic"),
        (
            "yield_stress:",
            "yields:",
            "parameters of law 'j2' are yield_stress; missing: yield_stress; unknown: yields",
        ),
        ("[400, 450, 500]", "[400, 350, 500]", "matrix: yield_stress: stress must not fall"),
        (
            "j2\n    parameters: {",
            "chaboche\n    parameters: {C1_MPa: 1, gamma1: -1, ",
            r"matrix: gamma1 = -1 is out of range",
        ),
        ("axis: z", "axis: y", "fibres.elasticity: axis = 'y': allowed are 'z' and an angle"),
        ("nu_LT: 0.2", "nu_LT: 0.9, law: x", "fibres.elasticity: law is unknown"),
        ("nu_LT: 0.2", "nu_LT: 3", "fibres.elasticity: nu_LT = 3 is out of range"),
        ("  fibres:", "  void: {elasticity: {E_GPa: 1, nu: 0}}\n  fibres:", "others has 'void'"),
        ("  fibres:", "  fibre:", "phases: fibre is unknown; allowed are fibres, matrix"),
        ("source: a test", "origin: a test", "file: origin is unknown"),
        ("source: a test", "measured: {vf: 2}", r"measured: vf = 2 is out of range: allowed is \["),
        ("source: a test", "measured: {vf: 0.5, E: 2}", "measured: E is unknown; allowed are E_L"),
        ("source: a test", "measured: {vf: 0.5, nu_LT: 2}", "measured: nu_LT = 2 is out of range"),
        ("matrix:", "matrix: [", "is not valid YAML"),
        ("law: j2", "law: j2\n    law: elastic", "the key 'law' is given twice"),
        ("nu: 0.3", "nu: 0.3, E_GPa: 3", "the key 'E_GPa' is given twice"),
        ("E_GPa: 100", "E_GPa: 0100", "matrix.elasticity: E_GPa = '0100' must be a number"),
        ("E_GPa: 100", "E_GPa: 1:40", "matrix.elasticity: E_GPa = '1:40' must be a number"),
        ("E_GPa: 100", 'E_GPa: "100"', "matrix.elasticity: E_GPa = '100' must be a number"),
        (
            "E_GPa: 100",
            "E_GPa: １００",
            "matrix.elasticity: E_GPa = '１００' must be a number",
        ),
        ("E_GPa: 100", "E_GPa: 2001-01-01", "E_GPa = '2001-01-01' must be a number"),
        ("E_GPa: 100", "E_GPa: " + 5000 * "1", "line 5: the number 1{20}… has 5000 characters"),
        ("[400, 450, 500]", "[400, 4_50, 500]", "'4_50'"),
        ("E_GPa: 100", "E_GPa: !!float 100", "line 5: the tag 'tag:yaml.org,2002:float' is not"),
        ("source: a test", "source: !!python/object:os.x {}", "line 2: the tag 'tag:yaml.org,2002"),
        ("source: a test", "source: &a a test\nb: *a", r"line 3: the alias \*a is not allowed"),
        ("source: a test", 'source: "\\e[2J"', r"line 2: the text '.x1b\[2J' has control char"),
        ("source: a test", "<<: {source: a test}", "file: << is unknown"),
        ("source: a test", "[1]: 2", "line 2: a key must be a word or text"),
        ("source: a test", "--- 1\n---", "line 3: a second document is not allowed"),
        ("source: a test", "source: " + 30 * "[" + 30 * "]", "line 2: more than 20 levels"),
        ("source: a test", f"source: [{10_001 * '1,'}]", "line 2: more than 10000 entries"),
        ("source: a test", f"source: {100_000 * 'a'}", "at most 100000 are read"),
        ("{E_GPa: 100, nu: 0.3, alpha_per_K: 23e-6}", "74.0", "elasticity = 74.0 must be a map"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field(tmp_path, old, new, message):
    file = tmp_path / "own.yaml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=message) as caught:
        load_phases(file)
    assert str(caught.value).startswith(str(file))


@pytest.mark.parametrize("content", ["", "# only a comment\n", "---\n"])
def test_an_empty_file_is_refused(tmp_path, content):
    file = tmp_path / "empty.yaml"
    file.write_text(content)
    with pytest.raises(ValueError, match=r"empty\.yaml: it is empty: it must have phases"):
        load_phases(file)


def test_a_stiffness_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match=r"nu_LT = 0.95 .*\|nu_LT\| < 0.68"):
        TransverselyIsotropic(15.0, 15.0, 0.95, 0.07, 15.0)


def test_plastic_laws_need_isotropic_elasticity():
    carbon = TransverselyIsotropic(225.0, 15.0, 0.2, 0.07, 15.0)
    with pytest.raises(ValueError, match="law = 'j2' needs isotropic elasticity"):
        Material(carbon, "j2", {"yield_stress": 100.0})
    assert YieldStress(100.0)(0.5) == 100.0


@pytest.mark.slow
def test_pytorch_is_imported_with_the_first_law_that_needs_it():
    code = """
import sys
import fe_data
from fe_data import Isotropic, Material, Phases, effective_constants
elastic = Material(Isotropic(1.0, 0.3))
assert "torch" not in sys.modules
sys.modules["torch"] = None
try:
    Material(Isotropic(1.0, 0.3), "j2", {"yield_stress": 1.0})
except ImportError as error:
    print(error)
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == (
        "laws of plasticity need PyTorch, which is not installed: pip install torch\n"
    )


SHEAR = """phases:
  matrix: {{elasticity: {{E_GPa: 3.0, nu: 0.35}}}}
  fibres: {{elasticity: {{E_L_GPa: 225.0, E_T_GPa: 15.0, nu_LT: 0.2, {}, G_LT_GPa: 15.0}}}}
"""


def test_a_file_may_have_the_shear_modulus_instead_of_the_ratio_across_the_fibres(tmp_path):
    path = tmp_path / "phases.yaml"
    path.write_text(SHEAR.format("G_TT_GPa: 6.0"))
    fibres = load_phases(path).fibres.elasticity
    assert 1 / (2 * np.linalg.inv(fibres.stiffness)[3, 3]) == pytest.approx(6000.0, rel=1e-12)
    path.write_text(SHEAR.format("nu_TT: 0.25"))
    assert load_phases(path).fibres.elasticity == fibres


def test_numbers_are_varied_by_their_names_in_the_file(tmp_path):
    """Also if the file has the shear modulus, or a yield stress that is only a number."""

    def read(shear, stress):
        law = f"0.35}}, law: j2, parameters: {{yield_stress: {stress}}}"
        path = tmp_path / "phases.yaml"
        path.write_text(SHEAR.format(f"G_TT_GPa: {shear}").replace("0.35}", law))
        return load_phases(path)

    phases = read(6.0, 40.0)
    names = {"fibres.elasticity.G_TT_GPa": 7.0, "matrix.parameters.yield_stress": 35.0}
    assert phases.with_fields(names).as_dict() == read(7.0, 35.0).as_dict()
    shear, stress = names
    for name, stored in (
        (shear, "fibres.elasticity.nu_TT"),
        (stress, f"{stress}.yield_stress_MPa"),
    ):
        with pytest.raises(ValueError, match=f"{name} determines {stored}: leave one of them out"):
            phases.with_fields({name: names[name], stored: 0.3})
    with pytest.raises(ValueError, match="is not a number of the material: allowed"):
        named_phases("glass_epoxy").with_fields({"matrix.parameters.tension": 35.0})


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("nu_TT: 0.25, G_TT_GPa: 6.0", "both nu_TT and G_TT_GPa: leave one of them out"),
        ("G_TT_GPa: 3.0", r"G_TT_GPa = 3 is out of range: allowed is \[3.769, 75\] with E_T"),
        ("G_TT_GPa: much", "G_TT_GPa = 'much' must be a number"),
        ("G_TT_GPa: 0", "G_TT_GPa = 0 is out of range"),
        ("alpha_L_per_K: 0.0", "nu_TT is missing: give it, or G_TT_GPa"),
        ("G_tt_GPa: 6.0", "G_tt_GPa is unknown; allowed are E_L_GPa, .* G_TT_GPa, .* nu_TT"),
    ],
)
def test_a_wrong_shear_modulus_across_the_fibres_is_named(tmp_path, entry, reason):
    path = tmp_path / "phases.yaml"
    path.write_text(SHEAR.format(entry))
    with pytest.raises(ValueError, match=f"fibres.elasticity.*{reason}"):
        load_phases(path)
