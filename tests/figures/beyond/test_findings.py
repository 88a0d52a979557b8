"""Claims, words and advice of notebook 05 follow its numbers."""

import numpy as np
import pytest

from figures.beyond.findings import RIVALS, claims, paragraphs


def test_words_follow_the_numbers(changed):
    """A regulariser that does something is said to; one that does nothing, too."""
    for low_rank, alike in (([0.5, 0.6], False), ([1.0, 1.1], True)):
        rmse = {"none": [1.0, 1.1], "low_rank": low_rank, "vanilla": [1.2, 1.3]}
        other = changed(**{name: {"rmse": values} for name, values in rmse.items()})
        (found,) = [c for c in claims(other) if c.id == "alike/rmse"]
        assert found.holds is alike
        first, second, *_ = paragraphs(other)
        assert "1.050 ± " in first
        change = 1.0 - low_rank[0]  # what leaving it out does
        assert f"the RMSE by {change:.4f} ± 0.0000, " in first
        assert second.startswith(("The reason: the regulariser", "The regulariser"))


def test_the_regulariser_is_the_reason_only_where_it_sees_less_than_a_random_direction(changed):
    for seen, start in (([0.01, 0.02], "The reason: the reg"), ([0.5, 0.6], "The reg")):
        found = changed(low_rank={"gradient_in_span": seen, "dimension": [0.3, 0.3]})
        assert paragraphs(found)[1].startswith(start)


def test_targets_are_judged_at_their_sizes_only(results, changed):
    assert not any(claim.id.startswith("target/") for claim in claims(results))
    sizes = {"n_members": 30, "n_test": 50, "n_train": {"outd": 50}}
    for miscalibration, expected in ((0.07, True), (0.09, False)):
        scores = {"rmse": [0.12], "miscalibration": [miscalibration], "elppd": [160.0]}
        sized = changed(other=sizes, function_evidence=scores)
        judged = [c for c in claims(sized) if c.id == "target/outd/function_evidence"]
        assert [c.holds for c in judged] == [expected]


def test_the_strongest_correlations_of_the_noise_are_named(changed):
    replicates = 4 * (np.eye(5) - 0.4 * np.eye(5)[::-1]), 12
    *_, words, _ = paragraphs(changed(other={"replicates": replicates}))
    assert "12 degrees of freedom" in words
    assert "b_eff_MPa and p_sigma −0.40" in words


@pytest.fixture
def advised(changed):
    """A function that gives the advice where the rivals score alike but for the ELPPD given."""

    def give(exact_elppd=145.0, **elppd):
        rows = {}
        for name in ("function_evidence", *RIVALS):
            rmse = 0.1 if name == "function_evidence" else 0.2
            density = elppd.get(name, 100.0)
            values = {"rmse": rmse, "miscalibration": 0.1, "elppd": density}
            rows[name] = {score: [value, value] for score, value in values.items()}
        return paragraphs(changed(exact_elppd, **rows))[-1]

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
