"""A run beside the paper: the rule of each verdict, and which rows a run may lack."""

import copy
import json
import re

import numpy as np
import pytest

from figures.claims import Claim, load_published, says_something, tolerance
from figures.pipeline.paths import REFERENCE, ROOT, committed_metrics, repeats_folder
from figures.pipeline.profiles import DRAWS, SURROGATE
from figures.report import comparison
from figures.report.comparison import (
    DIFFERS,
    NOT_COMPARABLE,
    NOT_JUDGED,
    PARTLY,
    REBUILT,
    REPRODUCED,
    UNDECIDED,
    Metrics,
    Number,
    check,
    compare,
    judging,
    read,
)
from tests.figures.report.committed import committed_run, typed_run

OUTSIDE = "published.outd_anchored"


@pytest.fixture
def metrics():
    """The committed metrics with the training set out of distribution alone."""
    run = copy.deepcopy(committed_run("full")[SURROGATE])
    names = ("prior", "outd_anchored", "outd_vanilla")
    for training, rows in run["rows"].items():
        run["rows"][training] = {name: rows[name] for name in names}
    return run | {"n_train": {"outd": 50}}


def table_3(metrics):
    return compare({SURROGATE: Metrics.model_validate(metrics)})["Table 3"]


@pytest.mark.parametrize("n", [1, 5])
def test_a_tolerance_keeps_all_but_one_in_twenty_results_of_the_same_method(n):
    rng = np.random.default_rng(0)
    printed = np.round(rng.normal(1.0, 0.1, 4000), 2)
    ours = rng.normal(1.0, 0.1, (4000, n)).mean(axis=1)
    allowed = [tolerance(f"{value:.2f}", 0.1, n) for value in printed]
    met = np.mean(np.abs(ours - printed) <= allowed)
    assert met == pytest.approx(0.955, abs=0.015)


@pytest.mark.parametrize(
    ("printed", "scatter", "n", "expected", "says"),
    [("0.10", 0.0, 1, 0.005, True), ("0.1", 0.0, 1, 0.05, False),
     ("0.50", 0.1, 1, 0.2 * np.sqrt(2) + 0.005, False),
     ("1.00", 0.1, 4, 0.2 * np.sqrt(1.25) + 0.005, True), ("-114", 0.0, 1, 0.5, True),
     ("0.00", 0.002, 1, 0.004 * np.sqrt(2) + 0.005, False)],
)  # fmt: skip
def test_a_tolerance_above_two_fifths_of_the_number_says_nothing(
    printed, scatter, n, expected, says
):
    assert tolerance(printed, scatter, n) == pytest.approx(expected)
    assert bool(says_something(printed, expected)) == says


@pytest.mark.parametrize(
    ("ours", "scatter", "comparable", "expected"),
    [(0.17, 0.005, True, REPRODUCED), (0.19, 0.005, True, DIFFERS),
     (0.16, 0.005, False, NOT_COMPARABLE), (0.16, None, True, NOT_JUDGED),
     (0.16, 0.05, True, NOT_COMPARABLE), (0.36, 0.05, True, DIFFERS)],
)  # fmt: skip
def test_the_verdict_on_a_number_needs_equal_sizes_and_a_scatter(
    ours, scatter, comparable, expected
):
    assert check("0.16", Number(ours, None, 1), scatter, comparable).verdict == expected


@pytest.mark.parametrize(
    ("holds", "expected", "count"),
    [([True], REPRODUCED, "1 of 1"), ([True, False], PARTLY, "1 of 2, 1 different"),
     ([True, False, None], PARTLY, "1 of 3, 1 different, 1 undecided"),
     ([False, None], DIFFERS, "0 of 2, 1 different, 1 undecided"),
     ([True, True, None], UNDECIDED, "2 of 3, 1 undecided"),
     ([None], UNDECIDED, "0 of 1, 1 undecided"),
     ([], NOT_COMPARABLE, "")],
)  # fmt: skip
def test_the_verdict_on_a_figure_follows_from_its_claims(holds, expected, count):
    claims = [Claim(f"{i}", "Fig. 1", "so", {}, holding) for i, holding in enumerate(holds)]
    full, small = (
        compare({"01_prior_study": Metrics(claims=claims, paper_size=size)})["Fig. 1"]
        for size in (True, False)
    )
    assert (full.verdict, full.count) == (expected, count)
    assert (small.verdict, small.count) == (NOT_COMPARABLE, "")


def with_rmse(metrics, value):
    """Of ours, where 0.16 is printed."""
    for training in metrics["rows"].values():
        training["outd_anchored"]["rmse"] = {"mean": value, "std": 0.01, "values": [value] * 2}
    return metrics


def test_the_published_tables_have_a_scatter_of_their_own(metrics):
    for tables, verdict in ((["train_beta", "test_uniform"], DIFFERS), ([], REPRODUCED)):
        table = table_3(with_rmse(metrics, 0.19) | {"published_tables": tables})
        assert table.rows[OUTSIDE]["rmse"].verdict == verdict


@pytest.mark.parametrize(
    ("ours", "verdict", "met"),
    [(0.17, REPRODUCED, True), (0.19, UNDECIDED, None), (0.24, DIFFERS, False)],
)
def test_at_the_published_inputs_a_number_is_met_within_seeds_and_differs_beyond_draws(
    metrics, tmp_path, ours, verdict, met
):
    """The microstructure of the fibres scatters too, nobody knows by how much."""
    path = tmp_path / REBUILT / f"{SURROGATE}.json"
    path.parent.mkdir()
    path.write_text(json.dumps(with_rmse(metrics, ours)))
    table = compare(read([path]))["Table 3"]
    check = table.rows[OUTSIDE]["rmse"]
    scatter = load_published()["Table 3"].rows[OUTSIDE].same_tables[0]
    assert check.verdict == verdict
    assert check.allowed == pytest.approx(tolerance("0.16", scatter, n=2))
    assert table.outcomes[f"{OUTSIDE}/rmse"] is met


def test_draws_judge_where_a_run_has_them(metrics):
    """Those of Table 3 and Fig. 13 here; they have no rows that are shown without being judged."""
    draws = with_rmse(copy.deepcopy(metrics), 0.15)
    del draws["rows"]["proper"]
    claim = {"id": "so", "about": "Fig. 13", "claim": "over draws", "ours": {}, "holds": True}
    draws |= {"claims": [claim]}
    run = {SURROGATE: metrics, DRAWS: draws}
    entries = compare(
        {name: Metrics.model_validate(metrics_of_run) for name, metrics_of_run in run.items()}
    )
    assert entries["Table 3"].rows[OUTSIDE]["rmse"].ours == 0.15
    assert [metrics_of_run.id for metrics_of_run in entries["Fig. 13"].claims] == ["so"]
    assert "so" not in entries["Fig. 14"].outcomes
    assert set(entries["Fig. 13"].pictures) == {"fig13a_anchored.svg", "fig13b_vanilla.svg"}


@pytest.mark.parametrize("same", [True, False])
def test_repeats_of_other_tables_do_not_judge_a_run(monkeypatch, same):
    """They are left of an earlier run of the same name."""
    name = "04_materials_surrogate"
    paths = [repeats_folder("full") / f"{name}.json"]
    monkeypatch.setattr(comparison, "repeated_metrics", lambda _: paths)
    metrics = read([REFERENCE / f"{name}.json"])[name]
    digests = metrics.provenance["inputs_sha256"]
    if not same:
        digests = dict.fromkeys(digests, "of other tables")
    provenance = metrics.provenance | {"inputs_sha256": digests}
    run = {name: metrics.model_copy(update={"provenance": provenance})}
    assert (judging(run, REFERENCE.parent / "my") == read(paths)) == same


def test_a_notebook_that_trained_once_is_judged_by_its_repeats_on_the_same_tables(tmp_path):
    name = "01_prior_study"
    run = read([REFERENCE / f"{name}.json"])
    judges = judging(run, REFERENCE)
    assert judges[name] == read([repeats_folder("full") / f"{name}.json"])[name]
    once, judged = (compare(metrics_of_run)["Table 1"] for metrics_of_run in (run, judges))
    number, judge = (table.rows["published.A"]["all"] for table in (once, judged))
    assert number.deviation is None
    assert judge.deviation > 0
    assert once.beside(judged) == "repeats"
    assert judging(run, tmp_path) == run  # other tables have no repeats
    small = {name: run[name].model_copy(update={"paper_size": False})}
    assert judging(small, tmp_path) == read(committed_metrics())
    assert once.beside(once) == ""


def test_what_the_paper_says_twice_counts_once_and_what_it_does_not_print_not_at_all():
    entries = compare(typed_run("full"))
    table, scatter = entries["Table 4"], entries["Fig. 10"]
    assert table.outcomes["rmse/c_eff"] is table.outcomes["accuracy/c_eff"] is False
    assert table.of_paper.count(False) == 1
    assert len(scatter.of_paper) == 1 < len(scatter.rows["noise"])


def test_the_map_of_verdicts_links_every_picture_of_a_figure():
    page = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    entries = compare(read(committed_metrics()))
    for place, entry in entries.items():
        (row,) = re.findall(rf"(?m)^\| {re.escape(place)} \|.*$", page)
        linked = re.findall(r"\]\(\.\./figures/full/([^)]+)\)", row)
        assert linked == [*entry.pictures], place
        assert bool(linked) == place.startswith("Fig."), place
        assert all((REFERENCE / name).is_file() for name in linked)
