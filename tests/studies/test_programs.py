"""Studies that only print what they find run small, and print a line for each case."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from fe_data import Settings
from figures.pipeline.profiles import load_profile
from studies.categories.__main__ import goldstein
from studies.direct_simulation.__main__ import LOADINGS, TABLE
from studies.path_surrogates.estimators import ESTIMATORS

pytestmark = pytest.mark.slow

QUICK = load_profile("quick")
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
    "load_profile": lambda _: QUICK,
}
PATHS = {"estimators.ESTIMATORS": ESTIMATORS[:1], "study.DRAWS": {5: 1}}
CURVES = {
    "PICTURE": Path("picture.png"),
    "MICROSTRUCTURES": 2,
    "SETTINGS": Settings(n_fibres=2, resolution=3.0, increments=10, hardening=TABLE),
    "OTHERS": [("1 disc", 2, {"n_fibres": 1})],
    "FEW": 5,
    "DISCS": 2,
    "PIXELS": 16,
    "SEEDS": range(1),
}
STRENGTHS = {
    "simulation.FIBRES": 1,
    "simulation.N_TRAINING": 6,
    "simulation.N_TEST": 4,
    "simulation.MICROSTRUCTURES": {1: 1},
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
    "defaults": (
        "points --data . --problems public --splits 1",
        {},
        ["public/standard, splits: 1, default points:", "public/standard, splits: 1, points at"],
    ),
    "direct_simulation": (
        ".",
        CURVES,
        ["| 30 discs | tension |", "| 1 disc | shear |", "| standard P2, our mesh |"],
    ),
    "path_surrogates": ("--results results.jsonl", PATHS, ["ours 5 0:"]),
    "scoreboard": (
        "--peers ours.Default --problems composite/ind25 --splits 1 --results results.jsonl "
        "--envs envs",
        {},
        ["composite/ind25 0, ours.Default: log-likelihood"],
    ),
    "strength_scatter": (
        "--results results.jsonl",
        STRENGTHS,
        ["11 of 11 RVEs reached their strength: results.jsonl", "rmse_MPa:"],
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


@pytest.fixture
def data(tmp_path):
    """Folder with a public set, and with curves as those of a published direct simulation."""
    (tmp_path / "public").mkdir()
    X = np.random.default_rng(0).uniform(size=(20, 2))
    rows = np.column_stack([X, np.sin(3 * X[:, 0]) + X[:, 1]])
    np.savetxt(tmp_path / "public" / "data.csv", rows, delimiter=",", header="a,b,y", comments="")
    (tmp_path / "public" / "standard.json").write_text(json.dumps([[*range(5)]]))
    strain = np.linspace(0.0, 0.06, 61)
    for file, *_ in LOADINGS.values():
        np.savetxt(
            tmp_path / file, np.stack([strain, 50 * strain], axis=1), "%g", ",", header="e,s"
        )
    return tmp_path


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_study_that_prints_runs(name, monkeypatch, data, capsys):
    options, smaller, lines = PROGRAMS[name]
    if name == "bayesian_optimisation":
        pytest.importorskip("botorch")
    study = importlib.import_module(f"studies.{name}.__main__")
    for field, value in smaller.items():
        place = field if "." in field else f"__main__.{field}"
        monkeypatch.setattr(f"studies.{name}.{place}", value)
    monkeypatch.chdir(data)
    monkeypatch.setattr(sys, "argv", [name, *options.split()])
    study.main()
    printed = capsys.readouterr().out
    for line in lines:
        assert re.search(f"^{re.escape(line)}.*", printed, re.M), printed
    assert "nan" not in printed.replace("± nan", "")
