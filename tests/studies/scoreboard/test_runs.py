import json
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from figures.pipeline.provenance import processor
from studies.scoreboard import registry, runs
from studies.scoreboard.problems import Problem, Split
from studies.scoreboard.registry import ONE, Peer

FAKE = """
import os

import numpy as np

WIDTH = 0.5


class Mean:
    def fit(self, given):
        print("what libraries print is no answer")
        self.mean = given.y.mean(axis=0)

    def predict(self, X):
        return np.tile(self.mean, (len(X), 1)), np.full((len(X), len(self.mean)), WIDTH)


class Broken(Mean):
    def fit(self, given):
        raise ValueError("no such\\nmatrix")


class Slow(Mean):
    def fit(self, given):
        while True:
            pass


class Gone(Mean):
    def fit(self, given):
        os._exit(3)


class Blind(Mean):
    def predict(self, X):
        return np.full((len(X), 2), np.nan), np.ones((len(X), 2))
"""


@pytest.fixture
def results(tmp_path):
    return runs.load(tmp_path / "results.jsonl")


def made(number, shift=0.0):
    """A split of made-up rows."""
    rng = np.random.default_rng(number)
    data = {name: rng.normal(size=(6, 2)) for name in ("X", "y", "X_test")}
    return Split(data, rng.normal(size=(6, 2)) + shift, 1.0, 0.0, f"{number}{shift}")


@pytest.fixture
def study(tmp_path, monkeypatch, results):
    """Run estimators of a library on a set; rows by estimator and split."""
    (tmp_path / "fake.py").write_text(FAKE)
    monkeypatch.setattr(registry, "LIBRARIES", tmp_path)
    monkeypatch.setattr(runs, "environment", lambda *_: sys.executable)
    monkeypatch.setattr(runs, "PATIENCE", 4)

    def study(*kinds, splits=1, make=made, limit=60.0, **more):
        fresh = runs.load(results.path)
        peers = [Peer("fake", kind, ONE, **{"public": True, **more}) for kind in kinds]
        with fresh.opened():
            problem = Problem("made/standard", 2, make)
            runs.study(peers, [problem], fresh, tmp_path, splits, limit)
        return {(row["peer"], row["split"]): row for row in fresh.rows}

    return study


@pytest.mark.slow
def test_what_fails_is_recorded_and_the_next_one_runs(study):
    rows = study("Broken", "Slow", "Gone", "Blind", "Mean", splits=2, limit=1.0)
    errors = {name: row.get("error") for (name, split), row in rows.items() if split == 0}
    assert "must be finite" in errors.pop("fake.Blind")
    assert errors == {
        "fake.Broken": "ValueError: no such matrix",
        "fake.Slow": "more than 1 s",
        "fake.Gone": "ended with code 3",
        "fake.Mean": None,
    }
    assert rows["fake.Mean", 1]["rmse"] > 0
    # One that is too slow is spared the other splits, until it is given more time.
    assert rows["fake.Slow", 0]["limit"] == 1.0
    assert ("fake.Slow", 1) not in rows
    assert study("Slow", limit=1.5)["fake.Slow", 0]["error"] == "more than 1.5 s"


def test_rows_say_on_what_they_ran(study):
    """Searches carry rounding on, which differs by processor and kernel of the linear algebra."""
    rows = study("Broken", "Mean")
    assert {row["processor"] for row in rows.values()} == {processor()}
    architectures = {library.get("architecture") for library in threadpool_info()}
    assert set(rows["fake.Mean", 0]["blas"].split(", ")) <= architectures
    assert "blas" not in rows["fake.Broken", 0]


def test_a_run_that_was_killed_goes_on_where_it_was(study, results):
    first = study("Mean", splits=2)
    lines = results.path.read_text().splitlines()
    row = {**json.loads(lines[0]), "rmse": 7.0}
    results.path.write_text(json.dumps(row) + "\n" + lines[1][:20])
    second = study("Mean", splits=2)
    assert second["fake.Mean", 0] == row  # not run again
    assert second["fake.Mean", 1]["rmse"] == first["fake.Mean", 1]["rmse"]
    assert len([json.loads(line) for line in results.path.read_text().splitlines()]) == 2


def test_other_rows_and_another_version_run_again_and_replace_the_old_ones(study, results):
    old = study("Mean")["fake.Mean", 0]
    other = study("Mean", make=lambda i: made(i, shift=3.0))["fake.Mean", 0]
    assert other["rmse"] > old["rmse"]
    assert study("Mean", version=2)["fake.Mean", 0]["version"] == 2
    with results.opened():
        assert len(results.path.read_text().splitlines()) == 1
