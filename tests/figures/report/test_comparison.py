"""A run beside the paper: rows, sizes and tolerances of the comparison."""

import functools
import json
import operator

import pytest

from figures.claims import Claim, load_published
from figures.report.comparison import (
    FAILED,
    NOT_COMPARABLE,
    NOT_JUDGED,
    REPRODUCED,
    Check,
    Comparison,
    Metrics,
    compare,
)

SURROGATE = "04_materials_surrogate"
METHODS = ("anchored", "vanilla")


@pytest.fixture
def metrics(executed):
    return json.loads((executed / f"{SURROGATE}.json").read_text())


def table_3(metrics, item=None):
    return Comparison(item or load_published()["Table 3"], Metrics.model_validate(metrics))


def test_a_small_run_is_not_compared(metrics):
    entries = {e.item.place: e for e in compare({SURROGATE: Metrics.model_validate(metrics)})}
    assert entries["Table 3"].verdict == NOT_COMPARABLE
    assert entries["Table 3"].rows
    assert not (entries["Fig. 1"].pictures)
    assert not (entries["Fig. 1"].rows)
    assert not (entries["Fig. 1"].claims)


def test_a_run_of_the_published_size_is(metrics):
    metrics |= {"n_train": {"outd": 50}, "n_test": 50, "paper_size": True}
    item = load_published()["Table 3"]
    item.rows["published.outd_anchored"].tolerance = [0.02, None, None]
    for rmse, expected in ((0.30, FAILED), (0.17, REPRODUCED)):
        metrics["rows"]["published"]["outd_anchored"]["rmse"]["mean"] = rmse
        checks = table_3(metrics, item).rows["OutD (N = 50), anchored"]
        assert checks["rmse"].verdict == expected


def test_rows_name_the_sizes_of_the_run(metrics):
    assert list(table_3(metrics).rows) == [
        *(names := ["Prior (N = 0)", *(f"OutD (N = 10, paper 50), {m}" for m in METHODS)]),
        *(f"{name}, Adam proper" for name in names),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "rows",
        "rows.published",
        "rows.published.prior",
        "rows.proper.outd_vanilla.elppd",
        "rows.published.prior.rmse.mean",
    ],
)
def test_a_number_that_is_not_where_the_paper_needs_it_is_refused(metrics, path):
    """As after a new name in the notebook: the row would vanish from the table."""
    *names, last = path.split(".")
    place = functools.reduce(operator.getitem, names, metrics)
    place["new"] = place.pop(last)
    with pytest.raises(ValueError, match=r"04_materials_surrogate\.json has no number at rows\."):
        assert table_3(metrics).rows


def test_a_row_may_be_absent_only_without_its_training_set(metrics):
    sizes = {"n_train": metrics["n_train"] | {"ind25": 25}}
    assert not [label for label in table_3(metrics).rows if "InD" in label]
    with pytest.raises(ValueError, match=r"no number at rows\.published\.ind25_anchored\.rmse"):
        assert table_3(metrics | sizes).rows
    metrics["rows"]["published"]["ind25_anchored"] = {}
    with pytest.raises(ValueError, match=r"no number at rows\.published\.ind25_anchored\.rmse"):
        assert table_3(metrics).rows


def test_the_published_tables_have_a_tolerance_of_their_own(metrics):
    same, other = (
        table_3(metrics | {"published_tables": tables}).checks
        for tables in (["train_beta", "test_uniform"], [])
    )
    assert any(a.tolerance != b.tolerance for a, b in zip(same, other, strict=True))


@pytest.mark.parametrize(
    ("ours", "tolerance", "comparable", "expected"),
    [(0.17, 0.02, True, REPRODUCED), (0.19, 0.02, True, FAILED),
     (0.16, 0.02, False, NOT_COMPARABLE), (0.16, None, True, NOT_JUDGED),
     (0.16, NOT_COMPARABLE, True, NOT_COMPARABLE)],
)  # fmt: skip
def test_verdict_needs_equal_sizes_and_a_tolerance(ours, tolerance, comparable, expected):
    check = Check(0.16, ours, None, tolerance, comparable)
    assert check.verdict == expected


def test_one_failure_is_a_failure_of_the_whole_item():
    def entry(*holds, comparable=True):
        claims = [Claim("Fig. 1", "so", {}, each) for each in holds]
        metrics = Metrics(claims=claims, paper_size=comparable)
        return Comparison(load_published()["Fig. 1"], metrics)

    assert entry(True).verdict == REPRODUCED
    assert entry(True, False).verdict == FAILED
    assert entry(True, False).count == "1 of 2"
    assert entry(False, comparable=False).verdict == entry().verdict == NOT_COMPARABLE


@pytest.mark.parametrize(
    ("holds", "comparable", "expected"),
    [(True, True, REPRODUCED), (False, True, FAILED), (None, True, FAILED),
     (True, False, NOT_COMPARABLE)],
)  # fmt: skip
def test_a_claim_is_reproduced_only_when_our_numbers_bear_it_out(holds, comparable, expected):
    content = {"claim": "so", "ours": {}, "about": "Fig. 6", "holds": holds}
    metrics = Metrics.model_validate({"claims": [content], "paper_size": comparable})
    entries = {entry.item.place: entry for entry in compare({"02_example_1d": metrics})}
    assert entries["Fig. 6"].verdicts == [expected]
    assert not entries["Fig. 7"].verdicts
