"""Verdicts on published numbers and claims."""

import copy
import json

import numpy as np
import pytest

from fe_data.settings import INPUT_NAMES, OUTPUT_NAMES
from figures.claims import (
    FAILED,
    NOT_COMPARABLE,
    NOT_JUDGED,
    REPRODUCED,
    Check,
    Claim,
    Item,
    load_published,
)
from figures.materials.problem import MEANS, published_tables
from figures.pipeline.profiles import load_profile
from figures.pipeline.settings import PAPER_COUNTS
from figures.report.comparison import compare, score_checks

SURROGATE = "04_materials_surrogate"


@pytest.fixture
def metrics(executed):
    return json.loads((executed / f"{SURROGATE}.json").read_text())


@pytest.mark.parametrize(
    ("ours", "tolerance", "comparable", "expected"),
    [(0.17, 0.02, True, REPRODUCED), (0.19, 0.02, True, FAILED),
     (0.16, 0.02, False, NOT_COMPARABLE), (0.16, None, True, NOT_JUDGED),
     (0.16, NOT_COMPARABLE, True, NOT_COMPARABLE)],
)  # fmt: skip
def test_verdict_needs_equal_sizes_and_a_tolerance(ours, tolerance, comparable, expected):
    check = Check("Table 3", "anchored", "rmse", 0.16, ours, None, tolerance, comparable)
    assert check.verdict == expected


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


def test_only_tables_of_the_published_size_make_a_run_of_that_size():
    """Settings say how many cells are wanted; a table may have fewer."""
    settings = load_profile("full").surrogate
    assert settings.ran_at_paper_size(PAPER_COUNTS, 50)
    assert settings.ran_at_paper_size({"outd": 50}, 50)
    assert not settings.ran_at_paper_size(PAPER_COUNTS, 20)
    assert not settings.ran_at_paper_size(PAPER_COUNTS | {"ind100": 60}, 50)
    assert not load_profile("quick").surrogate.ran_at_paper_size({"outd": 50}, 50)


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


def test_one_failure_is_a_failure_of_the_whole_item():
    def item(*holds, comparable=True):
        claims = [Claim("Fig. 1", "so", {}, each) for each in holds]
        return Item("Fig. 1", "2", "", "n", {}, [], claims, comparable)

    assert item(True).verdict == REPRODUCED
    assert item(True, False).verdict == FAILED
    assert item(True, False).count == "1 of 2"
    assert item(False, comparable=False).verdict == item().verdict == NOT_COMPARABLE


def test_published_tables_are_told_by_their_means(tmp_path, tables):
    assert published_tables(tables, ["train_beta", "test_uniform"]) == []
    rows = np.array(MEANS["train_beta"]) * (1 + np.array([[1e-3], [-1e-3]]))
    header = ",".join([*INPUT_NAMES, *OUTPUT_NAMES])
    np.savetxt(tmp_path / "train_beta.csv", rows, delimiter=",", header=header, comments="")
    assert published_tables(tmp_path, ["train_beta", "test_uniform"]) == ["train_beta"]
