"""What a notebook imports and shows."""

import ast
import json

import nbformat
import pytest

from figures.pipeline.paths import REFERENCE, notebooks, study_of
from figures.report.record import verdict_table


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_keeps_its_records_once_and_those_of_the_paper_take_nothing_from_beyond(path):
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    statements = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    further = [each for each in statements if (each.module or "").startswith("studies")]
    assert bool(further) == (study_of(path) is not None)
    assert code.count("record.keep(") == 1


def test_a_number_has_the_digits_and_the_verdict_of_its_tolerance(tmp_path):
    """The variance of W0 of prior B is printed as 2.1 with a scatter of 0.121 of one start."""
    path = tmp_path / "01_prior_study.json"
    metrics = json.loads((REFERENCE / path.name).read_text())
    for ours, verdict in ((0.0024, "✓ reproduced"), (0.0025, "✗ differs")):
        number = {"mean": ours, "std": 0.0001, "values": [ours]}
        metrics["table_1"]["published"]["B"]["W0"] = number
        path.write_text(json.dumps(metrics))
        shown = verdict_table(path, "Table 1").data
        row = shown.set_index("what").loc["Table 1: prior B, published optimiser, W0 [10⁻³]"]
        assert [*row] == ["2.1", f"{1e3 * ours:.2f} ± 0.10", verdict]
