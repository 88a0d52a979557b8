"""What a notebook imports and keeps."""

import ast
import json

import nbformat
import pytest

from figures.claims import Claim
from figures.pipeline.paths import NOTEBOOKS
from figures.rooms.record import Record, claims_table
from figures.scores import Interval


def test_metrics_are_kept_with_what_they_depend_on(tmp_path, profile_file):
    table = tmp_path / "table.csv"
    table.write_text("a\n1\n")
    record = Record("00_method", str(profile_file), 3, str(tmp_path / "out"))
    assert record.profile.seed == 3
    metrics = {"title": "so", "rmse": Interval((1.0, 3.0))}
    record.keep(metrics, {"epochs": 3}, [table], scatter="half_width")
    kept = json.loads((tmp_path / "out" / "00_method.json").read_text())
    assert list(kept) == ["title", "rmse", "provenance"]
    assert kept["rmse"]["half_width"] == pytest.approx(12.7, abs=0.01)
    assert kept["provenance"]["seed"] == 3
    assert list(kept["provenance"]["inputs_sha256"]) == [f"{tmp_path.name}/table.csv"]


def test_a_claim_is_shown_in_words():
    shown = claims_table([Claim("so", "Beyond", "nu_eff is less", {"nu_eff": 0.25}, None)])
    assert shown.data.to_numpy().tolist() == [["ν_eff is less", "ν_eff: 0.250", "○ open"]]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_imports_one_module_of_figures_and_keeps_its_records_once(path):
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    imported = {
        node.module for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)
    }
    (room,) = [name for name in imported if name and name.startswith("figures")]
    assert room.startswith("figures.rooms.")
    assert code.count("record.keep(") == 1
