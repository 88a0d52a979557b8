import json
import sys

import numpy as np
import pytest
from scipy.stats import norm

import bnn
from bench.peers import registry, runs, tables
from bench.peers.__main__ import PAGES
from bench.peers.problems import scores
from bench.peers.registry import LIBRARIES, PEERS, Peer
from figures.materials.problem import OUTPUT_SCALING
from figures.pipeline.paths import ROOT

FAKE = '''"""Estimators that do what they should not."""

import os

import numpy as np

WIDTH = 0.5


class Mean:
    """The mean."""

    def fit(self, X, y):
        """Take it."""
        print("what libraries print is no answer")
        self.mean = y.mean(axis=0)

    def predict(self, X):
        return np.tile(self.mean, (len(X), 1)), np.full((len(X), len(self.mean)), WIDTH)


class Broken(Mean):
    def fit(self, X, y):
        raise ValueError("no such\\nmatrix")


class Slow(Mean):
    def fit(self, X, y):
        while True:
            pass


class Gone(Mean):
    def fit(self, X, y):
        os._exit(3)


class Blind(Mean):
    def predict(self, X):
        return np.full((len(X), 2), np.nan), np.ones((len(X), 2))
'''


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Run estimators of a library on one training set for every draw; their rows."""
    (tmp_path / "fake.py").write_text(FAKE)
    monkeypatch.setattr(registry, "LIBRARIES", tmp_path)
    monkeypatch.setattr(runs, "environment", lambda *_: sys.executable)
    monkeypatch.setattr(runs, "PATIENCE", 4)
    monkeypatch.setattr(runs, "CASES", ["ind25"])
    monkeypatch.setattr(runs, "draws", lambda: [0.0, 1.0])
    rng = np.random.default_rng(0)
    given = {name: rng.normal(size=(6, 5)) for name in ("X", "y", "X_test", "y_test")}
    monkeypatch.setattr(runs, "write", lambda *arguments: np.savez(arguments[-1], **given))

    def study(*kinds, n_draws=1):
        results = runs.Results(tmp_path / "results.jsonl")
        peers = [Peer("fake", kind) for kind in kinds]
        runs.study(peers, results, tmp_path, n_draws, 1.0)
        return {(row["peer"], row["draw"]): row for row in results.rows}

    return study


def test_what_fails_is_recorded_and_the_next_one_runs(study):
    rows = study("Broken", "Slow", "Gone", "Blind", "Mean")
    errors = {name: row.get("error") for (name, _), row in rows.items()}
    assert "must be finite" in errors.pop("fake.Blind")
    assert errors == {
        "fake.Broken": "ValueError: no such matrix",
        "fake.Slow": "more than 1 s",
        "fake.Gone": "ended with code 3",
        "fake.Mean": None,
    }
    assert rows["fake.Mean", 0]["rmse"] > 0


def test_a_run_that_was_killed_goes_on_where_it_was(study, tmp_path):
    first = study("Mean", n_draws=2)
    path = tmp_path / "results.jsonl"
    lines = path.read_text().splitlines()
    kept = {**json.loads(lines[0]), "rmse": 7.0}
    path.write_text(json.dumps(kept) + "\n" + lines[1][:20])
    (tmp_path / "sets").rename(tmp_path / "old")
    second = study("Mean", n_draws=2)
    assert second["fake.Mean", 0] == kept  # not run again
    assert second["fake.Mean", 1]["rmse"] == first["fake.Mean", 1]["rmse"]
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 2


def test_scores_are_those_of_the_exact_posterior():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (20, 4))
    y = rng.normal(size=(20, 5))
    noise = np.linspace(0.1, 0.5, 5)
    model = bnn.ExactPosterior(bnn.GaussianProcessPrior(n_outputs=5), noise=noise).fit(X, y)
    X = rng.uniform(-1, 1, (8, 4))
    y = rng.normal(size=(8, 5))
    mean, std = model.predict(X, return_std=True, total=True)
    row = scores(y, {"mean": mean, "std": std, "fit": 1.0, "predict": 2.0})
    units = len(y) * np.log(OUTPUT_SCALING.half_range).sum()
    assert row["elppd"] == pytest.approx(model.elppd(X, y) - units)  # its outputs are independent
    physical = norm(*(OUTPUT_SCALING.inverse_transform(mean), std * OUTPUT_SCALING.half_range))
    densities = physical.logpdf(OUTPUT_SCALING.inverse_transform(y))
    assert row["elppd"] == pytest.approx(densities.sum())
    assert row["coverage"] == np.mean(np.abs(y - mean) < 1.959964 * std)
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert row["crps"] == pytest.approx(bnn.metrics.crps_gaussian(y, mean, std))


def test_every_package_of_every_library_is_pinned():
    assert {path.stem for path in LIBRARIES.glob("*.py")} == {peer.library for peer in PEERS}
    pins = {path.stem: path.read_text().split() for path in LIBRARIES.glob("*.txt")}
    assert set(pins) == {peer.library for peer in PEERS if not peer.ours}
    assert all(pin.count("==") == 1 for lines in pins.values() for pin in lines)
    torches = {pin for lines in pins.values() for pin in lines if pin.startswith("torch==")}
    assert torches <= set((ROOT / "constraints.txt").read_text().split())


def row(peer, draw, elppd):
    numbers = dict.fromkeys(("rmse", "crps", "coverage", "fit", "predict"), 0.5)
    return {"peer": peer, "case": "outd", "draw": draw, "elppd": elppd, **numbers}


def test_the_tables_say_who_failed_and_who_is_better():
    lead = [40.0, 60.0, 50.0, 50.0]  # draws differ much more than estimators do
    ours = [row("ours.Exact", i, 100.0 * i) for i in range(5)]
    theirs = [row("smt.Kriging", i, 100.0 * i + lead[i]) for i in range(4)]
    failed = {"peer": "smt.Kriging", "case": "outd", "draw": 4, "error": "singular"}
    found = tables.by_peer([*ours, *theirs, failed])
    assert "SMT, KRG; 1 failed: singular" in tables.score_table(found)
    assert "| −50 ± 4 | 4 | behind |" in tables.verdict_table(found)
    assert len(tables.picture(found).axes) == 4
    level = [row("smt.Kriging", i, 100.0 * i) for i in range(5)]
    lucky = row("botorch.Saas", 2, 900.0)
    assert "| SMT, KRG | 0 ± 0 | 5 | level |" in tables.verdict_table(
        tables.by_peer([*ours, *level, lucky])
    )


def test_verdicts_are_by_two_standard_errors():
    gains = ([3.0, 4.0], [1.0, 4.0], [-4.0, 3.0], [-3.0, -4.0], [1.0])
    found = [tables.verdict(each) for each in gains]
    assert found == ["ahead", "level", "level", "behind", "open"]


def test_guide_and_readme_show_the_committed_results(tmp_path):
    copies = [tmp_path / page.name for page in PAGES]
    for page, copy in zip(PAGES, copies, strict=True):
        copy.write_text(page.read_text())
    tables.publish(runs.Results(ROOT / "bench" / "peers" / "results.jsonl").rows, copies)
    assert [each.read_text() for each in copies] == [each.read_text() for each in PAGES]
