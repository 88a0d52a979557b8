"""What a notebook imports, keeps and shows."""

import ast
import json

import nbformat
import pytest

from figures.pipeline.paths import REFERENCE, notebooks
from figures.report.record import Record, verdict_table
from figures.scores import Interval

STUDY = "01_prior_study"
CLAIM = {"id": "D", "about": "Fig. 4", "ours": {"D": 2.0}, "holds": False}


def test_metrics_are_kept_with_what_they_depend_on(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a\n1\n")
    record = Record("00_method", "quick", 3, str(tmp_path / "out"))
    metrics = {"title": "so", "rmse": Interval((1.0, 3.0))}
    record.keep(metrics, {"epochs": 3}, [table], scatter="half_width")
    kept = json.loads((tmp_path / "out" / "00_method.json").read_text())
    assert list(kept) == ["title", "rmse", "provenance"]
    assert kept["rmse"]["half_width"] == pytest.approx(12.7, abs=0.01)
    assert kept["provenance"]["seed"] == 3
    assert list(kept["provenance"]["inputs_sha256"]) == [f"{tmp_path.name}/table.csv"]


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_keeps_its_records_once_and_those_of_the_paper_take_nothing_from_beyond(path):
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    statements = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    further = [each for each in statements if (each.module or "").startswith("figures.beyond")]
    assert bool(further) == (path.parent.name == "beyond")
    assert code.count("record.keep(") == 1


def metrics_file(folder, **changes):
    folder.mkdir(exist_ok=True)
    path = folder / f"{STUDY}.json"
    path.write_text(json.dumps({**json.loads((REFERENCE / path.name).read_text()), **changes}))
    return path


def test_a_number_has_the_digits_and_the_verdict_of_its_tolerance(tmp_path):
    """The variance of W0 of prior B is printed as 2.1 with a scatter of 0.121 of one start."""
    table = json.loads((REFERENCE / f"{STUDY}.json").read_text())["table_1"]
    for ours, verdict in ((0.0024, "✓ reproduced"), (0.0025, "✗ differs")):
        table["published"]["B"]["W0"] = {"mean": ours, "std": 0.0001, "values": [ours]}
        shown = verdict_table(metrics_file(tmp_path, table_1=table), "Table 1").data
        row = shown.set_index("what").loc["Table 1: prior B, published optimiser, W0 [10⁻³]"]
        assert [*row] == ["2.1", f"{1e3 * ours:.2f} ± 0.10", verdict]


def test_a_small_run_has_the_full_run_and_its_verdicts_beside_it(tmp_path, monkeypatch):
    """A claim that names its own number of starts is the same claim."""
    full = CLAIM | {"claim": "D is least of its 10 starts", "holds": True}
    monkeypatch.setattr("figures.report.record.REFERENCE", tmp_path / "full")
    metrics_file(tmp_path / "full", claims=[full, CLAIM | {"id": "large", "claim": "Only large"}])
    small = [CLAIM | {"claim": "D is least of its 3 starts", "ours": {"D": 3.0}}]
    small += [CLAIM | {"id": "small", "claim": "Only small"}]
    shown = verdict_table(metrics_file(tmp_path, claims=small, paper_size=False), "Fig. 4").data
    assert shown.to_numpy()[:, 1:].tolist() == [
        ["D is least of its 10 starts", "D: 3.00", "D: 2.00", "✓ reproduced"],
        ["Only large", "", "D: 2.00", "✗ differs"],
        ["Only small", "D: 2.00", "", ""],
    ]
