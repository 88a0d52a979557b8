"""Claims and tables of notebook 08 follow its numbers."""

import pytest

from figures.beyond.strain_paths.findings import claims, leaving, shares, tables
from figures.beyond.strain_paths.study import LABELS, Errors, Members
from figures.scores import Interval
from tests.figures.report.committed import committed_run

ALONE = dict.fromkeys(LABELS, 0.01)
MEMBERS = {5: Members(0.9, 1.1, 0.5, 0.95), 100: Members(1.1, 0.95, 0.4, 0.95)}


def errors(error, coverage=0.95, single=0.94):
    values = (error, coverage, single)
    return Errors(*(Interval((0.99 * v, v, 1.01 * v)) for v in values))


@pytest.fixture
def rows():
    """The error of mean fields is 0.01; five paths halve it, a hundred leave a tenth."""
    return {name: {5: errors(0.005), 100: errors(0.001)} for name in LABELS}


def outcomes(rows, members=MEMBERS):
    return {each.id: each.holds for each in claims(rows, ALONE, 100, members)}


def test_claims_turn_with_the_numbers(rows):
    before = outcomes(rows)
    assert set(before.values()) == {True}
    rows["reference_random"][100] = errors(0.006, coverage=0.89)
    rows["reference_cycles"][5] = errors(0.0005, single=0.981)
    turned = outcomes(rows, {**MEMBERS, 100: Members(1.1, 0.5, 0.4, 0.95)})
    assert {name for name, holds in turned.items() if not holds} == {
        "removed",
        "falls/reference_random",
        "falls/reference_cycles",
        "coverage/reference_random",
        "single/reference_cycles",
        "members/100",
    }
    assert set(turned) == set(before)


def test_coverages_that_leave_the_range_are_listed(rows):
    assert leaving(rows) == []
    rows["reference_tension"][5] = errors(0.005, coverage=0.99)
    (found,) = leaving(rows)
    assert found == {
        "score": "coverage",
        "set": "reference_tension",
        "paths": 5,
        "coverage": pytest.approx(0.99),
    }


def test_the_tables_have_mean_fields_and_each_number_of_paths(rows):
    assert shares(rows, ALONE, 100) == pytest.approx(dict.fromkeys(LABELS, 0.9))
    found, coverages = tables(rows, ALONE)
    assert found.rows[0] == ["mean fields alone", "0", *["10"] * 4]
    assert found.rows[2][:3] == ["posterior", "100", "1.000 ± 0.012"]
    assert len(coverages.rows) == 4
    rows["reference_random"][100] = Errors(*(Interval((each,)) for each in (0.001, 0.95, 0.94)))
    assert tables(rows, ALONE)[0].rows[2][2] == "1.000"


def test_the_committed_metrics_have_the_names_that_a_run_writes(rows):
    committed = committed_run("full")["08_strain_paths"]
    assert set(committed["rows"]) == set(committed["mean_fields_alone"]) == set(LABELS)
    counts = map(int, committed["rows"]["reference_random"])
    assert {5, 100} <= set(counts)
    assert {each["id"] for each in committed["claims"]} == set(outcomes(rows))
