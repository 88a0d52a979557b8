"""`python -m studies NAME` runs a study with pinned arithmetic; a table says what still holds."""

import contextlib
import csv
import json
import os
import re
import subprocess

import pytest

from figures.pipeline.arithmetic import pins
from figures.pipeline.paths import ROOT
from studies.__main__ import COMPARE_TIMES, FOLDER, main, questions
from tests.figures.report.committed import committed_files, content_of

PROGRAMS = [name for name in questions() if not list((FOLDER / name).glob("*.ipynb"))]
RESULTS = [path for path in committed_files("full", ".json") if path.is_relative_to(FOLDER)]
RESULTS.append(FOLDER / "further_draws" / "results.json")
COMMITTED = sorted(FOLDER.glob("*/results.jsonl"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_arithmetic_of_a_study_is_pinned_unless_it_compares_times(name, monkeypatch):
    called = []
    monkeypatch.setattr(os, "execve", lambda *arguments: called.append(arguments))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    main([name, "--seeds", "1"])
    ((_, command, variables),) = called
    assert command[-3:] == [f"studies.{name}", "--seeds", "1"]
    pinned = pins().items() <= dict(variables).items()
    assert pinned is (name not in COMPARE_TIMES)


@pytest.fixture
def started(monkeypatch):
    """The commands and profiles of the programs that a study starts; none of them runs."""
    calls = []

    def record(command, variables):
        calls.append((" ".join(command[2:]), variables["PROFILE"]))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(os, "execve", lambda _, *arguments: record(*arguments))
    monkeypatch.setattr(subprocess, "run", lambda command, **how: record(command, how["env"]))
    return calls


@pytest.mark.parametrize("name", ["ablation", "repeats"])
@pytest.mark.parametrize(
    ("profile", "expected"), [("", "full"), ("quick", "quick"), ("my.yaml", "my.yaml")]
)
def test_a_study_has_full_size_unless_a_profile_is_given(
    name, profile, expected, started, monkeypatch
):
    monkeypatch.setenv("PROFILE", profile)
    with contextlib.suppress(SystemExit):
        main([name])
    command = "doit study:ablation" if name == "ablation" else "studies.repeats"
    assert started == [(command, expected)]


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("mesh", {"PROFILE": "quick"}),
        ("training_procedures", {"DATA": "authors"}),
        ("further_draws", {"SEED": "3"}),
        ("strength_scatter", {"JOBS": "2"}),
        ("scoreboard", {"PROFILE": "quick", "JOBS": "1"}),
    ],
)
def test_a_program_rejects_parameters_of_notebooks(name, variables, started, monkeypatch, capsys):
    """It would run for hours as if they had not been set."""
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit) as end:
        main([name])
    assert end.value.code == 2
    assert f"{name} has no {', '.join(variables)}:" in capsys.readouterr().err
    assert not started


@pytest.mark.parametrize("results", COMMITTED, ids=lambda p: p.parent.name)
def test_a_page_says_that_committed_results_are_not_computed_again(results):
    """Its command may give another file; otherwise it ends in seconds."""
    page = results.with_name("README.md").read_text(encoding="utf-8")
    assert re.search(r"\bmissing\b", page)


def of_table():
    """The lines of the table of studies, by the name of the study."""
    file = ROOT / "docs" / "tables" / "studies.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        return {line["study"]: line for line in csv.DictReader(lines)}


def test_the_table_of_studies_has_a_line_for_each():
    assert list(of_table()) == list(questions())


def test_the_paper_and_its_repeats_come_from_one_commit():
    """The rebuilt and published inputs too. Other studies name their own commits."""
    with (ROOT / "docs" / "tables" / "runs.csv").open(encoding="utf-8", newline="") as lines:
        commits = {line["file"]: line["commit"] for line in csv.DictReader(lines)}
    paper = [name for name in commits if name.startswith(("figures/", "studies/repeats/"))]
    assert "figures/full/04b_repeated_datasets.json" in paper
    assert len({commits[name] for name in paper}) == 1


@pytest.mark.parametrize("name", [name for name in questions() if name not in PROGRAMS])
def test_the_page_of_a_study_states_the_time_of_its_committed_run(name):
    with (ROOT / "docs" / "tables" / "runs.csv").open(encoding="utf-8", newline="") as lines:
        minutes = {line["file"]: line["minutes_rounded_up"] for line in csv.DictReader(lines)}
    (taken,) = (m for file, m in minutes.items() if f"{name}/results/full/" in file)
    page = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert f"- Time: {taken} minutes of two busy cores." in page


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.parts[-2] + path.stem)
def test_the_table_of_studies_names_the_commit_of_their_results(path):
    made = json.loads(content_of(path))["provenance"]
    study = path.relative_to(FOLDER).parts[0]
    assert made["commit"] == of_table()[study]["commit"]
