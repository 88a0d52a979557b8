"""What a notebook imports and shows."""

import ast
import json
import re
from html import unescape

import nbformat
import pytest

from figures.pipeline.paths import REFERENCE, notebooks, study_of
from figures.pipeline.provenance import digests
from figures.report.labels import brief
from figures.report.record import verdict_table


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_keeps_its_records_once_and_those_of_the_paper_take_nothing_from_beyond(path):
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    statements = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    further = [
        statement for statement in statements if (statement.module or "").startswith("studies")
    ]
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


def judged(path):
    """Yield the table of each verdict cell of an executed notebook: places and entries."""
    for cell in nbformat.read(path, as_version=4).cells:
        call = re.search(r"record\.verdicts\((.*)\)$", cell.source)
        if call and cell.cell_type == "code":
            listed = re.search(r"places = (\(.*\))", cell.source)
            places = ast.literal_eval(listed[1] if listed else f"({call[1]},)")
            (html,) = (output.data["text/html"] for output in cell.outputs if "data" in output)
            yield (
                places,
                [unescape(entry) for entry in re.findall(r"(?s)<td[^>]*>(.*?)</td>", html)],
            )


@pytest.mark.parametrize("name", sorted(path.stem for path in REFERENCE.glob("*.json")))
def test_executed_notebooks_show_the_verdicts_of_the_committed_numbers(name):
    claims = list(judged(REFERENCE / "notebooks" / f"{name}.ipynb"))
    assert claims or name == "00_method"
    for places, entries in claims:
        shown = verdict_table(REFERENCE / f"{name}.json", *places).data
        assert entries == [str(value) for value in shown.to_numpy().ravel()], places


@pytest.mark.parametrize(
    ("number", "text"), [(999.4, "999"), (999.7, "1000"), (-999.96, "−1000"), (12.345, "12.3")]
)
def test_a_number_of_a_claim_has_no_exponent(number, text):
    assert brief(number) == text


def test_each_table_of_a_run_has_its_digest(tmp_path):
    """Datasets in different folders have tables of the same name."""
    paths = [tmp_path / dataset / "train_beta" / "dataset.csv" for dataset in ("shipped", "drawn")]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text(path.parts[-3])
    named = digests([*paths, paths[0]])
    assert [*named] == ["train_beta/dataset.csv", "drawn/train_beta/dataset.csv"]
    assert len({*named.values()}) == len(paths)
