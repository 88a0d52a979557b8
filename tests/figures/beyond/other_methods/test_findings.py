"""Claims and advice of notebook 05 follow its numbers."""

import numpy as np

from figures.beyond.other_methods.findings import RIVALS, advice, claims, noise_of_replicates


def test_a_regulariser_that_does_something_is_not_said_to_do_nothing(changed):
    for low_rank, alike in (([0.5, 0.6], False), ([1.0, 1.1], True)):
        other = changed(none={"rmse": [1.0, 1.1]}, low_rank={"rmse": low_rank})
        (found,) = [c for c in claims(other) if c.id == "alike/rmse"]
        assert found.holds is alike


def test_targets_are_judged_at_their_sizes_only(results, changed):
    assert not any(claim.id.startswith("target/") for claim in claims(results))
    sizes = {"n_members": 30, "n_test": 50, "n_train": {"outd": 50}}
    for miscalibration, expected in ((0.07, True), (0.09, False)):
        scores = {"rmse": [0.12], "miscalibration": [miscalibration], "elppd": [160.0]}
        sized = changed(other=sizes, function_evidence=scores)
        judged = [c for c in claims(sized) if c.id == "target/outd/function_evidence"]
        assert [c.holds for c in judged] == [expected]


def test_the_strongest_correlations_of_the_noise_are_named():
    found = noise_of_replicates(4 * (np.eye(5) - 0.4 * np.eye(5)[::-1]), 12)
    assert found["degrees_of_freedom"] == 12
    assert found["strongest_correlations"]["b_eff_MPa/p_sigma"] == -0.40


def test_the_advised_method_is_compared_with_each_rival_in_each_score(changed):
    alike = {"rmse": [0.2, 0.2], "miscalibration": [0.1, 0.1], "elppd": [100.0, 100.0]}
    rows = dict.fromkeys(RIVALS, alike) | {"vanilla": alike | {"elppd": [150.0, 150.0]}}
    found = advice(changed(function_evidence=alike | {"rmse": [0.1, 0.1]}, **rows).cases)
    assert found["rmse"] == {"better": 3, "worse": 0, "of": 3}
    assert found["miscalibration"] == {"better": 0, "worse": 0, "of": 3}
    assert found["elppd"] == {"better": 0, "worse": 1, "of": 3}
