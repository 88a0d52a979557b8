"""Studies that only print what they find run small, and print a line for each case."""

import importlib
import re
import sys

import pytest

from figures.pipeline.profiles import load_profile
from studies.categories.__main__ import goldstein

pytestmark = pytest.mark.slow


# What replaces constants of a study, to make it small
CATEGORIES = {"PROBLEMS": {"Goldstein": (goldstein, 2, [3, 3], (20,))}}
RVES = {"MICROSTRUCTURES": {2: 3, 3: 2}}
PLY = {
    "SEEDS": 2,
    "FIBRES": 5,
    "SPACING": 1.01,
    "PLIES": {"glass_epoxy_ly556": "E-glass/LY556"},
    "VARIATIONS": {"twice as fine a mesh": (5, 1.01, True)},
    "FINE": 8.0,
}
MESHES = {
    "paper.VOLUME_FRACTIONS": (0.23,),
    "paper.ELEMENTS": {6: ("P2/P0",)},
    "paper.FINENESS": (0.5,),
    "paper.FINEST": 1.0,
    "materials.SHIPPED": ("glass_epoxy",),
    "materials.SEEDS": (1,),
    "materials.STRAINS": (0.001,),
    "materials.FINENESS": 1.5,
}
EPOCHS = {
    "SEEDS": 2,
    "FIELDS": ["bias_correction"],
    "load_profile": lambda _: load_profile("quick"),
}
# Study, options, what is made smaller, and the beginnings of the lines that it prints
PROGRAMS = {
    "categories": (
        "--seeds 1",
        CATEGORIES,
        ["Goldstein, 20, one_hot:", "Goldstein, 20, one_hot_rbf:", "Goldstein, 20, compound_sym"],
    ),
    "two_fidelities": (
        "--seeds 1 --problems Forrester",
        {},
        ["Forrester, with_cheap:", "Forrester, expensive_alone:", "Forrester, cheap_alone:"],
    ),
    "measured_plies": (
        "",
        PLY,
        ["| E-glass/LY556, v_f 0.62 | measured", "| twice as fine a mesh", "| measured | +"],
    ),
    "mesh": ("", MESHES, ["| vf |", "| 0.23 | 6 | P2/P0", "| glass_epoxy | void | shear | 1"]),
    "strength_checks": (
        "--check halves --most 1 --results results.jsonl",
        {},
        ["1 RVEs, 0 ended early: results.jsonl"],
    ),
    "size_effect": ("", RVES, ["2 fibres:", "exponents:"]),
    "training_procedures": (
        "",
        EPOCHS,
        ["as described", "+ bias_correction", "+ workers"],
    ),
    "bayesian_optimisation": (
        "--seeds 1 --steps 1",
        {},
        [
            "Branin, GPRegressor: regret",
            "Branin, SingleTaskGP: regret",
            "Hartmann-6, GPRegressor: regret",
            "Hartmann-6, SingleTaskGP: regret",
        ],
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_study_that_prints_runs(name, monkeypatch, tmp_path, capsys):
    options, smaller, lines = PROGRAMS[name]
    if name == "bayesian_optimisation":
        pytest.importorskip("botorch")
    study = importlib.import_module(f"studies.{name}.__main__")
    for field, value in smaller.items():
        module, _, constant = field.rpartition(".")
        monkeypatch.setattr(getattr(study, module) if module else study, constant, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *options.split()])
    if name == "training_procedures":
        study.main(study.SHIPPED_TABLES)
    else:
        study.main()
    printed = capsys.readouterr().out
    for line in lines:
        assert re.search(f"^{re.escape(line)}.*", printed, re.M), printed
    assert "nan" not in printed.replace("± nan", "")
