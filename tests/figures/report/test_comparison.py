"""A run beside the paper: rows, sizes and tolerances of the comparison."""

import functools
import json
import operator

import numpy as np
import pytest

from figures.claims import Claim, Row, load_published, tolerance
from figures.pipeline.profiles import DRAWS
from figures.report.comparison import (
    DIFFERS,
    NOT_COMPARABLE,
    NOT_JUDGED,
    OPEN,
    PARTLY,
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
    item = item or load_published()["Table 3"]
    return Comparison(item, Metrics.model_validate(metrics), Metrics())


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
    item.rows["published.outd_anchored"].scatter = [0.005, None, None]
    for rmse, expected in ((0.30, DIFFERS), (0.17, REPRODUCED)):
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


@pytest.mark.parametrize("held", [True, False])
def test_an_optional_row_that_no_metrics_file_can_have_is_refused(held):
    """A renamed row vanished from the page as if the run had no such design."""
    item = load_published()["Fig. 10"]
    item.rows = {"replicas": item.rows["replicates"]}
    cell = {"mean": 1.0, "std": 0.1}
    content = {"n": {"replicates": 20} if held else {}}
    content["noise_percent"] = {"replicates": dict.fromkeys(item.columns, cell)} if held else {}
    entry = Comparison(item, Metrics.model_validate(content), Metrics())
    if held:
        with pytest.raises(ValueError, match=r"no number at noise_percent\.replicas"):
            assert entry.rows
    else:
        assert not entry.rows
    with pytest.raises(ValueError, match="replicas"):
        Row.model_validate({"label": "x", "printed": ["1"], "case": "replicas"})


def test_printed_numbers_are_texts_with_their_digits():
    with pytest.raises(ValueError, match="printed"):
        Row.model_validate({"label": "x", "printed": [0.10]})


def test_the_published_tables_have_a_scatter_of_their_own(metrics):
    same, other = (
        table_3(metrics | {"published_tables": tables}).rows["OutD (N = 10, paper 50), anchored"]
        for tables in (["train_beta", "test_uniform"], [])
    )
    assert (same["rmse"].n, other["rmse"].n) == (metrics["repeats"], 1)
    assert same["rmse"].scatter < other["rmse"].scatter


@pytest.mark.parametrize("n", [1, 5])
def test_a_tolerance_keeps_all_but_one_in_twenty_results_of_the_same_method(n):
    rng = np.random.default_rng(0)
    printed = np.round(rng.normal(1.0, 0.1, 4000), 2)
    ours = rng.normal(1.0, 0.1, (4000, n)).mean(axis=1)
    allowed = [tolerance(f"{value:.2f}", 0.1, n) for value in printed]
    met = np.mean([abs(o - p) <= a for o, p, a in zip(ours, printed, allowed, strict=True) if a])
    assert met == pytest.approx(0.955, abs=0.015)


@pytest.mark.parametrize(
    ("printed", "scatter", "n", "expected"),
    [("0.10", 0.0, 1, 0.005), ("0.1", 0.0, 1, None), ("10", 0.0, 1, 0.5), ("-114", 0.0, 1, 0.5),
     ("1.00", 0.1, 1, 0.2 * np.sqrt(2) + 0.005), ("1.00", 0.1, 4, 0.2 * np.sqrt(1.25) + 0.005),
     ("0.50", 0.1, 1, None), ("0.00", 0.001, 1, 0.002 * np.sqrt(2) + 0.005),
     ("0.00", 0.002, 1, None)],
)  # fmt: skip
def test_a_tolerance_above_two_fifths_of_the_number_compares_nothing(printed, scatter, n, expected):
    assert tolerance(printed, scatter, n) == (expected and pytest.approx(expected))


@pytest.mark.parametrize(
    ("ours", "scatter", "comparable", "expected"),
    [(0.17, 0.005, True, REPRODUCED), (0.19, 0.005, True, DIFFERS),
     (0.16, 0.005, False, NOT_COMPARABLE), (0.16, None, True, NOT_JUDGED),
     (0.16, 0.05, True, NOT_COMPARABLE)],
)  # fmt: skip
def test_verdict_needs_equal_sizes_and_a_scatter(ours, scatter, comparable, expected):
    check = Check("0.16", ours, None, scatter, 1, comparable)
    assert check.verdict == expected


@pytest.mark.parametrize(
    ("holds", "expected", "count"),
    [([True], REPRODUCED, "1 of 1"), ([True, False], PARTLY, "1 of 2"),
     ([True, False, None], PARTLY, "1 of 3, 1 open"), ([False, None], DIFFERS, "0 of 2, 1 open"),
     ([True, True, None], REPRODUCED, "2 of 3, 1 open"), ([None], OPEN, "0 of 1, 1 open"),
     ([True, None], OPEN, "1 of 2, 1 open"), ([], NOT_COMPARABLE, "")],
)  # fmt: skip
def test_verdict_on_a_figure_follows_from_its_claims(holds, expected, count):
    claims = [Claim("so", "Fig. 1", "so", {}, each) for each in holds]
    full, small = (
        Comparison(load_published()["Fig. 1"], Metrics(claims=claims, paper_size=size), Metrics())
        for size in (True, False)
    )
    assert (full.verdict, full.count) == (expected, count)
    assert (small.verdict, small.count) == (NOT_COMPARABLE, "")


@pytest.mark.parametrize(
    ("holds", "comparable", "expected"),
    [(True, True, REPRODUCED), (False, True, DIFFERS), (None, True, OPEN),
     (True, False, NOT_COMPARABLE)],
)  # fmt: skip
def test_a_claim_is_reproduced_only_when_our_numbers_bear_it_out(holds, comparable, expected):
    content = {"id": "so", "claim": "so", "ours": {}, "about": "Fig. 6", "holds": holds}
    metrics = Metrics.model_validate({"claims": [content], "paper_size": comparable})
    entries = {entry.item.place: entry for entry in compare({"02_example_1d": metrics})}
    assert entries["Fig. 6"].verdicts == [expected]
    assert not entries["Fig. 7"].verdicts


@pytest.fixture
def drawn(metrics):
    """The same notebook over four draws of the tables, which judge Table 3 and Fig. 13."""
    draws = json.loads(json.dumps(metrics))
    del draws["rows"]["proper"]  # which is shown beside, and not judged
    for row in draws["rows"]["published"].values():
        row["rmse"] = {"mean": 0.15, "std": 0.02, "values": [0.13, 0.15, 0.17, 0.15]}
    claims = [{"id": about, "about": about, "claim": "over draws", "ours": {}, "holds": True}
              for about in ("Table 3", "Fig. 13")]  # fmt: skip
    draws |= {"claims": claims, "paper_size": True}
    run = {SURROGATE: metrics | {"paper_size": True}, DRAWS: draws}
    return {name: Metrics.model_validate(content) for name, content in run.items()}


def test_draws_judge_where_a_run_has_them(drawn):
    entries = {entry.item.place: entry for entry in compare(drawn)}
    check = entries["Table 3"].rows["OutD (N = 10, paper 50), anchored"]["rmse"]
    assert (check.ours, check.deviation, check.n) == (0.15, 0.02, 4)
    for place in ("Table 3", "Fig. 13"):
        assert [claim.claim for claim in entries[place].claims] == ["over draws"]
    for place in ("Fig. 11", "Fig. 14"):
        assert "over draws" not in [claim.claim for claim in entries[place].claims]
        assert entries[place].claims
    assert set(entries["Fig. 13"].pictures) == {"fig13a_anchored.svg", "fig13b_vanilla.svg"}


def test_a_row_that_draws_must_have_is_not_taken_from_one_draw(drawn):
    del drawn[DRAWS].model_extra["rows"]["published"]["outd_vanilla"]
    table = next(entry for entry in compare(drawn) if entry.item.place == "Table 3")
    with pytest.raises(ValueError, match=r"04_materials_draws\.json has no number at rows"):
        assert table.rows
