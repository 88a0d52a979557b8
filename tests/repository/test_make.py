"""What make hands on: targets, parameters by name, and values that are never commands."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LITERAL = """$(shell touch expanded) $$x it's `touch executed` "q" $HOME"""

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="no make here")


def recording_checkout(folder: Path, package: str) -> None:
    """Make a folder with the Makefile, where running a package records arguments and variables."""
    shutil.copy(ROOT / "Makefile", folder)
    setup = folder / "setup.sh"
    setup.write_text("#!/bin/sh\n", encoding="utf-8")
    setup.chmod(0o755)
    (folder / ".environment").write_text(f"hash\n{sys.executable}\n", encoding="utf-8")
    script = folder / package / "__main__.py"
    script.parent.mkdir(parents=True)
    (script.parent / "__init__.py").touch()  # it comes before packages on PYTHONPATH
    script.write_text(
        "import json, os, sys\njson.dump([sys.argv[1:], dict(os.environ)], open('given', 'w'))\n",
        encoding="utf-8",
    )


@pytest.mark.parametrize("by", ["environment", "command line"])
def test_values_are_handed_on_as_they_are(tmp_path, by):
    """A folder may be called what it likes, and no value is a command.

    In WSL the environment has NAME, the name of the computer.
    """
    recording_checkout(tmp_path, "studies")
    values = dict.fromkeys(("PROFILE", "DATA", "SEED", "JOBS", "NAME"), LITERAL)
    values["ARGS"] = """-k "a and b" '$(shell touch expanded)' `touch executed` $HOME"""
    variables = {**values, "NAME": "computer"} if by == "environment" else {}
    words = [f"{name}={value}" for name, value in values.items() if not variables or name == "NAME"]
    command = ["make", "-s", "study", *words]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **variables}, check=True)
    assert not {"expanded", "executed"} & {path.name for path in tmp_path.iterdir()}
    (name, *others), environment = json.loads((tmp_path / "given").read_text(encoding="utf-8"))
    assert {name: environment[name] for name in values} == values
    assert name == LITERAL
    # The words of ARGS are those of a shell without its commands.
    assert others == ["-k", "a and b", "$(shell touch expanded)", "`touch", "executed`", "$HOME"]


@pytest.mark.parametrize(
    ("variables", "words", "expected"),
    [
        ({}, [], ""),
        ({"PROFILE": "studies/check.yaml"}, [], "studies/check.yaml"),
        ({}, ["PROFILE=quick"], "quick"),
        ({"PROFILE": "full"}, ["PROFILE=quick"], "quick"),
    ],
)
def test_a_study_gets_the_profile_that_a_user_gives(tmp_path, variables, words, expected):
    recording_checkout(tmp_path, "studies")
    clean = {name: value for name, value in os.environ.items() if name != "PROFILE"}
    command = ["make", "-s", "study", "NAME=ablation", *words]
    subprocess.run(command, cwd=tmp_path, env=clean | variables, check=True)
    arguments, environment = json.loads((tmp_path / "given").read_text(encoding="utf-8"))
    assert (arguments, environment["PROFILE"]) == (["ablation"], expected)


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("quick PROFILE=full", "quick has no parameter PROFILE: it has DATA SEED JOBS"),
        ("reproduce JOB=2", "reproduce has no parameter JOB: it has DATA SEED JOBS"),
        ("datasets SEED=3", "datasets has no parameter SEED: it has JOBS NAME"),
        ("datasets ARGS=-x", "datasets has no parameter ARGS: it has JOBS NAME"),
        ("datasets NAME=paths ARGS=--count=1", None),
        ("test JOBS=1", "test has no parameter JOBS: it has NAME ARGS"),
        ("docs ARGS=-q", "docs has no parameter ARGS: it has none"),
        ("NAME=mesh", "help has no parameter NAME: it has none"),
        ("report PROFILE=full DATA=my SEED=3 JOBS=2", None),
        ("quick test ARGS=-x", None),
    ],
)
def test_a_target_refuses_parameters_that_it_would_ignore(words, refused):
    done = subprocess.run(["make", "-n", *words.split()], cwd=ROOT, capture_output=True, text=True)
    assert bool(done.returncode) is bool(refused)
    if refused:
        assert f"make {refused}" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("report", ["other my"]),
        ("quick", ["quick my"]),
        ("report quick PROFILE=my.yaml", ["my.yaml my", "quick my"]),
        ("datasets", ["full "]),  # which are simulated and compared, whatever tables there are
    ],
)
def test_a_target_keeps_the_parameters_that_it_fixes(tmp_path, words, expected):
    recording_checkout(tmp_path, "doit")
    script = tmp_path / "doit" / "__main__.py"
    text = "import os\nprint(os.environ['PROFILE'], os.environ['DATA'])\n"
    script.write_text(text, encoding="utf-8")
    variables = os.environ | {"PROFILE": "other", "DATA": "my"}
    command = ["make", "-s", *words.split()]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.stdout.splitlines() == expected
