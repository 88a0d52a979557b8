"""Verdicts on published numbers and claims."""

import pytest

from figures.claims import (
    FAILED,
    NOT_COMPARABLE,
    NOT_JUDGED,
    REPRODUCED,
    Check,
    Claim,
    Item,
)


@pytest.mark.parametrize(
    ("ours", "tolerance", "comparable", "expected"),
    [(0.17, 0.02, True, REPRODUCED), (0.19, 0.02, True, FAILED),
     (0.16, 0.02, False, NOT_COMPARABLE), (0.16, None, True, NOT_JUDGED),
     (0.16, NOT_COMPARABLE, True, NOT_COMPARABLE)],
)  # fmt: skip
def test_verdict_needs_equal_sizes_and_a_tolerance(ours, tolerance, comparable, expected):
    check = Check("Table 3", "anchored", "rmse", 0.16, ours, None, tolerance, comparable)
    assert check.verdict == expected


def test_one_failure_is_a_failure_of_the_whole_item():
    def item(*holds, comparable=True):
        claims = [Claim("Fig. 1", "so", {}, each) for each in holds]
        return Item("Fig. 1", "2", "", "n", {}, [], claims, comparable)

    assert item(True).verdict == REPRODUCED
    assert item(True, False).verdict == FAILED
    assert item(True, False).count == "1 of 2"
    assert item(False, comparable=False).verdict == item().verdict == NOT_COMPARABLE
