"""Committed notebooks and results have no absolute path of the machine that ran them."""

import json
import re
import subprocess

import nbformat
import pytest
from papermill.translators import PythonTranslator

from figures.pipeline.paths import ROOT
from figures.pipeline.run_notebook import small

FOLDERS = "home|root|work|tmp|Users|scratch|mnt|opt"
ABSOLUTE = re.compile(rf"(?<![\w.:/])(?:/(?:{FOLDERS})/|[A-Z]:\\\\)\w")
KINDS = ("*.ipynb", "figures/**/*.json", "studies/**/*.json", "studies/**/*.jsonl", "docs/tables/*")


def committed():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    command = ["git", "ls-files", "-z", *KINDS]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8")
    return [*filter(None, listed.stdout.split("\0"))]


def test_committed_notebooks_and_results_have_no_absolute_paths():
    names = committed()
    assert len(names) > 20
    paths = {
        name: place[0]
        for name in names
        if (place := ABSOLUTE.search((ROOT / name).read_text(encoding="utf-8")))
    }
    assert paths == {}


@pytest.mark.parametrize(
    "data",
    [
        ROOT / "data" / "full",
        ROOT.parent / "else where" / "data",
        ROOT.parent / "zwei Wörter" / "data",
    ],
    ids=["inside", "outside", "accent"],
)
def test_parameters_and_outputs_of_an_executed_notebook_show_relative_paths(data):
    cell = nbformat.v4.new_code_cell(
        PythonTranslator.codify({"data_dir": str(data)}),  # as papermill writes parameters
        outputs=[nbformat.v4.new_output("stream", text=f"read {data}/train.csv\n")],
    )
    text = small(nbformat.v4.new_notebook(cells=[cell]), {"data_dir": str(data), "seed": 0})
    assert str(ROOT.parent) + "/" not in text
    assert "\\x" not in text
    assert data.name in text
    json.loads(text)
