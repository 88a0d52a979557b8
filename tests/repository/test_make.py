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
    recording_checkout(tmp_path, "tests/repository/environments")
    values = dict.fromkeys(("PROFILE", "DATA", "SEED", "JOBS", "NAME"), LITERAL)
    values["ARGS"] = """-k "a and b" '$(shell touch expanded)' `touch executed` $HOME"""
    variables = {**values, "NAME": "computer"} if by == "environment" else {}
    words = [f"{name}={value}" for name, value in values.items() if not variables or name == "NAME"]
    command = ["make", "-s", "test", *words]
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
