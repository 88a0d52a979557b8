import csv
import shutil

import pytest

from bench.path_surrogates import tables
from bench.path_surrogates.__main__ import PAGE, RESULTS
from bench.path_surrogates.data import REFERENCES
from bench.path_surrogates.picture import picture
from bench.path_surrogates.study import load
from bench.path_surrogates.summary import Mean, Summary
from figures.style import shows_something


def rows(estimator, n, numbers, **more):
    """A row for each draw on each set."""
    return [
        {"problem": problem, "estimator": estimator, "n": n, "draw": draw, "nmse": number, **more}
        for problem in REFERENCES
        for draw, number in enumerate(numbers)
    ]


@pytest.fixture
def summary():
    """Ours and the rival with two numbers of paths."""
    found = rows("ours", 5, [0.001, 0.003], coverage=0.99) + rows(
        "ours", 100, [0.001], coverage=0.95
    )
    return Summary(found + rows("gru", 50, [0.004]) + rows("gru", 100, [0.003]))


def test_goals_are_judged_on_each_set(summary):
    quarter, five, fifty, covered = tables.goals(summary).splitlines()[2:]
    assert quarter.count("0.33, **not met**") == 4
    assert five.count("0.5, met") == 4
    assert fifty.count("–") == 4
    assert covered.count("**not met** with 5 paths: 0.990") == 4


def test_a_mean_has_two_standard_errors_where_there_are_two_draws(summary):
    mean = summary.mean("reference_random", "ours", 5, "nmse")
    assert mean == pytest.approx((0.002, 0.002))
    assert tables.shown(mean, 1e3) == "2.00 ± 2.00"
    assert tables.shown(Mean(-0.5, float("nan"))) == "−0.500"
    assert tables.shown(None) == "–"


def test_the_csv_has_every_score(summary):
    rows = list(csv.DictReader(tables.all_scores(summary).splitlines()))
    assert len(rows) == 4 * len(REFERENCES)
    row = rows[0]
    assert (row["paths"], row["set"], row["draws"]) == ("5", "random paths", "2")
    assert (row["nmse"], row["nmse_2se"], row["elppd"]) == ("0.002", "0.002", "")


def test_the_picture_shows_every_estimator_on_every_set(summary):
    figure = picture(summary)
    assert all(shows_something(axes) for axes in figure.axes)
    assert len(figure.axes) == 2 * len(REFERENCES)


def test_the_page_shows_the_committed_results(tmp_path):
    copy = tmp_path / PAGE.name
    shutil.copy(PAGE, copy)
    tables.publish(load(RESULTS).rows, copy)
    assert copy.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")
    assert (tmp_path / "paths.png").is_file()
    kept = PAGE.parent / tables.FILE
    assert (tmp_path / tables.FILE).read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")
