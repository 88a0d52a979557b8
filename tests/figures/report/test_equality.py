"""A run compared with committed results, bit by bit."""

import json
import shutil

import pytest

from figures.pipeline.paths import REFERENCE, ROOT
from figures.report import equality
from figures.report.equality import NO_GIT, NOT_RUN, agreement, committed_files, report

PICTURE = '<svg><metadata>{date}</metadata><path d="M 1 {y}"/></svg>'
CLAIM = {"id": "first", "about": "", "claim": "Anchored is better", "ours": {}}


def metrics(**changed):
    """A metrics file of one notebook."""
    content = {
        "title": "Numbers",
        "rows": {"a": {"mean": 0.1, "std": 0.25, "values": [1.0, 2.0]}},
        "claims": [{**CLAIM, "holds": True}],
        "tables": [{"caption": "T", "header": ["", "x"], "rows": [["a", "0.10 ± 0.25"]]}],
        "figures": {"shown.svg": "what it shows"},
        "provenance": {
            "commit": "1",
            "numpy": "1.26.4",
            "processor": "Xeon, 2 cores",
            "wall_time_s": 3.0,
        },
    }
    return {**content, **changed}


def other_provenance(**changed):
    return {**metrics()["provenance"], "commit": "2", "wall_time_s": 5.0, **changed}


@pytest.fixture
def compared(tmp_path):
    """A function that compares a metrics file and a picture with the committed ones."""
    text = json.dumps(metrics()).encode()
    drawn = PICTURE.format(date="then", y=2).encode()
    committed = {"00_method.json": text, "shown.svg": drawn}

    def compare(content, y=2, tables=None):
        (tmp_path / "00_method.json").write_text(json.dumps(content), encoding="utf-8")
        shown = PICTURE.format(date="now", y=y)
        (tmp_path / "shown.svg").write_text(shown, encoding="utf-8")
        return agreement(tmp_path, committed, tables or {})

    return compare


def test_equal_numbers_are_counted(compared):
    report = compared(metrics(provenance=other_provenance()))
    words = "6 of 6 committed numbers are bitwise equal, 1 of 1 pictures show the same"
    assert report.statement == words
    assert report.lines == []


def test_what_differs_is_named(compared):
    provenance = other_provenance(
        processor="EPYC, 4 cores", numpy="2.0.0", arithmetic="pinned: one thread"
    )
    report = compared(
        metrics(
            rows={"a": {"mean": 0.1000000000000001, "std": 0.5, "values": [1.0]}},
            claims=[{**CLAIM, "holds": False}],
            provenance=provenance,
        ),
        y=3,
    )
    words = "3 of 6 committed numbers are bitwise equal, 0 of 1 pictures show the same"
    assert report.statement == words
    notebook, verdicts = report.lines
    assert notebook.startswith("00_method: 3 of 6 numbers differ")
    for phrase in ("5.0e-01", "1 of 1 pictures", "numpy 2.0.0, committed 1.26.4", "EPYC", "Xeon"):
        assert phrase in notebook
    assert "00_method, first: does not hold, committed holds" in verdicts


@pytest.mark.parametrize(
    ("rows", "differing"),
    [
        ({"a": {"mean": 0.1 + 2e-17, "std": 0.25, "values": [1.0, 2.0]}}, 1),
        ({"a": {"mean": 0.1, "std": None, "values": [1.0, 2.0]}}, 1),
        ({"a": {"mean": 0.1, "std": 0.25, "values": [1.0, 2.0, 3.0]}}, 1),
        ({"b": {"mean": 0.1, "std": 0.25, "values": [1.0, 2.0]}}, 8),
    ],
)
def test_one_bit_or_a_missing_number_differs(compared, rows, differing):
    (file,) = compared(metrics(rows=rows, provenance=other_provenance())).files
    assert file.differing == differing


def test_simulated_tables_count(compared, tmp_path):
    for name, text in (("ours", "a,b\n1.5,ok\n2.5,ok\n"), ("shipped", "a,b\n1.5,ok\n2.0,ok\n")):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    tables = {"table t": (tmp_path / "ours.csv", tmp_path / "shipped.csv")}
    report = compared(metrics(provenance=other_provenance()), tables=tables)
    assert report.statement.startswith("9 of 10 committed numbers")
    assert report.lines[0] == (
        "table t: 1 of 4 numbers differ, the largest relative difference is 2.0e-01"
    )


def test_results_that_were_not_made_again_do_not_count(compared):
    assert compared(metrics()).statement == NOT_RUN


def test_the_committed_full_run_is_read_from_git(monkeypatch, tmp_path):
    committed = committed_files(REFERENCE)
    if committed is None:
        assert report(REFERENCE) == [NO_GIT]
        return
    path = REFERENCE / "00_method.json"
    assert committed[path.name].startswith(b"{")
    assert "01_prior_study.json" in committed
    assert committed_files(ROOT / "figures" / "quick") == {}
    assert committed_files(tmp_path) == {}
    # A run in another folder, with one number changed.
    for name, content in committed.items():
        (tmp_path / name).write_bytes(content)
    changed = json.loads(committed["02_example_1d.json"])
    changed["claims"][0]["holds"] = not changed["claims"][0]["holds"]
    changed["repeats"] += 1
    (tmp_path / "02_example_1d.json").write_text(json.dumps(changed), encoding="utf-8")
    agreed = agreement(tmp_path, committed, {})
    assert [(file.name, file.differing) for file in agreed.files] == [("02_example_1d", 1)]
    assert changed["claims"][0]["id"] in agreed.verdicts[0]
    monkeypatch.setattr(equality, "ROOT", tmp_path)  # without git
    shutil.copy(path, tmp_path)
    assert committed_files(tmp_path) is None
    # Sources that were unpacked in another repository
    monkeypatch.setattr(equality, "ROOT", ROOT / "figures")
    assert committed_files(REFERENCE) is None
