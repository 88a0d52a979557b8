"""Claims of notebook 08 follow its numbers."""

import pytest

from figures.beyond.strain_paths.findings import claims, leaving
from figures.beyond.strain_paths.study import LABELS, Errors, Members
from figures.scores import Interval

ALONE = dict.fromkeys(LABELS, 0.01)
MEMBERS = {5: Members(0.9, 1.1, 0.5, 0.95), 100: Members(1.1, 0.95, 0.4, 0.95)}


def errors(error, coverage=0.95, single=0.94):
    values = (error, coverage, single)
    return Errors(*(Interval((0.99 * v, v, 1.01 * v)) for v in values))


def outcomes(rows, members=MEMBERS):
    return {each.id: each.holds for each in claims(rows, ALONE, 100, members)}


def test_claims_turn_with_the_numbers():
    """The error of mean fields is 0.01; five walks halve it, a hundred leave a tenth."""
    rows = {name: {5: errors(0.005), 100: errors(0.001)} for name in LABELS}
    before = outcomes(rows)
    assert set(before.values()) == {True}
    assert leaving(rows) == []
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
    left = {(each["set"], each["score"]): each["coverage"] for each in leaving(rows)}
    expected = {("reference_random", "coverage"): 0.89, ("reference_cycles", "single"): 0.981}
    assert left == pytest.approx(expected)
