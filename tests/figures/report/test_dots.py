"""Numbers as dots: everything lies on the scale, and the paper's numbers stand beside ours."""

import pytest

from figures.report.comparison import DIFFERS, REPRODUCED, compare
from figures.report.dots import EDGE, WIDTH, Dot, Dots, beside_paper, of_finding
from figures.report.findings import Picture
from tests.figures.report.committed import typed_run


@pytest.fixture(scope="module")
def entries():
    return compare(typed_run("full"))


def test_dots_intervals_results_and_tolerances_lie_on_the_scale():
    first = Dot("first", 1.0, 0.5, "1.0 ± 0.5", (0.2, 1.9))
    second = Dot("second", 2.0, 0.1, "2.0 ± 0.1", printed="-3", allowed=0.5)
    picture = Dots("both", [first, second])
    assert picture.range == (-3.5, 2.1)
    assert picture.has_zero
    assert [picture.x(-3.5), picture.x(2.1)] == [EDGE, WIDTH - EDGE]
    assert picture.x("-0.7") == WIDTH / 2
    assert not Dots("one", [first]).has_zero


def test_equal_numbers_have_a_place_on_the_scale():
    assert Dots("one", [Dot("one", 2.0, 0.0, "2")]).x(2.0) == EDGE


@pytest.mark.parametrize(
    ("place", "titles", "rows"),
    [("Table 1", "prior A, published optimiser", 6), ("Table 3", "RMSE", 6),
     ("Table 4", "Miscalibration", 5), ("Fig. 10", "b_eff", 2),
     ("Fig. 14", "Table 4, Miscalibration", 5)],
)  # fmt: skip
def test_what_the_paper_prints_is_drawn_beside_ours(entries, place, titles, rows):
    pictures = {picture.title: picture.rows for picture in beside_paper(entries, place)}
    assert len(pictures[titles]) == rows
    assert all(row.printed and row.allowed for each in pictures.values() for row in each)


def test_a_dot_is_inside_the_tolerance_where_its_verdict_says_so(entries):
    drawn = [row for place in entries for each in beside_paper(entries, place) for row in each.rows]
    for row in drawn:
        if row.verdict in (REPRODUCED, DIFFERS):
            inside = abs(row.mean - float(row.printed)) <= row.allowed
            assert inside == (row.verdict == REPRODUCED)
    assert len(drawn) > 80


def test_what_the_paper_does_not_print_has_no_picture(entries):
    assert beside_paper(entries, "Fig. 1") == []


def test_a_finding_has_the_interval_of_its_mean_and_the_single_results():
    picture = Picture(shows="RMSE", rows={"vanilla": "rows.outd.vanilla.rmse"}, decimals=3)
    metrics = typed_run("full")["05_beyond_the_paper"]
    (row,) = of_finding(picture, metrics).rows
    assert row.text.startswith(f"{row.mean:.3f} ± ")
    assert min(row.values) < row.mean < max(row.values)
    assert 0 < row.margin < max(row.values) - min(row.values)
