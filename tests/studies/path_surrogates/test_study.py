import json
from dataclasses import replace

import numpy as np
import pytest

from studies.path_surrogates import study
from studies.path_surrogates.data import REFERENCES
from studies.path_surrogates.estimators import ESTIMATORS, Predicted

OURS, MEAN_FIELDS = ESTIMATORS[:2]


def test_there_are_enough_paths_for_disjoint_draws():
    assert all(n * draws <= 500 for n, draws in study.DRAWS.items())


def test_what_is_done_is_not_run_again(sets, tmp_path):
    counted = []

    def fit(training):
        counted.append((len(training.random_paths.inputs), training.seed))
        return lambda _, strain: Predicted(np.zeros(strain.shape))

    estimator = replace(MEAN_FIELDS, name="zero", fit=fit, sizes=(5, 20))
    for sizes in ([5], [5, 20]):
        results = study.load(tmp_path / "results.jsonl")
        study.study(sets, [estimator], sizes, results)
    assert counted == [(5, draw) for draw in range(5)] + [(20, draw) for draw in range(3)]
    rows = [json.loads(line) for line in results.path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len(REFERENCES) * (1 + 5 + 3)
    assert len(study.load(results.path).rows) == len(rows)


@pytest.mark.slow
def test_ours_is_better_than_the_mean_fields_that_it_learns_about(sets, tmp_path):
    results = study.load(tmp_path / "results.jsonl")
    study.study(sets, [OURS, MEAN_FIELDS], [20], results)
    rows = {(row["problem"], row["estimator"], row["draw"]): row for row in results.rows}
    for problem in REFERENCES:
        ours, alone = rows[problem, "ours", 0], rows[problem, "mean_fields", 0]
        assert ours["nmse"] < 0.5 * alone["nmse"]
        assert ours["coverage"] > 0.5
        assert "coverage" not in alone
