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


@pytest.mark.parametrize("by", ["environment", "command line"])
def test_values_are_handed_on_as_they_are(tmp_path, by):
    """A folder may be called what it likes, and no value is a command.

    In WSL the environment has NAME, the name of the computer.
    """
    shutil.copy(ROOT / "Makefile", tmp_path)
    setup = tmp_path / "setup.sh"
    setup.write_text("#!/bin/sh\n", encoding="utf-8")
    setup.chmod(0o755)
    (tmp_path / ".environment").write_text(f"hash\n{sys.executable}\n", encoding="utf-8")
    script = tmp_path / "tests" / "repository" / "environments" / "__main__.py"
    script.parent.mkdir(parents=True)
    script.write_text(
        "import json, os, sys\njson.dump([sys.argv[1:], dict(os.environ)], open('given', 'w'))\n",
        encoding="utf-8",
    )
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
