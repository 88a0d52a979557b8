import csv
import json

import numpy as np
import pytest

HEADER = ["splits", "dataset", "method", "score", "mean", "std", "source"]


@pytest.fixture
def folder(tmp_path):
    """A folder as studies/scoreboard/public.py describes it: one set of 12 rows, one of 10."""
    rng = np.random.default_rng(0)
    home = tmp_path / "public"
    (home / "made").mkdir(parents=True)
    rows = np.column_stack([rng.uniform(0, 9, (12, 2)), np.arange(12) % 2, rng.normal(50, 7, 12)])
    write(home / "made" / "data.csv", ["x0", "x1", "x2", "y"], rows)
    (home / "made" / "standard.json").write_text(json.dumps([[0, 5], [3, 11, 1]]))
    (home / "made" / "gap.json").write_text(json.dumps([list(range(0, 12, 2))]))
    write(home / "one.csv", ["speed", "target"], rng.normal(3, 2, (10, 2)))
    scores = [["standard", "made", "Ensemble", "LL", -3.5, 0.3, "a paper"]]
    scores += [["standard", "made", "Ensemble", "RMSE", 6.5, 1.3, "a paper"]]
    scores += [["standard", "made", "Ensemble", "RCE", 0.1, 0.1, "a paper"]]
    scores += [["standard", "another", "Ensemble", "LL", -1.0, 0.3, "a paper"]]
    write(home / "published.csv", HEADER, scores)
    runs = [["one", "trees", 0.5, ""], ["one", "bde", 0.2, -0.8], ["one", "bde", 0.4, -0.6]]
    write(home / "one_published.csv", ["dataset", "model", "rmse", "nll_default"], runs)
    return home


def write(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture
def result():
    """Make a row of results; all scores but the log-likelihood are the same."""

    def result(peer, problem, split, loglik, **more):
        numbers = dict.fromkeys(("rmse", "crps", "coverage", "fit", "predict"), 0.5)
        key = {"problem": problem, "peer": peer, "split": split, "version": 1, "data": "0"}
        return {**key, "loglik": loglik, **numbers, **more}

    return result
