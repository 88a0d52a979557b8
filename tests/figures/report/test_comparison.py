"""A run beside the paper: rows, sizes and tolerances of the comparison."""

import copy
import json

import pytest

from figures.claims import FAILED, NOT_COMPARABLE, REPRODUCED, load_published
from figures.report.comparison import compare, score_checks

SURROGATE = "04_materials_surrogate"


@pytest.fixture
def metrics(executed):
    return json.loads((executed / f"{SURROGATE}.json").read_text())


def test_a_small_run_is_not_compared(metrics):
    items = {item.place: item for item in compare({SURROGATE: metrics})}
    assert items["Table 3"].verdict == NOT_COMPARABLE
    assert items["Table 3"].present
    assert not items["Fig. 1"].present


def test_a_run_of_the_published_size_is(metrics):
    metrics |= {"n_train": {"outd": 50}, "n_test": 50, "paper_size": True}
    table = copy.deepcopy(load_published()["table_3"])
    table["rows"]["outd_anchored"]["tolerance"]["other"]["rmse"] = 0.02
    metrics["rows"]["outd_anchored"]["rmse"]["mean"] = 0.30
    checks = {(c.row, c.column): c for c in score_checks(table, metrics)}
    assert checks["OutD (N = 50), anchored", "rmse"].verdict == FAILED
    metrics["rows"]["outd_anchored"]["rmse"]["mean"] = 0.17
    checks = {(c.row, c.column): c for c in score_checks(table, metrics)}
    assert checks["OutD (N = 50), anchored", "rmse"].verdict == REPRODUCED


def test_rows_name_the_sizes_of_the_run(metrics):
    rows = {check.row for check in score_checks(load_published()["table_3"], metrics)}
    assert rows == {
        "Prior (N = 0)", "OutD (N = 10, paper 50), anchored", "OutD (N = 10, paper 50), vanilla",
    }  # fmt: skip


def test_the_published_tables_have_a_tolerance_of_their_own(metrics):
    table = load_published()["table_3"]
    metrics |= {"published_tables": ["train_beta", "test_uniform"]}
    other = score_checks(table, metrics | {"published_tables": []})
    same = score_checks(table, metrics)
    assert any(a.tolerance != b.tolerance for a, b in zip(same, other, strict=True))


@pytest.mark.parametrize(
    ("holds", "comparable", "expected"),
    [(True, True, REPRODUCED), (False, True, FAILED), (None, True, FAILED),
     (True, False, NOT_COMPARABLE)],
)  # fmt: skip
def test_a_claim_is_reproduced_only_when_our_numbers_bear_it_out(holds, comparable, expected):
    content = {"claim": "so", "ours": {}, "about": "Fig. 6", "holds": holds}
    metrics = {"02_example_1d": {"claims": [content], "paper_size": comparable}}
    items = {item.place: item for item in compare(metrics)}
    assert items["Fig. 6"].verdicts == [expected]
    assert not items["Fig. 7"].verdicts
