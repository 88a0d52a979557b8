"""What notebook 05 advises, and where that loses."""

import pytest

from figures.beyond.advice import RIVALS, advice


@pytest.fixture
def advised(changed):
    """A function that gives the advice where the rivals score alike but for the ELPPD given."""

    def give(exact_elppd=145.0, **elppd):
        rows = {}
        for name in ("function_evidence", *RIVALS):
            rmse, density = 0.1 if name == "function_evidence" else 0.2, elppd.get(name, 100.0)
            values = {"rmse": rmse, "miscalibration": 0.1, "elppd": density}
            rows[name] = {score: [value, value] for score, value in values.items()}
        return advice(changed(exact_elppd, **rows))

    return give


def test_the_advice_says_where_it_loses(advised):
    words = advised()
    assert words.startswith("What to use: ")
    assert "in 3 of 9 comparisons" in words
    assert words.endswith("the worse one in 0.")
    words = advised(function_evidence=-301.0, low_rank=-186.0, vanilla=-84.0)
    assert "the worse one in 3 (" in words
    assert "ELPPD −301 ± 0 against −186 ± 0 of" in words
    assert "−84 ± 0 of" in words
    assert "The posterior itself has an ELPPD of 145" in words


def test_more_members_are_advised_only_where_they_help(advised):
    words = advised(exact_elppd=-400.0, function_evidence=-301.0)
    assert words.startswith("No method is ahead of all others: ")  # 3 better, 3 worse
    assert "members" not in words
