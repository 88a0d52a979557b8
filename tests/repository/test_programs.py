"""Every program of the project says which options it has, and then ends."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "bnn",
    "fe_data",
    "safe_files",
    "prior_study",
    "figures",
    "bench",
    "studies",
    "examples",
    "docs",
    "article",
    "tests",
)
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
MAIN = '\nif __name__ == "__main__":\n'
PROGRAMS = [
    str(path.relative_to(ROOT))
    for path in FILES
    if path.parent == ROOT / "examples" or MAIN in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_help(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / name), run_name="__main__")
    assert not end.value.code
    said = capsys.readouterr().out
    assert said.lstrip().lower().startswith("usage: ")
    assert "--help" in said
